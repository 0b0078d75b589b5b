// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/undefined_metrics.h"

#include <fmt/core.h>

#include <cmath>

#include "runtime/events/matrix.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr const char* kMatrixOfClasses = "confusion_matrix";  // its rows are labels

std::string class_text(const EvalResult& result, std::size_t number) {
  return number < result.class_names.size() ? double_quoted(result.class_names[number]) : std::to_string(number);
}

// The classes that no example has, of the model's matrix: "\"yes\"", "1 and 3"; empty: there is none, or no matrix.
std::string classes_without_examples(const EvalResult& result) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : result.matrices) {
    const TensorView value = tensor;
    if (name != kMatrixOfClasses || value.rank() != 2) continue;
    const Matrix matrix = matrix_of(value);
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      double sum = 0;
      for (const double count : matrix[i]) sum += count;
      if (sum == 0) names.push_back(class_text(result, i));
    }
  }
  if (names.size() > kShown) names.resize(kShown), names.push_back("others");
  if (names.size() < 2) return joined(names);
  const std::string last = names.back();
  names.pop_back();
  return joined(names) + " or " + last;
}

}  // namespace

std::vector<std::string> undefined_metrics(const EvalResult& result) {
  std::vector<std::string> names;
  if (result.metrics.empty() || (!std::isfinite(result.metrics[0].second) && !result.weightless)) return names;
  for (const auto& [name, value] : result.metrics)
    if (!std::isfinite(value)) names.push_back(name);
  return names;
}

std::string undefined_metrics_text(const EvalResult& result, const std::string& place) {
  const std::vector<std::string> names = undefined_metrics(result);
  if (names.empty()) return "";
  const std::string which =
      fmt::format("{}{} of {}{} undefined at step {}: ", names.size() == 1 ? "the metric " : "the metrics ",
                  joined(names), place, names.size() == 1 ? " is" : " are", result.global_step);
  if (result.weightless)
    return which + "each example has weight 0; give those that count a weight above 0 (logged once)";
  const std::string classes = classes_without_examples(result);
  if (!classes.empty())
    return which + "no example has the class " + classes +
           "; evaluate on examples of each class, for instance by split_by = \"stratify\" in [input.train] (logged "
           "once)";
  return which +
         "no example has a class that is needed, all labels are equal, or a prediction is not finite; evaluate on more "
         "examples, with labels that differ (logged once)";
}

}  // namespace belay::runtime
