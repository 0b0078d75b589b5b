// SPDX-License-Identifier: Apache-2.0
// A graph for TensorBoard.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/node_graph.h"

namespace belay::runtime {

// Returns a serialized GraphDef. Tensor attributes of more than a few elements are left out, since the picture needs
// none.
std::string serialized_graph_def(const NodeGraph& graph);
// Takes only the nodes that these fetches need if these outputs are fed.
std::string serialized_graph_def(const NodeGraph& graph, const std::vector<Port>& fetches,
                                 const std::vector<Port>& feeds);

}  // namespace belay::runtime
