// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation by nodes that are added to the graph. It calls each operation's gradient function
// (runtime/ops/) once per node between ys and xs, in reverse order. If an output has several users, their gradients are
// summed.
#pragma once

#include <vector>

#include "runtime/graph/node_graph.h"

namespace belay::runtime {

// Returns the gradients of sum(ys * grad_ys) with respect to xs, in xs' order. An empty grad_ys means ones. Empty: no y
// depends on x. Nodes are named "gradients/...". No node is made for a gradient that is not needed. INVALID_ARGUMENT
// names an operation on the way without a gradient.
std::vector<Output> add_gradients(NodeGraph& graph, const std::vector<Port>& ys, const std::vector<Output>& grad_ys,
                                  const std::vector<Port>& xs);

}  // namespace belay::runtime
