// SPDX-License-Identifier: Apache-2.0
// `belay run --trace[=FILE]`: the file that a training traces into.
#pragma once

#include <optional>
#include <string>

#include "runtime/estimator/run/prepared_run.h"
#include "runtime/monitored/layers/run_trace.h"
#include "runtime/platform/threads/activity.h"

namespace belay::runtime {

// On the thread that trains, for as long as it lives. After open_directory().
class CommandTrace {
 public:
  // `file`: empty: trace.json in the run's directory. Of several processes that train together each has a file: that of
  // rank 2 is trace-2.json.
  CommandTrace(PreparedRun& run, const std::string& file);
  ~CommandTrace();
  CommandTrace(const CommandTrace&) = delete;
  CommandTrace& operator=(const CommandTrace&) = delete;

 private:
  PreparedRun& run_;
  std::optional<RunTrace> trace_;
  std::optional<ObservesActivity> observing_;
};

// An exit status; what is wrong is in the run's log.
int open_trace(std::optional<CommandTrace>& trace, PreparedRun& run, const std::string& file);

}  // namespace belay::runtime
