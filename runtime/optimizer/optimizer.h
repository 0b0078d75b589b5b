// SPDX-License-Identifier: Apache-2.0
// The nodes that one training step adds to a graph behind a loss. The rule of the update is an optimizer plugin's.
//
//   Output loss = ...;                                                 // a scalar
//   const LinkedOptimizer adam({.name = "adam"}, belay::default_plugins());
//   Output train_op = minimize(graph, loss, adam.use());               // run it to train one step
//
// minimize is TensorFlow's: compute_gradients, then clipping as the settings say, then apply_gradients. Names are those
// of TensorFlow 1, too: gradients are "gradients/...", updates "train/update_<variable>". After all updates, and the
// operations that the plugin's finish and the model add to the step, the global step is increased by one.
//
// clip_norm scales all gradients by clip_norm / max(norm, clip_norm), norm being that of all of them together;
// clip_value then limits each element. A gradient that is NaN or infinite makes all of them so.
//
// With groups of variables each group has its own instance of the optimizer's plugin, and so its own rate and options;
// the train operation updates those that are trained at the step's beginning. With `accumulate` the gradients are means
// over the batches of a step, before they are clipped.
//
// Call all of it in no scope, so that names are as above.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "belay/graph.h"
#include "belay/runtime/optimizer_settings.h"
#include "runtime/loader/instance.h"

namespace belay::runtime {

// The settings, and instances of the plugins that they name.
struct OptimizerUse {
  const OptimizerSettings& settings;
  PluginInstance& optimizer;
  PluginInstance* schedule = nullptr;  // null: the learning rate is a number
  // The optimizer's plugin, once more for each of the settings' groups; null for a frozen one.
  std::vector<PluginInstance*> groups = {};
};

// A variable and the gradient of the loss for it.
struct VariableGradient {
  Output variable;
  Output gradient;
};

// Of the graph's trainable variables, in the order of their making; those that the loss does not depend on are left
// out. Also in the collections "gradients" and "gradient_variables". INVALID_ARGUMENT: a loss that is no floating-point
// scalar, no trainable variables or some of another dtype, a loss that depends on none of them, an operation without
// gradient on the way.
std::vector<VariableGradient> compute_gradients(const Graph& graph, const Output& loss);
// Of these alone: no node computes a gradient for another one.
std::vector<VariableGradient> compute_gradients(const Graph& graph, const Output& loss,
                                                const std::vector<Output>& variables);

// Replaces each gradient by its mean over so many batches of a step.
void average_gradients(const Graph& graph, std::vector<VariableGradient>& gradients, std::int64_t batches);

// Changes the gradients as clip_norm and clip_value say.
void clip_gradients(const Graph& graph, std::vector<VariableGradient>& gradients, const OptimizerSettings& settings);

// The train operation, also in the collection "train_op": it updates the variables and increases the global step.
// `learning_rate` is a floating-point scalar. Errors of the plugin name it.
Output apply_gradients(const Graph& graph, const std::vector<VariableGradient>& gradients, const Output& learning_rate,
                       const Output& global_step, PluginInstance& optimizer);

// The gradients of a step: of those of `variables` that the settings' groups do not freeze for ever, averaged over the
// step's batches. INVALID_ARGUMENT, besides: problems_of_groups (variable_groups.h).
std::vector<VariableGradient> gradients_of_step(const Graph& graph, const Output& loss,
                                                const OptimizerSettings& settings,
                                                const std::vector<Output>& variables);

// What is part of a step beside the updates of the optimizer.
struct StepParts {
  std::optional<std::vector<Output>> update_ops = {};  // none: the collection "update_ops"
  bool counts = true;                                  // the step increases the global step
};
// Clips the gradients and applies them, each group's by its own instance, with the learning rate of the settings
// (learning_rate.h). Makes the global step where the graph has none. Where groups have a from_step, the graph replaces
// the operation by a further one from there on (NodeGraph::add_succession).
Output update_variables(const Graph& graph, const std::vector<VariableGradient>& gradients, const OptimizerUse& use,
                        const StepParts& parts = {});

// Both, for all trainable variables.
Output minimize(const Graph& graph, const Output& loss, const OptimizerUse& use);

// For a program that has no run (whose RunPlugins make instances): of plugins that it links in. Outlives the building
// of the graph, not the training.
class LinkedOptimizer {
 public:
  // NOT_FOUND: `plugins` has none of that name; INVALID_ARGUMENT: its options.
  LinkedOptimizer(OptimizerSettings settings, const std::vector<const belay_module*>& plugins);
  ~LinkedOptimizer();
  LinkedOptimizer(const LinkedOptimizer&) = delete;
  LinkedOptimizer& operator=(const LinkedOptimizer&) = delete;

  OptimizerUse use() const;

 private:
  struct Parts;
  const OptimizerSettings settings_;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace belay::runtime
