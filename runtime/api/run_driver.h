// SPDX-License-Identifier: Apache-2.0
// Drives a run of a manifest through its stages, for `belay` and for programs alike.
//
//   Diagnostics problems;                        // of the manifest's text
//   PreparedRun run(manifest, options, platform, environment, control);
//   RunDriver driver(run, problems, observer);
//   if (driver.prepare(Preparation::kNames) == RunStatus::kDone) status = driver.run();
//
// If it ends the run, the observer has got the reason.
#pragma once

#include <functional>

#include "runtime/api/run_observer.h"
#include "runtime/estimator/run/prepare.h"

namespace belay::runtime {

// Returns kDone to continue. An error ends the run, and so do problems before the stage or after it.
RunStatus run_stage(RunPart part, Diagnostics& problems, RunObserver& observer, const std::function<void()>& stage);

class RunDriver {
 public:
  // All are borrowed.
  RunDriver(PreparedRun& run, Diagnostics& problems, RunObserver& observer);
  RunDriver(const RunDriver&) = delete;
  RunDriver& operator=(const RunDriver&) = delete;

  // Prepares the run up to this stage, and no further.
  RunStatus prepare(Preparation until);
  // Prepares all of it, and then does the work of the mode.
  RunStatus run();
  // Does the same for a run with the replay's manifest and options.
  RunStatus replay(Replay& replay);

 private:
  RunStatus stage(RunPart part, const std::function<void()>& f);
  RunStatus begin();
  RunStatus train();
  RunStatus finish_training(const TrainingResult& result);
  RunStatus use();
  void predict();
  void sample();

  PreparedRun& run_;
  Diagnostics& problems_;
  RunObserver& observer_;
  const std::function<void()> progress_;
};

}  // namespace belay::runtime
