// What this program is, for a checkpoint's fingerprint and --version.
#pragma once

#include <string>

namespace belay::runtime {

// The linker's build id of the running program, in hexadecimal; "unknown" where it has none.
std::string build_id();
// The instruction set that our own loops and oneDNN dispatch to: "x86-64-v4".
std::string isa_text();

}  // namespace belay::runtime
