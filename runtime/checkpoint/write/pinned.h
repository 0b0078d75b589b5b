// SPDX-License-Identifier: Apache-2.0
// Pinned checkpoints have a file `pinned`, which may be made by hand. Retention removes none of them, and a save of the
// same step keeps the mark. It needs no lock, so it works while the run trains. [any thread]
#pragma once

#include <string>

#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// Returns true if a checkpoint cannot be read, so that it stays. False if it is missing.
bool is_pinned(const OpenDirectory& run, const std::string& name) noexcept;

// Makes or removes the mark, durably; false: nothing changed.
bool pin(OpenDirectory& checkpoint);
bool unpin(OpenDirectory& checkpoint);

}  // namespace belay::runtime
