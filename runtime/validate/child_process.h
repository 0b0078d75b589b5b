// SPDX-License-Identifier: Apache-2.0
// Runs work in a separate process, so its damage stays there.
#pragma once

#include <functional>
#include <string>

namespace belay::runtime {

struct ChildOutcome {
  std::string report;  // result of the work; empty: it did not get that far
  std::string ending;  // the abnormal end of the process: "crashed with signal 11 (Segmentation fault)"; else empty
  std::string output;  // standard output, at most 64 KiB
  std::string errors;  // standard error
};

// Forks, so there must be no other threads. A process is killed after `seconds`.
ChildOutcome run_in_child(const std::function<std::string()>& work, double seconds);

}  // namespace belay::runtime
