// SPDX-License-Identifier: Apache-2.0
// When a hook acts: every so many steps, or every so many seconds of the host's monotonic clock.
//
//   class Shout final : public belay::Hook {
//     ...
//     void begin(belay::Graph& graph) override { step_ = belay::GlobalStep(graph); }
//     belay::RunArgs before_run(belay::RunContext&) override { return {step_.fetch()}; }
//     void after_run(belay::RunContext& run, const belay::RunValues& values) override {
//       if (!timer_.should_trigger_for_step(step_.predicted(values), host())) return;
//       const std::int64_t step = step_.read(run.session());
//       if (!timer_.should_trigger_for_step(step, host())) return;
//       host().info("step " + std::to_string(step));
//       timer_.update_last_triggered_step(step, host().monotonic());
//     }
//     belay::GlobalStep step_;
//     belay::SecondOrStepTimer timer_{std::nullopt, 100};                        // every 100 steps
//   };
//
// Asking does not change anything; update_last_triggered_step records that the hook acted. The first question is always
// answered yes. At most one trigger per step. With both periods either one triggers (TensorFlow allows only one; see
// docs/design/differences.md). No locks: the session's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "belay/error.h"
#include "belay/hook.h"

namespace belay {
inline namespace v0 {

class SecondOrStepTimer {
 public:
  // Between two times that the hook acted: for rates such as steps per second.
  struct Elapsed {
    double seconds;
    std::int64_t steps;
  };

  // A timer that never triggers.
  SecondOrStepTimer() = default;
  // Seconds, steps, or both; neither is INVALID_ARGUMENT. Periods are not checked: a hook's options have a range.
  SecondOrStepTimer(std::optional<double> every_secs, std::optional<std::int64_t> every_steps)
      : every_secs_(every_secs), every_steps_(every_steps) {
    if (!every_secs && !every_steps) fail(Code::kInvalidArgument, "give a period: either seconds or steps");
  }

  // As new: the next question is answered yes.
  void reset() noexcept { last_step_.reset(), last_time_ = {}; }

  // Whether it is time at this step: since the last time at least one period is over, and the step is another one.
  // `now`: of the same clock in every call.
  bool should_trigger_for_step(std::int64_t step, std::chrono::nanoseconds now) const noexcept {
    if (!every_secs_ && !every_steps_) return false;
    if (!last_step_) return true;
    if (*last_step_ == step) return false;
    if (every_secs_ && seconds(now - last_time_) >= *every_secs_) return true;
    return every_steps_ && step - *last_step_ >= *every_steps_;
  }
  // The same at the host's time; the clock is read only where seconds count.
  bool should_trigger_for_step(std::int64_t step, const Host& host) const {
    return should_trigger_for_step(step, every_secs_ ? host.monotonic() : std::chrono::nanoseconds{});
  }

  // The hook acted at `step`. Returns what passed since the last time; nothing for the first.
  std::optional<Elapsed> update_last_triggered_step(std::int64_t step, std::chrono::nanoseconds now) noexcept {
    std::optional<Elapsed> elapsed;
    if (last_step_) elapsed = Elapsed{seconds(now - last_time_), step - *last_step_};
    last_step_ = step;
    last_time_ = now;
    return elapsed;
  }

  // Nothing before the first time. After a recovery it may lie ahead of the session's step: reset then.
  std::optional<std::int64_t> last_triggered_step() const noexcept { return last_step_; }

  // For a hook's state: the step, and how long ago it was, so that a resumed run keeps the period; the time between the
  // two runs does not count. Before the first time nothing is written.
  void save(StateWriter& state, std::chrono::nanoseconds now) const {
    if (!last_step_) return;
    state.put("last_triggered_step", *last_step_);
    state.put("seconds_since", seconds(now - last_time_));
  }
  // What save wrote; anything else leaves it as new.
  void load(const StateReader& state, std::chrono::nanoseconds now) {
    reset();
    if (!state.has("last_triggered_step")) return;
    const std::int64_t step = state.integer("last_triggered_step");
    const double ago = state.number("seconds_since");
    if (step < 0 || !(ago >= 0 && ago < 1e9)) return;  // no state of this class
    last_step_ = step;
    last_time_ = now - std::chrono::nanoseconds(static_cast<std::int64_t>(ago * 1e9));
  }

 private:
  static double seconds(std::chrono::nanoseconds t) noexcept { return std::chrono::duration<double>(t).count(); }

  std::optional<double> every_secs_;
  std::optional<std::int64_t> every_steps_;
  std::optional<std::int64_t> last_step_;
  std::chrono::nanoseconds last_time_{};
};

}  // namespace v0
}  // namespace belay
