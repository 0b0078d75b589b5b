// Which nodes of a plan's base become one kernel. Patterns:
//   MatMul -> BiasAdd -> Relu | Sigmoid | Tanh   (the last, or the last two, may be missing)
//   several updates of one kind with the same scalars -> one pass over all their variables
// A value that is swallowed must have no other user in the base; users among the extras get a recomputation.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/node_graph.h"
#include "runtime/session/plan.h"

namespace belay::runtime {

struct FusedGroup {
  std::vector<std::uint32_t> members;  // by id; the step stands at the last one's place
  KernelFactory kernel = nullptr;
  std::vector<Port> inputs;
  std::vector<Port> outputs;  // what the group still gives; the other members' outputs are swallowed
};

// What the patterns need to know of the planned nodes.
struct FusionView {
  const NodeGraph& graph;
  const std::vector<std::uint32_t>& base;                // ids, ascending
  const std::vector<bool>& in_base;                      // by id
  const std::vector<std::uint32_t>& stage;               // by id
  const std::vector<std::vector<std::uint32_t>>& users;  // by id: planned nodes that read a value of it, ascending
  const std::vector<std::vector<std::uint32_t>>&
      followers;                    // by id: planned nodes that run after it (control), ascending
  const std::vector<bool>& pinned;  // by id: the caller or a feed holds on to its output
};

std::vector<FusedGroup> find_fused_groups(const FusionView& view);

}  // namespace belay::runtime
