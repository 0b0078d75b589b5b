// SPDX-License-Identifier: Apache-2.0
// How the variables are updated. [optimizer] of a manifest.
//
// Formulas: of a rate in runtime/optimizer/learning_rate.h, of an update in belay/ops/training.h, of clipping in
// runtime/optimizer/optimizer.h, which also lists the variables that each optimizer adds. Defaults are TensorFlow's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belay::runtime {

// A number, or a schedule over t, the steps that were taken so far. Whatever it is, the rate is multiplied by the
// variable "learning_rate_scale", which is 1 until a hook lowers it. Beside each field: the schedules that read it.
struct LearningRate {
  // "" or "constant", "exponential_decay", "natural_exp_decay", "inverse_time_decay", "piecewise_constant",
  // "polynomial_decay", "cosine_decay". Empty: the number alone.
  std::string schedule = {};
  double learning_rate = 0.001;     // >= 0; where the rate starts; all but piecewise_constant
  std::int64_t decay_steps = 1000;  // >= 1; all that decay
  double decay_rate = 0.96;         // > 0; exponential_decay, natural_exp_decay, inverse_time_decay
  bool staircase = false;           // the same three: t / decay_steps without its fraction, so that the rate has steps
  double end_learning_rate = 0.0001;     // polynomial_decay: the rate from decay_steps on
  double power = 1;                      // > 0; polynomial_decay; 1: along a line
  bool cycle = false;                    // polynomial_decay: begins again at its end, each time over more steps
  double alpha = 0;                      // 0 to 1; cosine_decay: the part of the rate that remains
  std::vector<std::int64_t> boundaries = {};  // rising; piecewise_constant: values[i] while t <= boundaries[i]
  std::vector<double> values = {};            // one more than boundaries
  std::int64_t warmup_steps = 0;         // all: the rate is multiplied by min(1, (t + 1) / warmup_steps); 0: it is not

  friend bool operator==(const LearningRate&, const LearningRate&) = default;
};

// Beside each field: the optimizers that read it; others ignore it.
struct OptimizerSettings {
  std::string name = "sgd";  // "sgd", "momentum", "adagrad", "rmsprop", "adam", "adamw" or "ftrl"
  LearningRate learning_rate = {};
  std::optional<double> momentum = {};     // 0 to 1. Not set: 0.9 for momentum, 0 for rmsprop
  bool use_nesterov = false;               // momentum
  double decay = 0.9;                      // rmsprop, 0 to below 1: the part of the mean square that a step keeps
  bool centered = false;                   // rmsprop: divides by the deviation, not by the root of the mean square
  double beta1 = 0.9;                      // adam, adamw, 0 to below 1: the part of the first moment that a step keeps
  double beta2 = 0.999;                    // adam, adamw: the same of the second moment
  std::optional<double> epsilon = {};      // > 0. Not set: 1e-8 for adam and adamw, 1e-10 for rmsprop
  double weight_decay = 0.01;              // adamw: each step takes rate * weight_decay * variable off the variable
  double initial_accumulator_value = 0.1;  // > 0; adagrad, ftrl: where the sum of squares starts
  double l1_regularization_strength = 0;   // >= 0; ftrl
  double l2_regularization_strength = 0;   // >= 0; ftrl
  double learning_rate_power = -0.5;       // <= 0; ftrl: how the rate falls with the sum of squares
  double clip_norm = 0;   // all: the gradients are scaled so that their common norm is at most this; 0: they are not
  double clip_value = 0;  // all: then each element of a gradient is cut to plus or minus this; 0: it is not

  friend bool operator==(const OptimizerSettings&, const OptimizerSettings&) = default;
};

}  // namespace belay::runtime
