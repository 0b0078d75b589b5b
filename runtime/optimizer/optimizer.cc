// SPDX-License-Identifier: Apache-2.0
#include "runtime/optimizer/optimizer.h"

#include <string>
#include <vector>

#include "belay/nearest.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/shape.h"
#include "belay/ops/training.h"
#include "belay/ops/variables.h"
#include "runtime/optimizer/learning_rate.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

using ops::VariableKind;

struct Update {
  Output variable;
  Output gradient;
};

void check_loss(const Output& loss) {
  if (loss.is_operation() || (loss.dtype() != DType::kFloat32 && loss.dtype() != DType::kFloat64) || (loss.rank() > 0))
    fail(Code::kInvalidArgument, "the loss " + (loss.is_operation() ? "'" + loss.name() + "'" : loss.text()) +
                                     " must be a floating-point scalar; take its mean or sum");
}

std::vector<Update> find_updates(const Graph& g, const Output& loss) {
  const std::vector<Output> variables = g.collection(collections::kTrainableVariables);
  if (variables.empty())
    fail(Code::kInvalidArgument,
         "the graph has no trainable variables: there is nothing that could lower the loss '" + loss.name() + "'");
  const std::vector<Output> gradients = g.gradients({loss}, variables);
  std::vector<Update> updates;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (!gradients[i]) continue;
    updates.push_back({variables[i], gradients[i]});
    g.collect(collections::kGradients, gradients[i]);
    g.collect(collections::kGradientVariables, variables[i]);
  }
  for (const Update& u : updates)
    if (u.variable.dtype() != updates[0].variable.dtype())
      fail(Code::kInvalidArgument, "the trainable variables " + updates[0].variable.text() + " and " +
                                       u.variable.text() + " must have the same dtype");
  if (updates.empty())
    fail(Code::kInvalidArgument, "the loss '" + loss.name() + "' depends on none of the " +
                                     std::to_string(variables.size()) + " trainable variables; the first is '" +
                                     g.node_name_of(variables[0]) + "'");
  return updates;
}

void clip(const Graph& g, std::vector<Update>& updates, const OptimizerSettings& settings) {
  if (settings.clip_norm > 0) {
    const auto scope = g.scope("clip_by_global_norm");
    std::vector<Output> gradients;
    gradients.reserve(updates.size());
    for (const Update& u : updates) gradients.push_back(u.gradient);
    const Output norm = ops::global_norm(gradients, "global_norm");
    const Output limit = ops::scalar(g, settings.clip_norm, norm.dtype());
    const Output scale = limit / ops::maximum(norm, limit);
    for (Update& u : updates) u.gradient = u.gradient * scale;
  }
  if (settings.clip_value > 0) {
    const auto scope = g.scope("clip_by_value");
    for (Update& u : updates) u.gradient = ops::clip_by_value(u.gradient, -settings.clip_value, settings.clip_value);
  }
}

// A variable of the optimizer's own, saved with the others.
Output slot(const Output& variable, const std::string& suffix, double initial) {
  const Graph g = variable.graph();
  const std::string name = g.node_name_of(variable) + "/" + suffix;
  return ops::variable(g, name, ops::fill(g, variable.dims(), initial, variable.dtype(), name + "/initial_value"),
                       VariableKind::kGlobal);
}

// What an optimizer needs to add its updates: scalars have the variables' dtype.
struct Train {
  const Graph& g;
  const OptimizerSettings& settings;
  const std::vector<Update>& updates;
  Output rate;

  DType dtype() const { return updates[0].variable.dtype(); }
  Output scalar(double value, std::string_view name) const { return ops::scalar(g, value, dtype(), name); }
  std::vector<Output> slots(const std::string& suffix, double initial = 0) const {
    std::vector<Output> all;
    for (const Update& u : updates) all.push_back(slot(u.variable, suffix, initial));
    return all;
  }
  std::string name_of(const Update& u) const { return "update_" + g.node_name_of(u.variable); }
};

std::vector<Output> apply_descent(const Train& t) {
  const auto scope = t.g.scope("train");
  std::vector<Output> applied;
  for (const Update& u : t.updates)
    applied.push_back(ops::apply_gradient_descent(u.variable, t.rate, u.gradient, t.name_of(u)));
  return applied;
}

std::vector<Output> apply_momentum(const Train& t) {
  const std::vector<Output> accums = t.slots("Momentum");
  const auto scope = t.g.scope("train");
  const Output momentum = t.scalar(t.settings.momentum.value_or(0.9), "momentum");
  std::vector<Output> applied;
  for (std::size_t i = 0; i < t.updates.size(); ++i)
    applied.push_back(ops::apply_momentum(t.updates[i].variable, accums[i], t.rate, t.updates[i].gradient, momentum,
                                          t.settings.use_nesterov, t.name_of(t.updates[i])));
  return applied;
}

