// SPDX-License-Identifier: Apache-2.0
// Finds the checkpoint of a run directory to continue from.
//
// A valid state file decides: it names a checkpoint of this directory that is whole. A newer one is not current. Either
// a save was killed before it wrote the state file, or somebody went back by hand. If the current one is damaged, the
// older ones come next. Only if none of them is whole, a newer one is taken. Without a state file the directory is
// scanned, newest first. A warning names every skipped checkpoint with the reason; it stays in place. Damage leads to
// the next one. So does a checkpoint that crashed two starts (restore_crashes.h). A checkpoint of a later format, or
// one without permission to read, does not: going back past it would lose steps without need.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/checkpoint/read/restore_error.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

// `basename` is the checkpoints' name before "-STEP"; empty: that of basename_in. `unreadable` has unchanged
// checkpoints that their saver could not read, with its error.
//
// Returns it opened, and verified by `check`. With kWhenRead the first one may still be damaged, which its read()
// reports. Then the caller calls again, with it in `unreadable`. The others are verified for any `check`. Null: the
// directory has no checkpoint and its state file names none, so a run may begin at step 0. RestoreError has every
// reason: there are checkpoints, but none can be restored.
std::unique_ptr<CheckpointReader> find_restorable(const OpenDirectory& run, Logger& log, std::string basename = {},
                                                  const std::map<std::string, std::string>& unreadable = {},
                                                  CheckFiles check = CheckFiles::kWhenOpened);

// True if find_restorable would have something to open. It reads the state file and the names, and no checkpoint.
bool holds_checkpoints(const OpenDirectory& run, Logger& log);

// Returns one checkpoint of the directory, opened and verified. Null, with the reason: it is missing or damaged. Throws
// if it may not be read, or has a later format.
std::unique_ptr<CheckpointReader> open_if_whole(const OpenDirectory& run, const std::string& name, std::string& reason,
                                                CheckFiles check = CheckFiles::kWhenOpened);

// Returns the name of the checkpoint that the next start continues from, if it is whole. Restoring it finds its faults.
// Reads no checkpoint. Empty: there is none.
std::string newest_checkpoint(const OpenDirectory& run);

// Returns its path; empty: there is none.
std::string latest_checkpoint(const OpenDirectory& run, Logger& log);

}  // namespace belay::runtime
