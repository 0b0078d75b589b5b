// SPDX-License-Identifier: Apache-2.0
// Which checkpoint of a run directory to go on from.
//
// The state file decides when it is valid: it names a checkpoint of this directory, and that one is whole. One that is
// newer is not current, whether a save was killed before it wrote the state file or somebody went back by hand. Where
// the current one is damaged the older ones come next, and only where none of them is whole a newer one. Without a
// state file the directory is scanned, newest first. Every checkpoint that is passed over is named in a warning with
// its reason, and left where it is. Damage leads to the next one, and so does a checkpoint that crashed two starts
// (restore_crashes.h); a checkpoint of a later format or one that may not be read does not, since going back past it
// would lose steps that are not lost.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/restore_error.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

// `basename`: what the checkpoints are called, before "-STEP"; empty: as basename_in says. `unreadable`: those that are
// as they were written, but whose saver could not read them, with what it said.
//
// Opened, and verified as `check` says: with kWhenRead the first one may be damaged all the same, which its read()
// reports; a caller then calls again, with it in `unreadable`. The others are verified whatever `check` is. Null where
// the directory holds no checkpoint and its state file names none: a run may begin at step 0. RestoreError, with every
// reason, where there are checkpoints but none can be restored.
std::unique_ptr<CheckpointReader> find_restorable(const OpenDirectory& run, Logger& log, std::string basename = {},
                                                  const std::map<std::string, std::string>& unreadable = {},
                                                  CheckFiles check = CheckFiles::kWhenOpened);

// Whether there is anything for find_restorable to open. Reads the state file and the names, and no checkpoint.
bool holds_checkpoints(const OpenDirectory& run, Logger& log);

// One checkpoint of the directory, opened and verified; null with the reason where it is missing or damaged. What may
// not be read, or is of a later format, is thrown.
std::unique_ptr<CheckpointReader> open_if_whole(const OpenDirectory& run, const std::string& name, std::string& reason,
                                                CheckFiles check = CheckFiles::kWhenOpened);

// The name of the checkpoint that the next start goes on from if it is whole; restoring says what is wrong with it.
// Reads no checkpoint. Empty: there is none.
std::string newest_checkpoint(const OpenDirectory& run);

// Its path; empty where there is none.
std::string latest_checkpoint(const OpenDirectory& run, Logger& log);

}  // namespace belay::runtime
