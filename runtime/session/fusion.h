// SPDX-License-Identifier: Apache-2.0
// Selects the nodes of a plan's base that become one kernel. Patterns:
//   MatMul | Conv2D -> BiasAdd -> Relu | Sigmoid | Tanh   (one of the latter two may be missing)
//   Conv2D -> BiasAdd -> Relu -> MaxPool                  (so may any of the latter three, but not all)
//   FusedBatchNorm | LayerNorm -> Relu | Sigmoid | Tanh
//   the gradients of Relu -> MaxPool                      (pool_groups.h)
//   several updates of one kind with the same scalars -> one pass over all their variables
//   element-wise nodes of one shape that end in one of them -> one pass over tiles (elementwise_groups.h)
// A swallowed value has no other user in the base. Users among the hooks' fetches get a recomputation.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/node_graph.h"
#include "runtime/session/plan.h"
#include "runtime/session/simplify.h"

namespace belay::runtime {

struct FusedGroup {
  std::vector<std::uint32_t> members;  // by id; the step takes the place of the last one, or of the first one
  KernelFactory kernel = nullptr;
  std::vector<Port> inputs;
  std::vector<Port> outputs;                 // the group's; the members' other outputs are swallowed
  std::vector<std::uint32_t> operands = {};  // for an element-wise chain: see runtime/ops/kernels/elementwise_chain.h
  std::uint32_t in_place = 0;                // like OpDef.in_place, for the group's inputs
  // True: the step takes the first member's place. Other outputs of this member have users before the last. Only the
  // first member has inputs.
  bool at_first = false;
};

// The facts about planned nodes for the patterns.
struct FusionView {
  const NodeGraph& graph;
  const std::vector<std::uint32_t>& base;   // ids, ascending
  const std::vector<bool>& in_base;         // by id
  const std::vector<std::uint32_t>& stage;  // by id
  const std::vector<std::vector<std::uint32_t>>&
      users;  // by id: planned nodes that run and read a value of it, ascending
  const std::vector<std::vector<std::uint32_t>>&
      followers;                    // by id: planned nodes that run after it (control), ascending
  const std::vector<bool>& pinned;  // by id: the caller or a feed keeps its output
  const std::vector<bool>& commit;  // by id: it is in a commit stage
  const Simplified& simplified;
};

std::vector<FusedGroup> find_fused_groups(const FusionView& view);

}  // namespace belay::runtime
