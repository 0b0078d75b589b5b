// SPDX-License-Identifier: Apache-2.0
// The functions of a program as the Estimator calls them.
#pragma once

#include <functional>

#include "belay/runtime/estimator.h"
#include "runtime/estimator/estimator_spec.h"

namespace belay {

struct EstimatorSpec::Insides {
  // Checks the pieces. `initial_values`: of a model plugin.
  Insides(const Graph& graph, Mode mode, const EstimatorPieces& pieces, runtime::InitialValues initial_values = {});

  const runtime::InitialValues initial_values;
  const runtime::EstimatorSpec spec;
};

}  // namespace belay

namespace belay::runtime {

// Empty ones stay empty.
InputFn input_fn(const belay::InputFn& input);
ModelFn model_fn(const belay::ModelFn& model);

}  // namespace belay::runtime
