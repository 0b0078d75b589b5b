#include "runtime/session/fusion.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/ops/fused.h"

namespace belay::runtime {
namespace {

// Whether some node of the graph, planned or not, runs after this one by a control edge. Asked of the graph and not of
// the plan: what somebody fetches beside the base must not decide about fusion.
std::vector<bool> followed_nodes(const NodeGraph& graph) {
  std::vector<bool> followed(graph.size(), false);
  for (std::uint32_t id = 0; id < graph.size(); ++id)
    for (const std::uint32_t c : graph.node(id).control_inputs) followed[c] = true;
  return followed;
}

// ---- MatMul -> BiasAdd -> activation

class DenseGroups {
 public:
  explicit DenseGroups(const FusionView& view) : view_(view), followed_(followed_nodes(view.graph)) {}

  void find(std::vector<FusedGroup>& groups) const {
    for (const std::uint32_t id : view_.base) {
      const Node& product = view_.graph.node(id);
      if (product.op->name != "MatMul" || product.outputs[0].first != DType::kFloat32) continue;
      FusedGroup group{{id}, make_fused_dense, product.inputs, {}};
      const Node* last = &product;
      const Node* next = only_user(id);
      if (next != nullptr && next->op->name == "BiasAdd") {
        group.members.push_back(next->id);
        group.inputs.push_back(next->inputs[1]);
        last = next;
        next = only_user(next->id);
      }
      if (next != nullptr && fuses_as_activation(next->op->name)) {
        group.members.push_back(next->id);
        last = next;
      }
      group.outputs = {{last->id, 0}};
      if (group.members.size() > 1) groups.push_back(std::move(group));
    }
  }

 private:
  // Who reads output 0 as its input 0, if nobody else in the base reads it and it may be swallowed.
  const Node* only_user(std::uint32_t id) const {
    if (view_.pinned[id] || followed_[id]) return nullptr;
    const Node* user = nullptr;
    for (const std::uint32_t u : view_.users[id]) {
      if (!view_.in_base[u]) continue;
      if (user != nullptr) return nullptr;
      user = &view_.graph.node(u);
    }
    if (user == nullptr || view_.stage[user->id] != view_.stage[id]) return nullptr;
    return user->inputs[0] == Port{id, 0} ? user : nullptr;
  }

  const FusionView& view_;
  std::vector<bool> followed_;
};

// ---- updates of one kind with the same scalars

bool same_attrs(const Attrs& a, const Attrs& b) {
  if (a.all().size() != b.all().size()) return false;
  for (const auto& [name, value] : a.all()) {
    const AttrValue* other = b.find(name);
    if (other == nullptr || other->index() != value.index()) return false;
    const auto* i = std::get_if<std::int64_t>(&value);
    const auto* d = std::get_if<double>(&value);
    const bool same =
        i != nullptr ? *i == std::get<std::int64_t>(*other) : d != nullptr && *d == std::get<double>(*other);
    if (!same) return false;
  }
  return true;
}

// Walks all nodes in their order. All updates of a group take place where the last one stands; so a group is closed to
// new members once a node depends on one of its members, or writes a variable that they write.
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
      FusedGroup group{g.members, view_.graph.node(g.members[0]).op->kernel, {}, {}};
      for (const std::uint32_t m : g.members) {
        const Node& n = view_.graph.node(m);
        group.inputs.insert(group.inputs.end(), n.inputs.begin(), n.inputs.end());
        group.outputs.push_back({m, 0});
      }
      groups.push_back(std::move(group));
    }
  }

 private:
  static constexpr std::size_t kSearched = 16;  // of the newest groups, so that many kinds do not cost their square
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
    return std::all_of(shared.begin(), shared.end(), [&](std::size_t i) { return first.inputs[i] == n.inputs[i]; });
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
  DenseGroups(view).find(groups);
  UpdateGroups(view).find(groups);
  return groups;
}

}  // namespace belay::runtime
