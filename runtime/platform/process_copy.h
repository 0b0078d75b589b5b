// SPDX-License-Identifier: Apache-2.0
// Copies of this process that something in it forked. A plugin may fork to run another program; a copy that comes back
// into the host instead would train on in the same run directory, with the same lock. So a copy knows that it is one,
// however it was made, and does not keep the descriptors that only the host may hold.
//
//   own_process();                             // main, first thing
//   if (is_process_copy()) end_now(3);         // a load and a comparison: for hot paths
//
// A program that does not call own_process() has no copies: is_process_copy() is false everywhere.
#pragma once

#include <cstdint>

namespace belay::runtime {

extern const volatile std::uint32_t* process_mark;  // 0 in a copy: the kernel clears its page there

inline bool is_process_copy() noexcept { return *process_mark == 0; }

// Whether this is the process that called own_process, and neither a copy nor a child that shares its memory (vfork).
bool is_own_process() noexcept;

// Ends this process at once, as _exit does, which the program has one of its own of (runtime/cli/end_report.cc).
[[noreturn]] void end_now(int status) noexcept;

// In a copy that a plugin made, and that calls the host's `service`: says so and ends it. [any thread]
[[noreturn]] void end_copy_in(const char* service) noexcept;

// This process is no copy: at its start, and in a child that the host itself forked. [main]
void own_process();

// A descriptor that fork closes in the copy: a lock is held as long as any copy of its descriptor. A copy that was made
// without fork (a raw clone) keeps it until it ends. [any thread]
class NotInCopies {
 public:
  explicit NotInCopies(int fd) noexcept;
  ~NotInCopies();
  NotInCopies(const NotInCopies&) = delete;
  NotInCopies& operator=(const NotInCopies&) = delete;

 private:
  int place_;  // -1: there was no room
};

}  // namespace belay::runtime
