// SPDX-License-Identifier: Apache-2.0
// A graph as TensorBoard shows it.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/node_graph.h"

namespace belay::runtime {

// A serialized GraphDef. Tensor attributes of more than a few elements are left out: the picture needs none.
std::string serialized_graph_def(const NodeGraph& graph);
// Only the nodes that these fetches need where these outputs are fed.
std::string serialized_graph_def(const NodeGraph& graph, const std::vector<Port>& fetches,
                                 const std::vector<Port>& feeds);

}  // namespace belay::runtime
