// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation, as nodes added to the graph: each operation's gradient function (runtime/ops/) is
// called once per node between ys and xs, in reverse order; the incoming gradients of an output with several users are
// summed.
#pragma once

#include <vector>

#include "runtime/graph/node_graph.h"

namespace belay::runtime {

// The gradients of sum(ys * grad_ys) with respect to xs, in xs' order; grad_ys empty: ones. Empty where no y depends on
// x. Nodes are named "gradients/...". No node is made for a gradient that is not needed. An operation on the way that
// has no gradient is INVALID_ARGUMENT, and the error names it.
std::vector<Output> add_gradients(NodeGraph& graph, const std::vector<Port>& ys, const std::vector<Output>& grad_ys,
                                  const std::vector<Port>& xs);

}  // namespace belay::runtime
