// SPDX-License-Identifier: Apache-2.0
// A piece of work in a process of its own, so that whatever it does to its process is done to that one.
#pragma once

#include <functional>
#include <string>

namespace belay::runtime {

struct ChildOutcome {
  std::string report;  // what the work returned; empty where it did not get that far
  std::string ending;  // empty, or how the process ended otherwise: "crashed with signal 11 (Segmentation fault)"
  std::string output;  // what it wrote to standard output, at most 64 KiB
  std::string errors;  // and to standard error
};

// Forks, so there must be no other threads. A process that has not ended after `seconds` is killed.
ChildOutcome run_in_child(const std::function<std::string()>& work, double seconds);

}  // namespace belay::runtime
