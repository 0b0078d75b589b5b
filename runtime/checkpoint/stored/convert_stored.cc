// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/stored/convert_stored.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "belay/error.h"
#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/checkpoint/format/index.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_data.h"
#include "runtime/checkpoint/read/stored_place.h"
#include "runtime/checkpoint/write/checkpoint_writer.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::string_view kGlobalStep = "global_step";

std::int64_t step_of(const std::vector<NamedTensor>& tensors, const std::string& path) {
  for (const NamedTensor& t : tensors) {
    const TensorView view(t.tensor);
    if (t.name == kGlobalStep && view.dtype() == DType::kInt64 && view.size() == 1)
      return std::max<std::int64_t>(view.scalar<std::int64_t>(), 0);
  }
  return step_of_file(path_parts(path).name).value_or(0);
}

// Returns a checkpoint's state, with the hooks' tensors in memory.
RunState copied_state(const CheckpointReader& checkpoint) {
  RunState state = checkpoint.state();
  for_each_tensor(state, [](const std::string&, const std::string&, StateTensor& t) {
    t.memory = std::const_pointer_cast<void>(elements_of(t));
  });
  return state;
}

template <class F>
void attempt_cleaning(Logger& log, F&& f) noexcept {
  try {
    f();
  } catch (const std::exception& e) {
    log.warning("checkpoint", std::string("cannot clean up: ") + e.what());
  }
}

// Removes the directory of a killed conversion to the same target.
void remove_hidden(OpenDirectory& parent, const std::string& target, Logger& log) {
  for (const std::string& entry : parent.entries())
    if (is_hidden_name_of(entry, target)) attempt_cleaning(log, [&] { parent.remove_tree(entry); });
}

// The directory in which a copy is made. The destructor removes it with its content.
class HiddenDirectory {
 public:
  HiddenDirectory(OpenDirectory& parent, const std::string& target, Logger& log)
      : parent_(parent), log_(log), name_(hidden_name(target)) {
    remove_hidden(parent, target, log);
    directory_ = parent.make_directory(name_);
  }
  HiddenDirectory(const HiddenDirectory&) = delete;
  HiddenDirectory& operator=(const HiddenDirectory&) = delete;
  ~HiddenDirectory() {
    directory_.reset();
    attempt_cleaning(log_, [&] { parent_.remove_tree(name_); });
  }
  OpenDirectory& directory() { return *directory_; }

 private:
  OpenDirectory& parent_;
  Logger& log_;
  const std::string name_;
  std::unique_ptr<OpenDirectory> directory_;
};

using Names = std::vector<std::pair<std::string, std::string>>;

// Returns new names for the saver's files. A file may name others inside it, which must keep their names. So only
// TensorFlow's common prefix, or a single file, can be renamed.
Names renamed(const CheckpointIndex& index, const std::string& target) {
  std::vector<std::string> names;
  for (const FileEntry& f : index.files)
    if (!is_hosts_file(f.name)) names.push_back(f.name);
  if (names.size() == 1) return {{names.front(), target}};
  constexpr std::string_view kEnding = ".index";
  const auto table =
      std::find_if(names.begin(), names.end(), [&](const std::string& n) { return n.ends_with(kEnding); });
  std::vector<std::pair<std::string, std::string>> all;
  if (table != names.end() && target.ends_with(kEnding)) {
    const std::string stem = table->substr(0, table->size() - kEnding.size()) + ".";
    const std::string to = target.substr(0, target.size() - kEnding.size()) + ".";
    for (const std::string& n : names)
      if (n != *table && n.starts_with(stem)) all.emplace_back(n, to + n.substr(stem.size()));
    all.emplace_back(*table, target);  // last: without it no reader looks at the others
  }
  if (all.size() != names.size())
    fail(Code::kInvalidArgument,
         fmt::format("[B4027] the saver wrote {} files, which keep their names: give a directory in place of {}",
                     names.size(), single_quoted(target)));
  return all;
}

void refuse_what_is_there(const OpenDirectory& parent, const std::string& name) {
  if (parent.exists(name))
    fail(Code::kAlreadyExists, fmt::format("[B4028] {} exists, and nothing is replaced: remove it or name another",
                                           single_quoted(path_in(parent.path(), name))));
}

