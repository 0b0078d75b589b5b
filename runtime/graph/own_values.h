// SPDX-License-Identifier: Apache-2.0
// Of several processes that train together: which values are computed from what a rank has alone. Its part of the
// input, random numbers and what a run feeds are others on each of them; variables are the same on all, and so is what
// they have summed (MeanOverRanks: loss, metrics, gradients), and what is computed from these alone. The batch itself
// is not among them: that it is of the rank alone is plain, and hooks ask for how many rows it has.
#pragma once

#include <vector>

#include "runtime/graph/node_graph.h"

namespace belay::runtime {

// By node, of a frozen graph; empty: it is a graph of one process.
std::vector<bool> own_values(const NodeGraph& graph);

}  // namespace belay::runtime
