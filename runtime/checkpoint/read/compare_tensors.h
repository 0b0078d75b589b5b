// SPDX-License-Identifier: Apache-2.0
// Finds whether a checkpoint fits a graph, and the differences. [any thread]
#pragma once

#include <string>
#include <vector>

#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/checkpoint/read/restore_error.h"

namespace belay::runtime {

// Returns a table of every difference, one line each, sorted by name; empty: there is none. For a variable that the
// checkpoint lacks, it adds a probable older name. That is a name that the graph lacks, of the same type and shape.
//
//   missing   hidden/kernel  float32 [784, 256]; saved as 'dense/kernel'?
//   extra     dense/kernel   float32 [784, 256]
//   reshaped  out/bias       float32 [10] in the graph, [20] in the checkpoint
//   re-typed  global_step    int64 in the graph, int32 in the checkpoint
std::string tensor_differences(const std::vector<TensorInfo>& graph, const std::vector<TensorInfo>& checkpoint);

// RestoreError has that table and the fix: the checkpoint does not have exactly the graph's variables.
void check_fits(const StoredTensors& checkpoint, const std::vector<TensorInfo>& graph);

// Does the same for a graph that needs only a part of it. A model that predicts needs none of the optimizer's
// variables. The rest of the checkpoint is ignored.
void check_holds(const StoredTensors& checkpoint, const std::vector<TensorInfo>& graph);

}  // namespace belay::runtime
