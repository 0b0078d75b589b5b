// SPDX-License-Identifier: Apache-2.0
// [optimizer] of a manifest: how the variables are updated.
//
//   OptimizerSettings settings{.name = "momentum", .options = {{"momentum", 0.5}}};
//   settings.learning_rate = {.schedule = "cosine_decay", .learning_rate = 0.1,
//                             .options = {{"decay_steps", std::int64_t{2000}}}};
//
// Optimizers and schedules are plugins. docs/plugins has their options, formulas and variables, and `belay describe
// momentum` lists them. Clipping is in runtime/optimizer/optimizer.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/plugin_use.h"

namespace belay::runtime {

inline constexpr double kDefaultLearningRate = 0.001;

// A number, or a schedule over t, the number of steps so far. In both cases the rate is multiplied by the variable
// "learning_rate_scale", which is 1 until a hook lowers it.
struct LearningRate {
  std::string schedule = {};                 // a plugin of this kind; empty: the number alone
  std::string file = {};                     // absolute path of its library; empty: found by its name
  std::optional<double> learning_rate = {};  // >= 0: the number, or the schedule's start. Not set: 0.001
  std::int64_t warmup_steps = 0;             // the rate is multiplied by min(1, (t + 1) / warmup_steps); 0: no warm-up
  std::vector<PluginOption> options = {};    // the schedule's

  bool is_scheduled() const noexcept { return !schedule.empty() || !file.empty(); }
  double number() const noexcept { return learning_rate.value_or(kDefaultLearningRate); }
  friend bool operator==(const LearningRate&, const LearningRate&) = default;
};

// Variables with their own settings. A variable is in at most one group.
//
//   settings.groups = {{.vars = "conv*", .learning_rate_scale = 0.1}, {.vars = "embedding", .learning_rate_scale = 0}};
struct VariableGroup {
  // The trainable variables of the group: a pattern of their names. * is any characters, also '/', ? is one, and [ab]
  // is one of these.
  std::string vars = {};
  // Factor of the optimizer's rate. 0 freezes the variables: they keep their values, and no gradient is computed.
  double learning_rate_scale = 1;
  // The group's gradients are scaled so that their common norm is at most this; 0: no limit. Not set: the limit of the
  // other variables, together with them unless the group has a from_step.
  std::optional<double> clip_norm = {};
  // The variables are frozen until this number of steps. After that the optimizer's rule trains them from its start.
  std::int64_t from_step = 0;
  std::vector<PluginOption> options = {};  // the optimizer's, in place of those for all variables

  bool frozen() const noexcept { return learning_rate_scale == 0; }
  friend bool operator==(const VariableGroup&, const VariableGroup&) = default;
};

struct OptimizerSettings {
  std::string name = {};  // a plugin of this kind; empty: sgd, or that of the file
  std::string file = {};  // absolute path of its library; empty: found by its name
  LearningRate learning_rate = {};
  double clip_norm = 0;   // the gradients are scaled so that their common norm is at most this; 0: no limit
  double clip_value = 0;  // then each element of a gradient is limited to plus or minus this; 0: no limit
  // Number of batches per step. A step updates the variables once, by the mean of the batches' gradients. It is like
  // one batch of that total size, in the memory of one.
  std::int64_t accumulate = 1;
  std::vector<VariableGroup> groups = {};  // variables in no group use the settings above
  std::vector<PluginOption> options = {};  // the optimizer's

  friend bool operator==(const OptimizerSettings&, const OptimizerSettings&) = default;
};

// The plugin use for the optimizer. Its options from a program have the place "the optimizer's options".
PluginUse optimizer_use(const OptimizerSettings& settings);
// Does the same with the options of one of its groups.
PluginUse optimizer_use(const OptimizerSettings& settings, const VariableGroup& group);
std::optional<PluginUse> schedule_use(const LearningRate& rate);

}  // namespace belay::runtime
