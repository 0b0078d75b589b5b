// SPDX-License-Identifier: Apache-2.0
// The learning rate as a node of the graph. It is a number, or a schedule plugin's function of the global step, times
// the variable "learning_rate_scale" (first 1; a hook may set it).
//
// With warmup_steps the number or the schedule is multiplied by min(1, (t + 1) / warmup_steps). t is the global step
// before the run. A scheduled rate is rounded to float32 once. If it is NaN or infinite for a step, the step fails as
// DIVERGED, with the schedule's name. Nothing is written then.
#pragma once

#include "belay/graph.h"
#include "belay/runtime/optimizer_settings.h"
#include "runtime/loader/instance/instance.h"

namespace belay::runtime {

// The name of the saved float32 factor of every rate.
inline constexpr const char* kLearningRateScale = "learning_rate_scale";

// Returns a float32 scalar named "learning_rate", in the collection of the same name. Makes the variable if the graph
// has none. `schedule` is the plugin of the settings; null: the rate is the number. An error of the plugin names it.
Output add_learning_rate(const Graph& graph, const LearningRate& rate, const Output& global_step,
                         PluginInstance* schedule);

}  // namespace belay::runtime
