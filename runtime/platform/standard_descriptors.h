// SPDX-License-Identifier: Apache-2.0
// Descriptors 0, 1 and 2 of this process.
#pragma once

namespace belay::runtime {

// Opens /dev/null for each of them that is closed, as a program finds it that a daemon or a wrong redirection started.
// Otherwise the next file that is opened gets the number, and what is written for people goes into it. First in main,
// before any other file. False where /dev/null cannot be opened.
bool open_standard_descriptors() noexcept;

}  // namespace belay::runtime
