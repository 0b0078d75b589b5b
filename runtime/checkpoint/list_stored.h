// SPDX-License-Identifier: Apache-2.0
// What lies in a directory, for `belay checkpoint ls`: belay's checkpoints, and files of tensors by others. Reads
// indexes and lengths, no tensor and no plugin; works beside the run that trains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/content.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

struct ListedStored {
  std::string name;  // in its directory; of TensorFlow's without ".index"
  std::string path;
  std::optional<std::int64_t> step = {};  // none: a file's name does not say
  std::int64_t saved_ns = 0;              // since 1970
  std::uint64_t bytes = 0;
  std::string saver = {};      // empty: the index cannot say
  bool is_checkpoint = false;  // of belay's own
  bool pinned = false;
  bool current = false;       // the state file names it
  std::size_t best_rank = 0;  // 1: the best one; 0: not among the best
  double best_value = 0;
  // Why a run cannot go on from it, as far as its index and the lengths of its files show: belay's own only. Empty: it
  // can. A changed byte is found by verify_stored alone.
  std::string problem = {};
};

struct StoredList {
  std::vector<ListedStored> all;  // by step, then by name; those without a step behind
  std::string best_metric = {};   // empty: the run keeps no list of the best
};

// Of a directory; of a checkpoint or a file, that one. NOT_FOUND where the path is not there.
StoredList list_stored(FileSystem& files, const std::string& path, Logger& log);

// Bytes of the files that make up a stored file: of TensorFlow's index and of that of safetensors the shards, too.
std::uint64_t bytes_of_file(const OpenDirectory& directory, const std::string& name);

}  // namespace belay::runtime
