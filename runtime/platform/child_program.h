// SPDX-License-Identifier: Apache-2.0
// Other programs, run to their end: commands of belay in processes of their own, say, of this build or of another one.
// Their standard input is empty, and signals are as a shell would start them, whatever this process has blocked.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace belay::runtime {

struct ChildProgram {
  std::string program;  // a path, or a name that PATH has
  std::vector<std::string> arguments;
  std::string log;  // the file that gets its standard output and error; is made or replaced
};

struct ProgramEnd {
  int status = 0;          // its exit status; 128 and the signal's number where one ended it
  bool timed_out = false;  // or a signal came
};

inline constexpr double kNoTimeLimit = 1e9;  // seconds

// The path of this program; "/proc/self/exe" where another file is there by now.
std::string this_program();

// Starts all of them and waits until the last has ended. One that has not ended after `seconds`, or when `signal`
// (which may be null) is no longer 0, is killed. How they ended, in their order. NOT_FOUND names a program that cannot
// be started; the others are waited for all the same. [any thread]
std::vector<ProgramEnd> run_programs(const std::vector<ChildProgram>& programs, double seconds = kNoTimeLimit,
                                     const std::atomic<int>* signal = nullptr);

}  // namespace belay::runtime
