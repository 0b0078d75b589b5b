// SPDX-License-Identifier: Apache-2.0
// Optimizers: the nodes that one training step adds to a graph behind a loss.
//
//   Output loss = ...;                                            // a scalar
//   Output train_op = minimize(graph, loss, manifest.optimizer);  // run it to train one step
//
// Adds, with names as in TensorFlow 1: the gradients of the loss for all trainable variables ("gradients/..."), clipped
// as the settings say; the learning rate (learning_rate.h); the optimizer's own variables, which are saved; one update
// for each variable (formulas: belay/ops/training.h). After all updates the powers of Adam are multiplied, and after
// those the global step, made where the graph has none, is increased by one.
//
//   name       variables of its own, for each variable            and for all
//   sgd        none
//   momentum   /Momentum
//   adagrad    /Adagrad
//   rmsprop    /RMSProp (mean square), centered: /RMSProp_1 (mean gradient), last: _1 or _2 (momentum)
//   adam       /Adam, /Adam_1 (first and second moments)          beta1_power, beta2_power
//   adamw      the same; weight decay is decoupled: learning_rate * weight_decay * variable is subtracted
//   ftrl       /Ftrl (sum of squares), /Ftrl_1 (linear)
//
// clip_norm scales all gradients by clip_norm / max(norm, clip_norm), norm being that of all of them together;
// clip_value then limits each element. A gradient that is NaN or infinite makes all of them so.
#pragma once

#include "belay/graph.h"
#include "belay/runtime/optimizer_settings.h"

namespace belay::runtime {

// The train operation, also in the collection "train_op". INVALID_ARGUMENT: a loss that is no floating-point scalar, no
// trainable variables or some of another dtype, a loss that depends on none of them, an operation without gradient on
// the way, an unknown optimizer. Variables without a gradient are left alone. Call it in no scope, so that names are as
// above.
Output minimize(const Graph& graph, const Output& loss, const OptimizerSettings& settings);

}  // namespace belay::runtime
