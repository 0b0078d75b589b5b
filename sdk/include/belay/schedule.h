// SPDX-License-Identifier: Apache-2.0
// A Schedule adds the nodes that compute the learning rate of a step. [optimizer] names it in a manifest: learning_rate
// = { schedule = "half_life", learning_rate = 0.1, steps = 1000 }.
//
//   class HalfLife final : public belay::Schedule {
//    public:
//     struct Options { std::int64_t steps = 1000; };
//     static constexpr auto about = belay::about("half_life", "Halves the learning rate at a fixed number of steps",
//         belay::option("steps", &Options::steps, "number of steps in which the rate halves").range(1, 1e15));
//     explicit HalfLife(const Options& o) : o_(o) {}
//     belay::Output build(const belay::ScheduleContext& s) override {
//       const belay::Output half = s.scalar(0.5);
//       return s.learning_rate() * ops::pow(half, s.step() / static_cast<double>(o_.steps));
//     }
//    private: Options o_;
//   };
//
// build comes once per graph, on the main thread. No code of a schedule runs in a step: its nodes do. The host
// multiplies the result by the warm-up (warmup_steps in the same table) and rounds it to float32. Then it multiplies it
// by the variable "learning_rate_scale", which hooks lower. So write formulas in float64, like step(). Rounded once,
// the rate is within an ulp of the formula's value.
#pragma once

#include "belay/optimizer.h"

namespace belay {
inline namespace v0 {

// The arguments of build. It is valid for the call.
class ScheduleContext {
 public:
  // For the SDK: `given` is the result of detail::read_sized.
  ScheduleContext(const detail::Services* services, const belay_schedule_args& given)
      : args_(given), graph_(&services->graph, args_.graph) {}

  // The training's graph, open. New nodes are in the scope "learning_rate_schedule".
  const Graph& graph() const noexcept { return graph_; }
  // The initial rate, >= 0: `learning_rate` in the same table as `schedule`.
  double learning_rate() const noexcept { return args_.learning_rate; }
  // False if the user did not set it, so it is the host's default. A schedule without a use for it refuses a given
  // rate.
  bool learning_rate_is_given() const noexcept { return (args_.flags & BELAY_SCHEDULE_RATE_IS_GIVEN) != 0; }
  // The number of steps before this step: as a float64 scalar, and as the graph's own integer scalar.
  Output step() const { return graph_.output(args_.step); }
  Output global_step() const { return graph_.output(args_.global_step); }
  // Makes a float64 constant.
  Output scalar(double value) const { return ops::scalar(graph_, value, DType::kFloat64); }

 private:
  belay_schedule_args args_;
  Graph graph_;
};

// The base of plugins of the kind "schedule". The rate of step t is
//
//   build's value * min(1, (t + 1) / warmup_steps) * learning_rate_scale
class Schedule : public Plugin {
 public:
  // Returns the rate of a step, a float32 or float64 scalar. An error ends the run before its first step. [main]
  virtual Output build(const ScheduleContext& schedule) = 0;
};

}  // namespace v0
}  // namespace belay
