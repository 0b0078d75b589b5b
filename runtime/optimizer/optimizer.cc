// SPDX-License-Identifier: Apache-2.0
#include "runtime/optimizer/optimizer.h"

#include <string>

#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/variables.h"
#include "runtime/optimizer/learning_rate.h"

namespace belay::runtime {
namespace {

void check_loss(const Output& loss) {
  if (loss.is_operation() || (loss.dtype() != DType::kFloat32 && loss.dtype() != DType::kFloat64) || (loss.rank() > 0))
    fail(Code::kInvalidArgument, "the loss " + (loss.is_operation() ? "'" + loss.name() + "'" : loss.text()) +
                                     " must be a floating-point scalar; take its mean or sum");
}

void check_gradients(const Graph& g, const Output& loss, const std::vector<Output>& variables,
                     const std::vector<VariableGradient>& gradients) {
  for (const VariableGradient& v : gradients)
    if (v.variable.dtype() != gradients[0].variable.dtype())
      fail(Code::kInvalidArgument, "the trainable variables " + gradients[0].variable.text() + " and " +
                                       v.variable.text() + " must have the same dtype");
  if (gradients.empty())
    fail(Code::kInvalidArgument, "the loss '" + loss.name() + "' depends on none of the " +
                                     std::to_string(variables.size()) + " trainable variables; the first is '" +
                                     g.node_name_of(variables[0]) + "'");
}

// What an optimizer is given, with the memory behind it.
class OptimizerArgs {
 public:
  OptimizerArgs(const Graph& graph, const std::vector<VariableGradient>& gradients, const Output& learning_rate,
                const Output& global_step) {
    args_.graph = graph.raw();
    args_.learning_rate = learning_rate.raw();
    args_.global_step = global_step.raw();
    args_.n_variables = gradients.size();
    for (const VariableGradient& v : gradients) {
      variables_.push_back(v.variable.raw());
      gradients_.push_back(v.gradient.raw());
    }
    args_.variables = variables_.data();
    args_.gradients = gradients_.data();
  }
  OptimizerArgs(const OptimizerArgs&) = delete;
  OptimizerArgs& operator=(const OptimizerArgs&) = delete;
  const belay_optimizer_args* get() const noexcept { return &args_; }

 private:
  std::vector<belay_output> variables_, gradients_;
  belay_optimizer_args args_ = detail::sized<belay_optimizer_args>();
};

// What the plugin returned, which must be of this graph.
Output checked(const Graph& g, const belay_output& raw, PluginInstance& optimizer, Callback callback) {
  try {
    const Output made = g.output(raw);
    made.name();
    return made;
  } catch (const Error& e) {
    optimizer.refuse(callback, e);
  }
}

// The plugin's nodes; the operations of the step.
std::vector<Output> add_updates(const Graph& g, const OptimizerArgs& args, PluginInstance& optimizer) {
  using Api = belay_optimizer_api;
  optimizer.call("create_slots", &Api::create_slots, args.get());
  const auto scope = g.scope("train");
  optimizer.call("prepare", &Api::prepare, args.get());
  std::vector<belay_output> updates(args.get()->n_variables);
  std::vector<Output> applied;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    optimizer.call("apply", &Api::apply, args.get(), std::uint64_t{i}, &updates[i]);
    applied.push_back(checked(g, updates[i], optimizer, "apply"));
  }
  const belay_output* more = nullptr;
  std::uint64_t n_more = 0;
  optimizer.call("finish", &Api::finish, args.get(), static_cast<const belay_output*>(updates.data()), &more, &n_more);
  for (std::uint64_t i = 0; i < n_more; ++i) applied.push_back(checked(g, more[i], optimizer, "finish"));
  return applied;
}

Output advance_global_step(const Graph& g, const Output& step, const std::vector<Output>& after_all) {
  const auto after = g.after(after_all);
  const Output one = ops::scalar(g, 1, step.dtype(), "train/one");
  return ops::assign_add(step, one, "train/advance_global_step").operation();
}

}  // namespace

std::vector<VariableGradient> compute_gradients(const Graph& graph, const Output& loss) {
  check_loss(loss);
  const std::vector<Output> variables = graph.collection(collections::kTrainableVariables);
  if (variables.empty())
    fail(Code::kInvalidArgument,
         "the graph has no trainable variables: there is nothing that could lower the loss '" + loss.name() + "'");
  const std::vector<Output> gradients = graph.gradients({loss}, variables);
  std::vector<VariableGradient> found;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (!gradients[i]) continue;
    found.push_back({variables[i], gradients[i]});
    graph.collect(collections::kGradients, gradients[i]);
    graph.collect(collections::kGradientVariables, variables[i]);
  }
  check_gradients(graph, loss, variables, found);
  return found;
}

void clip_gradients(const Graph& graph, std::vector<VariableGradient>& gradients, const OptimizerSettings& settings) {
  if (settings.clip_norm > 0) {
    const auto scope = graph.scope("clip_by_global_norm");
    std::vector<Output> all;
    all.reserve(gradients.size());
    for (const VariableGradient& v : gradients) all.push_back(v.gradient);
    const Output norm = ops::global_norm(all, "global_norm");
    const Output limit = ops::scalar(graph, settings.clip_norm, norm.dtype());
    const Output scale = limit / ops::maximum(norm, limit);
    for (VariableGradient& v : gradients) v.gradient = v.gradient * scale;
  }
  if (settings.clip_value > 0) {
    const auto scope = graph.scope("clip_by_value");
    for (VariableGradient& v : gradients)
      v.gradient = ops::clip_by_value(v.gradient, -settings.clip_value, settings.clip_value);
  }
}

Output apply_gradients(const Graph& graph, const std::vector<VariableGradient>& gradients, const Output& learning_rate,
                       const Output& global_step, PluginInstance& optimizer) {
  if (gradients.empty()) fail(Code::kInvalidArgument, "there are no gradients to apply");
  const DType dtype = gradients[0].variable.dtype();
  const Output rate = learning_rate.dtype() == dtype ? learning_rate : ops::cast(learning_rate, dtype);
  std::vector<Output> applied = add_updates(graph, OptimizerArgs(graph, gradients, rate, global_step), optimizer);
  for (const Output& update : graph.collection(collections::kUpdateOps)) applied.push_back(update);
  const Output train_op = advance_global_step(graph, global_step, applied);
  graph.collect(collections::kTrainOp, train_op);
  return train_op;
}

Output minimize(const Graph& graph, const Output& loss, const OptimizerUse& use) {
  std::vector<VariableGradient> gradients = compute_gradients(graph, loss);
  clip_gradients(graph, gradients, use.settings);
  const Output step = ops::get_or_create_global_step(graph);
  const Output rate = add_learning_rate(graph, use.settings.learning_rate, step, use.schedule);
  return apply_gradients(graph, gradients, rate, step, use.optimizer);
}

}  // namespace belay::runtime
