// SPDX-License-Identifier: Apache-2.0
// Reductions over axes (negative: from the last one; no axes: all). The result lacks these dimensions, or with
// keep_dims has 1 there; an axis twice or beyond the rank is INVALID_ARGUMENT. Sums of float32 are made in blocks whose
// sums are added in float64, in an order that does not depend on the number of threads.
//
//   x [batch, time, features]
//   ops::reduce_mean(x)                  a scalar
//   ops::reduce_sum(x, {1})              [batch, features]
//   ops::reduce_max(x, {-1}, true)       [batch, time, 1], which broadcasts against x
//
// Dtypes: numbers (float32, float64, int32, int64, uint8) unless a function says otherwise; the result has the dtype of
// x.
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

// Which dimensions are reduced; empty: all of them.
using Axes = std::vector<std::int64_t>;

namespace detail_reductions {
inline Output reduce(const char* op, const Output& x, const Axes& axes, bool keep_dims, std::string_view name) {
  return x.graph().node(op, name).in(x).attr("axes", axes).attr("keep_dims", keep_dims).output();
}
}  // namespace detail_reductions

// The sum; of nothing: 0. Integers wrap. Gradient: the incoming one, repeated to the shape of x.
inline Output reduce_sum(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Sum", x, axes, keep_dims, name);
}
// The mean of floats. Of nothing: NaN. Gradient: the incoming one divided by the number of elements, repeated.
inline Output reduce_mean(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Mean", x, axes, keep_dims, name);
}
// The largest. NaN where any element is NaN; of nothing: the smallest value of the dtype (-infinity). The gradient is
// shared equally by equal largest elements: of [1, 3, 3] it is [0, 1/2, 1/2].
inline Output reduce_max(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Max", x, axes, keep_dims, name);
}
// The smallest, with the same rules; of nothing: the largest value (infinity).
inline Output reduce_min(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Min", x, axes, keep_dims, name);
}
// The product; of nothing: 1. The gradient of each element is the product of all others, right also where one is 0;
// that gradient itself has none.
inline Output reduce_prod(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Prod", x, axes, keep_dims, name);
}
// Whether all of bool x are true. Of nothing: true. No gradient.
inline Output reduce_all(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("All", x, axes, keep_dims, name);
}
// Whether at least one of bool x is true. Of nothing: false. No gradient.
inline Output reduce_any(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Any", x, axes, keep_dims, name);
}
// int64: the index along the axis of the largest element, the first of equal ones, without that dimension. NaN counts
// as the largest. No gradient. An axis of size 0 is INVALID_ARGUMENT.
//
//   ops::arg_max(logits)                        [batch, classes] -> [batch], the predicted classes
inline Output arg_max(const Output& x, std::int64_t axis = -1, std::string_view name = {}) {
  return x.graph().node("ArgMax", name).in(x).attr("axis", axis).output();
}
// The same of the smallest one. NaN counts as the smallest.
inline Output arg_min(const Output& x, std::int64_t axis = -1, std::string_view name = {}) {
  return x.graph().node("ArgMin", name).in(x).attr("axis", axis).output();
}
// sum(x^2) / 2 of floats, a scalar: TensorFlow's tf.nn.l2_loss, whose gradient is x. For weight decay.
inline Output l2_loss(const Output& x, std::string_view name = {}) {
  return x.graph().node("L2Loss", name).in(x).output();
}
// sqrt of the sum of all squares of all tensors (floats of one dtype, any shapes), a scalar. Its gradient is 0 where
// the norm is 0. What [optimizer] clip_norm compares with (Pascanu et al. 2013, On the difficulty of training RNNs).
inline Output global_norm(const std::vector<Output>& xs, std::string_view name = {}) {
  if (xs.empty()) fail(Code::kInvalidArgument, "global_norm needs at least one tensor");
  return xs[0].graph().node("GlobalNorm", name).in(xs).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
