// SPDX-License-Identifier: Apache-2.0
// One pass over an input, in a graph and a store of its own: the variables come from another store by name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/input_feed.h"
#include "runtime/monitored/build_model.h"
#include "runtime/monitored/run_environment.h"

namespace belay::runtime {

struct EvalResult {
  std::int64_t global_step = 0;
  std::int64_t examples = 0;
  std::int64_t batches = 0;
  std::vector<std::pair<std::string, double>> metrics;  // "loss" first, then in the model's order
};

// Builds the model in mode kEval on the input, copies every variable that it has from `trained` (one that is missing
// there is an error naming it), and runs until the input ends. keep_going is asked before each batch; false: the error
// CANCELLED.
EvalResult evaluate(const OpRegistry& ops, const RunEnvironment& environment, PluginInstance& model,
                    const std::shared_ptr<InputFeed>& input, VariableStore& trained,
                    const std::function<bool()>& keep_going);

// "loss = 0.0812, accuracy = 0.975"
std::string metrics_text(const EvalResult& result);

}  // namespace belay::runtime
