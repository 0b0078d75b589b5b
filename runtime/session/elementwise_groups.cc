// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/elementwise_groups.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "runtime/session/node_facts.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kMostMembers = 24;  // fetching an inner value of a group recomputes them all

bool fusible_dtype(DType t) { return t == DType::kFloat32 || t == DType::kBool; }

// True if the shapes are known to be equal, or unknown at the same places.
bool same_shape(const Shape& a, const Shape& b) { return a.has_rank() && b.has_rank() && a.dims() == b.dims(); }

class ElementwiseGroups {
 public:
  explicit ElementwiseGroups(const FusionView& view) : view_(view), taken_(view.graph.size(), false) {
    for (std::uint32_t id = 0; id < view.graph.size(); ++id)
      for (const std::uint32_t c : view.graph.node(id).control_inputs) taken_[c] = true;
  }

  void find(std::vector<FusedGroup>& groups) {
    for (const FusedGroup& g : groups)
      for (const std::uint32_t m : g.members) taken_[m] = true;
    // It begins with the last node, so a group starts from the node whose value others use.
    for (std::size_t i = view_.base.size(); i-- > 0;) {
      const std::uint32_t id = view_.base[i];
      if (!fusible(id)) continue;
      std::vector<std::uint32_t> members = grow(id);
      if (members.size() < 2) continue;
      std::sort(members.begin(), members.end());
      groups.push_back(group_of(std::move(members)));
    }
  }

 private:
  bool fusible(std::uint32_t id) const {
    const Node& n = view_.graph.node(id);
    return n.op->elementwise && !taken_[id] && n.op->effect == Effect::kNone && n.op->kernel != nullptr &&
           n.op->plugin == nullptr && !n.op->alias && n.outputs.size() == 1 && fusible_dtype(n.outputs[0].first) &&
           n.control_inputs.empty() && !view_.commit[id] && n.op->shape_inputs == 0 &&
           std::all_of(n.inputs.begin(), n.inputs.end(),
                       [&](const Port& in) { return fusible_dtype(view_.graph.spec(in).first); });
  }

  // Visits nodes from the last on. When a node is visited, all its possible users have been decided.
  std::vector<std::uint32_t> grow(std::uint32_t last) {
    std::vector<std::uint32_t> members;
    std::priority_queue<std::uint32_t> next;
    next.push(last);
    while (!next.empty() && members.size() < kMostMembers) {
      const std::uint32_t id = next.top();
      while (!next.empty() && next.top() == id) next.pop();
      if (id != last && !swallows(last, id)) continue;
      members.push_back(id);
      taken_[id] = true;
      group_[id] = last;
      for (const Port& in : view_.graph.node(id).inputs) next.push(view_.simplified.of(in).node);
    }
    if (members.size() == 1) taken_[last] = false, group_.erase(last);
    return members;
  }
  bool swallows(std::uint32_t last, std::uint32_t id) const {
    if (!view_.in_base[id] || !view_.simplified.runs(id) || !fusible(id) || view_.pinned[id] ||
        view_.stage[id] != view_.stage[last])
      return false;
    const auto &shape = view_.graph.node(id).outputs[0].second, &result = view_.graph.node(last).outputs[0].second;
    if (!same_shape(shape, result)) return false;
    return std::all_of(view_.users[id].begin(), view_.users[id].end(), [&](std::uint32_t user) {
      if (!view_.in_base[user]) return true;
      const auto it = group_.find(user);
      return it != group_.end() && it->second == last;
    });
  }

  FusedGroup group_of(std::vector<std::uint32_t> members) const {
    FusedGroup g;
    const Node& last = view_.graph.node(members.back());
    std::unordered_map<std::uint64_t, std::uint32_t> place;  // by port: index among the inputs, or the members
    for (const std::uint32_t m : members)
      for (const Port& in : view_.graph.node(m).inputs) {
        const Port from = view_.simplified.of(in);
        if (std::binary_search(members.begin(), members.end(), from.node)) continue;
        if (place.emplace(port_key(from), static_cast<std::uint32_t>(g.inputs.size())).second) g.inputs.push_back(from);
      }
    for (std::size_t i = 0; i < members.size(); ++i)
      place.emplace(port_key({members[i], 0}), static_cast<std::uint32_t>(g.inputs.size() + i));
    for (const std::uint32_t m : members)
      for (const Port& in : view_.graph.node(m).inputs)
        g.operands.push_back(place.at(port_key(view_.simplified.of(in))));
    // The last member writes the result. It must read its inputs before it writes over them.
    for (std::uint32_t k = 0; k < g.inputs.size() && k < 32; ++k) {
      bool in_place = true;
      for (std::size_t i = 0; i < last.inputs.size(); ++i)
        if (view_.simplified.of(last.inputs[i]) == g.inputs[k])
          in_place = in_place && i < 32 && ((last.op->in_place >> i) & 1) != 0;
      if (in_place) g.in_place |= 1u << k;
    }
    g.outputs = {{last.id, 0}};
    g.members = std::move(members);
    return g;
  }

  const FusionView& view_;
  std::vector<bool> taken_;                                 // by id: in a group, or another node waits for it
  std::unordered_map<std::uint32_t, std::uint32_t> group_;  // by member: the group's last node
};

}  // namespace

void find_elementwise_groups(const FusionView& view, std::vector<FusedGroup>& groups) {
  ElementwiseGroups(view).find(groups);
}

}  // namespace belay::runtime
