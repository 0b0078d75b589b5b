// SPDX-License-Identifier: Apache-2.0
// Lists the content of a directory for `belay checkpoint ls`: belay's checkpoints, and foreign files of tensors. It
// reads indexes and lengths, no tensor and no plugin. It works while the run trains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/format/content.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

struct ListedStored {
  std::string name;  // in its directory; TensorFlow's has no ".index"
  std::string path;
  std::optional<std::int64_t> step = {};  // none: a file's name does not have it
  std::int64_t saved_ns = 0;              // since 1970
  std::uint64_t bytes = 0;
  std::string saver = {};      // empty: the index does not have it
  bool is_checkpoint = false;  // true: one of belay's
  bool pinned = false;
  bool current = false;       // the state file names it
  std::size_t best_rank = 0;  // 1: the best one; 0: not among the best
  double best_value = 0;
  // The reason why a run cannot continue from it, as far as index and lengths show it. Only for belay's. Empty: it can.
  // Only verify_stored finds a changed byte.
  std::string problem = {};
};

struct StoredList {
  std::vector<ListedStored> all;  // by step, then by name; those without a step are last
  std::string best_metric = {};   // empty: the run keeps no list of the best
};

// Takes a directory, or a checkpoint or a file alone. NOT_FOUND: the path does not exist.
StoredList list_stored(FileSystem& files, const std::string& path, Logger& log);

// Returns the bytes of a stored file, including the shards of TensorFlow's index and of that of safetensors.
std::uint64_t bytes_of_file(const OpenDirectory& directory, const std::string& name);

}  // namespace belay::runtime
