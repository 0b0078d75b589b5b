// SPDX-License-Identifier: Apache-2.0
// What a user may name as tensors that are stored, and which saver reads it.
//
//   StoredPlace place = find_stored(files, "runs/mnist", log);             // its newest whole checkpoint
//   StoredPlace place = find_stored(files, "bert/model.safetensors", log); // by the name, else by the content
//   StoredPlace place = find_stored(files, "tf/model.ckpt-1000", log);     // tf/model.ckpt-1000.index
//
// [any thread]
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

// "runs" and "mnist" of "runs/mnist/"; of "mnist" the parent is ".".
struct PathParts {
  std::string parent, name;
};
PathParts path_parts(std::string path);
inline std::string path_in(const std::string& parent, std::string_view name) {
  return (parent == "." ? "" : parent == "/" ? "/" : parent + "/") + std::string(name);
}

// The saver of a file that no index describes, by the ending of its name; empty where that says nothing.
std::string saver_of_name(std::string_view name);
// The same of an entry that may be anything: a file of that ending, of TensorFlow's index with data beside it.
std::string saver_of_entry(const OpenDirectory& directory, const std::string& name);
// The same by the name, else by the first and last bytes; empty where neither says anything.
std::string saver_of_file(const OpenDirectory& directory, const std::string& name);
// Why it is empty: "'x.pt' is a pickle of Python (torch.save, joblib), no file that a saver reads: ...", or that it
// does not show which saver wrote it, and that `option` names one.
std::string no_saver_text(FileSystem& files, const std::string& path, const std::string& option);

struct StoredPlace {
  std::unique_ptr<CheckpointReader> checkpoint;  // of belay's own; null: the file `path`
  std::string path;
  std::string saver;  // empty: of a file that says nothing
};

// A checkpoint, a run directory (its newest whole checkpoint; of TensorFlow's the one that its state file names), the
// file `best` of a run directory, a file, or what TensorFlow calls a checkpoint: the path without ".index". NOT_FOUND
// with what there is; errors of a checkpoint as those of CheckpointReader::open.
StoredPlace find_stored(FileSystem& files, const std::string& path, Logger& log);

// Of one shard of several what all of them are called: "model" of "model-00001-of-00005".
std::string_view without_shard(std::string_view name) noexcept;

// Of the names that TensorFlow and others end with the step: "model.ckpt-1000.index"; none of others. A shard's number
// is no step.
std::optional<std::int64_t> step_of_file(std::string_view name);

}  // namespace belay::runtime
