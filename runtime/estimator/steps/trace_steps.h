// SPDX-License-Identifier: Apache-2.0
// The plan of a training step, its memory and the time of its nodes, for `belay graph --plan`.
#pragma once

#include <functional>
#include <vector>

#include "runtime/estimator/host/model_graph.h"
#include "runtime/estimator/host/run_host.h"

namespace belay::runtime {

// Runs training steps from freshly initialized variables, without hooks. `then` gets the plan, its memory and the
// traces of the steps after the warm ones. There are fewer if the input ends; OUT_OF_RANGE if it ends before the first
// traced step.
using StepTraces = std::function<void(const Plan&, const PlanStats&, const std::vector<RunMetadata>&)>;
void trace_steps(RunHost& run, ModelGraph& model, int warm, int traced, const StepTraces& then);

}  // namespace belay::runtime
