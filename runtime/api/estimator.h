// SPDX-License-Identifier: Apache-2.0
// The functions of a program as the Estimator calls them.
#pragma once

#include <functional>
#include <memory>

#include "belay/runtime/estimator.h"
#include "runtime/estimator/estimator.h"

namespace belay {

struct EstimatorSpec::Insides {
  // Checks the pieces. `initial_values`: of a model plugin.
  Insides(const Graph& graph, Mode mode, const EstimatorPieces& pieces, runtime::InitialValues initial_values = {});

  const runtime::InitialValues initial_values;
  const runtime::EstimatorSpec spec;
};

struct Estimator::Insides {
  Insides(const ModelFn& model, const EstimatorOptions& options);
  // With a clock, a log and a file system of the caller's.
  Insides(const ModelFn& model, runtime::EstimatorOptions options);

  const std::shared_ptr<runtime::Logger> log;  // also of predictions, which may outlive the estimator; null: borrowed
  runtime::Estimator estimator;
};

}  // namespace belay

namespace belay::runtime {

// Empty ones stay empty.
InputFn input_fn(const belay::InputFn& input);
ModelFn model_fn(const belay::ModelFn& model);
TrainOptions train_options(const belay::TrainOptions& options);

}  // namespace belay::runtime
