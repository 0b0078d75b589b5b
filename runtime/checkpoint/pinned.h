// SPDX-License-Identifier: Apache-2.0
// Pinned checkpoints: those that hold a file `pinned`, also one made by hand. Retention removes none of them, and a
// save of the same step keeps the mark. Needs no lock, so it works beside the run. [any thread]
#pragma once

#include <string>

#include "runtime/platform/file_system.h"

namespace belay::runtime {

// Of a checkpoint that cannot be looked into: true, so that it stays. False where it is missing.
bool is_pinned(const OpenDirectory& run, const std::string& name) noexcept;

// Makes or removes the mark, durably; false where that was so before.
bool pin(OpenDirectory& checkpoint);
bool unpin(OpenDirectory& checkpoint);

}  // namespace belay::runtime
