// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/fusion.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/ops/math/fused.h"
#include "runtime/session/elementwise_groups.h"
#include "runtime/session/pool_groups.h"

namespace belay::runtime {
namespace {

// Marks nodes that another node of the graph, planned or not, follows by a control edge. It looks at the graph and not
// at the plan, since fetches beside the base must not decide about fusion.
std::vector<bool> followed_nodes(const NodeGraph& graph) {
  std::vector<bool> followed(graph.size(), false);
  for (std::uint32_t id = 0; id < graph.size(); ++id)
    for (const std::uint32_t c : graph.node(id).control_inputs) followed[c] = true;
  return followed;
}

// ---- MatMul | Conv2D -> BiasAdd -> activation -> MaxPool, and a norm -> activation

class ProductGroups {
 public:
  ProductGroups(const FusionView& view, const std::vector<bool>& followed, const DroppedReads& dropped)
      : view_(view), followed_(followed), dropped_(dropped) {}

  void find(std::vector<FusedGroup>& groups) const {
    for (const std::uint32_t id : view_.base) {
      const Node& product = view_.graph.node(id);
      if (product.op->fused_kernel == nullptr || product.outputs[0].first != DType::kFloat32) continue;
      FusedGroup group{{id}, product.op->fused_kernel, product.inputs, {}};
      const bool norm = product.op->name == "FusedBatchNorm" || product.op->name == "LayerNorm";
      const Node* last = &product;
      const Node* next = only_user(id);
      if (next != nullptr && !norm && next->op->name == "BiasAdd") {
        group.members.push_back(next->id);
        group.inputs.push_back(next->inputs[1]);
        last = next;
        next = only_user(next->id);
      }
      if (next != nullptr && fused_activation(next->op->name) != nullptr) {
        group.members.push_back(next->id);
        last = next;
        next = only_user(next->id);
      }
      if (next != nullptr && pools(product, *last, *next)) {
        group.members.push_back(next->id);
        last = next;
      }
      for (std::uint32_t i = 0; i < last->outputs.size(); ++i) group.outputs.push_back({last->id, i});
      if (norm) {
        for (std::uint32_t i = 1; i < product.outputs.size(); ++i) group.outputs.push_back({id, i});
        group.in_place = product.op->in_place;
        group.at_first = true;
      }
      if (group.members.size() > 1) groups.push_back(std::move(group));
    }
  }

 private:
  // Pools after a relu, or after no activation.
  static bool pools(const Node& product, const Node& last, const Node& next) {
    return product.op->name == "Conv2D" && next.op->name == "MaxPool" &&
           (last.op->name == "Relu" || fused_activation(last.op->name) == nullptr);
  }
  // Returns the node that reads output 0 as its input 0. It must be the only reader in the base and may swallow the
  // value.
  const Node* only_user(std::uint32_t id) const {
    if (view_.pinned[id] || followed_[id]) return nullptr;
    const Node* user = nullptr;
    for (const std::uint32_t u : view_.users[id]) {
      if (!view_.in_base[u] || dropped_.has(u, id) || !view_.simplified.reads(view_.graph.node(u), {id, 0})) continue;
      if (user != nullptr) return nullptr;
      user = &view_.graph.node(u);
    }
    if (user == nullptr || view_.stage[user->id] != view_.stage[id]) return nullptr;
    return view_.simplified.of(user->inputs[0]) == Port{id, 0} ? user : nullptr;
  }

  const FusionView& view_;
  const std::vector<bool>& followed_;
  const DroppedReads& dropped_;
};

// ---- updates of one kind with the same scalars

// Visits all nodes in their order. The last member's place takes all updates of a group. So a group gets no new members
// once a node depends on a member, or writes a variable that members write.
class UpdateGroups {
 public:
  explicit UpdateGroups(const FusionView& view) : view_(view) {}

  void find(std::vector<FusedGroup>& groups) {
    for (std::uint32_t id = 0; id < view_.graph.size(); ++id) {
      const Node& n = view_.graph.node(id);
      for (const Port& in : n.inputs) close_group_of(member_of_, in.node);
      for (const std::uint32_t c : n.control_inputs) close_group_of(member_of_, c);
      if (n.op->effect != Effect::kWrite || !view_.in_base[id]) continue;  // all writes of a plan are in its base
      const std::vector<std::uint32_t> written = written_by(n);
      for (const std::uint32_t v : written) close_group_of(writer_of_, v);
      if (shared_update_inputs(n.op->name).empty() || n.outputs[0].first != DType::kFloat32) continue;
      const std::size_t group = group_for(n);
      groups_[group].members.push_back(id);
      member_of_[id] = group;
      for (const std::uint32_t v : written) writer_of_[v] = group;
    }
    for (const Open& g : groups_) {
      if (g.members.size() < 2) continue;
      FusedGroup group{
          .members = g.members, .kernel = view_.graph.node(g.members[0]).op->kernel, .inputs = {}, .outputs = {}};
      for (const std::uint32_t m : g.members) {
        const Node& n = view_.graph.node(m);
        group.inputs.insert(group.inputs.end(), n.inputs.begin(), n.inputs.end());
        group.outputs.push_back({m, 0});
      }
      groups.push_back(std::move(group));
    }
  }

 private:
  static constexpr std::size_t kSearched = 16;  // only the newest groups, so that many kinds do not cost their square
  struct Open {
    std::vector<std::uint32_t> members;
    bool closed = false;
  };
  using GroupOf = std::unordered_map<std::uint32_t, std::size_t>;  // by node

  void close_group_of(const GroupOf& index, std::uint32_t node) {
    const auto it = index.find(node);
    if (it != index.end()) groups_[it->second].closed = true;
  }
  std::vector<std::uint32_t> written_by(const Node& n) const {
    std::vector<std::uint32_t> variables;
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
      if (n.op->ref_inputs == kAllInputs || (i < 32 && ((n.op->ref_inputs >> i) & 1) != 0))
        variables.push_back(variable_behind(view_.graph, n.inputs[i]).id);
    return variables;
  }
  bool fits(const Open& group, const Node& n) const {
    const Node& first = view_.graph.node(group.members[0]);
    if (group.closed || first.op != n.op || view_.stage[first.id] != view_.stage[n.id] ||
        !same_attrs(first.attrs, n.attrs))
      return false;
    const auto shared = shared_update_inputs(n.op->name);
    return std::all_of(shared.begin(), shared.end(), [&](std::size_t i) {
      return view_.simplified.of(first.inputs[i]) == view_.simplified.of(n.inputs[i]);
    });
  }
  std::size_t group_for(const Node& n) {
    const std::size_t newest = groups_.size() < kSearched ? 0 : groups_.size() - kSearched;
    for (std::size_t i = groups_.size(); i-- > newest;)
      if (fits(groups_[i], n)) return i;
    groups_.emplace_back();
    return groups_.size() - 1;
  }

  const FusionView& view_;
  std::vector<Open> groups_;
  GroupOf member_of_;
  GroupOf writer_of_;  // the last group that writes a variable
};

}  // namespace

std::vector<FusedGroup> find_fused_groups(const FusionView& view) {
  std::vector<FusedGroup> groups;
  const std::vector<bool> followed = followed_nodes(view.graph);
  DroppedReads dropped;
  find_pool_gradient_groups(view, followed, groups, dropped);
  ProductGroups(view, followed, dropped).find(groups);
  UpdateGroups(view).find(groups);
  find_elementwise_groups(view, groups);
  return groups;
}

}  // namespace belay::runtime
