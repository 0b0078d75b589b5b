// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/emit.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "runtime/ops/kernels/copy.h"
#include "runtime/session/early_nodes.h"

namespace belay::runtime {
namespace {

class Emitter {
 public:
  Emitter(const NodeGraph& graph, const Closure& feeds, const NodeSchedule& schedule, Plan& plan)
      : graph_(graph), feeds_(feeds), s_(schedule), plan_(&plan) {
    written_.assign(graph.size(), false);
    read_stage_.assign(graph.size(), kUnread);
    variable_ids_.assign(graph.size(), kNoValue);
    plan.value_index.reserve(2 * schedule.base.size());
  }

  void emit(const std::vector<FusedGroup>& groups) {
    index_groups(groups);
    find_written_variables();
    find_variable_stages();
    for (const Port& f : plan_->key.feeds) {
      const ValueId v = new_value(f, ValueSource::kFeed);
      plan_->values[v].index = static_cast<std::uint32_t>(&f - plan_->key.feeds.data());
    }
    const std::multimap<std::uint32_t, std::uint32_t> early = early_nodes(graph_, s_, group_of_);
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      if (s_.shape_only[id] && !s_.planned[id]) emit_shape_only(graph_.node(id));
      if (s_.planned[id] && !is_early(graph_.node(id))) emit_node(graph_.node(id));
      const auto [first, last] = early.equal_range(id);
      for (auto it = first; it != last; ++it) emit_node(graph_.node(it->second));
    }
    for (std::uint32_t s = 0; s < plan_->slots.size(); ++s) emit_late_slot(s);
    find_exported_values();
    drop_reads_of_fresh_variables();
  }

 private:
  static constexpr std::uint32_t kUnread = 0xffffffff;

  void find_exported_values() {
    for (std::uint32_t s = 0; s < plan_->stages.size(); ++s)
      for (const PlanStep& step : plan_->stages[s].steps)
        for (const ValueId v : step.outputs) plan_->values[v].stage = s;
    for (std::uint32_t s = 0; s < plan_->stages.size(); ++s) {
      for (const PlanStep& step : plan_->stages[s].steps)
        for (const ValueId v : step.inputs) note_use(v, s);
      for (const PlanHostStep& step : plan_->stages[s].host_steps)
        for (const ValueId v : step.inputs)
          if (v != kNoValue) note_use(v, kNoValue);
    }
  }
  void note_use(ValueId v, std::uint32_t stage) {
    PlanValue& root = plan_->values[plan_->values[v].root];
    if (root.source == ValueSource::kStep && root.stage != stage) root.exported = true;
  }

  // If the commit itself first assigns a variable, it need not be initialized before.
  void drop_reads_of_fresh_variables() {
    for (PlanStage& stage : plan_->stages) {
      std::set<std::uint32_t> assigned;
      for (const PlanStep& step : stage.steps)
        if (step.writes && step.node->op->role == Role::kAssign)
          assigned.insert(step.written.begin(), step.written.end());
      std::erase_if(stage.reads, [&](const auto& read) { return assigned.count(read.first) != 0; });
    }
  }

  // Finds each node's group, and the condition for recomputing a swallowed value. It is the condition of the users
  // outside of groups, and of members that would read the recomputed value. Such members are in this group, or in an
  // earlier one of the list that needs no such value.
  void index_groups(const std::vector<FusedGroup>& groups) {
    group_of_.assign(graph_.size(), nullptr);
    recompute_.resize(groups.empty() ? 0 : graph_.size());
    std::unordered_map<std::uint64_t, Condition> fetched;  // by port, for slots of values
    for (std::uint32_t s = 0; s < plan_->slots.size(); ++s) {
      const FetchSlot& slot = plan_->slots[s];
      if (slot.port.index != BELAY_OPERATION)
        fetched[port_key(s_.simplified.of(slot.port))].add(slot.always ? Condition{true, {}} : Condition{false, {s}});
    }
    for (const FusedGroup& g : groups) {
      for (const std::uint32_t m : g.members) group_of_[m] = &g;
      for (std::size_t i = g.members.size(); i-- > 0;) {
        const std::uint32_t m = g.members[i];
        if (graph_.node(m).op->effect == Effect::kWrite) continue;
        for (const Port& lost : swallowed_by(g, graph_.node(m))) {
          for (const std::uint32_t u : s_.users[m])
            if (s_.simplified.reads(graph_.node(u), lost))
              recompute_[m].add(group_of_[u] != nullptr ? recompute_[u] : s_.condition[u]);
          if (const auto it = fetched.find(port_key(lost)); it != fetched.end()) recompute_[m].add(it->second);
        }
      }
    }
  }

