// SPDX-License-Identifier: Apache-2.0
// The learning rate as a node of the graph: a number or a schedule over the global step, times the variable
// "learning_rate_scale" (1 at first; a hook may set it).
//
// With t the number of steps that have been taken (the global step before the run), and the fields of LearningRate:
//
//   constant             learning_rate
//   exponential_decay    learning_rate * decay_rate ^ p, p = t / decay_steps; staircase: p is its whole part
//   natural_exp_decay    learning_rate * e ^ (-decay_rate * p), p as above
//   inverse_time_decay   learning_rate / (1 + decay_rate * p), p as above
//   piecewise_constant   values[i], i the number of boundaries that are less than t
//   polynomial_decay     (learning_rate - end_learning_rate) * (1 - s / d) ^ power + end_learning_rate,
//                        s = min(t, d), d = decay_steps; cycle: s = t, d = decay_steps * max(1, ceil(t / decay_steps))
//   cosine_decay         learning_rate * ((1 - alpha) * (1 + cos(pi * s / decay_steps)) / 2 + alpha),
//                        s = min(t, decay_steps)
//
// With warmup_steps any of them is multiplied by min(1, (t + 1) / warmup_steps).
//
// Computed in float64 and rounded once: the result is the float32 nearest to the formula's value, within an ulp.
#pragma once

#include "belay/graph.h"
#include "belay/runtime/optimizer_settings.h"

namespace belay::runtime {

// The name of the saved float32 scalar by which every rate is multiplied.
inline constexpr const char* kLearningRateScale = "learning_rate_scale";

// A float32 scalar named "learning_rate", in the collection of that name. Makes the variable where the graph has none.
// Fields that make no schedule are INVALID_ARGUMENT and named as in the manifest.
Output add_learning_rate(const Graph& graph, const LearningRate& rate, const Output& global_step);

}  // namespace belay::runtime
