// SPDX-License-Identifier: Apache-2.0
// A timer for a hook's actions: every number of steps, or every number of seconds of the host's monotonic clock.
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
// should_trigger_for_step changes nothing; update_last_triggered_step records an action. The first question returns
// true. There is at most one trigger per step. With both periods either one triggers (TensorFlow allows only one; see
// docs/design/differences.md). It has no lock: use it on the session's thread.
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
  // The difference between two actions, for rates such as steps per second.
  struct Elapsed {
    double seconds;
    std::int64_t steps;
  };

  // Makes a timer that never triggers.
  SecondOrStepTimer() = default;
  // Triggers after seconds, steps, or both. It does not check the periods: a hook's options have a range.
  // INVALID_ARGUMENT: neither is set.
  SecondOrStepTimer(std::optional<double> every_secs, std::optional<std::int64_t> every_steps)
      : every_secs_(every_secs), every_steps_(every_steps) {
    if (!every_secs && !every_steps) fail(Code::kInvalidArgument, "give a period: either seconds or steps");
  }

  // Restores the initial state: the next question returns true.
  void reset() noexcept { last_step_.reset(), last_time_ = {}; }

  // True if it is time to act at this step. At least one period is over since the last action, and the step differs.
  // `now` must come from one clock in all calls.
  bool should_trigger_for_step(std::int64_t step, std::chrono::nanoseconds now) const noexcept {
    if (!every_secs_ && !every_steps_) return false;
    if (!last_step_) return true;
    if (*last_step_ == step) return false;
    if (every_secs_ && seconds(now - last_time_) >= *every_secs_) return true;
    return every_steps_ && step - *last_step_ >= *every_steps_;
  }
  // Does the same at the host's time. It reads the clock only for a period in seconds.
  bool should_trigger_for_step(std::int64_t step, const Host& host) const {
    return should_trigger_for_step(step, every_secs_ ? host.monotonic() : std::chrono::nanoseconds{});
  }

  // Records an action at `step`. Returns the difference to the last action; empty for the first.
  std::optional<Elapsed> update_last_triggered_step(std::int64_t step, std::chrono::nanoseconds now) noexcept {
    std::optional<Elapsed> elapsed;
    if (last_step_) elapsed = Elapsed{seconds(now - last_time_), step - *last_step_};
    last_step_ = step;
    last_time_ = now;
    return elapsed;
  }

  // The step of the last action; empty before the first. After a recovery it may be greater than the session's step:
  // call reset then.
  std::optional<std::int64_t> last_triggered_step() const noexcept { return last_step_; }

  // Writes to a hook's state: the step, and the seconds since then, so a resumed run keeps the period. The time between
  // the two runs does not count. Before the first action it writes nothing.
  void save(StateWriter& state, std::chrono::nanoseconds now) const {
    if (!last_step_) return;
    state.put("last_triggered_step", *last_step_);
    state.put("seconds_since", seconds(now - last_time_));
  }
  // Reads the values of save. Other values reset the timer.
  void load(const StateReader& state, std::chrono::nanoseconds now) {
    reset();
    if (!state.has("last_triggered_step")) return;
    const std::int64_t step = state.integer("last_triggered_step");
    const double ago = state.number("seconds_since");
    if (step < 0 || !(ago >= 0 && ago < 1e9)) return;  // not a state of this class
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
