// SPDX-License-Identifier: Apache-2.0
#include "runtime/optimizer/learning_rate.h"

#include "belay/ops/control.h"
#include "belay/ops/math.h"
#include "belay/ops/variables.h"
#include "runtime/graph/call_with_graph.h"
#include "runtime/graph/graph_service.h"

namespace belay::runtime {
namespace {

Output number(const Graph& g, double value) { return ops::scalar(g, value, DType::kFloat64); }

Output of_plugin(const LearningRate& rate, const Output& global_step, const Output& step, PluginInstance& schedule) {
  const Graph g = step.graph();
  auto args = detail::sized<belay_schedule_args>();
  args.flags = rate.learning_rate ? BELAY_SCHEDULE_RATE_IS_GIVEN : 0;
  args.graph = g.raw();
  args.learning_rate = rate.number();
  args.global_step = global_step.raw();
  args.step = step.raw();
  belay_output raw{};
  Output rate_of_step;
  const auto take = [&] {
    const Output made = g.output(raw);
    if (made.is_operation() || (made.dtype() != DType::kFloat64 && made.dtype() != DType::kFloat32) || made.rank() != 0)
      fail(Code::kInvalidArgument,
           (made.is_operation() ? "the operation '" + made.name() + "'" : "the rate " + made.text()) +
               " must be a float32 or float64 scalar");
    rate_of_step = made.dtype() == DType::kFloat64 ? made : ops::cast(made, DType::kFloat64);
  };
  call_with_graph_and_take(from_handle(g.raw()), schedule, "build", &belay_schedule_api::build, take,
                           static_cast<const belay_schedule_args*>(&args), &raw);
  return rate_of_step;
}

Output scheduled(const Graph& g, const LearningRate& rate, const Output& global_step, PluginInstance* schedule) {
  if (schedule == nullptr && rate.warmup_steps <= 0)
    return ops::scalar(g, rate.number(), DType::kFloat32, "base_learning_rate");
  const Output step = ops::cast(global_step, DType::kFloat64);
  Output value = schedule == nullptr ? number(g, rate.number()) : of_plugin(rate, global_step, step, *schedule);
  if (rate.warmup_steps > 0)
    value = value * ops::minimum(number(g, 1), (step + 1.0) / static_cast<double>(rate.warmup_steps));
  const Output base = ops::cast(value, DType::kFloat32, "base_learning_rate");
  if (schedule == nullptr) return base;
  // Without this check the weights are lost first, and no message names the schedule.
  return ops::check_numerics(base, "the learning rate of " + schedule->label(), "checked_learning_rate");
}

}  // namespace

Output add_learning_rate(const Graph& graph, const LearningRate& rate, const Output& global_step,
                         PluginInstance* schedule) {
  Output scale = graph.find_if_exists(kLearningRateScale);
  if (!scale) scale = ops::variable(graph, kLearningRateScale, Tensor(1.0f), ops::VariableKind::kGlobal);
  Output base;
  {
    const auto scope = graph.scope("learning_rate_schedule");
    base = scheduled(graph, rate, global_step, schedule);
  }
  const Output result = ops::mul(base, scale, "learning_rate");
  graph.collect("learning_rate", result);
  return result;
}

}  // namespace belay::runtime
