// SPDX-License-Identifier: Apache-2.0
// Removing one checkpoint of a run directory, so that a reader finds it whole or not at all. Under the run's lock.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

// Whether `name` is the checkpoint of that step and has all of its files, by their lengths. A checkpoint comes into the
// directory whole; what damage did since is not looked for.
bool is_complete(const OpenDirectory& run, const std::string& name, std::int64_t step);

// The first entry of a checkpoint that is no part of it; empty where all are. DATA_LOSS where the index cannot tell.
std::string foreign_entry(const OpenDirectory& checkpoint);

// Renames it aside and removes it. One that cannot be removed gets its name back, unless some of it is gone already:
// then remove_leftovers has the rest. `name` is a checkpoint's name.
void remove_checkpoint(OpenDirectory& run, const std::string& name);

// Why a person should think before removing it: it is pinned, one of the best, the only one of the run that can be
// restored, or holds what is no part of it. Empty: nothing needs it. Reads other checkpoints until one is whole.
std::string why_needed(const OpenDirectory& run, const std::string& name, Logger& log);

// Removes it and takes it off the state file and the list of the best; the newest whole one that is left is current
// then. What cannot be written is thrown after the removal.
void remove_and_forget(OpenDirectory& run, const std::string& name, Logger& log);

}  // namespace belay::runtime
