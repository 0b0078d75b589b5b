// SPDX-License-Identifier: Apache-2.0
// Finds gradients that are sparse: those of a table that gathers along its first dimension alone read. The graph's
// gradient is a dense node, or the sum of several. As rows with ids the gradient needs no memory of the table's size.
// The dense node stays in the graph, and a plan computes it only for a node that reads it.
#pragma once

#include <string>
#include <vector>

#include "runtime/optimizer/optimizer.h"

namespace belay::runtime {

// Returns the slices of each gather in the order in which the dense gradient adds them. Empty: the gradient is dense.
std::vector<ops::IndexedSlices> slices_of(const Graph& graph, const VariableGradient& v);

// Fills in `slices` of each sparse gradient if the optimizer takes them, and puts their rows into the collection
// "gradients". Otherwise tell_of_dense says which are dense.
void take_sparse_gradients(const Graph& graph, std::vector<VariableGradient>& gradients, PluginInstance& optimizer);

// Logs a line about those of the gradients that could be sparse, in the name of the optimizer. Their means are dense.
void tell_of_dense(const Graph& graph, const std::vector<VariableGradient>& gradients, const PluginInstance& optimizer,
                   const std::string& reason);

}  // namespace belay::runtime
