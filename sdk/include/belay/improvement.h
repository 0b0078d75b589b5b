// SPDX-License-Identifier: Apache-2.0
// Tests if a watched value still improves, for hooks that act when it does not.
//
//   class Patience final : public belay::Hook {
//     ...
//     void after_run(belay::RunContext& run, const belay::RunValues& values) override {
//       const auto look = metric_.look(run.session(), values, host());                 // a WatchedMetric
//       if (!look) return;
//       improvement_.look(look->value, look->step);
//       if (improvement_.looks_without() >= patience_) run.request_stop("no improvement");
//     }
//     void save_state(belay::StateWriter& s) const override { improvement_.save(s); }
//     void load_state(const belay::StateReader& s) override { improvement_.load(s); }
//     belay::Improvement improvement_{belay::Better::kSmaller, 0.001};
//   };
//
// A value is better if it beats the best value by more than min_delta, an absolute difference. NaN is never better.
// Small steps do not add up: with min_delta 0.1 the values 1, 0.95, 0.89 have their second best at 0.89.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "belay/better.h"
#include "belay/hook.h"

namespace belay {
inline namespace v0 {

class Improvement {
 public:
  // min_delta must be at least 0, which is not checked: a hook's option has a range.
  Improvement(Better better, double min_delta) noexcept : better_(better), min_delta_(min_delta) {}

  // Sets the direction, for a hook that knows it only in begin. The best value stays.
  void set_better(Better better) noexcept { better_ = better; }

  // Records the value of this step. Returns true if it is the best so far; the first value that is not NaN is.
  bool look(double value, std::int64_t step) noexcept {
    if (!since_step_) since_step_ = step;
    if (!is_better(value)) {
      ++looks_without_;
      return false;
    }
    best_ = value;
    since_step_ = best_step_ = step;
    looks_without_ = 0;
    return true;
  }
  // Restarts both counts: looks from zero, steps from this one; the best value stays. Call it after an action, such as
  // a lower learning rate.
  void restart(std::int64_t step) noexcept {
    looks_without_ = 0;
    since_step_ = step;
  }

  // Number of looks since the best value or the last restart.
  std::int64_t looks_without() const noexcept { return looks_without_; }
  // Number of steps to this step from that of the best value or of the last restart, else from the first look's. Use it
  // for a patience in steps.
  std::int64_t steps_without(std::int64_t step) const noexcept { return step - since_step_.value_or(step); }
  // The best value; empty before the first value that is not NaN.
  std::optional<double> best() const noexcept { return best_; }
  // The step of the best value; 0 before it.
  std::int64_t best_step() const noexcept { return best_step_; }

  // Writes to a hook's state. `better` and min_delta come from the options and are not saved.
  void save(StateWriter& state) const {
    state.put("looks_without", looks_without_);
    if (since_step_) state.put("since_step", *since_step_);
    if (!best_) return;
    state.put("best", *best_);
    state.put("best_step", best_step_);
  }
  // Reads the values of save. An older state without "since_step" counts from the best value's step.
  void load(const StateReader& state) {
    looks_without_ = state.integer("looks_without");
    best_.reset();
    since_step_.reset();
    if (state.has("best")) best_ = state.number("best");
    best_step_ = state.integer("best_step");
    if (best_) since_step_ = best_step_;
    if (state.has("since_step")) since_step_ = state.integer("since_step");
  }

 private:
  bool is_better(double value) const noexcept {
    if (std::isnan(value)) return false;
    if (!best_) return true;
    return better_ == Better::kSmaller ? value < *best_ - min_delta_ : value > *best_ + min_delta_;
  }

  Better better_;
  double min_delta_;
  std::optional<double> best_;
  std::int64_t best_step_ = 0;
  std::optional<std::int64_t> since_step_;
  std::int64_t looks_without_ = 0;
};

}  // namespace v0
}  // namespace belay
