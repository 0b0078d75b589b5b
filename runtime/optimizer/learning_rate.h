// SPDX-License-Identifier: Apache-2.0
// The learning rate as a node of the graph: a number, or what a schedule plugin computes of the global step; times the
// variable "learning_rate_scale" (1 at first; a hook may set it).
//
// With warmup_steps the number or the schedule is multiplied by min(1, (t + 1) / warmup_steps), t being the number of
// steps that have been taken, which is the global step before the run. A scheduled rate is rounded to float32 once; a
// step for which it is NaN or infinite then fails as DIVERGED, with the schedule's name, before anything is written.
#pragma once

#include "belay/graph.h"
#include "belay/runtime/optimizer_settings.h"
#include "runtime/loader/instance.h"

namespace belay::runtime {

// The name of the saved float32 scalar by which every rate is multiplied.
inline constexpr const char* kLearningRateScale = "learning_rate_scale";

// A float32 scalar named "learning_rate", in the collection of that name. Makes the variable where the graph has none.
// `schedule`: the plugin that the settings name; null: the rate is the number. An error of the plugin names it.
Output add_learning_rate(const Graph& graph, const LearningRate& rate, const Output& global_step,
                         PluginInstance* schedule);

}  // namespace belay::runtime
