#include "runtime/session/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/session/fusion.h"

namespace belay::runtime {
namespace {

bool is_effect(const Node& n) {
  return n.op->effect == Effect::kWrite || n.op->effect == Effect::kBlocking || n.op->effect == Effect::kState;
}
bool is_host(const Node& n) { return n.op->host_kernel != nullptr; }
bool is_ref(const Node& n, std::size_t i) {
  return n.op->ref_inputs == kAllInputs || (i < 32 && ((n.op->ref_inputs >> i) & 1) != 0);
}
bool is_shape_only(const Node& n, std::size_t i) { return i < 32 && ((n.op->shape_inputs >> i) & 1) != 0; }

void add_sorted(std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& from) {
  to.insert(to.end(), from.begin(), from.end());
  std::sort(to.begin(), to.end());
  to.erase(std::unique(to.begin(), to.end()), to.end());
}

void merge(Condition& into, const Condition& from) {
  into.always = into.always || from.always;
  if (into.always) {
    into.slots.clear();
  } else {
    add_sorted(into.slots, from.slots);
  }
}

// Nodes that a set of targets needs, feeds cut off. Values and control edges; with shapes: shape-only edges too.
class Closure {
 public:
  Closure(const NodeGraph& graph, const std::vector<Port>& feeds) : graph_(graph), seen_(graph.size(), false) {
    for (const Port& f : feeds) fed_.insert(port_key(f));
  }
  bool fed(Port p) const { return fed_.count(port_key(p)) != 0; }
  // Adds what `node` needs; calls f for each node that is new.
  template <class F>
  void add(std::uint32_t node, F&& f) {
    stack_.push_back(node);
    while (!stack_.empty()) {
      const std::uint32_t id = stack_.back();
      stack_.pop_back();
      if (seen_[id]) continue;
      seen_[id] = true;
      f(id);
      const Node& n = graph_.node(id);
      for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (!is_shape_only(n, i) && !fed(n.inputs[i])) stack_.push_back(n.inputs[i].node);
      for (const std::uint32_t c : n.control_inputs) stack_.push_back(c);
    }
  }
  bool seen(std::uint32_t id) const { return seen_[id]; }
  void forget(std::uint32_t id) { seen_[id] = false; }

 private:
  const NodeGraph& graph_;
  std::vector<bool> seen_;
  std::set<std::uint64_t> fed_;
  std::vector<std::uint32_t> stack_;
};

class Planner {
 public:
  Planner(const NodeGraph& graph, const PlanKey& key, const std::vector<Port>& extras)
      : graph_(graph), closure_(graph, key.feeds), plan_(std::make_unique<Plan>()) {
    plan_->key = key;
    const std::size_t n = graph.size();
    in_base_.assign(n, false);
    pinned_.assign(n, false);
    planned_.assign(n, false);
    shape_only_.assign(n, false);
    condition_.resize(n);
    phase_.assign(n, 0);
    commit_.assign(n, false);
    after_write_.assign(n, false);
    segment_.assign(n, 0);
    stage_.assign(n, 0);
    users_.resize(n);
    followers_.resize(n);
    seen_in_.assign(n, 0);
    add_slots(extras);
  }

  std::unique_ptr<Plan> make() {
    mark_base();
    mark_extras();
    mark_shapes();
    order();
    list_users();
    place();
    const std::vector<FusedGroup> groups =
        find_fused_groups({graph_, base_, in_base_, stage_, users_, followers_, pinned_});
    emit(groups);
    return std::move(plan_);
  }

 private:
  void add_slots(const std::vector<Port>& extras) {
    for (const Port& p : plan_->key.fetches) add_slot(p, true);
    for (const Port& p : plan_->key.structural) add_slot(p, true);
    for (const Port& p : extras) add_slot(p, false);
  }
  void add_slot(Port p, bool always) {
    const auto [it, fresh] = plan_->slot_index.emplace(port_key(p), static_cast<std::uint32_t>(plan_->slots.size()));
    if (fresh) plan_->slots.push_back({p, kNoValue, always});
  }

