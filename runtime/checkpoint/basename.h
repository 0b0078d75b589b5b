// SPDX-License-Identifier: Apache-2.0
// What the checkpoints of a run directory are called, before "-STEP" ([checkpoint] basename), where only the directory
// is known. [any thread]
#pragma once

#include <string>
#include <vector>

#include "runtime/platform/file_system.h"

namespace belay::runtime {

// All names that are there, that of the state file's current checkpoint first. Empty: it holds no checkpoint. What is
// called otherwise than by default counts only where it has an index.
std::vector<std::string> basenames_in(const OpenDirectory& run);

// The state file's, else the only one that is there, else the default.
std::string basename_in(const OpenDirectory& run);

// FAILED_PRECONDITION, with the names that are there, where the directory holds checkpoints and none of them is called
// so: a run would begin at step 0 beside them. INVALID_ARGUMENT for what is no basename.
void check_basename(const OpenDirectory& run, const std::string& basename);

}  // namespace belay::runtime
