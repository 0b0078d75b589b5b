// SPDX-License-Identifier: Apache-2.0
// The hook of a replay that sees whole steps: every tensor that the step's plan computes, in the plan's order.
//
//   watch_hook(model, environment, [&](const WatchedStep& s) { ...; return std::string(); })
//
// It only watches: the plan's kernels stay as they are. A value that a fused step does not store is computed beside it.
// The values have separate memory, so a step needs as much more as all of them together. [session]
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/estimator/host/model_graph.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/monitored/run/run_environment.h"
#include "runtime/session/step_tensors.h"

namespace belay::runtime {

// It is valid for the call.
struct WatchedStep {
  std::int64_t step = 0;  // that was made: the global step after it
  const NodeGraph& graph;
  const std::vector<StepTensor>& tensors;
  const RunValues& values;
  std::size_t loss;  // its place among them; tensors.size(): none, for example if it is merged with another

  TensorView value(std::size_t tensor) const { return values.result(tensor); }
};

// Returns why the run ends after this step; empty: it continues.
using WatchStep = std::function<std::string(const WatchedStep&)>;

// Watches every run that calls it: the train operation of that step and the loss. `model` and `environment` are
// borrowed.
PluginInstance::MakeHook watch_hook(const ModelGraph& model, const RunEnvironment& environment, WatchStep watch);

}  // namespace belay::runtime
