// SPDX-License-Identifier: Apache-2.0
// A Schedule adds the nodes that compute the learning rate of a step. [optimizer] names it in a manifest:
// learning_rate = { schedule = "half_life", learning_rate = 0.1, steps = 1000 }.
//
//   class HalfLife final : public belay::Schedule {
//    public:
//     struct Options { std::int64_t steps = 1000; };
//     static constexpr auto about = belay::about("half_life", "Halves the rate every so many steps",
//         belay::option("steps", &Options::steps, "until the rate is half of what it was").range(1, 1e15));
//     explicit HalfLife(const Options& o) : o_(o) {}
//     belay::Output build(const belay::ScheduleContext& s) override {
//       const belay::Output half = s.scalar(0.5);
//       return s.learning_rate() * ops::pow(half, s.step() / static_cast<double>(o_.steps));
//     }
//    private: Options o_;
//   };
//
// build comes once per graph, on the main thread; no code of a schedule runs in a step: the nodes do. The host
// multiplies what it returns by the warm-up (warmup_steps beside `schedule`), rounds it to float32 and multiplies it by
// the variable "learning_rate_scale", which hooks lower. So formulas are best written in float64, as step() is: rounded
// once, the rate is within an ulp of the formula's value.
#pragma once

#include "belay/optimizer.h"

namespace belay {
inline namespace v0 {

// What build gets. For the call.
class ScheduleContext {
 public:
  // `given` as detail::read_sized returned it.
  ScheduleContext(const detail::Services* services, const belay_schedule_args& given)
      : args_(given), graph_(&services->graph, args_.graph) {}

  // The training's graph, open. New nodes are in the scope "learning_rate_schedule".
  const Graph& graph() const noexcept { return graph_; }
  // Where the rate starts, >= 0: `learning_rate` beside `schedule`.
  double learning_rate() const noexcept { return args_.learning_rate; }
  // False: the user left it out, and it is the host's default. A schedule that has no use for it refuses it where it is
  // given.
  bool learning_rate_is_given() const noexcept { return (args_.flags & BELAY_SCHEDULE_RATE_IS_GIVEN) != 0; }
  // The steps that were taken before this one, a float64 scalar, and as the graph counts them, an integer scalar.
  Output step() const { return graph_.output(args_.step); }
  Output global_step() const { return graph_.output(args_.global_step); }
  // A float64 constant.
  Output scalar(double value) const { return ops::scalar(graph_, value, DType::kFloat64); }

 private:
  belay_schedule_args args_;
  Graph graph_;
};

// A plugin of the kind "schedule". The rate of step t is
//
//   build's value * min(1, (t + 1) / warmup_steps) * learning_rate_scale
class Schedule : public Plugin {
 public:
  // Returns the rate of a step, a float32 or float64 scalar.
  virtual Output build(const ScheduleContext& schedule) = 0;
};

}  // namespace v0
}  // namespace belay
