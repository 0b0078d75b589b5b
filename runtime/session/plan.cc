// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/plan.h"

#include <algorithm>

#include "runtime/session/emit.h"

namespace belay::runtime {
namespace {

void add_slots(Plan& plan, const std::vector<Port>& ports, bool always) {
  for (const Port& p : ports) {
    const bool fresh = plan.slot_index.emplace(port_key(p), static_cast<std::uint32_t>(plan.slots.size())).second;
    if (fresh) plan.slots.push_back({p, kNoValue, always});
  }
}

// Counters of one session, such as the epochs of an input, are local variables.
bool writes_more_than_local_variables(const NodeGraph& graph, const Plan& plan) {
  const std::vector<Port>& local = graph.collection(collections::kLocalVariables);
  for (const PlanStage& stage : plan.stages)
    for (const PlanStep& step : stage.steps)
      for (const std::uint32_t v : step.written)
        if (std::none_of(local.begin(), local.end(),
                         [&](const Port& p) { return p.node == plan.variables[v].node->id; }))
          return true;
  return false;
}

}  // namespace

void Condition::add(const Condition& other) {
  always = always || other.always;
  if (always) {
    slots.clear();
    return;
  }
  if (other.slots.empty()) return;
  const auto middle = static_cast<std::ptrdiff_t>(slots.size());
  slots.insert(slots.end(), other.slots.begin(), other.slots.end());
  std::inplace_merge(slots.begin(), slots.begin() + middle, slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
}

std::uint32_t Plan::slot_of(Port port) const {
  const auto it = slot_index.find(port_key(port));
  return it == slot_index.end() ? kNoValue : it->second;
}

ValueId Plan::value_of(Port port) const {
  const auto it = value_index.find(port_key(port));
  return it == value_index.end() ? kNoValue : it->second;
}

const Node& variable_behind(const NodeGraph& graph, Port port) {
  const Node* n = &graph.node(port.node);
  while (n->op->effect == Effect::kWrite && is_ref(*n, port.index)) {
    port = n->inputs[port.index];
    n = &graph.node(port.node);
  }
  if (n->op->effect != Effect::kVariable)
    fail(Code::kInvalidArgument, "[B5074] '" + graph.port_name(port) + "' is not a variable");
  return *n;
}

std::vector<Port> structural_of(const NodeGraph& graph, const PlanKey& base, const std::vector<Port>& ports) {
  Closure closure(graph, base.feeds);
  for (const Port& p : base.fetches)
    if (p.index == BELAY_OPERATION || !closure.fed(p)) closure.add(p.node, [](std::uint32_t) {});
  std::vector<Port> out;
  for (const Port& p : ports) {
    bool effects = p.index == BELAY_OPERATION;
    std::vector<std::uint32_t> found;
    if (p.index == BELAY_OPERATION || !closure.fed(p))
      closure.add(p.node, [&](std::uint32_t id) {
        found.push_back(id);
        const Node& n = graph.node(id);
        effects = effects || is_effect(n) || is_host(n);
      });
    for (const std::uint32_t id : found) closure.forget(id);
    if (effects) out.push_back(p);
  }
  return out;
}

std::unique_ptr<Plan> make_plan(const NodeGraph& graph, const PlanKey& key, const std::vector<Port>& hook_fetches) {
  auto plan = std::make_unique<Plan>();
  plan->key = key;
  add_slots(*plan, key.fetches, true);
  add_slots(*plan, key.structural, true);
  add_slots(*plan, hook_fetches, false);
  const Closure feeds(graph, key.feeds);
  NodeSchedule schedule = make_schedule(graph, *plan, feeds);
  plan->stages = std::move(schedule.stages);
  plan->passes = schedule.passes;
  plan->atomic = schedule.atomic;
  plan->has_effects = schedule.has_effects;
  const std::vector<FusedGroup> groups =
      find_fused_groups({graph, schedule.base, schedule.in_base, schedule.stage, schedule.users, schedule.followers,
                         schedule.pinned, schedule.commit, schedule.simplified});
  emit_steps(graph, feeds, schedule, groups, *plan);
  plan->writes_shared = writes_more_than_local_variables(graph, *plan);
  return plan;
}

}  // namespace belay::runtime
