// SPDX-License-Identifier: Apache-2.0
// File descriptors that are kept for the host's files. If a plugin has used up all others, a save still has the few
// that it needs. The file system opens with one of these, and keeps one again after it has closed something. Files that
// a plugin opens itself (a saver that calls fopen) do not use them. [any thread]
#pragma once

namespace belay::runtime {

// Keeps descriptors from now on; fewer than wanted if the process may have no more.
void hold_spare_descriptors() noexcept;
// Frees one for the next open; false: none is kept. It keeps errno if it returns false.
bool release_spare_descriptor() noexcept;
// Something was closed: takes back the released ones.
void restore_spare_descriptors() noexcept;

}  // namespace belay::runtime
