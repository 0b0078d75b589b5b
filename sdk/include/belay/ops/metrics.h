// SPDX-License-Identifier: Apache-2.0
// Metrics that add up over many runs: an evaluation's accuracy over all its batches. Each keeps its counts in local
// variables, which a session starts at 0 and nobody saves.
//
//   ops::Metric accuracy = ops::metrics::accuracy(labels, ops::arg_max(logits));
//   for (each batch) session.run({accuracy.update});          adds the batch; gives the value with it
//   float result = session.run({accuracy.value})[0].scalar<float>();   the value so far; adds nothing
//
// value and update are float32 scalars. weights, where given, are numbers of a shape that repeats to that of the values
// (bool counts as 0 and 1): each element counts so much. Counts are kept in float64: a float32 count stops at 2^24.
// Before the first update, and where nothing counted, a metric is 0. To start again, run the session's local init
// operation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/shape.h"
#include "belay/ops/variables.h"

namespace belay {
inline namespace v0 {
namespace ops {

struct Metric {
  Output value;
  Output update;
};

namespace metrics {
namespace detail {

// A sum over all updates, as it was before this run and as it is after it.
struct Total {
  Output before;
  Output after;
};
inline Total total_of(const Output& batch, std::string_view name) {
  const Output variable = ops::variable(
      batch.graph(), name, zeros(batch.graph(), batch.dims(), DType::kFloat64, std::string(name) + "_initial_value"),
      VariableKind::kLocal);
  return {variable, assign_add(variable, batch)};
}

inline Output to_float64(const Output& x) { return x.dtype() == DType::kFloat64 ? x : cast(x, DType::kFloat64); }

// How much each element of `like` counts.
inline Output counts_of(const Output& like, const Output& weights) {
  const Output ones = to_float64(ones_like(like));
  return weights ? ones * to_float64(weights) : ones;
}

// a / b, 0 where b is not above 0; as a float32.
inline Output ratio(const Output& a, const Output& b) {
  const Output zero = zeros_like(b), above = greater(b, zero);
  return cast(select(above, a / select(above, b, ones_like(b)), zero), DType::kFloat32);
}

// The sum of the elements of a bool tensor that are true, each with its weight.
inline Total count_true(const Output& truth, const Output& weights, std::string_view name) {
  return total_of(reduce_sum(to_float64(truth) * counts_of(truth, weights)), name);
}

inline Output truth(const Output& x) { return x.dtype() == DType::kBool ? x : cast(x, DType::kBool); }

inline std::string scope_name(std::string_view name, const char* metric) {
  return name.empty() ? std::string(metric) : std::string(name);
}

// labels and predictions, as truth values, that agree as wanted.
struct Confusion {
  Output labels, predictions;
  Output both(bool label, bool prediction) const {
    return logical_and(label ? labels : logical_not(labels), prediction ? predictions : logical_not(predictions));
  }
};
inline Confusion confusion(const Output& labels, const Output& predictions) {
  return {truth(labels), truth(predictions)};
}

inline Metric counted(const Output& labels, const Output& predictions, bool label, bool prediction,
                      const Output& weights, const std::string& name) {
  const auto scope = labels.graph().scope(name);
  const Total total = count_true(confusion(labels, predictions).both(label, prediction), weights, "count");
  return {cast(total.before, DType::kFloat32, "value"), cast(total.after, DType::kFloat32, "update")};
}

}  // namespace detail

// The mean of all elements.
inline Metric mean(const Output& values, const Output& weights = {}, std::string_view name = {}) {
  const auto scope = values.graph().scope(detail::scope_name(name, "mean"));
  const Output counts = detail::counts_of(values, weights);
  const detail::Total total = detail::total_of(reduce_sum(detail::to_float64(values) * counts), "total");
  const detail::Total count = detail::total_of(reduce_sum(counts), "count");
  return {detail::ratio(total.before, count.before), detail::ratio(total.after, count.after)};
}

// The fraction of elements in which predictions are the labels. Both have one shape; any numbers, or bool.
inline Metric accuracy(const Output& labels, const Output& predictions, const Output& weights = {},
                       std::string_view name = {}) {
  const Output same =
      equal(predictions.dtype() == labels.dtype() ? predictions : cast(predictions, labels.dtype()), labels);
  return mean(cast(same, DType::kFloat32), weights, detail::scope_name(name, "accuracy"));
}

// The means of (labels - predictions)^2, of its root, and of |labels - predictions|.
inline Metric mean_squared_error(const Output& labels, const Output& predictions, const Output& weights = {},
                                 std::string_view name = {}) {
  return mean(squared_difference(labels, predictions), weights, detail::scope_name(name, "mean_squared_error"));
}
inline Metric root_mean_squared_error(const Output& labels, const Output& predictions, const Output& weights = {},
                                      std::string_view name = {}) {
  const Metric squared =
      mean(squared_difference(labels, predictions), weights, detail::scope_name(name, "root_mean_squared_error"));
  return {sqrt(squared.value), sqrt(squared.update)};
}
inline Metric mean_absolute_error(const Output& labels, const Output& predictions, const Output& weights = {},
                                  std::string_view name = {}) {
  return mean(abs(labels - predictions), weights, detail::scope_name(name, "mean_absolute_error"));
}

// How many elements are so. Labels and predictions are bool, or numbers that are true where they are not 0.
inline Metric true_positives(const Output& labels, const Output& predictions, const Output& weights = {},
                             std::string_view name = {}) {
  return detail::counted(labels, predictions, true, true, weights, detail::scope_name(name, "true_positives"));
}
inline Metric true_negatives(const Output& labels, const Output& predictions, const Output& weights = {},
                             std::string_view name = {}) {
  return detail::counted(labels, predictions, false, false, weights, detail::scope_name(name, "true_negatives"));
}
inline Metric false_positives(const Output& labels, const Output& predictions, const Output& weights = {},
                              std::string_view name = {}) {
  return detail::counted(labels, predictions, false, true, weights, detail::scope_name(name, "false_positives"));
}
inline Metric false_negatives(const Output& labels, const Output& predictions, const Output& weights = {},
                              std::string_view name = {}) {
  return detail::counted(labels, predictions, true, false, weights, detail::scope_name(name, "false_negatives"));
}

namespace detail {
// true positives / (true positives + those that were wrong in this way)
inline Metric positives_ratio(const Output& labels, const Output& predictions, bool wrong_label, const Output& weights,
                              const std::string& name) {
  const auto scope = labels.graph().scope(name);
  const Confusion c = confusion(labels, predictions);
  const Total right = count_true(c.both(true, true), weights, "true_positives");
  const Total wrong =
      count_true(c.both(wrong_label, !wrong_label), weights, wrong_label ? "false_negatives" : "false_positives");
  return {ratio(right.before, right.before + wrong.before), ratio(right.after, right.after + wrong.after)};
}
}  // namespace detail

// Of what was predicted true, the fraction that is; of what is true, the fraction that was predicted.
inline Metric precision(const Output& labels, const Output& predictions, const Output& weights = {},
                        std::string_view name = {}) {
  return detail::positives_ratio(labels, predictions, false, weights, detail::scope_name(name, "precision"));
}
inline Metric recall(const Output& labels, const Output& predictions, const Output& weights = {},
                     std::string_view name = {}) {
  return detail::positives_ratio(labels, predictions, true, weights, detail::scope_name(name, "recall"));
}

enum class Curve { kRoc, kPrecisionRecall };

namespace detail {
// The area under the curve through the points of all thresholds, by the trapezoidal rule. All float64 [thresholds], the
// thresholds rising.
inline Output area(const Output& tp, const Output& fp, const Output& tn, const Output& fn, Curve curve) {
  constexpr double kEpsilon = 1e-6;  // TensorFlow's: keeps 0 / 0 away
  const Output recall = (tp + kEpsilon) / (tp + fn + kEpsilon);
  const Output x = curve == Curve::kRoc ? fp / (fp + tn + kEpsilon) : recall;
  const Output y = curve == Curve::kRoc ? recall : (tp + kEpsilon) / (tp + fp + kEpsilon);
  const std::int64_t n = tp.dims()[0] - 1;
  const auto first = [&](const Output& o) { return slice(o, {0}, {n}); };
  const auto last = [&](const Output& o) { return slice(o, {1}, {n}); };
  return cast(reduce_sum((first(x) - last(x)) * (first(y) + last(y)) * 0.5), DType::kFloat32);
}
}  // namespace detail

// The area under the curve, from counts at evenly spaced thresholds: exact as they grow many. labels: bool or 0 and 1;
// predictions: probabilities of the same number of elements.
inline Metric auc(const Output& labels, const Output& predictions, const Output& weights = {},
                  std::int64_t num_thresholds = 200, Curve curve = Curve::kRoc, std::string_view name = {}) {
  if (num_thresholds < 2)
    fail(Code::kInvalidArgument, "auc: num_thresholds must be at least 2, got " + std::to_string(num_thresholds));
  const Graph g = labels.graph();
  const auto scope = g.scope(detail::scope_name(name, "auc"));
  std::vector<double> thresholds;
  for (std::int64_t i = 0; i < num_thresholds; ++i)
    thresholds.push_back(static_cast<double>(i) / static_cast<double>(num_thresholds - 1));
  thresholds.front() = -1e-7, thresholds.back() = 1 + 1e-7;
  const Output at = constant(g, Tensor({num_thresholds, 1}, thresholds), "thresholds");
  const Output counts = reshape(detail::counts_of(predictions, weights), {1, -1});
  // [thresholds, elements]
  const Output positive = greater(reshape(detail::to_float64(predictions), {1, -1}), at);
  const detail::Confusion c{reshape(detail::truth(labels), {1, -1}), positive};
  const auto count = [&](bool label, bool prediction, const char* called) {
    return detail::total_of(reduce_sum(detail::to_float64(c.both(label, prediction)) * counts, {1}), called);
  };
  const detail::Total tp = count(true, true, "true_positives"), fp = count(false, true, "false_positives"),
                      tn = count(false, false, "true_negatives"), fn = count(true, false, "false_negatives");
  return {detail::area(tp.before, fp.before, tn.before, fn.before, curve),
          detail::area(tp.after, fp.after, tn.after, fn.after, curve)};
}

}  // namespace metrics
}  // namespace ops
}  // namespace v0
}  // namespace belay
