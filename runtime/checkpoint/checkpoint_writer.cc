// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <set>
#include <vector>

#include "runtime/checkpoint/index.h"
#include "runtime/checkpoint/names.h"
#include "runtime/checkpoint/pinned.h"
#include "runtime/checkpoint/run_state.h"
#include "runtime/checkpoint/saver_directory.h"
#include "runtime/checkpoint/state_data.h"
#include "runtime/checkpoint/tensor_bytes.h"
#include "runtime/platform/crc32c.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

// The temporary directory, from its making to its place; takes back what was not finished.
class UnfinishedCheckpoint {
 public:
  UnfinishedCheckpoint(OpenDirectory& run, std::string name, Logger& log)
      : run_(run),
        log_(log),
        name_(std::move(name)),
        temporary_(temporary_name(name_)),
        replaced_(replaced_name(name_)) {
    refuse_foreign();
    try {
      directory_ = run_.make_directory(temporary_);
    } catch (const Error&) {
      if (run_.exists(temporary_)) attempt([&] { run_.remove_tree(temporary_); });
      throw;
    }
  }
  UnfinishedCheckpoint(const UnfinishedCheckpoint&) = delete;
  UnfinishedCheckpoint& operator=(const UnfinishedCheckpoint&) = delete;
  ~UnfinishedCheckpoint() {
    if (finished_) return;
    directory_.reset();
    if (placed_) attempt([&] { run_.rename(name_, temporary_); });
    if (moved_aside_) attempt([&] { run_.rename(replaced_, name_); });
    attempt([&] { run_.remove_tree(temporary_); });
  }

  OpenDirectory& directory() { return *directory_; }

  // Also where the one that is replaced was pinned: this step stays so.
  void pin_if(bool pinned) {
    if (pinned || is_pinned(run_, name_)) pin(*directory_);
  }

  void place() {
    directory_.reset();
    if (run_.exists(name_)) {
      run_.rename(name_, replaced_);
      moved_aside_ = true;
    }
    run_.rename(temporary_, name_);
    placed_ = true;
    run_.sync();
    finished_ = true;
    if (moved_aside_) attempt([&] { run_.remove_tree(replaced_); });
  }

 private:
  // What would be replaced must be a checkpoint, whole or not: nothing of the user's is renamed or removed.
  void refuse_foreign() const {
    if (!run_.exists(name_)) return;
    const bool is_checkpoint =
        run_.status(name_).kind == FileKind::kDirectory && run_.open_directory(name_)->exists(kIndexName);
    if (!is_checkpoint)
      fail(Code::kAlreadyExists,
           single_quoted(run_.path() + "/" + name_) + " exists and is no checkpoint (it has no index); move it away");
  }
  // What fails here waits for remove_leftovers.
  template <class F>
  void attempt(F&& f) noexcept {
    try {
      f();
    } catch (const std::exception& e) {
      log_.warning("checkpoint", std::string("cannot clean up after a save: ") + e.what());
    }
  }

  OpenDirectory& run_;
  Logger& log_;
  std::string name_, temporary_, replaced_;
  std::unique_ptr<OpenDirectory> directory_;
  bool moved_aside_ = false, placed_ = false, finished_ = false;
};

[[noreturn]] void fail_non_finite(const NamedTensor& v, std::uint64_t at) {
  fail(Code::kDiverged, "variable " + single_quoted(v.name) + " is not finite: element " + std::to_string(at) + " of " +
                            dims_text(v.tensor.dims, v.tensor.rank) + " is " +
                            std::to_string(TensorView(v.tensor).number(at)));
}

void check_storable(const CheckpointContent& content) {
  if (content.global_step < 0)
    fail(Code::kInvalidArgument,
         "the global step is " + std::to_string(content.global_step) + "; it must not be negative");
  std::set<std::string_view> names;
  for (const NamedTensor& v : content.variables) {
    const auto dtype = static_cast<DType>(v.tensor.dtype);
    if (dtype == DType::kString)
      fail(Code::kUnimplemented,
           "variable " + single_quoted(v.name) + " is of type string; a checkpoint holds numbers");
    if (!byte_size(dtype, v.tensor.dims, v.tensor.rank))
      fail(Code::kInvalidArgument, "variable " + single_quoted(v.name) + " has no size: " + dtype_name(dtype) + " " +
                                       dims_text(v.tensor.dims, v.tensor.rank));
    if (v.name.empty() || !names.insert(v.name).second)
      fail(Code::kInvalidArgument,
           v.name.empty() ? "a variable has no name" : "two variables have the same name: " + single_quoted(v.name));
  }
}

