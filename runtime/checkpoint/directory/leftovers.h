// SPDX-License-Identifier: Apache-2.0
// Cleans up after a run that was killed while saving.
#pragma once

#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

// Removes unfinished checkpoints and files, and a checkpoint whose removal had begun, with one line in the log.
// Restores a whole one whose replacement did not get its name. Call it when a run starts, under the run's lock and
// before anything is restored. If something cannot be removed, that is a warning.
void remove_leftovers(OpenDirectory& run, Logger& log);

}  // namespace belay::runtime
