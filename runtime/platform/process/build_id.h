// SPDX-License-Identifier: Apache-2.0
// Identifies this program and its libraries, for a checkpoint's fingerprint and --version.
#pragma once

#include <string>

namespace belay::runtime {

// Returns the linker's build id of the running program, in hexadecimal; "unknown": it has none.
std::string build_id();
// Returns the build id of the library at this address. If it has none, a hash of its constant parts. Empty: there is no
// library.
std::string build_id_of(const void* address);
// Returns the instruction set that our loops use: "x86-64-v4".
std::string isa_text();
// Returns the loaded C library: "glibc 2.36". Its libm computes functions for which a kernel has no loop. Empty: it
// does not name itself.
std::string c_library_text();

}  // namespace belay::runtime
