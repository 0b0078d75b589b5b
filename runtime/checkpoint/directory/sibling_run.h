// SPDX-License-Identifier: Apache-2.0
// For a run that is about to begin at step 0: finds the run beside it that was perhaps meant. A mistyped directory is a
// new one, and the user would not notice that hours of training were not continued.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

struct SiblingRun {
  std::string path;
  std::int64_t step = 0;  // of its newest checkpoint
};

// Returns the directory beside `run_path` with the nearest name whose newest checkpoint has this graph's hash. It looks
// at a hundred at most and skips unreadable ones.
std::optional<SiblingRun> find_sibling_run(FileSystem& files, const std::string& run_path,
                                           const std::string& graph_hash);

}  // namespace belay::runtime
