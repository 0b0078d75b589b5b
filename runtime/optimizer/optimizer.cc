// SPDX-License-Identifier: Apache-2.0
#include "runtime/optimizer/optimizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "belay/detail/given.h"
#include "belay/ops/control.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/training.h"
#include "belay/ops/variables.h"
#include "runtime/graph/call_with_graph.h"
#include "runtime/graph/graph_service.h"
#include "runtime/optimizer/learning_rate.h"
#include "runtime/optimizer/sparse_gradients.h"
#include "runtime/optimizer/variable_groups.h"
#include "runtime/platform/text/float32_value.h"

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
    fail(Code::kInvalidArgument,
         fmt::format("the loss '{}' depends on none of the {} trainable variables; the first is '{}'", loss.name(),
                     variables.size(), g.node_name_of(variables[0])));
}

// An optimizer's arguments, with their memory.
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
      slices_.push_back(v.slices);
    }
    args_.variables = variables_.data();
    args_.gradients = gradients_.data();
  }
  OptimizerArgs(const OptimizerArgs&) = delete;
  OptimizerArgs& operator=(const OptimizerArgs&) = delete;
  const belay_optimizer_args* get() const noexcept { return &args_; }
  // The sparse gradient of variable i; none: it is dense.
  const std::optional<ops::IndexedSlices>& slices(std::size_t i) const noexcept { return slices_[i]; }

 private:
  std::vector<belay_output> variables_, gradients_;
  std::vector<std::optional<ops::IndexedSlices>> slices_;
  belay_optimizer_args args_ = detail::sized<belay_optimizer_args>();
};

// Checks that the plugin's result is of this graph.
Output checked(const Graph& g, const belay_output& raw) {
  const Output made = g.output(raw);
  made.name();
  return made;
}

// The variable that a node writes through input i; none if the input is a value.
std::optional<std::uint32_t> written_variable(const NodeGraph& graph, const Node& writer, std::size_t i) {
  const auto names_variable = [](const Node& n, std::size_t input) {
    return n.op->ref_inputs == kAllInputs || (input < 32 && ((n.op->ref_inputs >> input) & 1) != 0);
  };
  if (!names_variable(writer, i)) return std::nullopt;
  Port port = writer.inputs[i];
  // A write's output is in the place of its variable.
  while (graph.node(port.node).op->effect == Effect::kWrite && names_variable(graph.node(port.node), port.index))
    port = graph.node(port.node).inputs[port.index];
  return port.node;
}

// The variables that a step with these operations writes.
std::set<std::uint32_t> written_by(const NodeGraph& graph, const std::vector<Output>& operations) {
  std::set<std::uint32_t> written, seen;
  std::vector<std::uint32_t> open;
  for (const Output& o : operations) open.push_back(graph.resolve(o.raw()).node);
  while (!open.empty()) {
    const std::uint32_t id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const Node& node = graph.node(id);
    for (std::size_t i = 0; node.op->effect == Effect::kWrite && i < node.inputs.size(); ++i)
      if (const auto variable = written_variable(graph, node, i)) written.insert(*variable);
    for (const Port& p : node.inputs) open.push_back(p.node);
    open.insert(open.end(), node.control_inputs.begin(), node.control_inputs.end());
  }
  return written;
}

// No step would ever train such a variable, and nothing else would report it.
void check_written(const Graph& g, const OptimizerArgs& args, std::vector<Output> operations,
                   const PluginInstance& optimizer) {
  for (const Output& update : g.collection(collections::kUpdateOps)) operations.push_back(update);
  const std::set<std::uint32_t> written = written_by(from_handle(g.raw()), operations);
  for (std::uint64_t i = 0; i < args.get()->n_variables; ++i) {
    const Output variable = g.output(args.get()->variables[i]);
    if (written.count(from_handle(g.raw()).resolve(variable.raw()).node) != 0) continue;
    fail(Code::kInvalidArgument, optimizer.label() + ": a step would not write the variable '" +
                                     g.node_name_of(variable) +
                                     "'; apply must return a node that runs after the node that writes it");
  }
}

