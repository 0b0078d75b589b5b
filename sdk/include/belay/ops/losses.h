// SPDX-License-Identifier: Apache-2.0
// Losses, of floats (float32 or float64). Logits are unscaled: softmax or sigmoid is part of the loss, which is exact
// for probabilities close to 0 or 1.
//
//   Output logits = ops::dense(h, 10);                          [batch, 10]
//   Output loss = ops::softmax_cross_entropy(logits, labels);   labels [batch] int64; a scalar to minimize
//
//   Output rows = ops::sparse_softmax_cross_entropy_with_logits(logits, labels);      [batch], to be weighted:
//   Output loss = ops::reduce_sum(rows * weights) / ops::reduce_sum(weights);
//
// The ..._with_logits functions return a loss for each row or element; the others return the mean, a scalar. A mean of
// no elements is NaN. Unless a function states otherwise, labels and targets have the shape and dtype of the
// predictions. [n] with [n, 1] is INVALID_ARGUMENT, because numpy's rule would make [n, n] of it.
//
// Use softmax_cross_entropy for classes that exclude each other, and sigmoid_cross_entropy for several classes at once.
// Use mean_squared_error for a number, or huber_loss if single targets are far off.
#pragma once

#include <string>
#include <string_view>

#include "belay/graph.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"

