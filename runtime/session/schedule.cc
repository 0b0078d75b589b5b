// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/schedule.h"

#include <fmt/core.h>

#include <algorithm>

namespace belay::runtime {
namespace {

class Scheduler {
 public:
  Scheduler(const NodeGraph& graph, const Plan& plan, const Closure& feeds)
      : graph_(graph), plan_(plan), feeds_(feeds) {
    const std::size_t n = graph.size();
    for (std::vector<bool>* v : {&out_.in_base, &out_.pinned, &out_.planned, &out_.shape_only, &out_.commit,
                                 &out_.after_write, &ordered_, &repeated_})
      v->assign(n, false);
    for (std::vector<std::uint32_t>* v : {&out_.stage, &phase_, &segment_, &seen_in_}) v->assign(n, 0);
    out_.condition.resize(n);
    out_.users.resize(n);
    out_.followers.resize(n);
  }

  NodeSchedule make() {
    mark_base();
    mark_hook_fetches();
    mark_shapes();
    mark_repeated();
    order();
    out_.simplified = simplify({graph_, feeds_, plan_.key, out_.in_base, out_.planned, ordered_});
    list_users();
    place();
    return std::move(out_);
  }

 private:
  // The base is the nodes that effects need. If nothing is written, it is the whole request.
  void mark_base() {
    std::vector<std::uint32_t> effects;
    bool writes = false;
    Closure whole = feeds_, base = feeds_;
    std::vector<Port> targets = plan_.key.fetches;
    targets.insert(targets.end(), plan_.key.structural.begin(), plan_.key.structural.end());
    for (const Port& p : targets) {
      if (p.index != BELAY_OPERATION && feeds_.fed(p)) continue;
      whole.add(p.node, [&](std::uint32_t id) {
        const Node& n = graph_.node(id);
        if (is_effect(n)) effects.push_back(id);
        writes = writes || n.op->effect == Effect::kWrite;
      });
    }
    out_.has_effects = !effects.empty();
    const auto mark = [&](std::uint32_t id) {
      out_.in_base[id] = out_.planned[id] = true;
      out_.condition[id].always = true;
    };
    for (const std::uint32_t id : effects) base.add(id, mark);
    for (const Port& p : targets) {
      if (p.index != BELAY_OPERATION && feeds_.fed(p)) continue;
      if (p.index == BELAY_OPERATION || !writes) base.add(p.node, mark);
    }
  }

  // Marks the nodes that each fetched value needs beside the base. The caller's run always.
  void mark_hook_fetches() {
    for (std::uint32_t s = 0; s < plan_.slots.size(); ++s) {
      const FetchSlot& slot = plan_.slots[s];
      if (slot.port.index == BELAY_OPERATION || feeds_.fed(slot.port)) continue;
      mark_hook_fetch(slot.port.node, slot.always ? Condition{true, {}} : Condition{false, {s}});
    }
  }
  void mark_hook_fetch(std::uint32_t target, const Condition& when) {
    ++walk_;
    std::vector<std::uint32_t> stack{target};
    while (!stack.empty()) {
      const std::uint32_t id = stack.back();
      stack.pop_back();
      if (out_.in_base[id] || seen_in_[id] == walk_) continue;
      seen_in_[id] = walk_;
      out_.planned[id] = true;
      out_.condition[id].add(when);
      const Node& n = graph_.node(id);
      for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (!is_shape_only(n, i) && !feeds_.fed(n.inputs[i])) stack.push_back(n.inputs[i].node);
      for (const std::uint32_t c : n.control_inputs) stack.push_back(c);
    }
  }

  // Marks nodes whose dims matter although their values are not read. If only running a node shows its dims, it has to
  // run.
  void mark_shapes() {
    for (std::uint32_t id = static_cast<std::uint32_t>(graph_.size()); id-- > 0;) {
      if (!out_.planned[id] && !out_.shape_only[id]) continue;
      const Node& n = graph_.node(id);
      for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        const Port in = n.inputs[i];
        if (feeds_.fed(in) || out_.planned[in.node] || is_ref(n, i)) continue;
        const Node& source = graph_.node(in.node);
        if (source.op->dynamic_shape || is_host(source))
          belay::fail(Code::kInvalidArgument, "[B5076] node '" + n.name + "' needs the shape of '" +
                                                  graph_.port_name(in) +
                                                  "', which is known only when that runs; fetch or use it too");
        out_.shape_only[in.node] = true;
      }
    }
  }

