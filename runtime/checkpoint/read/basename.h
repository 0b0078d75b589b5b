// SPDX-License-Identifier: Apache-2.0
// Finds the name of a run directory's checkpoints before "-STEP" ([checkpoint] basename), if only the directory is
// known. [any thread]
#pragma once

#include <string>
#include <vector>

#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// Returns all names, that of the state file's current checkpoint first. Empty: there is no checkpoint. A name other
// than the default counts only if the entry has an index.
std::vector<std::string> basenames_in(const OpenDirectory& run);

// Returns the state file's, else the only existing one, else the default.
std::string basename_in(const OpenDirectory& run);

// FAILED_PRECONDITION names the existing ones: the directory has checkpoints, but none with this basename. So a run
// would begin at step 0 beside them. INVALID_ARGUMENT: it is no basename.
void check_basename(const OpenDirectory& run, const std::string& basename);

}  // namespace belay::runtime
