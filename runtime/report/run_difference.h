// SPDX-License-Identifier: Apache-2.0
// Compares two runs by their directories: the differences in manifest, plugins and fingerprint, and the last step with
// equal bits. It reads indexes, states and metrics.jsonl, but no variables. It loads no plugin and takes no lock. [any
// thread]
//
//   const RunComparison d = difference_of_runs(files, "runs/a", "runs/b", log);
//   d.last_equal, d.first_different      between them the runs part
#pragma once

#include <string>

#include "belay/runtime/compare_runs.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

// NOT_FOUND: one of them is no run's directory. It skips a checkpoint with an unreadable index, with a warning.
RunComparison difference_of_runs(FileSystem& files, const std::string& a, const std::string& b, Logger& log);

}  // namespace belay::runtime
