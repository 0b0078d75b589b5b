// SPDX-License-Identifier: Apache-2.0
// What a scaffold or a supervisor makes where a piece is not given and the graph's collections have none. Each adds to
// the graph.
#pragma once

#include "belay/graph.h"

namespace belay::runtime {

// Initializes the global variables.
Output default_init_op(const belay::Graph& graph);
// Names of the variables, global and local, that have no value yet.
Output default_ready_op(const belay::Graph& graph);
// The same of the global ones.
Output default_ready_for_local_init_op(const belay::Graph& graph);
// Initializes local variables and tables.
Output default_local_init_op(const belay::Graph& graph);
// All summaries in one; empty where there are none.
Output default_summary_op(const belay::Graph& graph);

}  // namespace belay::runtime
