// SPDX-License-Identifier: Apache-2.0
// The options of an Estimator's calls, as plain structs with their defaults. The functions that take them are in
// estimator.h.
//
//   estimator.evaluate(tensor_input({{"x", x}}, {{"y", y}}, {.batch_size = 32}), {.steps = 10, .name = "test"});
//
// An impossible number is INVALID_ARGUMENT in the call that gets it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/runtime/own_hook.h"
#include "belay/tensor.h"

namespace belay {

// Tensors in the program's memory by the names of features or labels; the first dimension is the rows.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Options of tensor_input.
struct TensorInputOptions {
  std::int64_t batch_size = 128;  // the last batch may be smaller
  std::int64_t epochs = 1;        // passes over the rows
};

// Options of one call of evaluate. Hooks are called round each batch.
struct EvaluateOptions {
  std::optional<std::int64_t> steps = {};  // batches; empty: until the input ends
  std::vector<OwnHook> hooks = {};
  std::string checkpoint_path = {};  // empty: the newest of model_dir, else the initial values
  std::string name = {};             // events go into eval_NAME instead of eval
};

// Options of one call of predict.
struct PredictArguments {
  std::vector<std::string> predict_keys = {};  // of the model's predictions; empty: all
  std::vector<OwnHook> hooks = {};
  std::string checkpoint_path = {};   // empty: the newest of model_dir, else the initial values
  bool yield_single_examples = true;  // false: a row is a batch
};

// Options of in_memory_evaluator, an evaluation inside a training.
struct InMemoryEvaluatorOptions {
  std::string name = {};  // events go into eval_NAME instead of eval; several evaluators need different names
  std::optional<std::int64_t> steps = {};  // batches; empty: until the input ends
  std::vector<OwnHook> hooks = {};         // of the evaluation's sessions; each begins once
  std::int64_t every_n_iter = 100;         // global steps
};

}  // namespace belay