  // Marks the nodes that run once for each batch of a step: all that a mean over batches depends on.
  void mark_repeated() {
    for (std::uint32_t id = static_cast<std::uint32_t>(graph_.size()); id-- > 0;) {
      const Node& n = graph_.node(id);
      if (!out_.planned[id] && !out_.shape_only[id]) continue;
      if (n.op->role == Role::kStepMean && out_.planned[id]) add_passes(n);
      if (!repeated_[id]) continue;
      for (const Port& in : n.inputs)
        if (!feeds_.fed(in)) repeated_[in.node] = true;
      for (const std::uint32_t c : n.control_inputs) repeated_[c] = true;
    }
  }
  void add_passes(const Node& mean) {
    const std::int64_t count = mean.attrs.integer("batches");
    if (out_.passes.count != 1 && out_.passes.count != count)
      belay::fail(Code::kInvalidArgument, fmt::format("[B5078] node '{}' is a mean over {} batches, another one of "
                                                      "this run over {}; the batches of a step are as many",
                                                      mean.name, count, out_.passes.count));
    out_.passes.count = count;
    repeated_[mean.id] = true;
  }
  // Puts all means into one segment, the last one that is repeated.
  void order_repeated() {
    std::uint32_t last = 0;
    const auto for_each = [&](auto&& f) {
      for (std::uint32_t id = 0; id < graph_.size(); ++id)
        if (repeated_[id] && (out_.planned[id] || out_.shape_only[id]) &&
            graph_.node(id).op->effect != Effect::kVariable)
          f(graph_.node(id));
    };
    for_each([&](const Node& n) {
      order_node(n);
      if (phase_[n.id] > 0 || out_.commit[n.id])
        belay::fail(Code::kInvalidArgument, "[B5078] node '" + n.name +
                                                "' writes a variable, or waits for such a write, and a "
                                                "mean over the batches of a step depends on it");
      last = std::max(last, segment_[n.id]);
    });
    for_each([&](const Node& n) {
      if (n.op->role == Role::kStepMean) segment_[n.id] = last;
    });
    out_.passes.stages = last + 1;
  }

