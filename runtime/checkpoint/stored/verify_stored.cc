// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/stored/verify_stored.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "belay/error.h"
#include "belay/state_digest.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_file.h"
#include "runtime/checkpoint/read/basename.h"
#include "runtime/checkpoint/read/read_tensors.h"
#include "runtime/checkpoint/read/restore_error.h"
#include "runtime/checkpoint/read/run_state.h"
#include "runtime/checkpoint/read/stored_place.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Reads tensors of every type that belay has; the others are counted.
void read_all(const StoredTensors& stored, const SaverUse& saver, VerifiedStored& found) {
  std::vector<TensorInfo> tensors = stored.tensors();
  found.tensors = tensors.size();
  const std::size_t others = std::erase_if(tensors, [](const TensorInfo& t) { return !is_readable(t); });
  if (others != 0)
    found.unread =
        fmt::format("{}{} of a type that belay does not read", others, others == 1 ? " tensor is" : " tensors are");
  StateDigest digest;
  read_tensors(stored, saver, tensors, [&](const NamedTensor& t) {
    found.bytes += TensorView(t.tensor).bytes();
    digest.add(t.name, TensorView(t.tensor));
  });
  if (others == 0) found.digest = digest.text();
}

class Walk {
 public:
  Walk(FileSystem& files, const VerifyOptions& options, Logger& log) : files_(files), options_(options), log_(log) {}

  void directory(const OpenDirectory& directory) {
    state_file(directory);
    const std::string basename = basename_in(directory);
    for (const std::string& name : directory.entries()) {
      if (checkpoint_of_temporary(name) || checkpoint_of_replaced(name)) continue;  // it is being written or removed
      entry(directory, name, basename);
    }
  }

  void checkpoint(const OpenDirectory& parent, const std::string& name) {
    one(parent, name, [&](VerifiedStored& found) {
      if (parent.status(name).kind != FileKind::kDirectory) fail(Code::kDataLoss, "[B4018] it is no directory");
      const auto reader = CheckpointReader::open(parent.open_directory(name));
      if (const auto step = step_of_checkpoint(name, basename_in(parent)); step && *step != reader->index().global_step)
        fail(Code::kDataLoss, fmt::format("[B4020] its index is of step {}", reader->index().global_step));
      if (const SaverUse* saver = saver_of(reader->index().saver, found)) read_all(*reader, *saver, found);
      const std::string stored = digest_in_run_state(parent.open_directory(name)->read(kStateName, kMaxStateBytes));
      if (!stored.empty() && !found.digest.empty() && stored != found.digest)
        fail(Code::kDataLoss,
             fmt::format("[B4010] its variables have the digest {}, but `state` records {}", found.digest, stored));
    });
  }

  void file(const OpenDirectory& parent, const std::string& name, const std::string& saver) {
    one(parent, name, [&](VerifiedStored& found) {
      if (const SaverUse* use = saver_of(saver, found))
        read_all(*open_stored_tensors(files_, found.path, *use, log_), *use, found);
    });
  }

 private:
  const SaverUse* saver_of(const std::string& name, VerifiedStored& found) const {
    const SaverUse* saver = options_.saver(name);
    found.has_saver = saver != nullptr;
    if (saver == nullptr) found.unread = "there is no saver " + single_quoted(name) + " to read its tensors";
    return saver;
  }

  void entry(const OpenDirectory& directory, const std::string& name, const std::string& basename) {
    const FileKind kind = directory.status(name).kind;
    if (step_of_checkpoint(name, basename)) return checkpoint(directory, name);
    if (kind == FileKind::kFile) {
      const std::string saver = saver_of_entry(directory, name);
      if (!saver.empty()) file(directory, name, saver);
      return;
    }
    if (kind != FileKind::kDirectory) return;
    const std::unique_ptr<OpenDirectory> inner = directory.open_directory(name);
    const bool is_checkpoint = inner->exists(kIndexName) && inner->exists(kStateName);
    is_checkpoint ? checkpoint(directory, name) : this->directory(*inner);
  }

  // Reports damage that f finds in it. It ignores a checkpoint that was removed meanwhile.
  template <class F>
  void one(const OpenDirectory& parent, const std::string& name, F&& f) {
    VerifiedStored found{path_in(parent.path(), name)};
    try {
      f(found);
    } catch (const RestoreError& e) {
      found.problem = e.message();
    } catch (const Error& e) {
      if (e.code() != Code::kDataLoss && e.code() != Code::kNotFound && e.code() != Code::kInvalidArgument) throw;
      found.problem = e.message();
    }
    if (found.problem.empty() || parent.exists(name)) options_.report(found);
  }

  // Reports it only if it is of no use, since a run would then search.
  void state_file(const OpenDirectory& directory) {
    VerifiedStored found{path_in(directory.path(), kStateFileName)};
    try {
      if (!directory.exists(kStateFileName) || directory.status(kStateFileName).kind != FileKind::kFile) return;
      const auto state = read_checkpoint_state(directory);
      if (!state || !is_entry_name(state->current)) return;  // it is of another directory
      if (directory.exists(state->current) || directory.exists(state->current + ".index")) return;
      found.problem = "it names " + single_quoted(state->current) + ", which is not there";
    } catch (const Error& e) {
      found.problem = e.message();
    }
    options_.report(found);
  }

  FileSystem& files_;
  const VerifyOptions& options_;
  Logger& log_;
};

}  // namespace

void verify_stored(FileSystem& files, const std::string& given, const VerifyOptions& options, Logger& log) {
  const std::string path = path_in(path_parts(given).parent, path_parts(given).name);
  const bool prefix = !files.exists(path) && files.exists(path + ".index");
  const std::string named = prefix ? path + ".index" : path;
  if (!files.exists(named)) fail(Code::kNotFound, fmt::format("[B4025] there is no {}", single_quoted(path)));
  const PathParts parts = path_parts(named);
  Walk walk(files, options, log);
  if (files.status(named).kind != FileKind::kDirectory) {
    const auto parent = files.open_directory(parts.parent);
    const std::string saver =
        options.saver_of_files.empty() ? saver_of_file(*parent, parts.name) : options.saver_of_files;
    if (saver.empty()) fail(Code::kInvalidArgument, fmt::format("[B4033] {}", no_saver_text(files, named, "--saver")));
    return walk.file(*parent, parts.name, saver);
  }
  const std::unique_ptr<OpenDirectory> directory = files.open_directory(named);
  if (is_entry_name(parts.name)) {
    const std::unique_ptr<OpenDirectory> parent = files.open_directory(parts.parent);
    const bool has_parts = directory->exists(kIndexName) && directory->exists(kStateName);
    if (has_parts || step_of_checkpoint(parts.name, basename_in(*parent))) return walk.checkpoint(*parent, parts.name);
  }
  walk.directory(*directory);
}

}  // namespace belay::runtime
