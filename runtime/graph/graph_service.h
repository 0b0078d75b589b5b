// SPDX-License-Identifier: Apache-2.0
// The service "graph": the SDK's Graph over a NodeGraph.
#pragma once

#include "belay/abi.h"
#include "runtime/graph/node_graph.h"

namespace belay::runtime {

const belay_graph_api* graph_service() noexcept;

inline belay_graph* to_handle(NodeGraph* graph) noexcept { return reinterpret_cast<belay_graph*>(graph); }
inline NodeGraph& from_handle(belay_graph* graph) noexcept { return *reinterpret_cast<NodeGraph*>(graph); }

}  // namespace belay::runtime
