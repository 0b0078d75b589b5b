// SPDX-License-Identifier: Apache-2.0
// Removes one checkpoint of a run directory. A reader finds it whole or not at all. Call it under the run's lock.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

// True if `name` is the checkpoint of that step and has all of its files, by their lengths. A checkpoint appears whole
// in the directory. Later damage is not checked.
bool is_complete(const OpenDirectory& run, const std::string& name, std::int64_t step);

// Returns the first entry of a checkpoint that is no part of it; empty: there is none. DATA_LOSS: the index is of no
// use.
std::string foreign_entry(const OpenDirectory& checkpoint);

// Renames it aside and removes it. If it cannot be removed, it gets its name back, unless some of it is gone already.
// Then remove_leftovers removes the rest. `name` is a checkpoint's name.
void remove_checkpoint(OpenDirectory& run, const std::string& name);

// Returns a reason not to remove it: it is pinned, one of the best, the only one of the run that can be restored, or
// has foreign entries. Empty: nothing needs it. Reads other checkpoints until one is whole.
std::string why_needed(const OpenDirectory& run, const std::string& name, Logger& log);

// Removes it, also from the state file and the list of the best. The newest whole one that remains becomes current.
// Errors of these writes are thrown after the removal.
void remove_and_forget(OpenDirectory& run, const std::string& name, Logger& log);

}  // namespace belay::runtime
