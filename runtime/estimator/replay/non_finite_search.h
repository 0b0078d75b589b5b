// SPDX-License-Identifier: Apache-2.0
// A replay that looks for the first step that is not finite: the look at each step, the files that it writes, and the
// sentences about it.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/estimator/replay/replay_plan.h"
#include "runtime/estimator/run/train.h"
#include "runtime/estimator/steps/first_non_finite.h"
#include "runtime/estimator/steps/replay_capture.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// The largest step that a run's event files name; 0: there are none, or they cannot be read.
std::int64_t last_step_of_events(FileSystem& files, const std::string& run);

class NonFiniteSearch {
 public:
  // Call it after each step. It writes the tensor of the search, its inputs and the batch. Returns why the replay ends
  // there; empty: it continues.
  std::string look(const WatchedStep& step, const ArrayPlace& place);

  bool found() const noexcept { return found_; }
  // ---- if something was found
  const FirstNonFinite& first() const noexcept { return search_; }
  const std::string& file() const noexcept { return file_; }  // of these tensors

  // ---- for people, each line with its newline
  std::string text(const TrainingResult& result, const ReplayPlan& plan, const std::string& run) const;
  // The text for a step that an operation of the model ended itself, so no values of it exist.
  std::string refused_text(const ReplayPlan& plan, const Error& error) const;

 private:
  void write(const WatchedStep& step, const ArrayPlace& place);

  FirstNonFinite search_;
  bool found_ = false;
  std::int64_t looked_at_ = 0;  // the last step
  std::string file_;
};

}  // namespace belay::runtime
