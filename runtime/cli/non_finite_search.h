// SPDX-License-Identifier: Apache-2.0
// `belay replay DIR --first-non-finite`: what it looks for in each step, and what it says and writes in the end.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "runtime/estimator/first_non_finite.h"
#include "runtime/estimator/replay_capture.h"
#include "runtime/estimator/replay_plan.h"
#include "runtime/estimator/train.h"
#include "runtime/platform/file_system.h"

namespace belay::runtime {

// The largest step that a run's event files name; 0: there are none, or they cannot be read.
std::int64_t last_step_of_events(FileSystem& files, const std::string& run);

class NonFiniteSearch {
 public:
  // Of each step; writes the tensor that was looked for, what it was made from, and the batch. Returns why the replay
  // ends there; empty: it goes on.
  std::string look(const WatchedStep& step, const ArrayPlace& place);

  // An exit status: kExitTrainingFailed where nothing was found.
  int say_end(const TrainingResult& result, const ReplayPlan& plan, const std::string& run, std::ostream& out) const;
  // Where an operation of the model ended the step itself, so that there are no values of it.
  int say_refused(const ReplayPlan& plan, const Error& error, std::ostream& out) const;

 private:
  void write(const WatchedStep& step, const ArrayPlace& place);

  FirstNonFinite search_;
  bool found_ = false;
  std::int64_t looked_at_ = 0;  // the last step
  std::string file_;
};

}  // namespace belay::runtime
