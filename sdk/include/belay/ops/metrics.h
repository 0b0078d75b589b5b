// SPDX-License-Identifier: Apache-2.0
// Metrics that add up over many runs, such as an evaluation's accuracy over all its batches. Each keeps its counts in
// local variables. A session starts them at 0, and no checkpoint holds them.
//
//   ops::Metric accuracy = ops::metrics::accuracy(labels, ops::arg_max(logits));
//   for (each batch) session.run({accuracy.update});          adds the batch; returns the value with it
//   double result = session.run({accuracy.value})[0].scalar<double>();   the value so far; adds nothing
//   model.metric("accuracy", accuracy.value, accuracy.update);           or: hands both to the host
//
//   mean, perplexity                                     of any values, such as losses
//   accuracy, in_top_k, confusion_matrix                 of classes
//   recall_of_classes, f1_of_classes                     of a confusion matrix
//   mean_squared_error, root_mean_squared_error,
//   mean_absolute_error                                  of numbers
//   true_positives, true_negatives, false_positives,
//   false_negatives, precision, recall                   of booleans
//   auc, best_f1                                         of probabilities
//   r2                                                   of numbers
//
// The arguments are in TensorFlow's order: labels before predictions. `name` is the scope of the metric's variables.
//
// value and update are float64 scalars (for confusion_matrix [classes, classes]), and so are all counts. A float32
// count would stop at 2^24. Float32 sums of the same examples in other batches would differ in the seventh digit;
// float64 sums agree to about 1e-15 of their size. A batch without examples adds nothing. To start again, run the
// session's local init operation. No gradient passes through the counts.
//
// Shapes:
// * labels and predictions have one shape. If one of them has an additional last dimension of 1 ([n] and [n, 1]), it is
//   removed. Any other difference is an error: [n] and [n, 1] would broadcast to [n, n].
// * weights are the counts of the elements: numbers, or bool for 0 and 1; empty: each counts 1. They are a scalar, or
//   match the first dimensions of the values: weights [n] with values [n, time] are those of n examples. Dimensions of
//   1 are repeated. They must not be negative, which is not checked.
//
// Special values:
// * With nothing to count, as with weights that all are 0, a value is NaN: it is undefined. The same applies if a class
//   that the metric is about has no element: recall, auc, best_f1 and f1_of_classes. TensorFlow returns 0 (div_no_nan),
//   which looks like a bad model. The host warns of a metric that is undefined in an evaluation. Counts are 0. A
//   precision is 0 while no element is predicted true.
// * With weight 0 an element does not count, whatever its value: a NaN under a padding mask has no effect. TensorFlow
//   multiplies, and NaN * 0 is NaN.
// * A NaN in an element that counts never agrees with a label (accuracy, in_top_k: wrong). As a boolean it is true,
//   because it is not 0. It makes a mean, an error measure, a perplexity and an area NaN permanently, so it cannot be
//   missed. A NaN weight makes any value NaN.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/shape.h"
#include "belay/ops/sorting.h"
#include "belay/ops/variables.h"

