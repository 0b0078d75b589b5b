// SPDX-License-Identifier: Apache-2.0
// How the variables are updated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belay::runtime {

// A number, or a schedule. Formulas: runtime/optimizer/learning_rate.h.
struct LearningRate {
  // "": constant | exponential_decay | natural_exp_decay | inverse_time_decay | piecewise_constant | polynomial_decay |
  // cosine_decay
  std::string schedule;
  double learning_rate = 0.001;
  std::int64_t decay_steps = 1000;
  double decay_rate = 0.96;
  bool staircase = false;
  double end_learning_rate = 0.0001;
  double power = 1;
  bool cycle = false;
  double alpha = 0;                      // cosine_decay: the fraction that remains
  std::vector<std::int64_t> boundaries;  // piecewise_constant: n boundaries ...
  std::vector<double> values;            // ... and n + 1 values
  std::int64_t warmup_steps = 0;         // so many steps at the beginning the rate rises from 0

  friend bool operator==(const LearningRate&, const LearningRate&) = default;
};

struct OptimizerSettings {
  std::string name = "sgd";  // sgd | momentum | adagrad | rmsprop | adam | adamw | ftrl
  LearningRate learning_rate;
  std::optional<double> momentum;  // not set: 0.9 for momentum, 0 for rmsprop
  bool use_nesterov = false;
  double decay = 0.9;  // rmsprop: of the mean square
  bool centered = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  std::optional<double> epsilon;  // not set: 1e-8 for adam and adamw, 1e-10 for rmsprop
  double weight_decay = 0.01;     // adamw
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0;  // ftrl
  double l2_regularization_strength = 0;
  double learning_rate_power = -0.5;
  double clip_norm = 0;   // > 0: gradients scaled so that their global norm is at most this
  double clip_value = 0;  // > 0: each element of a gradient clipped to +- this

  friend bool operator==(const OptimizerSettings&, const OptimizerSettings&) = default;
};

}  // namespace belay::runtime
