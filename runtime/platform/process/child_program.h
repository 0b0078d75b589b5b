// SPDX-License-Identifier: Apache-2.0
// Runs other programs to their end, such as commands of belay in separate processes, of this build or another. Their
// standard input is empty. Signals are as in a shell, even if this process has blocked some.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace belay::runtime {

struct ChildProgram {
  std::string program;  // a path, or a name in PATH
  std::vector<std::string> arguments;
  std::string log;  // gets standard output and error; made or replaced
};

struct ProgramEnd {
  int status = 0;          // exit status, or 128 plus the number of the signal that ended it
  bool timed_out = false;  // also if a signal came
};

inline constexpr double kNoTimeLimit = 1e9;  // seconds

// Returns the path of this program; "/proc/self/exe" if another file has that path now.
std::string this_program();

// Starts all programs and waits for the last one. It kills those that still run after `seconds`, or when `signal` is
// not 0 any more. `signal` may be null. Returns their ends in order. NOT_FOUND names a program that cannot be started;
// the others are still waited for. [any thread]
std::vector<ProgramEnd> run_programs(const std::vector<ChildProgram>& programs, double seconds = kNoTimeLimit,
                                     const std::atomic<int>* signal = nullptr);

}  // namespace belay::runtime
