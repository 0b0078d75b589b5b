// SPDX-License-Identifier: Apache-2.0
// Messages for missing threads or memory.
#pragma once

#include <exception>
#include <string>

#include "belay/error.h"

namespace belay::runtime {

// Describes an `error` that reports a missing thread or memory: the resource, the limit of this process and the fix.
// Empty: any other error.
std::string resource_shortage(const std::exception& error);

// Throws RESOURCE_EXHAUSTED: "out of memory: a tensor of 64 bytes; this process may use ...; raise that limit".
[[noreturn]] void fail_no_memory(const std::string& what);

// Returns "this process may use 135000 KiB of address space (ulimit -v); raise that limit"; empty: it has no such
// limit.
std::string memory_limit_of_process();

// Returns the limit that makes threads fail to start, and the fix: "this user may run 3 processes ... (ulimit -u)".
std::string thread_limit_text();

}  // namespace belay::runtime
