// SPDX-License-Identifier: Apache-2.0
// What to say where threads or memory cannot be had.
#pragma once

#include <exception>
#include <string>

#include "belay/error.h"

namespace belay::runtime {

// Where `error` says that a thread could not be started or memory could not be had: what is short, the limit of this
// process and the cure. Empty for any other error.
std::string resource_shortage(const std::exception& error);

// RESOURCE_EXHAUSTED: "out of memory: a tensor of 64 bytes; this process may use ...; raise that limit".
[[noreturn]] void fail_no_memory(const std::string& what);

// "this process may use 135000 KiB of address space (ulimit -v); raise that limit"; empty: it has no such limit.
std::string memory_limit_of_process();

// The limit that makes threads fail to start, and the cure: "this user may run 3 processes ... (ulimit -u)".
std::string thread_limit_text();

}  // namespace belay::runtime