bool replaces_file(const OpenDirectory& parent, const std::string& name, IfThere if_there) {
  return if_there == IfThere::kReplaceFile && parent.exists(name) && parent.status(name).kind == FileKind::kFile;
}

// Renames the files of the checkpoint at `made` to their names in `parent`, all of them or none. The last one is the
// one that readers look for. Only a single file is replaced, since between two renames there would be files of both.
void place_files(FileSystem& files, const std::string& made, OpenDirectory& parent, const Names& names, Logger& log,
                 IfThere if_there) {
  for (const auto& [from, to] : names)
    if (names.size() != 1 || !replaces_file(parent, to, if_there)) refuse_what_is_there(parent, to);
  std::size_t placed = 0;
  try {
    for (const auto& [from, to] : names) {
      if (placed != 0 && placed + 1 == names.size()) parent.sync();
      files.rename(made + "/" + from, path_in(parent.path(), to));
      ++placed;
    }
  } catch (const Error&) {
    for (std::size_t i = 0; i < placed; ++i) attempt_cleaning(log, [&] { parent.remove(names[i].second); });
    throw;
  }
}

}  // namespace

StoredCopy read_copy(const StoredTensors& stored, const SaverUse& saver, const CheckpointReader* checkpoint,
                     const std::function<bool(const std::string&)>& wanted) {
  StoredCopy copy;
  std::vector<TensorInfo> tensors = stored.tensors();
  std::erase_if(tensors, [&](const TensorInfo& t) { return !wanted(t.name); });
  std::copy_if(tensors.begin(), tensors.end(), std::back_inserter(copy.left_out),
               [](const TensorInfo& t) { return !is_readable(t); });
  std::erase_if(tensors, [](const TensorInfo& t) { return !is_readable(t); });
  if (tensors.empty())
    fail(Code::kInvalidArgument,
         fmt::format("[B4022] {} has no tensor that is wanted and can be read", single_quoted(stored.path())));
  copy.tensors = std::make_unique<TensorMemory>(tensors);
  stored.read(saver, copy.tensors->tensors());
  if (checkpoint != nullptr) {
    copy.state = copied_state(*checkpoint);
    copy.graph_hash = checkpoint->index().graph_hash;
    copy.schema = checkpoint->schema();
  } else {
    copy.state.global_step = step_of(copy.tensors->tensors(), stored.path());
  }
  return copy;
}

void write_copy(FileSystem& files, const StoredCopy& copy, const std::string& target, const SaverUse& saver,
                const Clock& clock, Logger& log) {
  CheckpointContent content;
  static_cast<RunState&>(content) = copy.state;
  content.graph_hash = copy.graph_hash;
  if (saver_of_name(path_parts(target).name).empty())
    content.schema = copy.schema;
  else if (!copy.schema.empty())
    log.info("",
             escaped(target) +
                 " does not record which columns and classes the training had: one file of tensors has no room for it");
  content.variables = copy.tensors->tensors();
  CheckpointSettings settings;
  settings.refuse_non_finite = false;
  write_stored(files, content, target, saver, clock, log, settings);
}

void write_stored(FileSystem& files, const CheckpointContent& content, const std::string& target, const SaverUse& saver,
                  const Clock& clock, Logger& log, const CheckpointSettings& settings, IfThere if_there) {
  const PathParts parts = path_parts(target);
  const std::unique_ptr<OpenDirectory> parent = files.open_directory(parts.parent);
  if (!replaces_file(*parent, parts.name, if_there)) refuse_what_is_there(*parent, parts.name);
  std::optional<RunLock> lock;
  if (parse_checkpoint_name(parts.name) && parent->exists(kLockName)) lock = RunLock::take(*parent, clock);

  HiddenDirectory hidden(*parent, parts.name, log);
  const std::string name = write_checkpoint(hidden.directory(), content, saver, log, settings);
  const std::string made = hidden.directory().path() + "/" + name;
  if (saver_of_name(parts.name).empty()) {
    files.rename(made, path_in(parts.parent, parts.name));
  } else {
    const auto index = parse_index(hidden.directory().open_directory(name)->read(kIndexName, kMaxIndexBytes));
    place_files(files, made, *parent, renamed(index, parts.name), log, if_there);
  }
  parent->sync();
}

}  // namespace belay::runtime
