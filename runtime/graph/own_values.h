// SPDX-License-Identifier: Apache-2.0
// Finds the values that differ between the processes of a training. Each rank has another part of the input, other
// random numbers and other feeds. Variables are the same on all ranks. So are sums over the ranks (MeanOverRanks: loss,
// metrics, gradients), their rows of tables (RowsOverRanks), and values computed only from these. The batch itself is
// not in the list. It plainly differs, and hooks ask for its number of rows.
#pragma once

#include <vector>

#include "runtime/graph/node_graph.h"

namespace belay::runtime {

// Returns a flag for each node of a frozen graph. Empty: it is a graph of one process.
std::vector<bool> own_values(const NodeGraph& graph);

}  // namespace belay::runtime