  // The base: what effects need; the whole request where nothing is written.
  void mark_base() {
    std::vector<std::uint32_t> effects, all;
    bool writes = false;
    Closure whole(graph_, plan_->key.feeds);
    std::vector<Port> targets = plan_->key.fetches;
    targets.insert(targets.end(), plan_->key.structural.begin(), plan_->key.structural.end());
    for (const Port& p : targets) {
      if (p.index != BELAY_OPERATION && whole.fed(p)) continue;
      whole.add(p.node, [&](std::uint32_t id) {
        const Node& n = graph_.node(id);
        if (is_effect(n)) effects.push_back(id);
        writes = writes || n.op->effect == Effect::kWrite;
      });
    }
    plan_->has_effects = !effects.empty();
    const auto mark = [&](std::uint32_t id) {
      in_base_[id] = planned_[id] = true;
      condition_[id].always = true;
    };
    for (const std::uint32_t id : effects) closure_.add(id, mark);
    for (const Port& p : targets) {
      if (p.index != BELAY_OPERATION && closure_.fed(p)) continue;
      if (p.index == BELAY_OPERATION || !writes) closure_.add(p.node, mark);
    }
  }

  // Beside the base: what each fetched value needs. Always where the caller asked.
  void mark_extras() {
    for (std::uint32_t s = 0; s < plan_->slots.size(); ++s) {
      const FetchSlot& slot = plan_->slots[s];
      if (slot.port.index == BELAY_OPERATION || closure_.fed(slot.port)) continue;
      mark_extra(slot.port.node, slot.always ? Condition{true, {}} : Condition{false, {s}});
    }
    for (std::uint32_t id = 0; id < graph_.size(); ++id)
      if (in_base_[id]) base_.push_back(id);
  }
  void mark_extra(std::uint32_t target, const Condition& when) {
    ++walk_;
    std::vector<std::uint32_t> stack{target};
    while (!stack.empty()) {
      const std::uint32_t id = stack.back();
      stack.pop_back();
      if (in_base_[id] || seen_in_[id] == walk_) continue;
      seen_in_[id] = walk_;
      planned_[id] = true;
      merge(condition_[id], when);
      const Node& n = graph_.node(id);
      for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (!is_shape_only(n, i) && !closure_.fed(n.inputs[i])) stack.push_back(n.inputs[i].node);
      for (const std::uint32_t c : n.control_inputs) stack.push_back(c);
    }
  }

  // Nodes whose dims matter though nobody reads their values. One whose dims nothing but running it tells has to run.
  void mark_shapes() {
    for (std::uint32_t id = static_cast<std::uint32_t>(graph_.size()); id-- > 0;) {
      if (!planned_[id] && !shape_only_[id]) continue;
      const Node& n = graph_.node(id);
      for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        const Port in = n.inputs[i];
        if (closure_.fed(in) || planned_[in.node] || is_ref(n, i)) continue;
        const Node& source = graph_.node(in.node);
        if (source.op->dynamic_shape || is_host(source))
          belay::fail(Code::kInvalidArgument, "node '" + n.name + "' needs the shape of '" + graph_.port_name(in) +
                                                  "', which is known only when that runs; fetch or use it too");
        shape_only_[in.node] = true;
      }
    }
  }

