// SPDX-License-Identifier: Apache-2.0
// File descriptors that are held back for the host's own files. Where a plugin has used up all others of the process, a
// save still finds the few that it needs: the file system opens with one of these, and holds one again as soon as it
// has closed something. What a plugin opens itself (a saver that calls fopen) has no part in it. [any thread]
#pragma once

namespace belay::runtime {

// From now on. Fewer than are wanted where the process may have no more.
void hold_spare_descriptors() noexcept;
// One is free for the next open; false: none is held. Keeps errno where it returns false.
bool release_spare_descriptor() noexcept;
// Something was closed: takes back what was released.
void restore_spare_descriptors() noexcept;

}  // namespace belay::runtime
