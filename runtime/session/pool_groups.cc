// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/pool_groups.h"

#include <algorithm>

#include "runtime/ops/math/fused.h"

namespace belay::runtime {
namespace {

class PoolGradientGroups {
 public:
  PoolGradientGroups(const FusionView& view, const std::vector<bool>& followed, std::vector<FusedGroup>& groups,
                     DroppedReads& dropped)
      : view_(view), followed_(followed), groups_(groups), dropped_(dropped) {}

  void find() {
    for (const std::uint32_t id : view_.base)
      if (node(id).op->name == "ReluGrad" && view_.simplified.runs(id)) look_at(node(id));
  }

 private:
  const Node& node(std::uint32_t id) const { return view_.graph.node(id); }
  Port input(const Node& n, std::size_t i) const { return view_.simplified.of(n.inputs[i]); }

  // `relu` has the inputs dy and the relu's result. Its dy comes from the gradient of a pooling of this result.
  void look_at(const Node& relu) {
    const Node& gradient = node(input(relu, 0).node);
    if (gradient.op->name != "MaxPoolGrad" || relu.outputs[0].first != DType::kFloat32) return;
    const Node& pooling = node(input(gradient, 1).node);
    if (pooling.op->name != "MaxPool" || input(pooling, 0) != input(relu, 1)) return;
    if (!is_only_user(relu, gradient.id) || view_.stage[relu.id] != view_.stage[gradient.id]) return;
    const Port dy = input(gradient, 0), y{pooling.id, 0};
    const std::uint32_t relu_result = input(relu, 1).node;
    const bool channels_last = pooling.attrs.text("data_format") == "NHWC";
    for (const std::uint32_t u : view_.users[relu.id])
      if (channels_last && view_.in_base[u] && node(u).op->name == "BiasAddGrad" &&
          view_.stage[u] == view_.stage[relu.id]) {
        groups_.push_back({{u}, make_pooled_bias_gradient, {dy, y}, {{u, 0}}});
        dropped_.add(u, relu.id);
      }
    groups_.push_back(
        {{gradient.id, relu.id}, make_relu_max_pool_gradient, {dy, input(gradient, 1), y}, {{relu.id, 0}}});
    dropped_.add(relu.id, relu_result);
  }
  bool is_only_user(const Node& user, std::uint32_t id) const {
    if (view_.pinned[id] || followed_[id] || !view_.in_base[id]) return false;
    return std::all_of(view_.users[id].begin(), view_.users[id].end(),
                       [&](std::uint32_t u) { return u == user.id || !view_.in_base[u]; });
  }

  const FusionView& view_;
  const std::vector<bool>& followed_;
  std::vector<FusedGroup>& groups_;
  DroppedReads& dropped_;
};

}  // namespace

void find_pool_gradient_groups(const FusionView& view, const std::vector<bool>& followed,
                               std::vector<FusedGroup>& groups, DroppedReads& dropped) {
  PoolGradientGroups(view, followed, groups, dropped).find();
}

}  // namespace belay::runtime