// Adds the plugin's nodes. Returns the operations of the step.
std::vector<Output> add_updates(const Graph& g, const OptimizerArgs& args, PluginInstance& optimizer) {
  using Api = belay_optimizer_api;
  NodeGraph& graph = from_handle(g.raw());
  call_with_graph(graph, optimizer, "create_slots", &Api::create_slots, args.get());
  const auto scope = g.scope("train");
  call_with_graph(graph, optimizer, "prepare", &Api::prepare, args.get());
  std::vector<belay_output> updates(args.get()->n_variables);
  std::vector<Output> applied;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const auto take = [&] { applied.push_back(checked(g, updates[i])); };
    if (const auto& slices = args.slices(i)) {
      call_with_graph_and_take(graph, optimizer, "apply_sparse", &Api::apply_sparse, take, args.get(), std::uint64_t{i},
                               slices->indices.raw(), slices->rows.raw(), &updates[i]);
    } else {
      call_with_graph_and_take(graph, optimizer, "apply", &Api::apply, take, args.get(), std::uint64_t{i}, &updates[i]);
    }
  }
  const belay_output* more = nullptr;
  std::uint64_t n_more = 0;
  const auto take = [&] {
    detail::check_list("more", more, n_more, "it returned ");
    for (std::uint64_t i = 0; i < n_more; ++i) applied.push_back(checked(g, more[i]));
  };
  call_with_graph_and_take(graph, optimizer, "finish", &Api::finish, take, args.get(),
                           static_cast<const belay_output*>(updates.data()), &more, &n_more);
  check_written(g, args, applied, optimizer);
  return applied;
}

Output advance_global_step(const Graph& g, const Output& step, const std::vector<Output>& after_all) {
  const auto after = g.after(after_all);
  const Output one = ops::scalar(g, 1, step.dtype(), "train/one");
  return ops::assign_add(step, one, "train/advance_global_step").operation();
}

}  // namespace

std::vector<VariableGradient> compute_gradients(const Graph& graph, const Output& loss) {
  return compute_gradients(graph, loss, graph.collection(collections::kTrainableVariables));
}

