// SPDX-License-Identifier: Apache-2.0
// Decides when a training evaluates. It is asked at each step's boundary, after the checkpoint of that step, if there
// was one.
//
//   EvalSchedule schedule(settings, clock);
//   if (schedule.begin(step, roles.last_step())) { evaluate; schedule.evaluated(step); }
//   ... each step ...
//   if (schedule.due(step, saved)) { evaluate; schedule.evaluated(step); }
//
// The steps of `every_steps` are its multiples, wherever an attempt begins. So a killed and continued run evaluates at
// the same steps as an undisturbed one. Seconds, of every_secs and throttle_secs, count from the end of the previous
// evaluation. So training gets that time, however long an evaluation takes. The clock is read only for them.
#pragma once

#include <cstdint>

#include "belay/runtime/eval_settings.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

class EvalSchedule {
 public:
  // Both are borrowed.
  EvalSchedule(const EvalSettings& settings, const Clock& clock);

  // Whether it ever evaluates between two steps.
  bool active() const noexcept { return every_steps_ > 0 || every_ns_ > 0 || settings_.at_checkpoint; }
  // Call it before an attempt's first step, with the step of the last evaluation (-1: none). True: this step's
  // evaluation is missing, since the previous attempt ended between its checkpoint and its evaluation.
  bool begin(std::int64_t step, std::int64_t last_evaluated);
  // Call it after each run, with its last step. After a recovery that may be an earlier step.
  bool due(std::int64_t step, bool saved);
  // Call it after an evaluation, whatever its result is.
  void evaluated(std::int64_t step);
  std::int64_t last_evaluated() const noexcept { return last_evaluated_; }
  // The number of due evaluations that were not made, because of start_delay_secs or throttle_secs.
  std::int64_t skipped() const noexcept { return skipped_; }

 private:
  bool steps_due(std::int64_t step) const;
  bool too_soon() const;

  const EvalSettings& settings_;
  const Clock& clock_;
  const std::int64_t every_steps_;  // 0: off, as the others
  const std::int64_t every_ns_;
  const std::int64_t start_delay_ns_;
  const std::int64_t throttle_ns_;
  std::int64_t began_ns_ = 0;  // if seconds count
  std::int64_t ended_ns_ = 0;  // of the last evaluation of this attempt; before it, began_ns_
  bool evaluated_ = false;     // in this attempt
  std::int64_t last_step_ = 0;
  std::int64_t last_evaluated_ = -1;
  std::int64_t skipped_ = 0;
};

}  // namespace belay::runtime