namespace belay {
inline namespace v0 {
namespace ops {

// -log(softmax(logits)[label]) of each row. logits [..., classes], labels [...] int32 or int64 in [0, classes). A label
// outside ends the run with INVALID_ARGUMENT. sibling(1) is the gradient of each row's loss, [..., classes], computed
// at the same time. So it can be differentiated once only.
inline Output sparse_softmax_cross_entropy_with_logits(const Output& logits, const Output& labels,
                                                       std::string_view name = {}) {
  return logits.graph().node("SparseSoftmaxCrossEntropyWithLogits", name).in(logits).in(labels).output();
}
// -sum(labels * log(softmax(logits))) of each row. labels are probabilities of the shape and dtype of logits. Each row
// should add up to 1, which is not checked. Both have gradients.
inline Output softmax_cross_entropy_with_logits(const Output& logits, const Output& labels,
                                                std::string_view name = {}) {
  return logits.graph().node("SoftmaxCrossEntropyWithLogits", name).in(logits).in(labels).output();
}
// -labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)) of each element, for classes that do not
// exclude each other. labels are in [0, 1], of the shape and dtype of logits. It is computed as max(x, 0) - x * label +
// log(1 + e^-|x|), which does not overflow. Both have gradients.
//
//   const Output each = ops::sigmoid_cross_entropy_with_logits(logits, labels);
//   const Output loss = ops::reduce_mean(each * (labels * 9.0 + 1.0));            rare true elements count ten times
inline Output sigmoid_cross_entropy_with_logits(const Output& logits, const Output& labels,
                                                std::string_view name = {}) {
  return logits.graph().node("SigmoidCrossEntropyWithLogits", name).in(logits).in(labels).output();
}

namespace detail_losses {
inline bool is_float(const Output& x) { return x.dtype() == DType::kFloat32 || x.dtype() == DType::kFloat64; }
// Refuses [n] with [n, 1], which would broadcast to [n, n]: always a mistake here.
inline void need_same_rank(const char* what, const Output& a, const Output& b) {
  if (a.rank() >= 0 && b.rank() >= 0 && a.rank() != b.rank())
    fail(Code::kInvalidArgument, std::string(what) + ": " + a.text() + " and " + b.text() +
                                     " must have the same number of dimensions; use ops::expand_dims or ops::squeeze");
}
}  // namespace detail_losses

// The mean over all rows. Labels are classes (int32 or int64, [...]), or probabilities (of the dtype and shape of
// logits). For a language model with logits [batch, time, classes] and labels [batch, time] it is the mean over all
// words, in nats. e to its power is the perplexity.
inline Output softmax_cross_entropy(const Output& logits, const Output& labels, std::string_view name = {}) {
  const Graph g = logits.graph();
  const auto scope = g.scope(name.empty() ? "softmax_cross_entropy" : name);
  const Output rows = detail_losses::is_float(labels) ? softmax_cross_entropy_with_logits(logits, labels)
                                                      : sparse_softmax_cross_entropy_with_logits(logits, labels);
  return reduce_mean(rows, {}, false, "value");
}
// The mean over all elements, logits and labels of one shape. Labels are 0 and 1 of any numeric dtype or bool, or
// probabilities; they are cast.
inline Output sigmoid_cross_entropy(const Output& logits, const Output& labels, std::string_view name = {}) {
  const Graph g = logits.graph();
  detail_losses::need_same_rank("sigmoid_cross_entropy", logits, labels);
  const auto scope = g.scope(name.empty() ? "sigmoid_cross_entropy" : name);
  const Output targets = labels.dtype() == logits.dtype() ? labels : cast(labels, logits.dtype());
  return reduce_mean(sigmoid_cross_entropy_with_logits(logits, targets), {}, false, "value");
}
// The mean of (predictions - targets)^2 over all elements: TensorFlow's form, without the factor 1/2.
inline Output mean_squared_error(const Output& predictions, const Output& targets, std::string_view name = {}) {
  const Graph g = predictions.graph();
  detail_losses::need_same_rank("mean_squared_error", predictions, targets);
  const auto scope = g.scope(name.empty() ? "mean_squared_error" : name);
  return reduce_mean(squared_difference(predictions, targets), {}, false, "value");
}
// The mean of |predictions - targets|, on which outliers have less effect. The gradient is 0 if both are equal.
inline Output absolute_difference(const Output& predictions, const Output& targets, std::string_view name = {}) {
  const Graph g = predictions.graph();
  detail_losses::need_same_rank("absolute_difference", predictions, targets);
  const auto scope = g.scope(name.empty() ? "absolute_difference" : name);
  return reduce_mean(abs(predictions - targets), {}, false, "value");
}
// The mean over elements of d = |predictions - targets| (Huber 1964): d^2 / 2 if d <= delta, else delta * d - delta^2 /
// 2. It is quadratic near the target, and its slope is at most delta. INVALID_ARGUMENT: delta is not above 0.
inline Output huber_loss(const Output& predictions, const Output& targets, double delta = 1,
                         std::string_view name = {}) {
  const Graph g = predictions.graph();
  detail_losses::need_same_rank("huber_loss", predictions, targets);
  if (!(delta > 0)) fail(Code::kInvalidArgument, "huber_loss: delta must be above 0, got " + std::to_string(delta));
  const auto scope = g.scope(name.empty() ? "huber_loss" : name);
  const Output distance = abs(predictions - targets);
  const Output inner = minimum(distance, scalar(g, delta, distance.dtype()));
  return reduce_mean(square(inner) * 0.5 + (distance - inner) * delta, {}, false, "value");
}
// The mean of max(0, 1 - t * logits). t is -1 for a label 0 and 1 for a label 1. Labels of any numeric dtype or bool
// are cast.
inline Output hinge_loss(const Output& logits, const Output& labels, std::string_view name = {}) {
  const Graph g = logits.graph();
  detail_losses::need_same_rank("hinge_loss", logits, labels);
  const auto scope = g.scope(name.empty() ? "hinge_loss" : name);
  const Output side = (labels.dtype() == logits.dtype() ? labels : cast(labels, logits.dtype())) * 2.0 - 1.0;
  const Output missing = 1.0 - side * logits;
  return reduce_mean(maximum(missing, scalar(g, 0, missing.dtype())), {}, false, "value");
}
// The mean of -labels * log(predictions + epsilon) - (1 - labels) * log(1 - predictions + epsilon). predictions are
// probabilities; epsilon is TensorFlow's. With logits, sigmoid_cross_entropy is more exact. Labels are cast.
inline Output log_loss(const Output& predictions, const Output& labels, double epsilon = 1e-7,
                       std::string_view name = {}) {
  const Graph g = predictions.graph();
  detail_losses::need_same_rank("log_loss", predictions, labels);
  const auto scope = g.scope(name.empty() ? "log_loss" : name);
  const Output t = labels.dtype() == predictions.dtype() ? labels : cast(labels, predictions.dtype());
  const Output yes = t * log(predictions + epsilon), no = (1.0 - t) * log(1.0 - predictions + epsilon);
  return reduce_mean(-yes - no, {}, false, "value");
}
// The mean of 1 - sum(predictions * targets) along the axis. Both must have length 1 there (ops::l2_normalize), which
// is not checked. It is 0 for equal directions, and 2 for opposite ones.
inline Output cosine_distance(const Output& predictions, const Output& targets, std::int64_t axis = -1,
                              std::string_view name = {}) {
  const Graph g = predictions.graph();
  detail_losses::need_same_rank("cosine_distance", predictions, targets);
  const auto scope = g.scope(name.empty() ? "cosine_distance" : name);
  return reduce_mean(1.0 - reduce_sum(predictions * targets, {axis}), {}, false, "value");
}
// The error in differences: it ignores a common offset. With d = predictions - targets [examples, elements], it is the
// mean of (d_i - d_j)^2 over all pairs of elements of an example, then the mean over examples. The number of elements
// must be known and at least two.
inline Output mean_pairwise_squared_error(const Output& predictions, const Output& targets,
                                          std::string_view name = {}) {
  const Graph g = predictions.graph();
  detail_losses::need_same_rank("mean_pairwise_squared_error", predictions, targets);
  if (predictions.rank() != 2 || predictions.dim(1) < 2)
    fail(Code::kInvalidArgument, "mean_pairwise_squared_error: " + predictions.text() +
                                     " must be a matrix [examples, elements] of at least two elements");
  const auto scope = g.scope(name.empty() ? "mean_pairwise_squared_error" : name);
  const auto n = static_cast<double>(predictions.dim(1));
  const Output d = predictions - targets;
  // sum over pairs (d_i - d_j)^2 = n * sum(d^2) - sum(d)^2; there are n * (n - 1) / 2 pairs.
  const Output pairs = reduce_sum(square(d), {1}) * n - square(reduce_sum(d, {1}));
  return reduce_mean(pairs * (2 / (n * (n - 1))), {}, false, "value");
}
// The fraction of rows whose label has the largest logit: logits [..., classes], labels [...] of any integer dtype. It
// is a float32 scalar of this batch, for a summary. ops::metrics::accuracy covers all batches of an evaluation. It has
// no gradient.
inline Output accuracy(const Output& logits, const Output& labels, std::string_view name = {}) {
  const Graph g = logits.graph();
  const auto scope = g.scope(name.empty() ? "accuracy" : name);
  const Output classes = labels.dtype() == DType::kInt64 ? labels : cast(labels, DType::kInt64);
  return reduce_mean(cast(equal(arg_max(logits), classes), DType::kFloat32), {}, false, "value");
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