std::vector<VariableGradient> compute_gradients(const Graph& graph, const Output& loss,
                                                const std::vector<Output>& variables) {
  check_loss(loss);
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

void average_gradients(const Graph& graph, std::vector<VariableGradient>& gradients, std::int64_t batches) {
  if (batches <= 1) return;
  const auto scope = graph.scope("accumulate");
  for (VariableGradient& v : gradients) v.gradient = ops::mean_over_batches(v.gradient, batches);
}

namespace {

// Changes each element of the gradients. The nodes of the step come first. So their names are the same in both forms,
// and tools that compare two runs by names find them.
template <class F>
void change_gradients(std::vector<VariableGradient>& gradients, const F& changed) {
  for (VariableGradient& v : gradients) {
    Output& used = v.slices ? v.slices->rows : v.gradient;
    used = changed(used);
  }
  for (VariableGradient& v : gradients)
    if (v.slices) v.gradient = changed(v.gradient);
}

}  // namespace

void clip_gradients(const Graph& graph, std::vector<VariableGradient>& gradients, const OptimizerSettings& settings) {
  if (settings.clip_norm > 0) {
    const auto scope = graph.scope("clip_by_global_norm");
    std::vector<Output> all;
    all.reserve(gradients.size());
    for (const VariableGradient& v : gradients) all.push_back(v.slices ? v.slices->rows : v.gradient);
    const Output norm = ops::global_norm(all, "global_norm");
    const Output limit = ops::scalar(graph, settings.clip_norm, norm.dtype());
    const Output scale = limit / ops::maximum(norm, limit);
    change_gradients(gradients, [&](const Output& gradient) { return gradient * scale; });
  }
  if (settings.clip_value > 0) {
    const auto scope = graph.scope("clip_by_value");
    change_gradients(gradients, [&](const Output& gradient) {
      return ops::clip_by_value(gradient, -settings.clip_value, settings.clip_value);
    });
  }
}

namespace {

// Variables with the same kind of update by one instance of the plugin.
struct UpdateGroup {
  PluginInstance* optimizer = nullptr;
  double learning_rate_scale = 1;
  double clip_norm = 0;
  bool clipped_alone = false;
  std::int64_t from_step = 0;
  std::vector<VariableGradient> gradients = {};
};

// Maps each variable's node to the index of its group.
std::map<std::uint32_t, std::size_t> groups_by_node(const Graph& graph, const std::vector<VariableGroup>& groups) {
  const std::vector<Output> all = graph.collection(collections::kTrainableVariables);
  const std::vector<std::size_t> indices = groups_of_variables(graph, groups);
  std::map<std::uint32_t, std::size_t> found;
  for (std::size_t i = 0; i < all.size(); ++i) found[all[i].raw().node] = indices[i];
  return found;
}

std::vector<Output> without_frozen(const Graph& graph, const OptimizerSettings& settings,
                                   const std::vector<Output>& variables) {
  const std::map<std::uint32_t, std::size_t> group_of = groups_by_node(graph, settings.groups);
  std::vector<Output> trained = variables;
  std::erase_if(trained, [&](const Output& v) {
    const auto group = group_of.find(v.raw().node);
    return group != group_of.end() && group->second != kNoGroup && settings.groups[group->second].frozen();
  });
  if (trained.empty() && !variables.empty())
    fail(
        Code::kInvalidArgument,
        fmt::format("all {} trainable variables are frozen by optimizer.groups: nothing is trained", variables.size()));
  return trained;
}

// Returns the groups in the order in which their training begins. So an optimizer's values for all variables have the
// same name before and after a group joins. The variables without a group come first.
std::vector<UpdateGroup> update_groups(const Graph& graph, const OptimizerUse& use,
                                       const std::vector<VariableGradient>& gradients) {
  const OptimizerSettings& settings = use.settings;
  const std::map<std::uint32_t, std::size_t> group_of = groups_by_node(graph, settings.groups);
  std::vector<UpdateGroup> all{{.optimizer = &use.optimizer, .clip_norm = settings.clip_norm}};
  for (std::size_t i = 0; i < settings.groups.size(); ++i) {
    const VariableGroup& group = settings.groups[i];
    all.push_back({.optimizer = use.groups.at(i),
                   .learning_rate_scale = group.learning_rate_scale,
                   .clip_norm = group.clip_norm.value_or(settings.clip_norm),
                   .clipped_alone = group.clip_norm.has_value() || group.from_step > 0,
                   .from_step = group.from_step});
  }
  for (const VariableGradient& v : gradients) {
    const auto known = group_of.find(v.variable.raw().node);
    const std::size_t group = known == group_of.end() ? kNoGroup : known->second;
    all[group == kNoGroup ? 0 : group + 1].gradients.push_back(v);
  }
  std::erase_if(all, [](const UpdateGroup& group) { return group.gradients.empty(); });
  std::stable_sort(all.begin(), all.end(),
                   [](const UpdateGroup& a, const UpdateGroup& b) { return a.from_step < b.from_step; });
  if (all.front().from_step > 0)
    fail(Code::kInvalidArgument,
         fmt::format("no variable is trained before step {}: each has a group with a from_step of optimizer.groups",
                     all.front().from_step));
  return all;
}

// Variables clipped together have one norm.
void clip_groups(const Graph& graph, std::vector<UpdateGroup>& groups, const OptimizerSettings& settings) {
  OptimizerSettings limits;
  limits.clip_value = settings.clip_value;
  std::vector<VariableGradient> together;
  for (UpdateGroup& group : groups) {
    limits.clip_norm = group.clip_norm;
    if (group.clipped_alone) {
      clip_gradients(graph, group.gradients, limits);
    } else {
      together.insert(together.end(), group.gradients.begin(), group.gradients.end());
    }
  }
  if (together.empty()) return;
  clip_gradients(graph, together, settings);
  auto clipped = together.begin();
  for (UpdateGroup& group : groups)
    if (!group.clipped_alone)
      for (VariableGradient& v : group.gradients) v = *clipped++;
}

Output scaled_rate(const Graph& graph, const Output& rate, const UpdateGroup& group) {
  const DType dtype = group.gradients[0].variable.dtype();
  const Output own = rate.dtype() == dtype ? rate : ops::cast(rate, dtype);
  if (group.learning_rate_scale == 1) return own;
  const auto scope = graph.scope("learning_rate_of_group");
  return own * ops::scalar(graph, group.learning_rate_scale, dtype);
}

// Makes a step's operation, which runs after all parts of the step.
Output step_behind(const Graph& graph, const Output& step, const std::vector<Output>& all, const StepParts& parts) {
  return parts.counts ? advance_global_step(graph, step, all) : ops::group(graph, all, "train/updates");
}

// Returns the train operation of step 0. Each step at which a group begins gets a further one.
Output apply_groups(const Graph& graph, const std::vector<UpdateGroup>& groups, const Output& rate, const Output& step,
                    const StepParts& parts) {
  const std::vector<Output> more = parts.update_ops ? *parts.update_ops : graph.collection(collections::kUpdateOps);
  std::vector<Output> applied;
  Output first;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const UpdateGroup& group = groups[i];
    const OptimizerArgs args(graph, group.gradients, scaled_rate(graph, rate, group), step);
    for (const Output& update : add_updates(graph, args, *group.optimizer)) applied.push_back(update);
    if (i + 1 < groups.size() && groups[i + 1].from_step == group.from_step) continue;
    std::vector<Output> all = applied;
    all.insert(all.end(), more.begin(), more.end());
    const Output train_op = step_behind(graph, step, all, parts);
    NodeGraph& nodes = from_handle(graph.raw());
    if (first) {
      nodes.successions().add(nodes.resolve(first.raw()), group.from_step, nodes.resolve(train_op.raw()));
    } else {
      first = train_op;
    }
  }
  graph.collect(collections::kTrainOp, first);
  return first;
}

}  // namespace

