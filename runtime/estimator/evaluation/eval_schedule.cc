// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/eval_schedule.h"

namespace belay::runtime {
namespace {

std::int64_t eval_ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

}  // namespace

EvalSchedule::EvalSchedule(const EvalSettings& settings, const Clock& clock)
    : settings_(settings),
      clock_(clock),
      every_steps_(settings.every_steps.value_or(0)),
      every_ns_(eval_ns(settings.every_secs.value_or(0))),
      start_delay_ns_(eval_ns(settings.start_delay_secs)),
      throttle_ns_(eval_ns(settings.throttle_secs)) {}

bool EvalSchedule::begin(std::int64_t step, std::int64_t last_evaluated) {
  last_step_ = step;
  last_evaluated_ = last_evaluated;
  evaluated_ = false;
  if (every_ns_ > 0 || start_delay_ns_ > 0) began_ns_ = ended_ns_ = clock_.monotonic_ns();
  // After step 0 no evaluation can be missing. Another step is that of a checkpoint.
  const bool multiple = every_steps_ > 0 && step % every_steps_ == 0;
  if (step <= 0 || step == last_evaluated || !(multiple || settings_.at_checkpoint)) return false;
  if (!too_soon()) return true;
  ++skipped_;
  return false;
}

bool EvalSchedule::steps_due(std::int64_t step) const {
  return every_steps_ > 0 && step / every_steps_ != last_step_ / every_steps_;
}

// If there is nothing to wait for, the clock is not read.
bool EvalSchedule::too_soon() const {
  const bool throttled = throttle_ns_ > 0 && evaluated_;
  if (start_delay_ns_ == 0 && !throttled) return false;
  const std::int64_t now = clock_.monotonic_ns();
  return now - began_ns_ < start_delay_ns_ || (throttled && now - ended_ns_ < throttle_ns_);
}

bool EvalSchedule::due(std::int64_t step, bool saved) {
  if (step < last_step_) {  // a recovery restored an earlier step: later evaluations are made again
    last_step_ = step - 1;
    if (last_evaluated_ >= step) last_evaluated_ = -1;
  }
  const bool wanted = steps_due(step) || (saved && settings_.at_checkpoint);
  last_step_ = step;
  if (step == last_evaluated_) return false;
  if (every_ns_ > 0 && clock_.monotonic_ns() - ended_ns_ >= every_ns_ && !too_soon()) return true;
  if (!wanted) return false;
  if (!too_soon()) return true;
  ++skipped_;
  return false;
}

void EvalSchedule::evaluated(std::int64_t step) {
  evaluated_ = true;
  last_evaluated_ = step;
  if (every_ns_ > 0 || throttle_ns_ > 0) ended_ns_ = clock_.monotonic_ns();
}

}  // namespace belay::runtime
