// SPDX-License-Identifier: Apache-2.0
// Runs a case in a separate process and returns its end.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace belay::runtime {

struct TrialEnd {
  int status = 0;
  bool timed_out = false;
  std::string message;  // the last error of its log; empty: it wrote none

  // True if status and message are the same, except for numbers. Steps, places and sizes differ in a smaller case.
  bool is_like(const TrialEnd& other) const;
};

// Runs `belay run MANIFEST`, with more arguments. Its log is beside the manifest. The run is killed after this number
// of seconds, or when `signal` is not 0 any more. `signal` may be null. [any thread]
TrialEnd run_trial(const std::string& belay, const std::string& manifest, const std::vector<std::string>& more,
                   double seconds, const std::atomic<int>* signal = nullptr);

}  // namespace belay::runtime
