// SPDX-License-Identifier: Apache-2.0
// Finds the stored tensors that a user names, and their saver.
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

#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

struct PathParts {
  std::string parent, name;
};
// Returns "runs" and "mnist" for "runs/mnist/". For "mnist" the parent is ".".
PathParts path_parts(std::string path);
inline std::string path_in(const std::string& parent, std::string_view name) {
  return (parent == "." ? "" : parent == "/" ? "/" : parent + "/") + std::string(name);
}

// Returns the saver of a file without an index, by the ending of its name; empty: it shows none.
std::string saver_of_name(std::string_view name);
// Does the same for any entry: a file of that ending, or for TensorFlow an index with data beside it.
std::string saver_of_entry(const OpenDirectory& directory, const std::string& name);
// Decides by the name, else by the first and last bytes; empty: neither shows the saver.
std::string saver_of_file(const OpenDirectory& directory, const std::string& name);
// Explains an empty result: "'x.pt' is a pickle of Python (torch.save, joblib), no file that a saver reads: ...". Or it
// does not show which saver wrote it, and `option` should name one.
std::string no_saver_text(FileSystem& files, const std::string& path, const std::string& option);

struct StoredPlace {
  std::unique_ptr<CheckpointReader> checkpoint;  // one of belay's; null: the file `path`
  std::string path;
  std::string saver;  // empty: the file does not show it
};

// Accepts a checkpoint, a run directory (its newest whole checkpoint; TensorFlow's current one), the file `best` of a
// run directory, or a file. It also accepts a checkpoint in TensorFlow's sense: the path without ".index". NOT_FOUND
// lists the existing ones. Errors of a checkpoint are those of CheckpointReader::open.
StoredPlace find_stored(FileSystem& files, const std::string& path, Logger& log);

// Returns the common name of several shards: "model" for "model-00001-of-00005".
std::string_view without_shard(std::string_view name) noexcept;

// Returns the step at the end of names by TensorFlow and others: "model.ckpt-1000.index". None: it has none. A shard's
// number is no step.
std::optional<std::int64_t> step_of_file(std::string_view name);

}  // namespace belay::runtime