  // Phase, commit and the earliest segment of each planned node.
  void order() {
    std::uint32_t phases = 1;
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      if (!planned_[id] && !shape_only_[id]) continue;
      const Node& n = graph_.node(id);
      if (n.op->effect == Effect::kVariable) continue;
      std::uint32_t phase = 0;
      bool commit = false;
      for_each_dependency(n, [&](std::uint32_t d) {
        if (phase_[d] > phase || (phase_[d] == phase && commit_[d] && !commit)) phase = phase_[d], commit = commit_[d];
      });
      after_write_[id] = commit;
      if (n.op->effect == Effect::kWrite) {
        commit = true;
      } else if (is_host(n) && commit) {
        ++phase;
        commit = false;
      }
      std::uint32_t segment = 0;
      if (!commit) {
        for_each_dependency(n, [&](std::uint32_t d) {
          if (phase_[d] == phase && !commit_[d])
            segment = std::max(segment, segment_[d] + (is_host(graph_.node(d)) ? 1u : 0u));
        });
      }
      phase_[id] = phase;
      commit_[id] = commit;
      segment_[id] = segment;
      phases = std::max(phases, phase + 1);
    }
    last_segment_.assign(phases, 0);
    has_commit_.assign(phases, false);
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      if (!planned_[id] || graph_.node(id).op->effect == Effect::kVariable) continue;
      if (commit_[id]) {
        has_commit_[phase_[id]] = true;
      } else {
        last_segment_[phase_[id]] = std::max(last_segment_[phase_[id]], segment_[id]);
      }
    }
    plan_->atomic = phases == 1 || !has_commit_[0];
  }

  template <class F>
  void for_each_dependency(const Node& n, F&& f) {
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (closure_.fed(n.inputs[i])) continue;
      const std::uint32_t d = n.inputs[i].node;
      if (graph_.node(d).op->effect != Effect::kVariable) f(d);
    }
    for (const std::uint32_t c : n.control_inputs)
      if (planned_[c]) f(c);
  }

  void list_users() {
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      if (!planned_[id]) continue;
      const Node& n = graph_.node(id);
      for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (!is_shape_only(n, i) && !closure_.fed(n.inputs[i])) users_[n.inputs[i].node].push_back(id);
      for (const std::uint32_t c : n.control_inputs) followers_[c].push_back(id);
    }
    for (const Port& f : plan_->key.feeds) pinned_[f.node] = true;
    // Where nothing is written the caller's values are the base themselves, and stay as they are.
    for (const FetchSlot& s : plan_->slots)
      if (s.always && in_base_[s.port.node]) pinned_[s.port.node] = pinned_[s.port.node] || !writes_anything();
  }
  bool writes_anything() const { return std::find(has_commit_.begin(), has_commit_.end(), true) != has_commit_.end(); }

  // Stages in order; a pure node moves to the latest segment that still serves its users, so that reads of variables
  // stand where they are needed and not before a wait.
  void place() {
    std::vector<std::uint32_t> first(last_segment_.size());
    for (std::size_t p = 0; p < last_segment_.size(); ++p) {
      first[p] = static_cast<std::uint32_t>(plan_->stages.size());
      plan_->stages.resize(plan_->stages.size() + last_segment_[p] + 1);
      if (has_commit_[p]) {
        plan_->stages.emplace_back();
        plan_->stages.back().commit = true;
      }
    }
    constexpr std::uint32_t kAny = 0xffffffff;
    std::vector<std::uint32_t> latest(graph_.size(), kAny);
    for (std::uint32_t id = static_cast<std::uint32_t>(graph_.size()); id-- > 0;) {
      if (!planned_[id] && !shape_only_[id]) continue;
      const Node& n = graph_.node(id);
      const std::uint32_t p = phase_[id];
      if (n.op->effect == Effect::kVariable) {
        stage_[id] = kAny;
        continue;
      }
      if (commit_[id]) {
        stage_[id] = first[p] + last_segment_[p] + 1;
        continue;
      }
      std::uint32_t segment = segment_[id];
      if (!is_host(n)) segment = std::max(segment, latest[id] == kAny ? last_segment_[p] : latest[id]);
      segment_[id] = segment;
      stage_[id] = first[p] + segment;
      for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        const std::uint32_t d = n.inputs[i].node;
        if (phase_[d] == p && !commit_[d]) latest[d] = std::min(latest[d], segment);
      }
      for (const std::uint32_t d : n.control_inputs)
        if (phase_[d] == p && !commit_[d]) latest[d] = std::min(latest[d], segment);
    }
    last_main_ = first[0] + last_segment_[0];
  }

  // ---- emitting ----

  void emit(const std::vector<FusedGroup>& groups) {
    index_groups(groups);
    find_written_variables();
    find_variable_stages();
    for (const Port& f : plan_->key.feeds) {
      const ValueId v = new_value(f, ValueSource::kFeed);
      plan_->values[v].index = static_cast<std::uint32_t>(&f - plan_->key.feeds.data());
    }
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      if (shape_only_[id] && !planned_[id]) emit_shape_only(graph_.node(id));
      if (planned_[id]) emit_node(graph_.node(id));
    }
    for (std::uint32_t s = 0; s < plan_->slots.size(); ++s) emit_late_slot(s);
    find_exported_values();
    drop_reads_of_fresh_variables();
  }

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

  // A variable that the commit itself assigns first need not be initialized before.
  void drop_reads_of_fresh_variables() {
    for (PlanStage& stage : plan_->stages) {
      std::set<std::uint32_t> assigned;
      for (const PlanStep& step : stage.steps)
        if (step.writes && step.node->op->name == "Assign") assigned.insert(step.written.begin(), step.written.end());
      std::erase_if(stage.reads, [&](const auto& read) { return assigned.count(read.first) != 0; });
    }
  }

  void index_groups(const std::vector<FusedGroup>& groups) {
    for (const FusedGroup& g : groups) {
      last_of_.emplace(g.members.back(), &g);
      for (const std::uint32_t m : g.members) group_of_[m] = &g;
      // Conditions under which a swallowed value must be recomputed: its users outside the group, and those of the
      // members that would read the recomputed value.
      for (std::size_t i = g.members.size(); i-- > 0;) {
        const std::uint32_t m = g.members[i];
        Condition wanted;
        for (const std::uint32_t u : users_[m]) {
          if (std::find(g.members.begin(), g.members.end(), u) == g.members.end()) {
            merge(wanted, condition_[u]);
          } else if (const auto it = recompute_.find(u); it != recompute_.end()) {
            merge(wanted, it->second);
          }
        }
        for (std::uint32_t s = 0; s < plan_->slots.size(); ++s) {
          const FetchSlot& slot = plan_->slots[s];
          if (slot.port.node != m || slot.port.index == BELAY_OPERATION) continue;
          merge(wanted, slot.always ? Condition{true, {}} : Condition{false, {s}});
        }
        const bool gives = std::any_of(g.outputs.begin(), g.outputs.end(), [&](Port p) { return p.node == m; });
        if (!gives && (wanted.always || !wanted.slots.empty())) recompute_[m] = wanted;
      }
    }
  }

  void find_written_variables() {
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      if (!planned_[id] || graph_.node(id).op->effect != Effect::kWrite) continue;
      const Node& n = graph_.node(id);
      for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (is_ref(n, i)) written_.insert(variable_behind(graph_, n.inputs[i]).id);
    }
  }

  // A variable is read where its first user in a main stage stands; users in later main stages get a copy made there,
  // so that one run sees one value.
  void find_variable_stages() {
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      if (!planned_[id] || commit_[id]) continue;
      const Node& n = graph_.node(id);
      for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        if (is_ref(n, i) || is_shape_only(n, i) || closure_.fed(n.inputs[i])) continue;
        const std::uint32_t v = n.inputs[i].node;
        if (graph_.node(v).op->effect != Effect::kVariable || n.op->effect == Effect::kVariable) continue;
        const auto [it, fresh] = read_stage_.emplace(v, stage_[id]);
        if (!fresh) it->second = std::min(it->second, stage_[id]);
      }
    }
  }

  ValueId new_value(Port port, ValueSource source) {
    const auto v = static_cast<ValueId>(plan_->values.size());
    plan_->values.push_back({port, graph_.spec(port).first, source, v, 0});
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
    if (n.op->name == "Placeholder")
      belay::fail(Code::kInvalidArgument, "You must feed a value for placeholder '" + n.name + "' (" +
                                              dtype_name(graph_.spec(port).first) + " " +
                                              graph_.spec(port).second.text() + ")");
    belay::fail(Code::kInternal, "value '" + graph_.port_name(port) + "' was not planned");
  }

  std::uint32_t variable_index(const Node& n) {
    const auto [it, fresh] = variable_ids_.emplace(n.id, static_cast<std::uint32_t>(plan_->variables.size()));
    if (fresh) plan_->variables.push_back({&n});
    return it->second;
  }

  PlanStage& stage_of(const Node& n) { return plan_->stages[stage_[n.id]]; }

  // The value that `user` reads through this edge: the variable itself where it may look at the live memory, else the
  // copy that was taken when it was read.
  ValueId operand(const Node& user, Port port, const Condition& when) {
    const ValueId v = value(port);
    const PlanValue& root = plan_->values[plan_->values[v].root];
    if (root.source != ValueSource::kVariable) return v;
    const bool direct = graph_.node(port.node).op->effect == Effect::kVariable;
    const std::uint32_t here = stage_[user.id];
    const bool ungated = user.op->host_kernel != nullptr;  // it runs when another run may be committing
    if (direct && after_write_[user.id]) return ungated ? copy_in(v, here, when) : read_here(v, here, when);
    std::uint32_t there;
    if (direct) {
      const auto it = read_stage_.find(port.node);
      there = it == read_stage_.end() ? (plan_->stages[here].commit ? last_main_ : here) : it->second;
    } else {
      there = stage_[port.node];
    }
    if (ungated) return copy_in(v, there, when);
    if (there == here) return read_here(v, here, when);
    const bool written = written_.count(plan_->variables[root.index].node->id) != 0;
    if (plan_->stages[here].commit && !written) return read_here(v, here, when);
    return copy_in(v, there, when);
  }

  ValueId read_here(ValueId v, std::uint32_t stage, const Condition& when) {
    const std::uint32_t variable = plan_->values[plan_->values[v].root].index;
    for (auto& [index, condition] : plan_->stages[stage].reads)
      if (index == variable) {
        merge(condition, when);
        return v;
      }
    plan_->stages[stage].reads.emplace_back(variable, when);
    return v;
  }

  ValueId copy_in(ValueId v, std::uint32_t stage, const Condition& when) {
    const auto key = std::make_pair(v, stage);
    read_here(v, stage, when);
    const auto it = copies_.find(key);
    if (it != copies_.end()) {
      merge(plan_->stages[stage].steps[it->second.second].condition, when);
      return it->second.first;
    }
    const Port port = plan_->values[v].port;
    const auto copy = static_cast<ValueId>(plan_->values.size());
    plan_->values.push_back({port, plan_->values[v].dtype, ValueSource::kStep, copy, 0});
    copies_[key] = {copy, plan_->stages[stage].steps.size()};
    PlanStep step;
    step.node = &graph_.node(port.node);
    step.kernel = copy_kernel();
    step.inputs = {v};
    step.outputs = {copy};
    step.condition = when;
    plan_->stages[stage].steps.push_back(std::move(step));
    return copy;
  }

  KernelFactory copy_kernel() const { return graph_.ops().find("Identity")->kernel; }

  void emit_shape_only(const Node& n) {
    if (n.op->effect == Effect::kVariable || n.op->name == "Const" || n.op->name == "Placeholder") {
      for (std::uint32_t i = 0; i < n.outputs.size(); ++i) describe({n.id, i});
      return;
    }
    for (const Port& in : n.inputs) describe(in);
    for (std::uint32_t i = 0; i < n.outputs.size(); ++i) new_value({n.id, i}, ValueSource::kStep);
    stage_of(n).shapes.push_back(&n);
  }
  // A value that exists for its dims.
  void describe(Port port) {
    if (plan_->value_index.count(port_key(port)) != 0) return;
    const Node& n = graph_.node(port.node);
    if (n.op->name == "Const") {
      emit_constant(n);
    } else {
      value(port);
    }
  }

  void emit_constant(const Node& n) {
    const ValueId v = new_value({n.id, 0}, ValueSource::kConstant);
    plan_->values[v].index = static_cast<std::uint32_t>(plan_->constants.size());
    plan_->constants.push_back({n.id, 0});
  }

  void emit_node(const Node& n) {
    if (n.op->effect == Effect::kVariable) return;
    if (n.op->name == "Placeholder") {
      if (!closure_.fed({n.id, 0})) value({n.id, 0});  // reports it
      return;
    }
    if (n.op->name == "Const") {
      if (plan_->value_index.count(port_key({n.id, 0})) == 0) emit_constant(n);
      return;
    }
    for (const Port& in : n.inputs)
      if (graph_.node(in.node).op->name == "Const" && !closure_.fed(in)) describe(in);
    if (is_host(n)) return emit_host(n);
    if (n.op->alias && !(commit_[n.id] && aliases_variable(n))) return emit_alias(n);
    const auto group = group_of_.find(n.id);
    if (group == group_of_.end()) {
      emit_step(n, condition_[n.id]);
    } else if (const auto again = recompute_.find(n.id); again != recompute_.end()) {
      emit_step(n, again->second);
    } else if (last_of_.count(n.id) == 0 && n.op->effect != Effect::kWrite) {
      // Swallowed: its dims still count.
      for (std::uint32_t i = 0; i < n.outputs.size(); ++i) new_value({n.id, i}, ValueSource::kStep);
      stage_of(n).shapes.push_back(&n);
    }
    if (const auto last = last_of_.find(n.id); last != last_of_.end()) emit_group(*last->second);
  }

  bool aliases_variable(const Node& n) {
    if (closure_.fed(n.inputs[0])) return false;
    const ValueId v = value(n.inputs[0]);
    return plan_->values[plan_->values[v].root].source == ValueSource::kVariable;
  }

  void emit_alias(const Node& n) {
    const ValueId in = operand(n, n.inputs[0], condition_[n.id]);
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
      step.inputs.push_back(named ? kNoValue : operand(n, n.inputs[i], condition_[n.id]));
      if (is_ref(n, i) && source.op->effect == Effect::kVariable) variable_index(source);
    }
    for (std::uint32_t i = 0; i < n.outputs.size(); ++i)
      step.outputs.push_back(new_value({n.id, i}, ValueSource::kHost));
    stage_of(n).host_steps.push_back(std::move(step));
  }

  void emit_step(const Node& n, const Condition& when) {
    PlanStep step;
    step.node = &n;
    step.kernel = n.op->kernel;
    step.shape_inputs = n.op->shape_inputs;
    step.in_place = n.op->in_place;
    step.writes = n.op->effect == Effect::kWrite;
    step.random = n.op->effect == Effect::kRandom;
    step.condition = when;
    add_operands(n, step, when);
    if (step.writes) {
      emit_written_outputs(n);
    } else {
      for (std::uint32_t i = 0; i < n.outputs.size(); ++i)
        step.outputs.push_back(new_value({n.id, i}, ValueSource::kStep));
      stage_of(n).shapes.push_back(&n);
    }
    if (step.kernel == nullptr) return;  // NoOp: only an order
    stage_of(n).random = stage_of(n).random || step.random;
    stage_of(n).steps.push_back(std::move(step));
    emit_slots(n);
  }

  void add_operands(const Node& n, PlanStep& step, const Condition& when) {
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (is_ref(n, i)) {
        const Node& variable = variable_behind(graph_, n.inputs[i]);
        const ValueId v = value({variable.id, 0});
        step.inputs.push_back(v);
        if (step.writes) {
          step.written.push_back(plan_->values[v].index);
          if (n.op->name != "Assign") read_here(v, stage_[n.id], when);
        }
      } else if (is_shape_only(n, i)) {
        if (!closure_.fed(n.inputs[i])) describe(n.inputs[i]);
        step.inputs.push_back(value(n.inputs[i]));
      } else {
        step.inputs.push_back(operand(n, n.inputs[i], when));
      }
    }
  }

  // The output of a write is the variable as it is then.
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

  // Copies of fetched values, right behind their makers.
  void emit_slots(const Node& n) {
    for (std::uint32_t i = 0; i < n.outputs.size(); ++i) {
      const auto it = plan_->slot_index.find(port_key({n.id, i}));
      if (it != plan_->slot_index.end()) emit_slot_copy(it->second, stage_[n.id]);
    }
  }
  // Values without a step of their own: feeds, constants, variables (as they are before the commit), host outputs.
  void emit_late_slot(std::uint32_t s) {
    FetchSlot& slot = plan_->slots[s];
    if (slot.port.index == BELAY_OPERATION || slot.value != kNoValue) return;
    const Node& n = graph_.node(slot.port.node);
    const bool host = is_host(n) && !closure_.fed(slot.port);
    // A host kernel's value exists once its stage is over: the next one copies it.
    std::uint32_t stage = host ? stage_[n.id] + 1 : last_main_;
    if (const auto it = read_stage_.find(n.id); it != read_stage_.end()) stage = it->second;
    if (stage >= plan_->stages.size()) plan_->stages.emplace_back();
    if (n.op->name == "Const" && plan_->value_index.count(port_key(slot.port)) == 0) emit_constant(n);
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
  Closure closure_;
  std::unique_ptr<Plan> plan_;
  std::vector<std::uint32_t> base_;
  std::vector<bool> in_base_, pinned_, planned_, shape_only_;
  std::vector<Condition> condition_;
  std::vector<std::uint32_t> seen_in_;  // the walk of mark_extra that saw the node last
  std::uint32_t walk_ = 0;
  std::vector<std::uint32_t> phase_, segment_, stage_;
  std::vector<bool> commit_, after_write_;
  std::vector<std::vector<std::uint32_t>> users_, followers_;
  std::vector<std::uint32_t> last_segment_;  // by phase
  std::vector<bool> has_commit_;             // by phase
  std::uint32_t last_main_ = 0;              // the last stage before the first commit
  std::map<std::uint32_t, const FusedGroup*> group_of_, last_of_;
  std::map<std::uint32_t, Condition> recompute_;
  std::set<std::uint32_t> written_;
  std::map<std::uint32_t, std::uint32_t> read_stage_;  // by variable node
  std::map<std::uint32_t, std::uint32_t> variable_ids_;
  std::map<std::pair<ValueId, std::uint32_t>, std::pair<ValueId, std::size_t>> copies_;
};

}  // namespace

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
    fail(Code::kInvalidArgument, "'" + graph.port_name(port) + "' is not a variable");
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

std::unique_ptr<Plan> make_plan(const NodeGraph& graph, const PlanKey& key, const std::vector<Port>& extras) {
  return Planner(graph, key, extras).make();
}

}  // namespace belay::runtime