  // Finds phase, commit and the earliest segment of each planned node.
  void order() {
    std::uint32_t phases = 1;
    if (out_.passes.count > 1) order_repeated();
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      if (!out_.planned[id] && !out_.shape_only[id]) continue;
      const Node& n = graph_.node(id);
      if (n.op->effect == Effect::kVariable || repeated_[id]) continue;
      order_node(n);
      phases = std::max(phases, phase_[id] + 1);
    }
    last_segment_.assign(phases, 0);
    has_commit_.assign(phases, false);
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      if (!out_.planned[id] || graph_.node(id).op->effect == Effect::kVariable) continue;
      if (out_.commit[id]) {
        has_commit_[phase_[id]] = true;
      } else {
        last_segment_[phase_[id]] = std::max(last_segment_[phase_[id]], segment_[id]);
      }
    }
    out_.atomic = phases == 1 || !has_commit_[0];
  }
  void order_node(const Node& n) {
    std::uint32_t phase = 0;
    bool commit = false;
    for_each_dependency(n, [&](std::uint32_t d) {
      if (phase_[d] > phase || (phase_[d] == phase && out_.commit[d] && !commit))
        phase = phase_[d], commit = out_.commit[d];
    });
    out_.after_write[n.id] = commit;
    if (n.op->effect == Effect::kWrite) {
      commit = true;
    } else if (is_host(n) && commit) {
      ++phase;
      commit = false;
    }
    std::uint32_t segment = 0;
    if (!commit) {
      for_each_dependency(n, [&](std::uint32_t d) {
        if (phase_[d] == phase && !out_.commit[d])
          segment = std::max(segment, segment_[d] + (is_host(graph_.node(d)) ? 1u : 0u));
      });
      // It runs once even in a step of several batches.
      if (is_host(n) && phase == 0 && !repeated_[n.id]) segment = std::max(segment, out_.passes.stages);
    }
    phase_[n.id] = phase;
    out_.commit[n.id] = commit;
    segment_[n.id] = segment;
    ordered_[n.id] = commit || phase > 0;
  }

  template <class F>
  void for_each_dependency(const Node& n, F&& f) {
    for (const Port& in : n.inputs)
      if (!feeds_.fed(in) && graph_.node(in.node).op->effect != Effect::kVariable) f(in.node);
    for (const std::uint32_t c : n.control_inputs)
      if (out_.planned[c]) f(c);
  }

  void list_users() {
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      if (!out_.planned[id] || !out_.simplified.runs(id)) continue;
      if (out_.in_base[id]) out_.base.push_back(id);
      const Node& n = graph_.node(id);
      for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (!is_shape_only(n, i) && !feeds_.fed(n.inputs[i]))
          out_.users[out_.simplified.of(n.inputs[i]).node].push_back(id);
      for (const std::uint32_t c : n.control_inputs) out_.followers[c].push_back(id);
    }
    for (const Port& f : plan_.key.feeds) out_.pinned[f.node] = true;
    // If nothing is written, the caller's values are the base and stay as they are.
    if (std::find(has_commit_.begin(), has_commit_.end(), true) != has_commit_.end()) return;
    for (const FetchSlot& s : plan_.slots)
      if (s.always && out_.in_base[s.port.node]) out_.pinned[out_.simplified.twin[s.port.node]] = true;
  }

  // True for an initial value. It is drawn right before it is assigned, so all of them share one piece of memory in
  // turn. Drawn before the commit they would need as much memory as the model.
  bool is_drawn_to_be_assigned(const Node& n) const {
    const bool free = n.inputs.empty() && n.control_inputs.empty() && out_.followers[n.id].empty();
    if (n.op->effect != Effect::kRandom || !free || !out_.in_base[n.id] || out_.pinned[n.id]) return false;
    const std::vector<std::uint32_t>& users = out_.users[n.id];
    return !users.empty() && std::all_of(users.begin(), users.end(), [&](std::uint32_t user) {
      return graph_.node(user).op->role == Role::kAssign && phase_[user] == phase_[n.id];
    });
  }

  // Puts nodes into stages in order. A pure node moves to the latest segment that still serves its users. So variables
  // are read when they are needed, and not before a wait.
  void place() {
    std::vector<std::uint32_t> first(last_segment_.size());
    for (std::size_t p = 0; p < last_segment_.size(); ++p) {
      first[p] = static_cast<std::uint32_t>(out_.stages.size());
      out_.stages.resize(out_.stages.size() + last_segment_[p] + 1);
      if (has_commit_[p]) {
        out_.stages.emplace_back();
        out_.stages.back().commit = true;
      }
    }
    constexpr std::uint32_t kAny = 0xffffffff;
    std::vector<std::uint32_t> latest(graph_.size(), kAny);
    for (std::uint32_t id = static_cast<std::uint32_t>(graph_.size()); id-- > 0;) {
      if (!out_.planned[id] && !out_.shape_only[id]) continue;
      const Node& n = graph_.node(id);
      const std::uint32_t p = phase_[id];
      if (n.op->effect == Effect::kVariable) {
        out_.stage[id] = kAny;
        continue;
      }
      if (is_drawn_to_be_assigned(n)) out_.commit[id] = true;
      if (out_.commit[id]) {
        out_.stage[id] = first[p] + last_segment_[p] + 1;
        continue;
      }
      std::uint32_t segment = segment_[id];
      if (!is_host(n)) segment = std::max(segment, latest[id] == kAny ? last_segment_[p] : latest[id]);
      segment_[id] = segment;
      out_.stage[id] = first[p] + segment;
      const auto serve = [&](std::uint32_t d) {
        if (phase_[d] == p && !out_.commit[d]) latest[d] = std::min(latest[d], segment);
      };
      for (const Port& in : n.inputs) serve(in.node);
      for (const std::uint32_t d : n.control_inputs) serve(d);
      serve(out_.simplified.twin[id]);
    }
    out_.last_main = first[0] + last_segment_[0];
  }

  const NodeGraph& graph_;
  const Plan& plan_;
  const Closure& feeds_;
  NodeSchedule out_;
  std::vector<std::uint32_t> phase_, segment_;
  std::vector<bool> ordered_;                // in a commit stage, or after one
  std::vector<bool> repeated_;               // a mean over the batches of a step depends on it
  std::vector<std::uint32_t> last_segment_;  // by phase
  std::vector<bool> has_commit_;             // by phase
  std::vector<std::uint32_t> seen_in_;       // the call of mark_hook_fetch that saw the node last
  std::uint32_t walk_ = 0;
};

}  // namespace

NodeSchedule make_schedule(const NodeGraph& graph, const Plan& plan, const Closure& feeds) {
  return Scheduler(graph, plan, feeds).make();
}

}  // namespace belay::runtime
