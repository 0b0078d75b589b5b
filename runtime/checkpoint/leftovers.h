// SPDX-License-Identifier: Apache-2.0
// What a run that was killed while saving left in its directory.
#pragma once

#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

// Removes unfinished checkpoints and files, and a checkpoint whose removal had begun, with one line in the log; puts
// back a whole one whose replacement did not get into its place. Call it when a run starts, under the run's lock and
// before anything is restored. What cannot be removed is a warning.
void remove_leftovers(OpenDirectory& run, Logger& log);

}  // namespace belay::runtime
