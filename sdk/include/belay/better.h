// SPDX-License-Identifier: Apache-2.0
// The direction in which values of a metric are better, from an option or from the metric's name.
//
//   const Better better = better_by_mode(o.mode, o.tensor);   // "min", "max", or "auto": by the name
//
//   name                                                      "auto"
//   loss, eval/loss, top_error, perplexity, mse, rmse, mae    the smaller
//   accuracy, eval/top_5_accuracy, auc, precision, recall     the larger
//   score, eval/f1                                            an error that asks for "min" or "max"
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "belay/error.h"

namespace belay {
inline namespace v0 {

// For hooks that keep, stop or lower by a metric: kSmaller for a loss, kLarger for an accuracy.
enum class Better { kSmaller, kLarger };

// Decides by the last word of the name; '/' and '_' separate words. "eval/loss" is better if smaller,
// "eval/top_5_accuracy" if larger. Empty: the name does not decide it.
inline std::optional<Better> better_by_name(std::string_view metric) noexcept {
  const std::string_view word = metric.substr(metric.find_last_of("/_") + 1);
  for (const std::string_view name : {"loss", "error", "perplexity", "mse", "rmse", "mae"})
    if (word == name) return Better::kSmaller;
  for (const std::string_view name : {"accuracy", "auc", "precision", "recall"})
    if (word == name) return Better::kLarger;
  return std::nullopt;
}

// Evaluates an option with the choices "auto", "min" and "max". `metric` is the name for "auto". INVALID_ARGUMENT: this
// name does not decide it, for example "eval/score".
inline Better better_by_mode(std::string_view mode, std::string_view metric) {
  if (mode == "min") return Better::kSmaller;
  if (mode == "max") return Better::kLarger;
  if (const std::optional<Better> better = better_by_name(metric)) return *better;
  fail(
      Code::kInvalidArgument,
      "'" + std::string(metric) + "' does not show by its name which values are better: set mode = \"min\" or \"max\"");
}

}  // namespace v0
}  // namespace belay
