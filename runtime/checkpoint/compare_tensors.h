// SPDX-License-Identifier: Apache-2.0
// Whether a checkpoint fits a graph, and if not, in which ways. [any thread]
#pragma once

#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/restore_error.h"

namespace belay::runtime {

// A table of every difference, one line each, sorted by name; empty where there is none. Of a variable that the
// checkpoint does not have it says under which name it was probably saved: one that the graph does not have, of the
// same type and shape.
//
//   missing   hidden/kernel  float32 [784, 256]; saved as 'dense/kernel'?
//   extra     dense/kernel   float32 [784, 256]
//   reshaped  out/bias       float32 [10] in the graph, [20] in the checkpoint
//   re-typed  global_step    int64 in the graph, int32 in the checkpoint
std::string tensor_differences(const std::vector<TensorInfo>& graph, const std::vector<TensorInfo>& checkpoint);

// RestoreError with that table, and what to do, where the checkpoint does not hold exactly the graph's variables.
void check_fits(const StoredTensors& checkpoint, const std::vector<TensorInfo>& graph);

// The same for a graph that needs only a part of it, as a model that predicts needs none of the optimizer's variables:
// what else the checkpoint holds is left alone.
void check_holds(const StoredTensors& checkpoint, const std::vector<TensorInfo>& graph);

}  // namespace belay::runtime
