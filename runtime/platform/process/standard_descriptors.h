// SPDX-License-Identifier: Apache-2.0
// Descriptors 0, 1 and 2 of this process.
#pragma once

namespace belay::runtime {

// Opens /dev/null for each of them that is closed. A daemon or a wrong redirection may start a program so. Otherwise
// the next opened file gets the number, and texts for people are written into it. Call it first in main, before any
// other file. False: /dev/null cannot be opened.
bool open_standard_descriptors() noexcept;

}  // namespace belay::runtime