Output apply_gradients(const Graph& graph, const std::vector<VariableGradient>& gradients, const Output& learning_rate,
                       const Output& global_step, PluginInstance& optimizer) {
  if (gradients.empty()) fail(Code::kInvalidArgument, "there are no gradients to apply");
  std::vector<VariableGradient> taken = gradients;
  take_sparse_gradients(graph, taken, optimizer);
  return apply_groups(graph, {{.optimizer = &optimizer, .gradients = taken}}, learning_rate, global_step, {});
}

std::vector<VariableGradient> gradients_of_step(const Graph& graph, const Output& loss,
                                                const OptimizerSettings& settings,
                                                const std::vector<Output>& variables) {
  for (const GroupProblem& problem : problems_of_groups(graph, settings.groups))
    fail(Code::kInvalidArgument, problem.message + "; " + problem.help);
  std::vector<VariableGradient> gradients = compute_gradients(graph, loss, without_frozen(graph, settings, variables));
  average_gradients(graph, gradients, settings.accumulate);
  return gradients;
}

namespace {

// A program's settings do not pass the manifest's checks.
void check_settings(const OptimizerSettings& settings) {
  const auto check = [](const std::string& key, double value) {
    if (const std::string wrong = float32_problem(value); !wrong.empty())
      fail(Code::kInvalidArgument, "optimizer." + key + " is " + wrong);
  };
  check("clip_norm", settings.clip_norm);
  check("clip_value", settings.clip_value);
  check("learning_rate", settings.learning_rate.number());
  for (const VariableGroup& group : settings.groups) {
    check("groups: clip_norm", group.clip_norm.value_or(0));
    check("groups: learning_rate_scale", group.learning_rate_scale);
  }
}

}  // namespace

void take_sparse_gradients(const Graph& graph, std::vector<VariableGradient>& gradients, const OptimizerUse& use) {
  for (UpdateGroup& group : update_groups(graph, use, gradients)) {
    take_sparse_gradients(graph, group.gradients, *group.optimizer);
    for (const VariableGradient& taken : group.gradients)
      for (VariableGradient& v : gradients)
        if (v.variable == taken.variable) v.slices = taken.slices;
  }
}

Output update_variables(const Graph& graph, const std::vector<VariableGradient>& gradients, const OptimizerUse& use,
                        const StepParts& parts) {
  if (!gradients.empty() && gradients[0].variable.dtype() == DType::kFloat32) check_settings(use.settings);
  std::vector<UpdateGroup> groups = update_groups(graph, use, gradients);
  for (UpdateGroup& group : groups) take_sparse_gradients(graph, group.gradients, *group.optimizer);
  clip_groups(graph, groups, use.settings);
  const Output step = ops::get_or_create_global_step(graph);
  const Output rate = add_learning_rate(graph, use.settings.learning_rate, step, use.schedule);
  return apply_groups(graph, groups, rate, step, parts);
}

Output minimize(const Graph& graph, const Output& loss, const OptimizerUse& use) {
  const std::vector<Output> variables = graph.collection(collections::kTrainableVariables);
  return update_variables(graph, gradients_of_step(graph, loss, use.settings, variables), use);
}

}  // namespace belay::runtime
