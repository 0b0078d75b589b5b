// SPDX-License-Identifier: Apache-2.0
#include "runtime/optimizer/learning_rate.h"

#include <algorithm>
#include <numbers>
#include <string>
#include <vector>

#include "belay/nearest.h"
#include "belay/ops/math.h"
#include "belay/ops/variables.h"

namespace belay::runtime {
namespace {

Output number(const Graph& g, double value) { return ops::scalar(g, value, DType::kFloat64); }

// How often the rate has decayed.
Output decays(const LearningRate& r, const Output& step) {
  const Output count = step / static_cast<double>(r.decay_steps);
  return r.staircase ? ops::floor(count) : count;
}

Output exponential_decay(const LearningRate& r, const Output& step) {
  return r.learning_rate * ops::pow(number(step.graph(), r.decay_rate), decays(r, step));
}

Output natural_exp_decay(const LearningRate& r, const Output& step) {
  return r.learning_rate * ops::exp(decays(r, step) * -r.decay_rate);
}

Output inverse_time_decay(const LearningRate& r, const Output& step) {
  return r.learning_rate / (decays(r, step) * r.decay_rate + 1.0);
}

Output piecewise_constant(const LearningRate& r, const Output& step) {
  const Graph g = step.graph();
  Output value = number(g, r.values.back());
  for (std::size_t i = r.boundaries.size(); i-- > 0;)
    value = ops::select(ops::less_equal(step, number(g, static_cast<double>(r.boundaries[i]))), number(g, r.values[i]),
                        value);
  return value;
}

Output polynomial_decay(const LearningRate& r, const Output& step) {
  const Graph g = step.graph();
  const Output decay_steps = number(g, static_cast<double>(r.decay_steps));
  Output fraction;
  if (r.cycle) {
    const Output cycles = ops::maximum(number(g, 1), -ops::floor(-(step / decay_steps)));
    fraction = step / (decay_steps * cycles);
  } else {
    fraction = ops::minimum(step, decay_steps) / decay_steps;
  }
  return (r.learning_rate - r.end_learning_rate) * ops::pow(1.0 - fraction, number(g, r.power)) + r.end_learning_rate;
}

Output cosine_decay(const LearningRate& r, const Output& step) {
  const Graph g = step.graph();
  const Output decay_steps = number(g, static_cast<double>(r.decay_steps));
  const Output fraction = ops::minimum(step, decay_steps) / decay_steps;
  const Output cosine = (ops::cos(fraction * std::numbers::pi) + 1.0) * 0.5;
  return r.learning_rate * (cosine * (1 - r.alpha) + r.alpha);
}

using Schedule = Output (*)(const LearningRate&, const Output& step);
struct NamedSchedule {
  const char* name;
  Schedule value;
  bool by_decay_steps;
};
constexpr NamedSchedule kSchedules[] = {
    {"exponential_decay", exponential_decay, true},   {"natural_exp_decay", natural_exp_decay, true},
    {"inverse_time_decay", inverse_time_decay, true}, {"piecewise_constant", piecewise_constant, false},
    {"polynomial_decay", polynomial_decay, true},     {"cosine_decay", cosine_decay, true},
};

// Null: the rate is a constant.
const NamedSchedule* find_schedule(const LearningRate& r) {
  if (r.schedule.empty() || r.schedule == "constant") return nullptr;
  std::vector<std::string> all{"constant"};
  for (const NamedSchedule& s : kSchedules) {
    if (r.schedule == s.name) return &s;
    all.emplace_back(s.name);
  }
  const std::string known = nearest(r.schedule, all);
  fail(Code::kInvalidArgument, "optimizer.learning_rate.schedule: there is no schedule '" + r.schedule + "'" +
                                   (known.empty() ? "" : "; did you mean '" + known + "'?"));
}

void check(const LearningRate& r, const NamedSchedule* schedule) {
  const std::string at = "optimizer.learning_rate.";
  if (schedule != nullptr && schedule->by_decay_steps && r.decay_steps < 1)
    fail(Code::kInvalidArgument, at + "decay_steps must be at least 1, got " + std::to_string(r.decay_steps));
  if (r.schedule != "piecewise_constant") return;
  if (r.values.size() != r.boundaries.size() + 1)
    fail(Code::kInvalidArgument, at + "values must have one value more than boundaries; got " +
                                     std::to_string(r.values.size()) + " values and " +
                                     std::to_string(r.boundaries.size()) + " boundaries");
  if (!std::is_sorted(r.boundaries.begin(), r.boundaries.end()))
    fail(Code::kInvalidArgument, at + "boundaries must rise");
}

Output scheduled(const Graph& g, const LearningRate& r, const Output& global_step) {
  const NamedSchedule* schedule = find_schedule(r);
  check(r, schedule);
  if (schedule == nullptr && r.warmup_steps <= 0)
    return ops::scalar(g, r.learning_rate, DType::kFloat32, "base_learning_rate");
  const Output step = ops::cast(global_step, DType::kFloat64);
  Output value = schedule == nullptr ? number(g, r.learning_rate) : schedule->value(r, step);
  if (r.warmup_steps > 0)
    value = value * ops::minimum(number(g, 1), (step + 1.0) / static_cast<double>(r.warmup_steps));
  return ops::cast(value, DType::kFloat32, "base_learning_rate");
}

}  // namespace

Output add_learning_rate(const Graph& graph, const LearningRate& rate, const Output& global_step) {
  Output scale = graph.find_if_exists(kLearningRateScale);
  if (!scale) scale = ops::variable(graph, kLearningRateScale, Tensor(1.0f), ops::VariableKind::kGlobal);
  Output base;
  {
    const auto scope = graph.scope("learning_rate_schedule");
    base = scheduled(graph, rate, global_step);
  }
  const Output result = ops::mul(base, scale, "learning_rate");
  graph.collect("learning_rate", result);
  return result;
}

}  // namespace belay::runtime