namespace belay {
inline namespace v0 {

namespace collections {
// The local variables that hold metrics' counts.
inline constexpr const char* kMetricVariables = "metric_variables";
}  // namespace collections

namespace ops {

// Two scalars, or matrices for confusion_matrix. ModelContext::metric takes both. A program with its own evaluation
// loop fetches `update` once for each batch and `value` at the end. One run may compute both; then `value` is that of
// the batches before.
struct Metric {
  // The metric of all updates before this run.
  Output value;
  // Adds this run's batch and returns the metric with it. Fetch it once for each batch.
  Output update;
};

namespace metrics {
namespace detail {

// A sum over all updates, before this run and after it: a local variable and the result of assign_add.
struct Total {
  Output before;
  Output after;
};
// Adds `batch` (float64) to the local variable `name` of its shape, initially 0.
inline Total total_of(const Output& batch, std::string_view name) {
  const Graph g = batch.graph();
  const Output variable = ops::variable(
      g, name, zeros(g, batch.dims(), DType::kFloat64, std::string(name) + "_initial_value"), VariableKind::kLocal);
  g.collect(collections::kMetricVariables, variable);
  return {variable, assign_add(variable, batch)};
}
// Applies a function to both states of one total, or of two: the metric before this run and after it.
template <class Function>
Metric metric_of(const Total& a, Function function) {
  return {identity(function(a.before), "value"), identity(function(a.after), "update")};
}
template <class Function>
Metric metric_of(const Total& a, const Total& b, Function function) {
  return {identity(function(a.before, b.before), "value"), identity(function(a.after, b.after), "update")};
}

// Converts to float64. Counts and errors use float64 from the start: a float32 difference would already be rounded.
inline Output to_float64(const Output& x) { return x.dtype() == DType::kFloat64 ? x : cast(x, DType::kFloat64); }

// x without its last dimension if that is 1 and y has one dimension less: [n, 1] with [n].
inline Output without_last(const Output& x, const Output& y) {
  const bool one_more = x.rank() > 0 && y.rank() == x.rank() - 1;
  return one_more && x.dim(-1) == 1 ? squeeze(x, {-1}) : x;
}
// Labels and predictions of one shape, each with its own dtype.
struct Pair {
  Output labels, predictions;
};
// Brings both to one shape. INVALID_ARGUMENT, with the metric's name: they do not match. reshape_like compares the
// dimensions that only a run knows.
inline Pair pair_of(const char* metric, const Output& labels, const Output& predictions) {
  const Output p = without_last(predictions, labels), l = without_last(labels, p);
  bool fits = l.rank() < 0 || p.rank() < 0 || l.rank() == p.rank();
  for (std::int32_t i = 0; fits && i < l.rank() && i < p.rank(); ++i)
    fits = l.dim(i) < 0 || p.dim(i) < 0 || l.dim(i) == p.dim(i);
  if (!fits)
    fail(Code::kInvalidArgument, std::string(metric) + ": the labels " + labels.text() + " and the predictions " +
                                     predictions.text() + " must have one shape");
  // reshape_like compares what only a run knows.
  return {reshape_like(l, p), p};
}

// The weight of each element of `like`, as float64 in its shape: 1 without weights, else the repeated weights.
inline Output counts_of(const Output& like, const Output& weights) {
  if (!weights) return to_float64(ones_like(like));
  Output w = without_last(to_float64(weights), like);
  if (like.rank() >= 0 && w.rank() > like.rank())
    fail(Code::kInvalidArgument,
         "the weights " + weights.text() + " have more dimensions than what they are for, " + like.text());
  for (std::int32_t rank = w.rank(); rank > 0 && rank < like.rank(); ++rank) w = expand_dims(w, -1);
  return broadcast_like(w, like);
}
// The values times their counts; 0 if the count is 0.
inline Output counted(const Output& values, const Output& counts) {
  const Output zero = zeros_like(counts);
  return select(equal(counts, zero), zero, to_float64(values) * counts);
}
inline Output undefined(const Graph& g) { return scalar(g, std::numeric_limits<double>::quiet_NaN(), DType::kFloat64); }
// The values element by element; NaN where the count is 0.
inline Output unless_empty(const Output& values, const Output& counts) {
  return select(equal(counts, zeros_like(counts)), undefined(counts.graph()), values);
}
// a / b element by element, or 0 if b is 0.
inline Output ratio_or_0(const Output& a, const Output& b) {
  const Output nothing = equal(b, zeros_like(b));
  return select(nothing, zeros_like(b), a / select(nothing, ones_like(b), b));
}
// a / b element by element, or NaN if b is 0. A plain division of 0 by 0 is a NaN with a sign, which texts would show.
inline Output ratio(const Output& a, const Output& b) { return unless_empty(ratio_or_0(a, b), b); }

// A mean as two sums: of the weighted values, and of the weights.
struct Mean {
  Total total, count;
};
// Adds a batch to both sums. Without weights it selects no values, so a NaN stays visible.
inline Mean mean_of(const Output& values, const Output& weights) {
  const Output counts = counts_of(values, weights);
  return {total_of(reduce_sum(weights ? counted(values, counts) : to_float64(values)), "total"),
          total_of(reduce_sum(counts), "count")};
}

// x != 0, so a NaN is true.
inline Output boolean(const Output& x) { return x.dtype() == DType::kBool ? x : cast(x, DType::kBool); }
inline Output as_wanted(const Output& x, bool wanted) { return wanted ? boolean(x) : logical_not(boolean(x)); }

// The total weight of the elements with this label and this prediction.
inline Total count_of(const Pair& p, bool label, bool prediction, const Output& weights, std::string_view name) {
  const Output agree = logical_and(as_wanted(p.labels, label), as_wanted(p.predictions, prediction));
  return total_of(reduce_sum(counted(agree, counts_of(agree, weights))), name);
}

// The scope of a metric's variables: the given name, else that of the function.
inline std::string scope_name(std::string_view name, const char* metric) {
  return name.empty() ? std::string(metric) : std::string(name);
}

// True and false positives and negatives: the total is the metric.
inline Metric count_metric(const char* metric, const Output& labels, const Output& predictions, bool label,
                           bool prediction, const Output& weights, std::string_view name) {
  const Graph g = labels.graph();
  const auto scope = g.scope(scope_name(name, metric));
  const Total count = count_of(pair_of(metric, labels, predictions), label, prediction, weights, "count");
  return metric_of(count, [](const Output& c) { return c; });
}

// The mean of function(labels, predictions). Both are float64, so a float32 difference is not rounded.
template <class Function>
Mean mean_of_errors(const char* metric, const Output& labels, const Output& predictions, const Output& weights,
                    Function function) {
  const Pair pair = pair_of(metric, labels, predictions);
  return mean_of(function(to_float64(pair.labels), to_float64(pair.predictions)), weights);
}

// Compares elements in one dtype that holds both: int64 for integers and bool, else float64. So a prediction of 2.7
// does not equal class 2.
inline Output same(const Pair& p) {
  const auto whole = [](const Output& x) { return x.dtype() != DType::kFloat32 && x.dtype() != DType::kFloat64; };
  const DType both = p.labels.dtype() == p.predictions.dtype() ? p.labels.dtype()
                     : whole(p.labels) && whole(p.predictions) ? DType::kInt64
                                                               : DType::kFloat64;
  const auto as = [&](const Output& x) { return x.dtype() == both ? x : cast(x, both); };
  return equal(as(p.predictions), as(p.labels));
}

}  // namespace detail

// The mean of all elements of `values`, numbers or bool of any shape: sum(values * weights) / sum(weights). A scalar is
// one element of each run, for a batch of any size. So pass the loss of each example, not the batch's mean: otherwise a
// short last batch counts like a whole one.
//
//   ops::Metric loss = ops::metrics::mean(ops::sparse_softmax_cross_entropy_with_logits(logits, labels));
//   ops::Metric padded = ops::metrics::mean(losses, ops::not_equal(ids, padding));       [batch, time] both
inline Metric mean(const Output& values, const Output& weights = {}, std::string_view name = {}) {
  const Graph g = values.graph();
  const auto scope = g.scope(detail::scope_name(name, "mean"));
  const detail::Mean m = detail::mean_of(values, weights);
  return detail::metric_of(m.total, m.count, detail::ratio);
}

// e^(mean of `values`). The values are the cross entropies (natural logarithms) of words.
// ops::softmax_cross_entropy_with_logits and ops::sparse_softmax_cross_entropy_with_logits return them, before any
// mean. It is at least 1. For words that are all equally likely it is their number.
inline Metric perplexity(const Output& values, const Output& weights = {}, std::string_view name = {}) {
  const Graph g = values.graph();
  const auto scope = g.scope(detail::scope_name(name, "perplexity"));
  const detail::Mean m = detail::mean_of(values, weights);
  return detail::metric_of(m.total, m.count,
                           [](const Output& total, const Output& count) { return exp(detail::ratio(total, count)); });
}

// The fraction of elements whose prediction equals the label: classes (ops::arg_max of the logits) or booleans. They
// are numbers or bool, and may have two dtypes.
inline Metric accuracy(const Output& labels, const Output& predictions, const Output& weights = {},
                       std::string_view name = {}) {
  const Graph g = labels.graph();
  const auto scope = g.scope(detail::scope_name(name, "accuracy"));
  const detail::Mean m = detail::mean_of(detail::same(detail::pair_of("accuracy", labels, predictions)), weights);
  return detail::metric_of(m.total, m.count, detail::ratio);
}

// The fraction of labels [...], int32 or int64, that are among the k (at least 1) largest of their predictions.
// Predictions [..., classes] are floating-point. A label is among them if fewer than k predictions are larger.
//
//   ops::metrics::in_top_k(labels, logits, 5)                   top-5 accuracy; logits do as well as probabilities
//
// Ties count for the label, so a model with equal predictions for all classes is always right (TensorFlow's in_top_k).
// A label out of range is wrong, and so is a label whose row has a prediction that is not finite.
inline Metric in_top_k(const Output& labels, const Output& predictions, std::int64_t k, const Output& weights = {},
                       std::string_view name = {}) {
  if (k < 1) fail(Code::kInvalidArgument, "in_top_k: k must be at least 1, got " + std::to_string(k));
  const bool column = labels.rank() > 0 && labels.rank() == predictions.rank() && labels.dim(-1) == 1;
  const Output l = column ? squeeze(labels, {-1}) : labels;
  if (predictions.rank() < 2 || l.rank() != predictions.rank() - 1 || predictions.dim(-1) < 0)
    fail(Code::kInvalidArgument, "in_top_k: the predictions " + predictions.text() +
                                     " must have the dimensions of the labels " + labels.text() +
                                     " and a last one of known size, the classes");
  const Graph g = labels.graph();
  const auto scope = g.scope(detail::scope_name(name, "in_top_k"));
  const Output rows = ops::in_top_k(reshape(predictions, {-1, predictions.dim(-1)}), reshape(l, {-1}), k);
  const detail::Mean m = detail::mean_of(reshape_like(rows, l), weights);
  return detail::metric_of(m.total, m.count, detail::ratio);
}

// The mean of (labels - predictions)^2 over all elements, each computed in float64.
inline Metric mean_squared_error(const Output& labels, const Output& predictions, const Output& weights = {},
                                 std::string_view name = {}) {
  const Graph g = labels.graph();
  const auto scope = g.scope(detail::scope_name(name, "mean_squared_error"));
  const detail::Mean m =
      detail::mean_of_errors("mean_squared_error", labels, predictions, weights,
                             [](const Output& l, const Output& p) { return squared_difference(l, p); });
  return detail::metric_of(m.total, m.count, detail::ratio);
}
// The root of the mean of squares over all batches, which is not a mean of roots. It has the unit of the labels.
inline Metric root_mean_squared_error(const Output& labels, const Output& predictions, const Output& weights = {},
                                      std::string_view name = {}) {
  const Graph g = labels.graph();
  const auto scope = g.scope(detail::scope_name(name, "root_mean_squared_error"));
  const detail::Mean m =
      detail::mean_of_errors("root_mean_squared_error", labels, predictions, weights,
                             [](const Output& l, const Output& p) { return squared_difference(l, p); });
  return detail::metric_of(m.total, m.count,
                           [](const Output& total, const Output& count) { return sqrt(detail::ratio(total, count)); });
}
// The mean of |labels - predictions| over all elements, in the unit of the labels.
inline Metric mean_absolute_error(const Output& labels, const Output& predictions, const Output& weights = {},
                                  std::string_view name = {}) {
  const Graph g = labels.graph();
  const auto scope = g.scope(detail::scope_name(name, "mean_absolute_error"));
  const detail::Mean m = detail::mean_of_errors("mean_absolute_error", labels, predictions, weights,
                                                [](const Output& l, const Output& p) { return abs(l - p); });
  return detail::metric_of(m.total, m.count, detail::ratio);
}

// The coefficient of determination: 1 - (sum of squared errors) / (sum of squares of the labels about their mean). It
// is 1 for exact predictions, and 0 for those that always are the mean. It is NaN if all labels are equal.
inline Metric r2(const Output& labels, const Output& predictions, const Output& weights = {},
                 std::string_view name = {}) {
  const Graph g = labels.graph();
  const auto scope = g.scope(detail::scope_name(name, "r2"));
  const detail::Pair pair = detail::pair_of("r2", labels, predictions);
  const Output l = detail::to_float64(pair.labels), p = detail::to_float64(pair.predictions);
  const Output counts = detail::counts_of(l, weights);
  const auto total = [&](const Output& values, const char* called) {
    return detail::total_of(reduce_sum(weights ? detail::counted(values, counts) : values), called);
  };
  const detail::Total errors = total(squared_difference(l, p), "squared_errors"), sum = total(l, "sum"),
                      squares = total(square(l), "squares");
  const detail::Total count = detail::total_of(reduce_sum(counts), "count");
  // A sum below this share of its terms is what rounding left of equal labels.
  constexpr double kRounding = 1e-14;
  const auto value = [](const Output& e, const Output& s, const Output& q, const Output& n) {
    const Output about_mean = q - detail::ratio_or_0(square(s), n);
    return 1.0 - detail::ratio(e, select(less_equal(about_mean, q * kRounding), zeros_like(q), about_mean));
  };
  return {identity(value(errors.before, sum.before, squares.before, count.before), "value"),
          identity(value(errors.after, sum.after, squares.after, count.after), "update")};
}

// The weight (without weights: the number) of elements with label true, predicted true. From here to recall labels and
// predictions are bool, or numbers that are true unless they are 0. Compare probabilities with a threshold first.
inline Metric true_positives(const Output& labels, const Output& predictions, const Output& weights = {},
                             std::string_view name = {}) {
  return detail::count_metric("true_positives", labels, predictions, true, true, weights, name);
}
// Label false, predicted false.
inline Metric true_negatives(const Output& labels, const Output& predictions, const Output& weights = {},
                             std::string_view name = {}) {
  return detail::count_metric("true_negatives", labels, predictions, false, false, weights, name);
}
// Label false, predicted true.
inline Metric false_positives(const Output& labels, const Output& predictions, const Output& weights = {},
                              std::string_view name = {}) {
  return detail::count_metric("false_positives", labels, predictions, false, true, weights, name);
}
// Label true, predicted false.
inline Metric false_negatives(const Output& labels, const Output& predictions, const Output& weights = {},
                              std::string_view name = {}) {
  return detail::count_metric("false_negatives", labels, predictions, true, false, weights, name);
}

// The fraction of positive predictions that are right: tp / (tp + fp). It is 0 while there is no positive prediction.
//
//   const Output positive = ops::greater(probabilities, ops::scalar(g, 0.5, DType::kFloat32));      [batch], bool
//   model.metric("precision", precision.value, precision.update);     of ops::metrics::precision(labels, positive)
inline Metric precision(const Output& labels, const Output& predictions, const Output& weights = {},
                        std::string_view name = {}) {
  const Graph g = labels.graph();
  const auto scope = g.scope(detail::scope_name(name, "precision"));
  const detail::Pair pair = detail::pair_of("precision", labels, predictions);
  const detail::Total right = detail::count_of(pair, true, true, weights, "true_positives"),
                      wrong = detail::count_of(pair, false, true, weights, "false_positives");
  const detail::Total count = detail::total_of(reduce_sum(detail::counts_of(pair.predictions, weights)), "count");
  const auto value = [](const Output& r, const Output& w, const Output& n) {
    return detail::unless_empty(detail::ratio_or_0(r, r + w), n);
  };
  return {identity(value(right.before, wrong.before, count.before), "value"),
          identity(value(right.after, wrong.after, count.after), "update")};
}
// The fraction of true elements that were predicted: tp / (tp + fn). It is NaN while no element is true.
//
//   const Output p = ops::metrics::precision(labels, positive).value, r = ops::metrics::recall(labels, positive).value;
//
// F1 is 2 p r / (p + r) of these two, computed when the evaluation is over.
inline Metric recall(const Output& labels, const Output& predictions, const Output& weights = {},
                     std::string_view name = {}) {
  const Graph g = labels.graph();
  const auto scope = g.scope(detail::scope_name(name, "recall"));
  const detail::Pair pair = detail::pair_of("recall", labels, predictions);
  const detail::Total right = detail::count_of(pair, true, true, weights, "true_positives"),
                      wrong = detail::count_of(pair, true, false, weights, "false_negatives");
  return detail::metric_of(right, wrong, [](const Output& r, const Output& w) { return detail::ratio(r, r + w); });
}

// A float64 matrix [classes, classes]: row i, column j has the number (with weights: the weight) of elements with label
// i and prediction j. labels and predictions are int32 or int64. An element does not count if either is not in [0,
// classes), so -1 can mark padding.
//
// The sum of row i is the number of labels i. The diagonal divided by it is the recall of each class. A batch of n
// costs a product of [classes, n] and [n, classes].
inline Metric confusion_matrix(const Output& labels, const Output& predictions, std::int64_t classes,
                               const Output& weights = {}, std::string_view name = {}) {
  if (classes < 1)
    fail(Code::kInvalidArgument, "confusion_matrix: classes must be at least 1, got " + std::to_string(classes));
  const Graph g = labels.graph();
  const auto scope = g.scope(detail::scope_name(name, "confusion_matrix"));
  const detail::Pair pair = detail::pair_of("confusion_matrix", labels, predictions);
  const auto rows = [&](const Output& x) { return one_hot(reshape(x, {-1}), classes, 1, 0, DType::kFloat64); };
  const Output counts = reshape(detail::counts_of(pair.predictions, weights), {-1, 1});
  // ops::matmul is not used: its header would bring the layers into every program that evaluates.
  const Output product = g.node("MatMul")
                             .in(rows(pair.labels) * counts)
                             .in(rows(pair.predictions))
                             .attr("transpose_a", true)
                             .attr("transpose_b", false)
                             .output();
  const detail::Total total = detail::total_of(product, "counts");
  return detail::metric_of(total, [](const Output& counts_so_far) { return counts_so_far; });
}

namespace detail {
// The diagonal of a matrix, and the sums of its rows (labels) and columns (predictions).
struct ClassCounts {
  explicit ClassCounts(const Output& matrix)
      : right(reduce_sum(matrix * one_hot(range(matrix.graph(), 0, static_cast<double>(matrix.dim(0))), matrix.dim(0),
                                          1, 0, DType::kFloat64),
                         {1})),
        labels(reduce_sum(matrix, {1})),
        predictions(reduce_sum(matrix, {0})) {}
  Output right, labels, predictions;
};
// The mean of the values of those classes that `counts` has.
inline Output mean_of_classes(const Output& values, const Output& counts) {
  const Output there = to_float64(greater(counts, zeros_like(counts)));
  return ratio(reduce_sum(values * there), reduce_sum(there));
}
inline Output one_of(const Output& values, std::int64_t index) { return squeeze(slice(values, {index}, {1}), {0}); }
}  // namespace detail

// The mean of the recalls of all classes that labels have: scikit-learn's balanced accuracy. A class without a label
// has no part in it. `matrix` is the result of confusion_matrix, and its update is also the update of this metric. So a
// model may have both from one matrix.
inline Metric recall_of_classes(const Metric& matrix, std::string_view name = {}) {
  const Graph g = matrix.value.graph();
  const auto scope = g.scope(detail::scope_name(name, "recall_of_classes"));
  const auto of = [](const Output& counts) {
    const detail::ClassCounts c(counts);
    return detail::mean_of_classes(detail::ratio_or_0(c.right, c.labels), c.labels);
  };
  return {identity(of(matrix.value), "value"), identity(of(matrix.update), "update")};
}

// F1 of a class, 2 right / (labels + predictions), from a confusion matrix as above. It is NaN if no label is of this
// class; scikit-learn returns 0. class_id -1: the mean over all classes that labels or predictions have, which is
// scikit-learn's macro average. A class that is only predicted counts as 0 there.
inline Metric f1_of_classes(const Metric& matrix, std::int64_t class_id = -1, std::string_view name = {}) {
  const Graph g = matrix.value.graph();
  const auto scope = g.scope(detail::scope_name(name, "f1_of_classes"));
  const auto of = [&](const Output& counts) {
    const detail::ClassCounts c(counts);
    const Output both = c.labels + c.predictions, f1 = detail::ratio_or_0(c.right * 2.0, both);
    if (class_id < 0) return detail::mean_of_classes(f1, both);
    return detail::one_of(detail::unless_empty(f1, c.labels), class_id);
  };
  return {identity(of(matrix.value), "value"), identity(of(matrix.update), "update")};
}

// The curve that auc measures, TensorFlow's curve="ROC" and "PR". kRoc measures the order of two classes of any sizes.
// kPrecisionRecall is for true elements that are few.
enum class Curve { kRoc, kPrecisionRecall };

// The thresholds at which auc and best_f1 know a curve, from just below 0 to just above 1. kEven: 0, 1 / (n - 1), ...,
// 1, which are TensorFlow's. kEvenLogits: even in the logit from -15 to 15. So they tell the small probabilities of a
// rare class apart: with 501 of them two that differ by 6 % are different.
enum class Thresholds { kEven, kEvenLogits };

namespace detail {
// The inner thresholds are those between the first and the last.
inline std::vector<double> thresholds_of(std::int64_t n, Thresholds spacing) {
  constexpr double kLargestLogit = 15, kBeyond = 1e-7;
  std::vector<double> all;
  for (std::int64_t i = 0; i < n; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(n - 1);
    all.push_back(spacing == Thresholds::kEven ? part : 1 / (1 + std::exp(kLargestLogit * (1 - 2 * part))));
  }
  all.front() = -kBeyond, all.back() = 1 + kBeyond;
  return all;
}
// The differences between each element of a vector and the next, smaller element.
struct Steps {
  explicit Steps(const Output& x)
      : from(slice(x, {0}, {x.dims()[0] - 1})), to(slice(x, {1}, {x.dims()[0] - 1})), change(from - to) {}
  Output from, to, change;
};
// The trapezoids under (false positive rate, true positive rate), from threshold to threshold.
//
// tp and fp: float64 [thresholds], with rising thresholds. At the first threshold all elements are predicted true.
inline Output area_under_roc(const Output& tp, const Output& fp) {
  const Steps y(ratio(tp, slice(tp, {0}, {1}))), x(ratio(fp, slice(fp, {0}, {1})));
  return reduce_sum(x.change * (y.from + y.to)) * 0.5;
}
// The integral of precision over recall, with true positives interpolated over all positive predictions; tp and fp as
// above.
inline Output area_under_precision_recall(const Output& tp, const Output& fp) {
  const Steps right(tp), all(tp + fp);
  const Output slope = ratio_or_0(right.change, all.change);
  const Output intercept = right.to - slope * all.to;
  const Output some = greater(all.to, zeros_like(all.to)), one = ones_like(all.to);
  const Output growth = select(some, all.from / select(some, all.to, one), one);
  const Output area = reduce_sum(slope * (right.change + intercept * log(growth)));
  return ratio(area, reshape(slice(tp, {0}, {1}), {}));
}
// The weight of each prediction; NaN for a value that is not a probability.
inline Output counts_of_probabilities(const Output& predictions, const Output& clipped, const Output& weights) {
  const Output counts = counts_of(predictions, weights);
  const Output fits = less_equal(abs(predictions - clipped), scalar(counts.graph(), 1e-6, DType::kFloat64));
  const Output nothing = equal(counts, zeros_like(counts));
  return select(logical_or(fits, nothing), counts, undefined(counts.graph()));
}
// The weights of true and of false elements that are predicted true at each threshold, which rise.
struct Positives {
  Positives(const char* metric, const Output& labels, const Output& predictions, const Output& weights, std::int64_t n,
            Thresholds spacing) {
    const Graph g = labels.graph();
    thresholds = constant(g, Tensor({n, 1}, thresholds_of(n, spacing)), "thresholds");
    const Pair pair = pair_of(metric, labels, predictions);
    const Output p = to_float64(pair.predictions), clipped = clip_by_value(p, 0, 1);
    const Output counts = counts_of_probabilities(p, clipped, weights);
    const Output positive = to_float64(greater(reshape(clipped, {1, -1}), thresholds));  // [thresholds, elements]
    const auto total = [&](bool label, const char* called) {
      const Output of_label = reshape(to_float64(as_wanted(pair.labels, label)) * counts, {1, -1});
      return total_of(reduce_sum(positive * of_label, {1}), called);
    };
    tp = total(true, "true_positives"), fp = total(false, "false_positives");
  }
  Output thresholds;
  Total tp, fp;
};
}  // namespace detail

// The area under a curve that is known at num_thresholds (at least 2) thresholds. An element counts as predicted true
// if its prediction is above the threshold. labels: bool, or numbers that are true unless they are 0. predictions:
// probabilities, in any order. Predictions between the same two thresholds count as equal. If the thresholds separate
// all different predictions, the area is exact.
//
//   kRoc: true positive rate over false positive rate, by the trapezoidal rule:
//       sum over steps of (x_i - x_i+1) * (y_i + y_i+1) / 2.
//     It is the probability that a true element is predicted higher than a false one; equal ones count half (Hanley and
//     McNeil, Radiology 143, 1982). It is NaN if there is one class only.
//   kPrecisionRecall: precision over recall. Between two points precision is not linear. So the true positives t are
//     interpolated over all positive predictions n (Davis and Goadrich, ICML 2006). With s = (t_i - t_i+1) /
//     (n_i - n_i+1) and c = t_i+1 - s * n_i+1 the integral is:
//       sum over steps of s * (t_i - t_i+1 + c * ln(n_i / n_i+1)) / (number of true elements);
//     the logarithm is 0 in the step from n = 0. It is NaN if no element is true, 1 if all are.
//
// TensorFlow 1 by default takes trapezoids for both, which is too good for precision and recall. It also adds 1e-6 to
// numerators and denominators. So its ROC area is 0 for true elements alone, and 1 for false elements alone.
//
// A NaN, or a prediction more than 1e-6 outside of [0, 1] (a logit), makes the value NaN. A batch of n elements needs
// float64 tensors of [num_thresholds, n].
inline Metric auc(const Output& labels, const Output& predictions, const Output& weights = {},
                  std::int64_t num_thresholds = 200, Curve curve = Curve::kRoc, std::string_view name = {},
                  Thresholds thresholds = Thresholds::kEven) {
  if (num_thresholds < 2)
    fail(Code::kInvalidArgument, "auc: num_thresholds must be at least 2, got " + std::to_string(num_thresholds));
  const Graph g = labels.graph();
  const auto scope = g.scope(detail::scope_name(name, "auc"));
  const detail::Positives at("auc", labels, predictions, weights, num_thresholds, thresholds);
  return detail::metric_of(at.tp, at.fp,
                           curve == Curve::kRoc ? detail::area_under_roc : detail::area_under_precision_recall);
}

// The largest F1 at any of num_thresholds thresholds as for auc, and the smallest threshold that has it.
struct BestF1 {
  Metric f1, threshold;
};
// Both have one update of the counts: fetching either adds the batch. They are NaN while no element is true.
inline BestF1 best_f1(const Output& labels, const Output& predictions, const Output& weights = {},
                      std::int64_t num_thresholds = 200, std::string_view name = {},
                      Thresholds thresholds = Thresholds::kEven) {
  if (num_thresholds < 2)
    fail(Code::kInvalidArgument, "best_f1: num_thresholds must be at least 2, got " + std::to_string(num_thresholds));
  const Graph g = labels.graph();
  const auto scope = g.scope(detail::scope_name(name, "best_f1"));
  const detail::Positives at("best_f1", labels, predictions, weights, num_thresholds, thresholds);
  // At the first threshold all are predicted true.
  const auto all_true = [](const Output& tp) { return reshape(slice(tp, {0}, {1}), {}); };
  const auto rates = [&](const Output& tp, const Output& fp) {
    return detail::ratio_or_0(tp * 2.0, tp + fp + all_true(tp));
  };
  const Output inner = clip_by_value(reshape(at.thresholds, {num_thresholds}), 0, 1);
  return {detail::metric_of(at.tp, at.fp,
                            [&](const Output& tp, const Output& fp) {
                              return detail::unless_empty(reduce_max(rates(tp, fp)), all_true(tp));
                            }),
          detail::metric_of(at.tp, at.fp, [&](const Output& tp, const Output& fp) {
            const Output chosen = one_hot(arg_max(rates(tp, fp), 0), num_thresholds, 1, 0, DType::kFloat64);
            return detail::unless_empty(reduce_sum(inner * chosen), all_true(tp));
          })};
}

}  // namespace metrics
}  // namespace ops
}  // namespace v0
}  // namespace belay
