// Losses and what goes with them. Logits are unscaled: softmax or sigmoid is part of the loss.
//
//   Output loss = ops::softmax_cross_entropy(logits, labels);   a scalar to minimize
#pragma once

#include <string>
#include <string_view>

#include "belay/graph.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"

namespace belay {
inline namespace v0 {
namespace ops {

// -log(softmax(logits)[label]) of each row. logits [..., classes], labels [...] int32 or int64 in [0, classes); a label
// outside ends the run with INVALID_ARGUMENT. Output 1 is the gradient of each row's loss.
inline Output sparse_softmax_cross_entropy_with_logits(const Output& logits, const Output& labels,
                                                       std::string_view name = {}) {
  return logits.graph().node("SparseSoftmaxCrossEntropyWithLogits", name).in(logits).in(labels).output();
}
// -sum(labels * log(softmax(logits))) of each row; labels are probabilities of the shape of logits.
inline Output softmax_cross_entropy_with_logits(const Output& logits, const Output& labels,
                                                std::string_view name = {}) {
  return logits.graph().node("SoftmaxCrossEntropyWithLogits", name).in(logits).in(labels).output();
}
// -labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)) of each element.
inline Output sigmoid_cross_entropy_with_logits(const Output& logits, const Output& labels,
                                                std::string_view name = {}) {
  return logits.graph().node("SigmoidCrossEntropyWithLogits", name).in(logits).in(labels).output();
}

namespace detail_losses {
inline bool is_float(const Output& x) { return x.dtype() == DType::kFloat32 || x.dtype() == DType::kFloat64; }
// [n] and [n, 1] would broadcast to [n, n], which nobody means.
inline void need_same_rank(const char* what, const Output& a, const Output& b) {
  if (a.rank() >= 0 && b.rank() >= 0 && a.rank() != b.rank())
    fail(Code::kInvalidArgument, std::string(what) + ": " + a.text() + " and " + b.text() +
                                     " must have the same number of dimensions; use ops::expand_dims or ops::squeeze");
}
}  // namespace detail_losses

// The mean over all rows. Labels are classes (integers), or probabilities (floating-point) of the shape of logits.
inline Output softmax_cross_entropy(const Output& logits, const Output& labels, std::string_view name = {}) {
  const Graph g = logits.graph();
  const auto scope = g.scope(name.empty() ? "softmax_cross_entropy" : name);
  const Output rows = detail_losses::is_float(labels) ? softmax_cross_entropy_with_logits(logits, labels)
                                                      : sparse_softmax_cross_entropy_with_logits(logits, labels);
  return reduce_mean(rows, {}, false, "value");
}
// The mean over all elements. Labels are 0 and 1 of any dtype, or probabilities.
inline Output sigmoid_cross_entropy(const Output& logits, const Output& labels, std::string_view name = {}) {
  const Graph g = logits.graph();
  detail_losses::need_same_rank("sigmoid_cross_entropy", logits, labels);
  const auto scope = g.scope(name.empty() ? "sigmoid_cross_entropy" : name);
  const Output targets = labels.dtype() == logits.dtype() ? labels : cast(labels, logits.dtype());
  return reduce_mean(sigmoid_cross_entropy_with_logits(logits, targets), {}, false, "value");
}
// The mean of (predictions - targets)^2 over all elements.
inline Output mean_squared_error(const Output& predictions, const Output& targets, std::string_view name = {}) {
  const Graph g = predictions.graph();
  detail_losses::need_same_rank("mean_squared_error", predictions, targets);
  const auto scope = g.scope(name.empty() ? "mean_squared_error" : name);
  return reduce_mean(squared_difference(predictions, targets), {}, false, "value");
}
// The fraction of rows whose largest logit stands at the label (any integer dtype). float32.
inline Output accuracy(const Output& logits, const Output& labels, std::string_view name = {}) {
  const Graph g = logits.graph();
  const auto scope = g.scope(name.empty() ? "accuracy" : name);
  const Output classes = labels.dtype() == DType::kInt64 ? labels : cast(labels, DType::kInt64);
  return reduce_mean(cast(equal(arg_max(logits), classes), DType::kFloat32), {}, false, "value");
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
