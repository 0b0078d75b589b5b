// SPDX-License-Identifier: Apache-2.0
// How the variables are updated. [optimizer] of a manifest.
//
//   OptimizerSettings settings{.name = "momentum", .options = {{"momentum", 0.5}}};
//   settings.learning_rate = {.schedule = "cosine_decay", .learning_rate = 0.1,
//                             .options = {{"decay_steps", std::int64_t{2000}}}};
//
// Optimizers and schedules are plugins: their options, formulas and variables are in docs/plugins, and `belay describe
// momentum` lists them. Clipping is in runtime/optimizer/optimizer.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/plugin_use.h"

namespace belay::runtime {

inline constexpr double kDefaultLearningRate = 0.001;

// A number, or a schedule over t, the steps that were taken so far. Whatever it is, the rate is multiplied by the
// variable "learning_rate_scale", which is 1 until a hook lowers it.
struct LearningRate {
  std::string schedule = {};                 // a plugin of this kind; empty: the number alone
  std::string file = {};                     // absolute path of its library; empty: it is found by its name
  std::optional<double> learning_rate = {};  // >= 0: the number, or where the schedule starts. Not set: 0.001
  std::int64_t warmup_steps = 0;             // the rate is multiplied by min(1, (t + 1) / warmup_steps); 0: it is not
  std::vector<PluginOption> options = {};    // the schedule's

  bool is_scheduled() const noexcept { return !schedule.empty() || !file.empty(); }
  double number() const noexcept { return learning_rate.value_or(kDefaultLearningRate); }
  friend bool operator==(const LearningRate&, const LearningRate&) = default;
};

// Variables that are updated otherwise than the others. A variable is in one group at most.
//
//   settings.groups = {{.vars = "conv*", .learning_rate_scale = 0.1}, {.vars = "embedding", .learning_rate_scale = 0}};
struct VariableGroup {
  // Which trainable variables: a pattern of their names, where * is any characters, also '/', ? is one, and [ab] is
  // one of these.
  std::string vars = {};
  // Their rate is the optimizer's times this. 0 freezes them: they keep their values, and no gradient is computed.
  double learning_rate_scale = 1;
  // Their gradients are scaled by themselves, so that their common norm is at most this; 0: they are not. Not set: as
  // those of the other variables, and together with them unless the group has a from_step.
  std::optional<double> clip_norm = {};
  // Frozen until so many steps were taken; from then on they are trained, by the optimizer's rule from its start.
  std::int64_t from_step = 0;
  std::vector<PluginOption> options = {};  // the optimizer's, in the place of those that it has for all

  bool frozen() const noexcept { return learning_rate_scale == 0; }
  friend bool operator==(const VariableGroup&, const VariableGroup&) = default;
};

struct OptimizerSettings {
  std::string name = {};  // a plugin of this kind; empty: sgd, or that of the file
  std::string file = {};  // absolute path of its library; empty: it is found by its name
  LearningRate learning_rate = {};
  double clip_norm = 0;   // the gradients are scaled so that their common norm is at most this; 0: they are not
  double clip_value = 0;  // then each element of a gradient is cut to plus or minus this; 0: it is not
  // A step takes so many batches of the input, one after the other, and updates the variables once, by the mean of the
  // gradients: as a batch of that size, in the memory of one.
  std::int64_t accumulate = 1;
  std::vector<VariableGroup> groups = {};  // variables in none are updated as the settings above say
  std::vector<PluginOption> options = {};  // the optimizer's

  friend bool operator==(const OptimizerSettings&, const OptimizerSettings&) = default;
};

// The plugins that the settings name. Places of options that a program sets are "the optimizer's options".
PluginUse optimizer_use(const OptimizerSettings& settings);
// The same with the options of one of its groups.
PluginUse optimizer_use(const OptimizerSettings& settings, const VariableGroup& group);
std::optional<PluginUse> schedule_use(const LearningRate& rate);

}  // namespace belay::runtime
