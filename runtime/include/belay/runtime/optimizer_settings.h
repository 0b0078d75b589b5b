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

struct OptimizerSettings {
  std::string name = {};  // a plugin of this kind; empty: sgd, or that of the file
  std::string file = {};  // absolute path of its library; empty: it is found by its name
  LearningRate learning_rate = {};
  double clip_norm = 0;   // the gradients are scaled so that their common norm is at most this; 0: they are not
  double clip_value = 0;  // then each element of a gradient is cut to plus or minus this; 0: it is not
  std::vector<PluginOption> options = {};  // the optimizer's

  friend bool operator==(const OptimizerSettings&, const OptimizerSettings&) = default;
};

// The plugins that the settings name. Places of options that a program sets are "the optimizer's options".
PluginUse optimizer_use(const OptimizerSettings& settings);
std::optional<PluginUse> schedule_use(const LearningRate& rate);

}  // namespace belay::runtime
