// SPDX-License-Identifier: Apache-2.0
// `belay run --trace[=FILE]`: the file into which a training traces.
#pragma once

#include <optional>
#include <string>

#include "runtime/estimator/run/prepared_run.h"
#include "runtime/monitored/layers/run_trace.h"
#include "runtime/platform/threads/activity.h"

namespace belay::runtime {

// It traces the training thread for as long as it lives. Make it after open_directory().
class CommandTrace {
 public:
  // `file`: empty: trace.json in the run's directory. If several processes train together, each has a file:
  // trace-2.json is that of rank 2.
  CommandTrace(PreparedRun& run, const std::string& file);
  ~CommandTrace();
  CommandTrace(const CommandTrace&) = delete;
  CommandTrace& operator=(const CommandTrace&) = delete;

 private:
  PreparedRun& run_;
  std::optional<RunTrace> trace_;
  std::optional<ObservesActivity> observing_;
};

// Returns an exit status; the run's log has the error.
int open_trace(std::optional<CommandTrace>& trace, PreparedRun& run, const std::string& file);

}  // namespace belay::runtime
