// SPDX-License-Identifier: Apache-2.0
// Finds gradients that are sparse: those of a table that gathers along its first dimension alone read. The graph's
// gradient is a dense node, or the sum of several. As rows with ids the gradient needs no memory of the table's size.
// The dense node stays in the graph, and a plan computes it only for a node that reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/optimizer/optimizer.h"

namespace belay::runtime {

// Returns the slices of each gather in the order in which the dense gradient adds them. Empty: the gradient is dense.
std::vector<ops::IndexedSlices> slices_of(const Graph& graph, const VariableGradient& v);

// Fills in `slices` of each sparse gradient if the optimizer takes them, and puts their rows into the collection
// "gradients". A mean over the batches of a step has the rows of all batches. Otherwise a line of the log names which
// gradients could be sparse and are dense.
void take_sparse_gradients(const Graph& graph, std::vector<VariableGradient>& gradients, PluginInstance& optimizer);

// Returns the sum for each id of slices that are padded: of several batches or processes (SlicesOfStep, RowsOverRanks).
ops::IndexedSlices sum_padded_slices(const Output& variable, const ops::IndexedSlices& slices, std::string_view name);

// Returns the rows of all batches of a step, which run one after the other. With a queue of several processes they have
// the weights of this process (SlicesOfStep).
ops::IndexedSlices slices_of_step(const ops::IndexedSlices& of_batch, const std::optional<Output>& queue,
                                  std::int64_t batches, std::string_view name);

// Returns the dense form of a sparse gradient. A step computes it only for a node that reads it.
Output dense_of(const Output& variable, const ops::IndexedSlices& slices, std::string_view name);

}  // namespace belay::runtime