  static std::vector<Port> swallowed_by(const FusedGroup& g, const Node& member) {
    std::vector<Port> lost;
    for (std::uint32_t i = 0; i < member.outputs.size(); ++i)
      if (std::find(g.outputs.begin(), g.outputs.end(), Port{member.id, i}) == g.outputs.end())
        lost.push_back({member.id, i});
    return lost;
  }

  void find_written_variables() {
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      if (!s_.planned[id] || graph_.node(id).op->effect != Effect::kWrite) continue;
      const Node& n = graph_.node(id);
      for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (is_ref(n, i)) written_[variable_behind(graph_, n.inputs[i]).id] = true;
    }
  }

  // A variable is read in the stage of its first user in a main stage. Users in later main stages get a copy from
  // there. So one run sees one value.
  void find_variable_stages() {
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      if (!s_.planned[id] || s_.commit[id] || !s_.simplified.runs(id)) continue;
      const Node& n = graph_.node(id);
      for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        if (is_ref(n, i) || is_shape_only(n, i) || feeds_.fed(n.inputs[i])) continue;
        const std::uint32_t v = n.inputs[i].node;
        if (graph_.node(v).op->effect != Effect::kVariable || n.op->effect == Effect::kVariable) continue;
        read_stage_[v] = std::min(read_stage_[v], s_.stage[id]);
      }
    }
  }

  // Makes a value; it cannot be found by its port.
  ValueId unnamed_value(Port port, ValueSource source) {
    const auto v = static_cast<ValueId>(plan_->values.size());
    plan_->values.push_back({port, graph_.spec(port).first, source, v, 0});
    return v;
  }
  ValueId new_value(Port port, ValueSource source) {
    const ValueId v = unnamed_value(port, source);
    plan_->value_index.emplace(port_key(port), v);
    return v;
  }

  ValueId value(Port port) {
    const auto it = plan_->value_index.find(port_key(port));
    if (it != plan_->value_index.end()) return it->second;
    const Node& n = graph_.node(port.node);
    if (n.op->effect == Effect::kVariable) {
      const ValueId v = new_value(port, ValueSource::kVariable);
      plan_->values[v].index = variable_index(n);
      return v;
    }
    if (n.op->role == Role::kPlaceholder)
      belay::fail(Code::kInvalidArgument, "[B5072] You must feed a value for placeholder '" + n.name + "' (" +
                                              dtype_name(graph_.spec(port).first) + " " +
                                              graph_.spec(port).second.text() + ")");
    belay::fail(Code::kInternal, "value '" + graph_.port_name(port) + "' was not planned");
  }

  std::uint32_t variable_index(const Node& n) {
    std::uint32_t& index = variable_ids_[n.id];
    if (index == kNoValue) {
      index = static_cast<std::uint32_t>(plan_->variables.size());
      plan_->variables.push_back({&n});
    }
    return index;
  }

  PlanStage& stage_of(const Node& n) { return plan_->stages[s_.stage[n.id]]; }

  // Returns the value that `user` reads through this edge. This is the variable itself if `user` may read the live
  // memory. Else it is the copy from the read.
  ValueId operand(const Node& user, Port port, const Condition& when) {
    const ValueId v = value(port);
    const PlanValue& root = plan_->values[plan_->values[v].root];
    if (root.source != ValueSource::kVariable) return v;
    const bool direct = graph_.node(port.node).op->effect == Effect::kVariable;
    const std::uint32_t here = s_.stage[user.id];
    const bool ungated = user.op->host_kernel != nullptr;  // it runs while another run may commit
    if (direct && s_.after_write[user.id]) return ungated ? copy_in(v, here, when) : read_here(v, here, when);
    std::uint32_t there;
    if (direct) {
      there = read_stage_[port.node];
      if (there == kUnread) there = plan_->stages[here].commit ? s_.last_main : here;
    } else {
      there = s_.stage[port.node];
    }
    if (ungated) return copy_in(v, there, when);
    if (there == here) return read_here(v, here, when);
    const bool written = written_[plan_->variables[root.index].node->id];
    if (plan_->stages[here].commit && !written) return read_here(v, here, when);
    return copy_in(v, there, when);
  }

  ValueId read_here(ValueId v, std::uint32_t stage, const Condition& when) {
    const std::uint32_t variable = plan_->values[plan_->values[v].root].index;
    auto& reads = plan_->stages[stage].reads;
    const std::uint64_t key = (static_cast<std::uint64_t>(stage) << 32) | variable;
    const auto [it, fresh] = read_at_.emplace(key, reads.size());
    if (fresh) {
      reads.emplace_back(variable, when);
    } else {
      reads[it->second].second.add(when);
    }
    return v;
  }

  ValueId copy_in(ValueId v, std::uint32_t stage, const Condition& when) {
    const auto key = std::make_pair(v, stage);
    read_here(v, stage, when);
    const auto it = copies_.find(key);
    if (it != copies_.end()) {
      plan_->stages[stage].steps[it->second.second].condition.add(when);
      return it->second.first;
    }
    const Port port = plan_->values[v].port;
    const ValueId copy = unnamed_value(port, ValueSource::kStep);
    copies_[key] = {copy, plan_->stages[stage].steps.size()};
    PlanStep step;
    step.node = &graph_.node(port.node);
    step.kernel = make_copy;
    step.inputs = {v};
    step.outputs = {copy};
    step.condition = when;
    plan_->stages[stage].steps.push_back(std::move(step));
    return copy;
  }

  void emit_shape_only(const Node& n) {
    if (n.op->effect == Effect::kVariable || n.op->role == Role::kConstant || n.op->role == Role::kPlaceholder) {
      for (std::uint32_t i = 0; i < n.outputs.size(); ++i) describe({n.id, i});
      return;
    }
    for (const Port& in : n.inputs) describe(in);
    for (std::uint32_t i = 0; i < n.outputs.size(); ++i) new_value({n.id, i}, ValueSource::kStep);
    stage_of(n).shapes.push_back(&n);
  }
  // Makes a value for its dims.
  void describe(Port port) {
    if (plan_->value_index.count(port_key(port)) != 0) return;
    const Node& n = graph_.node(port.node);
    if (n.op->role == Role::kConstant) {
      emit_constant(n);
    } else {
      value(port);
    }
  }

  void emit_constant(const Node& n) { add_constant({n.id, 0}, n.attrs.tensor("value")); }
  void add_constant(Port port, const DenseTensor& tensor) {
    const ValueId v = new_value(port, ValueSource::kConstant);
    plan_->values[v].index = static_cast<std::uint32_t>(plan_->constants.size());
    plan_->constants.push_back(tensor);
  }

  void emit_node(const Node& n) {
    if (n.op->effect == Effect::kVariable) return;
    if (!s_.simplified.runs(n.id)) return emit_simplified(n);
    if (n.op->role == Role::kPlaceholder) {
      if (!feeds_.fed({n.id, 0})) value({n.id, 0});  // reports it
      return;
    }
    if (n.op->role == Role::kConstant) {
      if (plan_->value_index.count(port_key({n.id, 0})) == 0) emit_constant(n);
      return;
    }
    for (const Port& in : n.inputs)
      if (graph_.node(in.node).op->role == Role::kConstant && !feeds_.fed(in)) describe(in);
    if (is_host(n)) return emit_host(n);
    if (n.op->alias && !(s_.commit[n.id] && aliases_variable(n))) return emit_alias(n);
    const FusedGroup* group = group_of_[n.id];
    if (group == nullptr) return emit_step(n, s_.condition[n.id]);
    if (group->at_first) {
      if (n.id == group->members.front()) emit_leading_group(*group);
      return;
    }
    const bool last = group->members.back() == n.id;
    if (!recompute_[n.id].never()) {
      emit_step(n, recompute_[n.id]);
    } else if (!last && n.op->effect != Effect::kWrite) {
      // The group swallows it, but its dims still count.
      for (std::uint32_t i = 0; i < n.outputs.size(); ++i) new_value({n.id, i}, ValueSource::kStep);
      stage_of(n).shapes.push_back(&n);
    }
    if (last) emit_group(*group);
  }

  // Handles a node that does not run: it is a constant now, or has the values of its twin.
  void emit_simplified(const Node& n) {
    const auto folded = s_.simplified.folded.find(n.id);
    if (folded != s_.simplified.folded.end()) {
      plan_->folded.push_back(n.id);
      return add_constant({n.id, 0}, folded->second);
    }
    const std::uint32_t twin = s_.simplified.twin[n.id];
    plan_->twins.emplace_back(n.id, twin);
    for (std::uint32_t i = 0; i < n.outputs.size(); ++i)
      plan_->value_index.emplace(port_key({n.id, i}), value({twin, i}));
    emit_slots(n);
  }

  bool aliases_variable(const Node& n) {
    if (feeds_.fed(n.inputs[0])) return false;
    const ValueId v = value(n.inputs[0]);
    return plan_->values[plan_->values[v].root].source == ValueSource::kVariable;
  }

  void emit_alias(const Node& n) {
    const ValueId in = operand(n, n.inputs[0], s_.condition[n.id]);
    const ValueId out = new_value({n.id, 0}, plan_->values[plan_->values[in].root].source);
    plan_->values[out].root = plan_->values[in].root;
    plan_->values[out].index = plan_->values[plan_->values[in].root].index;
    stage_of(n).shapes.push_back(&n);
    emit_slots(n);
  }

  void emit_host(const Node& n) {
    PlanHostStep step;
    step.node = &n;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const Node& source = graph_.node(n.inputs[i].node);
      const bool named = is_ref(n, i) || source.outputs.empty();
      step.inputs.push_back(named ? kNoValue : operand(n, n.inputs[i], s_.condition[n.id]));
      if (is_ref(n, i) && source.op->effect == Effect::kVariable) variable_index(source);
    }
    for (std::uint32_t i = 0; i < n.outputs.size(); ++i)
      step.outputs.push_back(new_value({n.id, i}, ValueSource::kHost));
    stage_of(n).host_steps.push_back(std::move(step));
  }

  // Makes a step without its outputs.
  PlanStep step_of(const Node& n, const Condition& when) {
    PlanStep step;
    step.node = &n;
    step.kernel = n.op->kernel;
    step.shape_inputs = n.op->shape_inputs;
    step.in_place = n.op->in_place;
    step.writes = n.op->effect == Effect::kWrite;
    step.random = n.op->effect == Effect::kRandom;
    step.condition = when;
    add_operands(n, step, when);
    return step;
  }

  void emit_step(const Node& n, const Condition& when) {
    PlanStep step = step_of(n, when);
    if (step.writes) {
      emit_written_outputs(n);
    } else {
      for (std::uint32_t i = 0; i < n.outputs.size(); ++i)
        step.outputs.push_back(new_value({n.id, i}, ValueSource::kStep));
      stage_of(n).shapes.push_back(&n);
    }
    if (step.kernel == nullptr) return;  // a NoOp only orders others
    stage_of(n).random = stage_of(n).random || step.random;
    stage_of(n).steps.push_back(std::move(step));
    emit_slots(n);
  }

  void add_operands(const Node& n, PlanStep& step, const Condition& when) {
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (is_ref(n, i) && graph_.node(n.inputs[i].node).op->role == Role::kQueue) {
        step.inputs.push_back(value(n.inputs[i]));
      } else if (is_ref(n, i)) {
        const Node& variable = variable_behind(graph_, n.inputs[i]);
        const ValueId v = value({variable.id, 0});
        step.inputs.push_back(v);
        if (step.writes) {
          step.written.push_back(plan_->values[v].index);
          if (n.op->role != Role::kAssign) read_here(v, s_.stage[n.id], when);
        }
      } else if (is_shape_only(n, i)) {
        if (!feeds_.fed(n.inputs[i])) describe(n.inputs[i]);
        step.inputs.push_back(value(n.inputs[i]));
      } else {
        step.inputs.push_back(operand(n, n.inputs[i], when));
      }
    }
  }

  // The output of a write is the variable at the time of the write.
  void emit_written_outputs(const Node& n) {
    for (std::uint32_t i = 0; i < n.outputs.size(); ++i) {
      const ValueId root = value({variable_behind(graph_, n.inputs[i]).id, 0});
      const ValueId out = new_value({n.id, i}, ValueSource::kVariable);
      plan_->values[out].root = root;
      plan_->values[out].index = plan_->values[root].index;
    }
    stage_of(n).shapes.push_back(&n);
  }

  void emit_group(const FusedGroup& g) {
    const Node& last = graph_.node(g.members.back());
    PlanStep step;
    step.node = &graph_.node(g.members.front());
    for (const std::uint32_t m : g.members) step.members.push_back(&graph_.node(m));
    step.kernel = g.kernel;
    step.operands = g.operands;
    step.in_place = g.in_place;
    step.condition.always = true;
    const bool writes = last.op->effect == Effect::kWrite;
    step.writes = writes;
    if (writes) {
      for (const std::uint32_t m : g.members) add_operands(graph_.node(m), step, step.condition);
    } else {
      for (const Port& in : g.inputs) step.inputs.push_back(operand(last, in, step.condition));
    }
    if (writes) {
      for (const std::uint32_t m : g.members) emit_written_outputs(graph_.node(m));
    } else {
      for (const Port& out : g.outputs) step.outputs.push_back(new_value(out, ValueSource::kStep));
      stage_of(last).shapes.push_back(&last);
    }
    stage_of(last).steps.push_back(std::move(step));
    for (const std::uint32_t m : g.members)
      if (writes || m == last.id) emit_slots(graph_.node(m));
  }

  // Emits the group at its first member's place. If a fetch wants a value that the member swallowed, the member also
  // runs alone. If both make a value, the group's counts.
  void emit_leading_group(const FusedGroup& g) {
    const Node& first = graph_.node(g.members.front());
    const Condition& again = recompute_[first.id];
    for (const Port& lost : swallowed_by(g, first)) new_value(lost, ValueSource::kStep);
    stage_of(first).shapes.push_back(&first);
    emit_group(g);
    if (!again.never()) {
      PlanStep step = step_of(first, again);
      for (std::uint32_t i = 0; i < first.outputs.size(); ++i) {
        const Port port{first.id, i};
        const bool kept = std::find(g.outputs.begin(), g.outputs.end(), port) != g.outputs.end();
        step.outputs.push_back(kept ? unnamed_value(port, ValueSource::kStep) : value(port));
      }
      stage_of(first).steps.push_back(std::move(step));
    }
    emit_slots(first);
  }

  // Copies fetched values right after their nodes.
  void emit_slots(const Node& n) {
    for (std::uint32_t i = 0; i < n.outputs.size(); ++i) {
      const auto it = plan_->slot_index.find(port_key({n.id, i}));
      if (it != plan_->slot_index.end()) emit_slot_copy(it->second, s_.stage[n.id]);
    }
  }
  // Handles values without a separate step: feeds, constants, variables (before the commit), host outputs.
  void emit_late_slot(std::uint32_t s) {
    FetchSlot& slot = plan_->slots[s];
    if (slot.port.index == BELAY_OPERATION || slot.value != kNoValue) return;
    const Node& n = graph_.node(slot.port.node);
    const bool host = is_host(n) && !feeds_.fed(slot.port);
    // A host kernel's value exists after its stage, so the next stage copies it.
    std::uint32_t stage = host ? s_.stage[n.id] + 1 : s_.last_main;
    if (read_stage_[n.id] != kUnread) stage = read_stage_[n.id];
    if (stage >= plan_->stages.size()) plan_->stages.emplace_back();
    if (n.op->role == Role::kConstant && plan_->value_index.count(port_key(slot.port)) == 0) emit_constant(n);
    emit_slot_copy(s, stage);
  }
  void emit_slot_copy(std::uint32_t s, std::uint32_t stage) {
    FetchSlot& slot = plan_->slots[s];
    slot.value = value(slot.port);
    PlanStep step;
    step.node = &graph_.node(slot.port.node);
    step.inputs = {slot.value};
    step.slot = s;
    step.condition = slot.always ? Condition{true, {}} : Condition{false, {s}};
    if (plan_->values[plan_->values[slot.value].root].source == ValueSource::kVariable)
      read_here(slot.value, stage, step.condition);
    plan_->stages[stage].steps.push_back(std::move(step));
  }

  const NodeGraph& graph_;
  const Closure& feeds_;
  const NodeSchedule& s_;
  Plan* const plan_;
  std::vector<const FusedGroup*> group_of_;  // by node, like the next four
  std::vector<Condition> recompute_;
  std::vector<bool> written_;
  std::vector<std::uint32_t> read_stage_;
  std::vector<std::uint32_t> variable_ids_;
  std::unordered_map<std::uint64_t, std::size_t> read_at_;  // by stage and variable: index in the stage's reads
  std::map<std::pair<ValueId, std::uint32_t>, std::pair<ValueId, std::size_t>> copies_;
};

}  // namespace

void emit_steps(const NodeGraph& graph, const Closure& feeds, const NodeSchedule& schedule,
                const std::vector<FusedGroup>& groups, Plan& plan) {
  Emitter(graph, feeds, schedule, plan).emit(groups);
}

}  // namespace belay::runtime