// Reads every element once.
CheckpointIndex describe(const CheckpointContent& content, const SaverUse& saver, const CheckpointSettings& settings) {
  CheckpointIndex index{saver.name, saver.version, content.graph_hash, content.global_step, {}, {}};
  index.tensors.reserve(content.variables.size());
  for (const NamedTensor& v : content.variables) {
    const TensorView view(v.tensor);
    const TensorDigest found = digest(v.tensor);
    if (settings.refuse_non_finite && found.non_finite) fail_non_finite(v, *found.non_finite);
    index.tensors.push_back({{v.name, view.dtype(), view.dims()}, found.crc});
  }
  return index;
}

// A file that came into the directory past the host's service has no checksum, and was not synced.
void check_left(const OpenDirectory& directory, const std::vector<FileEntry>& files) {
  for (const std::string& entry : directory.entries()) {
    const FileStatus status = directory.status(entry);
    const char* kind = status.kind == FileKind::kDirectory ? "a directory"
                       : status.kind == FileKind::kSymlink ? "a symbolic link"
                       : status.kind == FileKind::kOther   ? "no regular file"
                                                           : nullptr;
    if (kind != nullptr) fail(Code::kInternal, "it left " + single_quoted(entry) + ", which is " + kind);
    const auto known = std::find_if(files.begin(), files.end(), [&](const FileEntry& f) { return f.name == entry; });
    if (known == files.end() || known->length != status.size)
      fail(Code::kInternal, "it left " + single_quoted(entry) + ", which it did not write through the host");
  }
}

std::vector<FileEntry> call_saver(OpenDirectory& directory, const std::vector<NamedTensor>& variables,
                                  const SaverUse& saver) {
  SaverDirectory files = SaverDirectory::for_writing(directory);
  TensorsToWrite tensors(variables);
  call_write(saver, files.handle(), tensors.handle());
  try {
    std::vector<FileEntry> written = files.written();
    check_left(directory, written);
    return written;
  } catch (const Error& e) {
    fail(e.code(), "saver " + single_quoted(saver.name) + ": " + std::string(e.message()));
  }
}

FileEntry write_file(OpenDirectory& directory, std::string_view name, std::string_view text) {
  const std::unique_ptr<OpenFile> file = directory.create(name);
  file->write(text.data(), text.size());
  file->sync();
  file->close();
  return {std::string(name), text.size(), crc32c(text)};
}

}  // namespace

std::string write_checkpoint(OpenDirectory& run, const CheckpointContent& content, const SaverUse& saver, Logger& log,
                             const CheckpointSettings& settings, bool pinned) {
  std::string name = checkpoint_name(content.global_step, settings.basename);
  try {
    check_storable(content);
    CheckpointIndex index = describe(content, saver, settings);
    const std::string state = format_run_state(content);
    parse_run_state(state);  // what could not be read back is not written

    UnfinishedCheckpoint unfinished(run, name, log);
    OpenDirectory& directory = unfinished.directory();
    index.files = call_saver(directory, content.variables, saver);
    if (has_tensors(content)) index.files.push_back(write_state_data(directory, content));
    if (!content.manifest.empty()) index.files.push_back(write_file(directory, kManifestName, content.manifest));
    index.files.push_back(write_file(directory, kStateName, state));
    const std::string text = format_index(index);
    parse_index(text);
    write_file(directory, kIndexName, text);
    unfinished.pin_if(pinned);
    directory.sync();
    unfinished.place();
  } catch (const Error& e) {
    fail(e.code(), "cannot save " + single_quoted(run.path() + "/" + name) + ": " + std::string(e.message()));
  }
  return name;
}

}  // namespace belay::runtime