std::vector<Output> apply_adam(const Train& t) {
  const std::vector<Output> m = t.slots("Adam"), v = t.slots("Adam_1");
  const Output power1 =
      ops::variable(t.g, "beta1_power", t.scalar(t.settings.beta1, "beta1_power_initial_value"), VariableKind::kGlobal);
  const Output power2 =
      ops::variable(t.g, "beta2_power", t.scalar(t.settings.beta2, "beta2_power_initial_value"), VariableKind::kGlobal);
  const auto scope = t.g.scope("train");
  const ops::AdamConstants constants{t.settings.beta1, t.settings.beta2, t.settings.epsilon.value_or(1e-8),
                                     t.settings.name == "adamw" ? t.settings.weight_decay : 0};
  std::vector<Output> applied;
  for (std::size_t i = 0; i < t.updates.size(); ++i)
    applied.push_back(ops::apply_adam(t.updates[i].variable, m[i], v[i], power1, power2, t.rate, t.updates[i].gradient,
                                      constants, t.name_of(t.updates[i])));
  const Output next1 = power1 * t.settings.beta1, next2 = power2 * t.settings.beta2;
  const auto after = t.g.after(applied);
  applied.push_back(ops::assign(power1, next1, "update_beta1_power"));
  applied.push_back(ops::assign(power2, next2, "update_beta2_power"));
  return applied;
}

std::vector<Output> apply_adagrad(const Train& t) {
  const std::vector<Output> accums = t.slots("Adagrad", t.settings.initial_accumulator_value);
  const auto scope = t.g.scope("train");
  std::vector<Output> applied;
  for (std::size_t i = 0; i < t.updates.size(); ++i)
    applied.push_back(
        ops::apply_adagrad(t.updates[i].variable, accums[i], t.rate, t.updates[i].gradient, t.name_of(t.updates[i])));
  return applied;
}

std::vector<Output> apply_rms_prop(const Train& t) {
  const bool centered = t.settings.centered;
  const std::vector<Output> ms = t.slots("RMSProp", 1);
  const std::vector<Output> mg = centered ? t.slots("RMSProp_1") : std::vector<Output>();
  const std::vector<Output> momenta = t.slots(centered ? "RMSProp_2" : "RMSProp_1");
  const auto scope = t.g.scope("train");
  const ops::RmsPropConstants constants{t.settings.decay, t.settings.momentum.value_or(0),
                                        t.settings.epsilon.value_or(1e-10)};
  std::vector<Output> applied;
  for (std::size_t i = 0; i < t.updates.size(); ++i) {
    const auto& [variable, gradient] = t.updates[i];
    const std::string name = t.name_of(t.updates[i]);
    applied.push_back(
        centered ? ops::apply_centered_rms_prop(variable, mg[i], ms[i], momenta[i], t.rate, gradient, constants, name)
                 : ops::apply_rms_prop(variable, ms[i], momenta[i], t.rate, gradient, constants, name));
  }
  return applied;
}

std::vector<Output> apply_ftrl(const Train& t) {
  const std::vector<Output> accums = t.slots("Ftrl", t.settings.initial_accumulator_value), linears = t.slots("Ftrl_1");
  const auto scope = t.g.scope("train");
  const ops::FtrlConstants constants{t.settings.l1_regularization_strength, t.settings.l2_regularization_strength,
                                     t.settings.learning_rate_power};
  std::vector<Output> applied;
  for (std::size_t i = 0; i < t.updates.size(); ++i)
    applied.push_back(ops::apply_ftrl(t.updates[i].variable, accums[i], linears[i], t.rate, t.updates[i].gradient,
                                      constants, t.name_of(t.updates[i])));
  return applied;
}

using Apply = std::vector<Output> (*)(const Train&);
struct NamedOptimizer {
  const char* name;
  Apply apply;
};
constexpr NamedOptimizer kOptimizers[] = {
    {"sgd", apply_descent}, {"momentum", apply_momentum}, {"adagrad", apply_adagrad}, {"rmsprop", apply_rms_prop},
    {"adam", apply_adam},   {"adamw", apply_adam},        {"ftrl", apply_ftrl},
};

Apply find_optimizer(const std::string& name) {
  std::vector<std::string> all;
  for (const NamedOptimizer& o : kOptimizers) {
    if (name == o.name) return o.apply;
    all.emplace_back(o.name);
  }
  const std::string known = nearest(name, all);
  fail(Code::kInvalidArgument, "optimizer.name: there is no optimizer '" + name + "'" +
                                   (known.empty() ? "; use one of " + joined(all) : "; did you mean '" + known + "'?"));
}

Output advance_global_step(const Graph& g, const Output& step, const std::vector<Output>& after_all) {
  const auto after = g.after(after_all);
  const Output one = ops::scalar(g, 1, step.dtype(), "train/one");
  return ops::assign_add(step, one, "train/advance_global_step").operation();
}

}  // namespace

Output minimize(const Graph& graph, const Output& loss, const OptimizerSettings& settings) {
  check_loss(loss);
  const Apply apply = find_optimizer(settings.name);
  std::vector<Update> updates = find_updates(graph, loss);
  clip(graph, updates, settings);
  const Output step = ops::get_or_create_global_step(graph);
  Train train{graph, settings, updates, add_learning_rate(graph, settings.learning_rate, step)};
  if (train.dtype() != train.rate.dtype()) train.rate = ops::cast(train.rate, train.dtype());
  std::vector<Output> applied = apply(train);
  for (const Output& update : graph.collection(collections::kUpdateOps)) applied.push_back(update);
  const Output train_op = advance_global_step(graph, step, applied);
  graph.collect(collections::kTrainOp, train_op);
  return train_op;
}

}  // namespace belay::runtime
