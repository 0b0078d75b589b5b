// SPDX-License-Identifier: Apache-2.0
// The insides of what an Estimator's functions get and return (belay/runtime/estimator.h). It calls an input function
// and then a model function. They add an input and the model to a graph.
//
// Both are called once for each graph: each train, evaluate and predict has a separate one. The global step is in the
// graph before the input function is called. [main]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/estimator.h"
#include "runtime/monitored/saving/scaffold.h"

namespace belay {

struct EstimatorSpec::Insides {
  runtime::InitialValues initial_values = {};
};

}  // namespace belay

namespace belay::runtime {

class EstimatorModel;

// The model that calls a function with these arguments: InputArgs or ModelArgs.
template <class Args>
EstimatorModel& model_of(const Args& args) {
  return *static_cast<EstimatorModel*>(const_cast<void*>(args.estimator));
}

// INVALID_ARGUMENT for a number that is given and is not above 0.
void need_above_0(const char* option, const std::optional<std::int64_t>& value);
// INVALID_ARGUMENT, with `list` and the place, if one of them is neither a program's own hook nor a plugin's.
void check_hooks(const std::string& list, const std::vector<OwnHook>& hooks);

}  // namespace belay::runtime
