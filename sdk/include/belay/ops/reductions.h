// SPDX-License-Identifier: Apache-2.0
// Reductions over axes (negative: from the last one; no axes: all). keep_dims leaves them as 1. Sums of float32 are
// made in blocks whose sums are added in float64, in an order that does not depend on the number of threads.
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

using Axes = std::vector<std::int64_t>;

namespace detail_reductions {
inline Output reduce(const char* op, const Output& x, const Axes& axes, bool keep_dims, std::string_view name) {
  return x.graph().node(op, name).in(x).attr("axes", axes).attr("keep_dims", keep_dims).output();
}
}  // namespace detail_reductions

// Of nothing: 0.
inline Output reduce_sum(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Sum", x, axes, keep_dims, name);
}
// Floating-point only. Of nothing: NaN.
inline Output reduce_mean(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Mean", x, axes, keep_dims, name);
}
// NaN where any element is NaN; of nothing: the smallest value of the dtype (-infinity). The gradient is shared by
// equal largest elements.
inline Output reduce_max(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Max", x, axes, keep_dims, name);
}
inline Output reduce_min(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Min", x, axes, keep_dims, name);
}
// Of nothing: 1.
inline Output reduce_prod(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Prod", x, axes, keep_dims, name);
}
// Of bool. Of nothing: true.
inline Output reduce_all(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("All", x, axes, keep_dims, name);
}
// Of bool. Of nothing: false.
inline Output reduce_any(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return detail_reductions::reduce("Any", x, axes, keep_dims, name);
}
// int64: where along the axis the largest element stands, the first of equal ones. NaN counts as the largest.
inline Output arg_max(const Output& x, std::int64_t axis = -1, std::string_view name = {}) {
  return x.graph().node("ArgMax", name).in(x).attr("axis", axis).output();
}
// The same of the smallest one. NaN counts as the smallest.
inline Output arg_min(const Output& x, std::int64_t axis = -1, std::string_view name = {}) {
  return x.graph().node("ArgMin", name).in(x).attr("axis", axis).output();
}
// sum(x^2) / 2
inline Output l2_loss(const Output& x, std::string_view name = {}) {
  return x.graph().node("L2Loss", name).in(x).output();
}
// sqrt of the sum of all squares of all tensors.
inline Output global_norm(const std::vector<Output>& xs, std::string_view name = {}) {
  if (xs.empty()) fail(Code::kInvalidArgument, "global_norm needs at least one tensor");
  return xs[0].graph().node("GlobalNorm", name).in(xs).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
