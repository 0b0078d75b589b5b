// Heads: the last part of a model, from its last layer to loss, predictions and metrics. And its first part: the
// features as one matrix.
//
//   const Output x = belay::feature_matrix(model);
//   const Output y = ops::dense(x, belay::head_units(model, options.task, options.classes));
//   belay::add_head(model, y, options.task);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belay/model.h"
#include "belay/ops/activations.h"
#include "belay/ops/losses.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/shape.h"
#include "belay/ops/variables.h"

namespace belay {
inline namespace v0 {

// All features as float32 [examples, columns], in the input's order, each flattened.
inline Output feature_matrix(const ModelContext& model) {
  std::vector<Output> parts;
  for (const NamedOutput& f : model.features()) {
    if (f.output.dtype() == DType::kString)
      fail(Code::kInvalidArgument, "feature '" + f.name + "' is text; this model takes numbers");
    Output x = f.output.dtype() == DType::kFloat32 ? f.output : ops::cast(f.output, DType::kFloat32);
    if (x.rank() == 1) x = ops::expand_dims(x, 1);
    if (x.rank() > 2) x = ops::flatten(x);
    if (x.rank() != 2 || x.dim(1) < 0)
      fail(Code::kInvalidArgument, "feature '" + f.name + "' " + f.output.text() + " has no fixed size per example");
    parts.push_back(x);
  }
  if (parts.empty()) fail(Code::kInvalidArgument, "the input has no features");
  return parts.size() == 1 ? parts[0] : ops::concat(parts, 1, "features");
}

// "classification" where the label is an integer, "regression" where it is a floating-point number, unless `task` says
// which. Without labels (mode kPredict) the task must be given.
inline std::string head_task(const ModelContext& model, std::string_view task) {
  if (task != "auto") return std::string(task);
  if (model.labels().empty())
    fail(Code::kInvalidArgument,
         "without labels the model cannot tell its task: set task to classification or regression");
  const DType t = model.label().dtype();
  return t == DType::kFloat32 || t == DType::kFloat64 ? "regression" : "classification";
}

// Outputs that the last layer needs: the number of classes, or the label's numbers per example.
inline std::int64_t head_units(const ModelContext& model, std::string_view task, std::int64_t classes) {
  if (head_task(model, task) == "classification") return classes;
  if (model.labels().empty()) return 1;
  const Output label = model.label();
  if (label.rank() == 2 && label.dim(1) > 0) return label.dim(1);
  return 1;
}

namespace detail {

inline void classification_head(ModelContext& model, const Output& logits) {
  model.prediction("probabilities", ops::softmax(logits, "probabilities"));
  model.prediction("class", ops::arg_max(logits, -1, "class"));
  if (model.labels().empty()) return;
  const Output label = model.label();
  model.loss(ops::softmax_cross_entropy(logits, label, "loss"));
  model.metric("accuracy", ops::accuracy(logits, label, "accuracy"));
}

// The coefficient of determination over a whole pass: 1 - (sum of squared errors) / (sum of squares about the mean).
inline void add_r2(ModelContext& model, const Output& y, const Output& target) {
  const Graph g = y.graph();
  const auto scope = g.scope("r2");
  const auto total = [&](const char* name) { return ops::variable(g, name, Tensor(0.0), ops::VariableKind::kLocal); };
  const Output errors = total("squared_errors"), sum = total("sum"), squares = total("squares"), count = total("count");
  const Output t = ops::cast(target, DType::kFloat64);
  const Output e = ops::cast(y, DType::kFloat64) - t;
  const Output update =
      ops::group(g, {ops::assign_add(errors, ops::reduce_sum(ops::square(e))), ops::assign_add(sum, ops::reduce_sum(t)),
                     ops::assign_add(squares, ops::reduce_sum(ops::square(t))),
                     ops::assign_add(count, ops::reduce_sum(ops::ones_like(t)))});
  model.metric("r2", 1.0 - errors / (squares - ops::square(sum) / count), update);
}

inline void regression_head(ModelContext& model, const Output& y) {
  model.prediction("value", y);
  if (model.labels().empty()) return;
  const Output label = model.label();
  Output target = label.dtype() == DType::kFloat32 ? label : ops::cast(label, DType::kFloat32);
  if (target.rank() == 1) target = ops::expand_dims(target, 1);
  model.loss(ops::mean_squared_error(y, target, "loss"));
  model.metric("mean_absolute_error", ops::reduce_mean(ops::abs(y - target), {}, false, "mean_absolute_error"));
  if (model.mode() == Mode::kEval) add_r2(model, y, target);
}

}  // namespace detail

// Loss, predictions and metrics from the last layer's output [examples, units].
//   classification: softmax cross entropy; predictions "probabilities" and "class"; metric "accuracy"
//   regression: mean squared error; prediction "value"; metrics "mean_absolute_error" and, evaluating, "r2"
inline void add_head(ModelContext& model, const Output& last, std::string_view task) {
  if (head_task(model, task) == "classification") {
    detail::classification_head(model, last);
  } else {
    detail::regression_head(model, last);
  }
}

}  // namespace v0
}  // namespace belay
