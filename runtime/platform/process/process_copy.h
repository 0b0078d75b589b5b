// SPDX-License-Identifier: Apache-2.0
// Handles copies of this process that something in it forked. A plugin may fork to run another program. If a copy came
// back into the host, it would train in the same run directory, with the same lock. So a copy knows that it is one,
// however it was made. It does not keep the descriptors that only the host may have.
//
//   own_process();                             // main, first thing
//   if (is_process_copy()) end_now(3);         // a load and a comparison: for hot paths
//
// A program that does not call own_process() has no copies: is_process_copy() is always false.
#pragma once

#include <cstdint>

namespace belay::runtime {

extern const volatile std::uint32_t* process_mark;  // 0 in a copy: the kernel clears its page there

inline bool is_process_copy() noexcept { return *process_mark == 0; }

// True in the process that called own_process. False in a copy, and in a child that shares its memory (vfork).
bool is_own_process() noexcept;

// Ends this process at once, like _exit, for which the program has its own function (runtime/cli/watch/end_report.cc).
[[noreturn]] void end_now(int status) noexcept;
// The exit status after a failure that a plugin caused.
inline constexpr int kPluginFailure = 3;

// Reports that a copy made by a plugin calls the host's `service`, and ends the copy. [any thread]
[[noreturn]] void end_copy_in(const char* service) noexcept;

// Declares that this process is no copy: at its start, and in a child that the host itself forked. [main]
void own_process();

// Marks a descriptor that fork closes in the copy, since any copy of a lock's descriptor holds the lock. A copy that
// was made without fork (a raw clone) keeps it until it ends. [any thread]
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
