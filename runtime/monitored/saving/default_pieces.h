// SPDX-License-Identifier: Apache-2.0
// The pieces that a scaffold or a supervisor makes if none is given and the graph's collections have none. Each one
// adds to the graph.
#pragma once

#include "belay/graph.h"

namespace belay::runtime {

// Initializes the global variables.
Output default_init_op(const belay::Graph& graph);
// Names of the variables, global and local, without a value.
Output default_ready_op(const belay::Graph& graph);
// Names of the global variables without a value.
Output default_ready_for_local_init_op(const belay::Graph& graph);
// Initializes local variables and tables.
Output default_local_init_op(const belay::Graph& graph);
// All summaries in one. It is empty if there are none.
Output default_summary_op(const belay::Graph& graph);

}  // namespace belay::runtime
