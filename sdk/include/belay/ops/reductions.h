// SPDX-License-Identifier: Apache-2.0
// Reductions over axes. A negative axis counts from the last; no axes means all. The result lacks these dimensions, or
// with keep_dims has 1 there. INVALID_ARGUMENT: an axis is given twice or is beyond the rank. Sums of float32 are made
// in blocks, whose sums are added in float64. Their order does not depend on the number of threads.
//
//   x [batch, time, features]
//   ops::reduce_mean(x)                  a scalar
//   ops::reduce_sum(x, {1})              [batch, features]
//   ops::reduce_max(x, {-1}, true)       [batch, time, 1], which broadcasts against x
//
// Dtypes are numbers (float32, float64, int32, int64, uint8) unless a function states otherwise. The result has the
// dtype of x.
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

// The dimensions to reduce; empty: all of them.
using Axes = std::vector<std::int64_t>;

namespace detail_reductions {
inline Output reduce(const char* op, const Output& x, const Axes& axes, bool keep_dims, std::string_view name) {
  return x.graph().node(op, name).in(x).attr("axes", axes).attr("keep_dims", keep_dims).output();
}
}  // namespace detail_reductions

// The sum; 0 without elements. Integers wrap. Gradient: the incoming one, repeated to the shape of x.
inline Output reduce_sum(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Sum", x, axes, keep_dims, name);
}
// The mean of floats; NaN without elements. Gradient: the incoming one divided by the number of elements, repeated.
inline Output reduce_mean(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Mean", x, axes, keep_dims, name);
}
// The largest element. It is NaN if any element is NaN, and the dtype's smallest value (-infinity) without elements.
// Equal largest elements share the gradient equally: for [1, 3, 3] it is [0, 1/2, 1/2].
inline Output reduce_max(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Max", x, axes, keep_dims, name);
}
// The smallest element, with the same rules; the largest value (infinity) without elements.
inline Output reduce_min(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Min", x, axes, keep_dims, name);
}
// The product; 1 without elements. The gradient of each element is the product of all others, also if one is 0. That
// gradient itself has none.
inline Output reduce_prod(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Prod", x, axes, keep_dims, name);
}
// True if all of bool x are true; true without elements. It has no gradient.
inline Output reduce_all(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("All", x, axes, keep_dims, name);
}
// True if at least one of bool x is true; false without elements. It has no gradient.
inline Output reduce_any(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Any", x, axes, keep_dims, name);
}
// Index of the largest element along the axis, as int64 without that dimension: the first of equal ones. NaN counts as
// the largest. It has no gradient. INVALID_ARGUMENT: an axis of size 0.
//
//   ops::arg_max(logits)                        [batch, classes] -> [batch], the predicted classes
inline Output arg_max(const Output& x, std::int64_t axis = -1, std::string_view name = {}) {
  return x.graph().node("ArgMax", name).in(x).attr("axis", axis).output();
}
// Does the same for the smallest element. NaN counts as the smallest.
inline Output arg_min(const Output& x, std::int64_t axis = -1, std::string_view name = {}) {
  return x.graph().node("ArgMin", name).in(x).attr("axis", axis).output();
}
// sum(x^2) / 2 of floats, a scalar, for weight decay: TensorFlow's tf.nn.l2_loss, whose gradient is x.
inline Output l2_loss(const Output& x, std::string_view name = {}) {
  return x.graph().node("L2Loss", name).in(x).output();
}
// sqrt of the sum of all squares of all tensors (floats of one dtype, any shapes), a scalar. Its gradient is 0 if the
// norm is 0. [optimizer] clip_norm limits this norm (Pascanu et al. 2013, On the difficulty of training RNNs).
inline Output global_norm(const std::vector<Output>& xs, std::string_view name = {}) {
  if (xs.empty()) fail(Code::kInvalidArgument, "global_norm needs at least one tensor");
  return xs[0].graph().node("GlobalNorm", name).in(xs).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
