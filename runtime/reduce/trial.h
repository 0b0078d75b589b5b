// SPDX-License-Identifier: Apache-2.0
// A case, run in a process of its own, and how that ended.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace belay::runtime {

struct TrialEnd {
  int status = 0;
  bool timed_out = false;
  std::string message;  // the last error of its log; empty: it wrote none

  // The same status, and the same message but for its numbers: steps, places and sizes are others in a smaller case.
  bool is_like(const TrialEnd& other) const;
};

// Runs `belay run MANIFEST`, with more arguments; its log is beside the manifest. It is killed after so many
// seconds, or when `signal` (which may be null) is no longer 0. [any thread]
TrialEnd run_trial(const std::string& belay, const std::string& manifest, const std::vector<std::string>& more,
                   double seconds, const std::atomic<int>* signal = nullptr);

}  // namespace belay::runtime
