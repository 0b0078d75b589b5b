// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/own_values.h"

#include <algorithm>

namespace belay::runtime {
namespace {

// The values are the same on all ranks.
bool is_of_all_ranks(const OpDef& op) { return op.name == "MeanOverRanks" || op.name == "RowsOverRanks"; }

bool begins_anew(const OpDef& op) {
  return op.effect == Effect::kRandom || op.effect == Effect::kBlocking || op.role == Role::kPlaceholder;
}

}  // namespace

std::vector<bool> own_values(const NodeGraph& graph) {
  std::vector<bool> own(graph.size()), computed(graph.size());
  bool several = false;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (is_of_all_ranks(*node.op)) {
      several = true;
      continue;
    }
    const bool from_own =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Port& input) { return own[input.node]; });
    own[id] = from_own || begins_anew(*node.op);
    computed[id] = node.op->role == Role::kIdentity ? computed[node.inputs[0].node] : from_own;
  }
  return several ? computed : std::vector<bool>();
}

}  // namespace belay::runtime
