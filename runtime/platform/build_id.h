// SPDX-License-Identifier: Apache-2.0
// What this program and its libraries are, for a checkpoint's fingerprint and --version.
#pragma once

#include <string>

namespace belay::runtime {

// The linker's build id of the running program, in hexadecimal; "unknown" where it has none.
std::string build_id();
// The same of the library that the address lies in; of one without a build id, a hash of what it never writes. Empty
// where no library is there.
std::string build_id_of(const void* address);
// The instruction set that our own loops dispatch to: "x86-64-v4".
std::string isa_text();
// The C library that is loaded, whose libm computes what a kernel has no loop of its own for: "glibc 2.36". Empty if it
// does not say which it is.
std::string c_library_text();

}  // namespace belay::runtime
