// SPDX-License-Identifier: Apache-2.0
// An Estimator's input from tensors in the program's memory, as TensorFlow's numpy_input_fn.
//
//   estimator.evaluate(tensor_input({{"x", x}}, {{"y", y}}, {.batch_size = 32}));
#pragma once

#include "belay/runtime/estimator_options.h"

#include "runtime/estimator/estimator_spec.h"

namespace belay::runtime {

// Rows in their order. For small data: all rows of all epochs wait in a queue, which is filled when a session is made.
// INVALID_ARGUMENT where there is no feature, or the first dimensions differ.
InputFn tensor_input(NamedTensors features, NamedTensors labels = {}, TensorInputOptions options = {});

}  // namespace belay::runtime
