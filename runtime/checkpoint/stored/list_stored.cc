// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/stored/list_stored.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "belay/error.h"
#include "runtime/checkpoint/format/index.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_file.h"
#include "runtime/checkpoint/read/basename.h"
#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/checkpoint/read/stored_place.h"
#include "runtime/checkpoint/write/pinned.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::string_view kIndexEnding = ".index";
constexpr std::string_view kShardsEnding = ".safetensors.index.json", kShardEnding = ".safetensors";

// Reads the index and the lengths of the files.
void look_at_parts(const OpenDirectory& checkpoint, ListedStored& listed) {
  if (!checkpoint.exists(kIndexName)) fail(Code::kDataLoss, "[B4018] index is missing");
  const FileStatus status = checkpoint.status(kIndexName);
  listed.saved_ns = status.modified_ns;
  const CheckpointIndex index = parse_index(checkpoint.read(kIndexName, kMaxIndexBytes));
  listed.saver = index.saver;
  listed.bytes = status.size;
  if (listed.step && *listed.step != index.global_step)
    fail(Code::kDataLoss, fmt::format("[B4020] its index is of step {}", index.global_step));
  listed.step = index.global_step;
  for (const FileEntry& f : index.files) {
    listed.bytes += f.length;
    if (!checkpoint.exists(f.name)) fail(Code::kDataLoss, fmt::format("[B4018] {} is missing", f.name));
    const std::uint64_t size = checkpoint.status(f.name).size;
    if (size != f.length)
      fail(Code::kDataLoss, fmt::format("[B4019] {} has {} bytes, but the index records {}", f.name, size, f.length));
  }
}

ListedStored listed_checkpoint(const OpenDirectory& parent, const std::string& name, const std::string& basename) {
  ListedStored listed{name, path_in(parent.path(), name)};
  listed.is_checkpoint = true;
  listed.step = step_of_checkpoint(name, basename);
  try {
    const FileStatus status = parent.status(name);
    listed.saved_ns = status.modified_ns;
    if (status.kind != FileKind::kDirectory) fail(Code::kDataLoss, "[B4018] it is no directory");
    listed.pinned = is_pinned(parent, name);
    look_at_parts(*parent.open_directory(name), listed);
  } catch (const Error& e) {
    listed.problem = e.message();
  }
  return listed;
}

ListedStored listed_file(const OpenDirectory& parent, const std::string& name, const std::string& saver) {
  const std::string shown = name.ends_with(kIndexEnding) ? name.substr(0, name.size() - kIndexEnding.size()) : name;
  ListedStored listed{shown, path_in(parent.path(), shown)};
  listed.step = step_of_file(name);
  listed.saved_ns = parent.status(name).modified_ns;
  listed.bytes = bytes_of_file(parent, name);
  listed.saver = saver;
  return listed;
}

bool is_checkpoint_directory(const OpenDirectory& parent, const std::string& name) {
  return parent.status(name).kind == FileKind::kDirectory && parent.open_directory(name)->exists(kIndexName);
}

// Adds the run's facts about its checkpoints. An unreadable one is a warning, since the list also serves to inspect
// broken runs.
void add_what_the_run_says(const OpenDirectory& run, StoredList& list, Logger& log) {
  const auto attempt = [&](const auto& f) {
    try {
      f();
    } catch (const Error& e) {
      log.warning("checkpoint", e.what());
    }
  };
  std::string current;
  attempt([&] {
    if (const auto state = read_checkpoint_state(run)) current = state->current;
  });
  std::optional<BestList> best;
  attempt([&] { best = read_best_list(run); });
  if (best) list.best_metric = best->metric;
  for (ListedStored& c : list.all) {
    c.current = c.name == current;
    for (std::size_t i = 0; best && c.is_checkpoint && i < best->checkpoints.size(); ++i)
      if (checkpoint_name(best->checkpoints[i].step, best->basename) == c.name)
        c.best_rank = i + 1, c.best_value = best->checkpoints[i].value;
  }
}

void add_entry(const OpenDirectory& directory, const std::string& name, const std::string& basename, StoredList& list) {
  if (name.starts_with('.') || checkpoint_of_temporary(name) || checkpoint_of_replaced(name)) return;
  try {
    if (step_of_checkpoint(name, basename) || is_checkpoint_directory(directory, name)) {
      list.all.push_back(listed_checkpoint(directory, name, basename));
    } else if (const std::string saver = saver_of_entry(directory, name); !saver.empty()) {
      list.all.push_back(listed_file(directory, name, saver));
    }
  } catch (const Error& e) {
    if (e.code() != Code::kNotFound) throw;  // the run removed it meanwhile
  }
}

StoredList list_directory(const OpenDirectory& directory) {
  StoredList list;
  const std::string basename = basename_in(directory);
  for (const std::string& name : directory.entries()) add_entry(directory, name, basename, list);
  std::stable_sort(list.all.begin(), list.all.end(), [](const ListedStored& a, const ListedStored& b) {
    return a.step && b.step ? *a.step < *b.step : a.step.has_value() > b.step.has_value();
  });
  return list;
}

}  // namespace

std::uint64_t bytes_of_file(const OpenDirectory& directory, const std::string& name) {
  std::uint64_t bytes = directory.status(name).size;
  const auto base = [&](std::string_view ending) { return name.substr(0, name.size() - ending.size()); };
  const auto add = [&](const auto& is_its) {
    for (const std::string& entry : directory.entries())
      if (is_its(entry)) bytes += directory.status(entry).size;
    return bytes;
  };
  if (name.ends_with(kIndexEnding))
    return add([data = base(kIndexEnding) + ".data-"](const std::string& entry) { return entry.starts_with(data); });
  if (name.ends_with(kShardsEnding))
    return add([data = base(kShardsEnding)](std::string_view entry) {
      return entry.ends_with(kShardEnding) &&
             without_shard(entry.substr(0, entry.size() - kShardEnding.size())) == data;
    });
  return bytes;
}

StoredList list_stored(FileSystem& files, const std::string& given, Logger& log) {
  const std::string path = path_in(path_parts(given).parent, path_parts(given).name);
  const bool prefix = !files.exists(path) && files.exists(path + std::string(kIndexEnding));
  const std::string named = prefix ? path + std::string(kIndexEnding) : path;
  if (!files.exists(named)) fail(Code::kNotFound, fmt::format("[B4025] there is no {}", single_quoted(path)));
  const PathParts parts = path_parts(named);
  StoredList list;
  if (files.status(named).kind != FileKind::kDirectory) {
    const auto parent = files.open_directory(parts.parent);
    list.all.push_back(listed_file(*parent, parts.name, saver_of_file(*parent, parts.name)));
    return list;
  }
  const std::unique_ptr<OpenDirectory> directory = files.open_directory(named);
  const bool one = directory->exists(kIndexName) && is_entry_name(parts.name);
  const std::unique_ptr<OpenDirectory> parent = one ? files.open_directory(parts.parent) : nullptr;
  if (one) list.all.push_back(listed_checkpoint(*parent, parts.name, basename_in(*parent)));
  if (!one) list = list_directory(*directory);
  add_what_the_run_says(one ? *parent : *directory, list, log);
  return list;
}

}  // namespace belay::runtime
