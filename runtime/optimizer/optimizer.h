// SPDX-License-Identifier: Apache-2.0
// Adds the nodes of one training step for a loss to a graph. An optimizer plugin has the rule of the update.
//
//   Output loss = ...;                                                 // a scalar
//   const LinkedOptimizer adam({.name = "adam"}, belay::default_plugins());
//   Output train_op = minimize(graph, loss, adam.use());               // run it to train one step
//
// minimize is TensorFlow's: compute_gradients, clipping by the settings, apply_gradients. The names are those of
// TensorFlow 1: gradients are "gradients/...", updates "train/update_<variable>". The global step increases by one
// after all updates, and after the operations of the plugin's finish and of the model.
//
// clip_norm scales all gradients by clip_norm / max(norm, clip_norm). The norm is common to all of them. clip_value
// then limits each element. If a gradient is NaN or infinite, all become so.
//
// With groups of variables each group has a separate instance of the optimizer's plugin. So it has a separate rate and
// options. The train operation updates those in training at the step's start. With `accumulate` the gradients are means
// over the batches of a step, before they are clipped.
//
// The gradient of a table that gathers alone read is sparse: rows with ids. An optimizer that takes it so updates these
// rows. The norm and the collection "gradients" have the rows in the place of the dense gradient.
//
// Call all of it outside of scopes, so that names are as above.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "belay/graph.h"
#include "belay/ops/indexed_slices.h"
#include "belay/runtime/optimizer_settings.h"
#include "runtime/loader/instance/instance.h"

namespace belay::runtime {

// The settings, and instances of their plugins.
struct OptimizerUse {
  const OptimizerSettings& settings;
  PluginInstance& optimizer;
  PluginInstance* schedule = nullptr;  // null: the learning rate is a number
  // An instance of the optimizer's plugin for each of the settings' groups; null for a frozen one.
  std::vector<PluginInstance*> groups = {};
};

// A variable and the gradient of the loss for it.
struct VariableGradient {
  Output variable;
  Output gradient;
  // The same gradient as rows with ids (sparse_gradients.h), if the optimizer takes it so. The step then does not
  // compute `gradient`.
  std::optional<ops::IndexedSlices> slices = {};
};

// Returns the gradients of the graph's trainable variables, in the order of their making. Variables that the loss does
// not depend on are left out. They are also in the collections "gradients" and "gradient_variables". INVALID_ARGUMENT:
// the loss is no floating-point scalar, or depends on no variable. Or there are no trainable variables, one has another
// dtype, or an operation on the way has no gradient.
std::vector<VariableGradient> compute_gradients(const Graph& graph, const Output& loss);
// Takes only these variables: no node computes a gradient for another one.
std::vector<VariableGradient> compute_gradients(const Graph& graph, const Output& loss,
                                                const std::vector<Output>& variables);

// Replaces each gradient by its mean over this number of batches of a step.
void average_gradients(const Graph& graph, std::vector<VariableGradient>& gradients, std::int64_t batches);

// Clips the gradients by clip_norm and clip_value.
void clip_gradients(const Graph& graph, std::vector<VariableGradient>& gradients, const OptimizerSettings& settings);

// Returns the train operation, which is also in the collection "train_op". It updates the variables and increases the
// global step. `learning_rate` is a floating-point scalar. Errors of the plugin name it.
Output apply_gradients(const Graph& graph, const std::vector<VariableGradient>& gradients, const Output& learning_rate,
                       const Output& global_step, PluginInstance& optimizer);

// Returns the gradients of a step, averaged over its batches: for those of `variables` that the settings' groups do not
// freeze for ever. INVALID_ARGUMENT also covers problems_of_groups (variable_groups.h).
std::vector<VariableGradient> gradients_of_step(const Graph& graph, const Output& loss,
                                                const OptimizerSettings& settings,
                                                const std::vector<Output>& variables);

// Fills in `slices` of the sparse gradients that the optimizers of their groups take (sparse_gradients.h). The
// functions below do so too, for those that have none.
void take_sparse_gradients(const Graph& graph, std::vector<VariableGradient>& gradients, const OptimizerUse& use);

// The parts of a step besides the updates of the optimizer.
struct StepParts {
  std::optional<std::vector<Output>> update_ops = {};  // none: the collection "update_ops"
  bool counts = true;                                  // true: the step increases the global step
};
// Clips the gradients and applies them with the settings' learning rate (learning_rate.h). Each group has a separate
// instance. Makes the global step if the graph has none. If groups have a from_step, a further operation replaces this
// one from there on (NodeGraph::successions).
Output update_variables(const Graph& graph, const std::vector<VariableGradient>& gradients, const OptimizerUse& use,
                        const StepParts& parts = {});

// Computes and applies the gradients of all trainable variables.
Output minimize(const Graph& graph, const Output& loss, const OptimizerUse& use);

// An optimizer for a program without a run, whose RunPlugins would make instances. It uses the linked plugins of the
// program. It must live while the graph is built, not during the training.
class LinkedOptimizer {
 public:
  // NOT_FOUND: `plugins` has none of this name. INVALID_ARGUMENT: its options are wrong.
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
