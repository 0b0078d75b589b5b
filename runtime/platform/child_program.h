// SPDX-License-Identifier: Apache-2.0
// Another program, run to its end, with what it writes to standard error. Its standard input is empty and its standard
// output goes nowhere; signals are as a shell would start it, whatever this process has blocked.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace belay::runtime {

struct ProgramOutcome {
  int status = 0;  // its exit status; 128 and the signal's number where one ended it
  bool timed_out = false;
  std::string errors;  // the last of what it wrote, kMostErrors bytes at most
};

inline constexpr std::size_t kMostErrors = std::size_t{1} << 20;

// Killed after `seconds`. NOT_FOUND where there is no such program. [any thread]
ProgramOutcome run_program(const std::string& path, const std::vector<std::string>& arguments, double seconds);

}  // namespace belay::runtime
