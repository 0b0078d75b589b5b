// SPDX-License-Identifier: Apache-2.0
// What a run that was killed while saving left in its directory.
#pragma once

#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

// Removes unfinished checkpoints, with one line in the log, and puts back a checkpoint whose replacement did not get
// into its place. Call it when a run starts, under the run's lock and before anything is restored. What cannot be
// removed is a warning.
void remove_leftovers(OpenDirectory& run, Logger& log);

}  // namespace belay::runtime
