// SPDX-License-Identifier: Apache-2.0
// For a run that is about to begin at step 0: the run beside it that was perhaps meant. A mistyped directory is a new
// one, and it would go unnoticed that hours of training were not continued.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/platform/file_system.h"

namespace belay::runtime {

struct SiblingRun {
  std::string path;
  std::int64_t step = 0;  // of its newest checkpoint
};

// Of the directories beside `run_path` the one of the nearest name whose newest checkpoint has this graph's hash. Looks
// at a hundred at most; what cannot be read is passed over.
std::optional<SiblingRun> find_sibling_run(FileSystem& files, const std::string& run_path,
                                           const std::string& graph_hash);

}  // namespace belay::runtime
