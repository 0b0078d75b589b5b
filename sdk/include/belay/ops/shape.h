// SPDX-License-Identifier: Apache-2.0
// Shapes: the same elements in another order or form, parts of tensors, and tensors made from shapes.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/ops/control.h"

namespace belay {
inline namespace v0 {
namespace ops {

// The same elements with other dimensions; one of them may be -1: what the number of elements leaves.
inline Output reshape(const Output& x, const Dims& dims, std::string_view name = {}) {
  return x.graph().node("Reshape", name).in(x).attr("shape", dims).output();
}
inline Output reshape_like(const Output& x, const Output& like, std::string_view name = {}) {
  return x.graph().node("ReshapeLike", name).in(x).in(like).output();
}
// A new dimension of 1 that stands at `axis` of the result; -1: the last.
inline Output expand_dims(const Output& x, std::int64_t axis, std::string_view name = {}) {
  return x.graph().node("ExpandDims", name).in(x).attr("axis", axis).output();
}
// Without these dimensions, which must be 1; no axes: without all that are 1.
inline Output squeeze(const Output& x, const std::vector<std::int64_t>& axes = {}, std::string_view name = {}) {
  return x.graph().node("Squeeze", name).in(x).attr("axes", axes).output();
}
// [examples, everything else]
inline Output flatten(const Output& x, std::string_view name = {}) {
  const Dims dims = x.dims();
  std::int64_t rest = 1;
  for (std::size_t i = 1; i < dims.size(); ++i) rest = dims[i] < 0 || rest < 0 ? -1 : rest * dims[i];
  if (x.rank() < 1 || rest < 0)
    fail(Code::kInvalidArgument,
         "flatten: " + x.text() + " must have known dimensions after the first; reshape it with the sizes meant");
  return reshape(x, {dims[0], rest}, name.empty() ? "flatten" : name);
}
// Dimension i of the result is dimension perm[i] of x; no perm: reversed.
inline Output transpose(const Output& x, const std::vector<std::int64_t>& perm = {}, std::string_view name = {}) {
  return x.graph().node("Transpose", name).in(x).attr("perm", perm).output();
}
// Tensors one after the other along a dimension that they have.
inline Output concat(const std::vector<Output>& xs, std::int64_t axis, std::string_view name = {}) {
  if (xs.empty()) fail(Code::kInvalidArgument, "concat needs at least one tensor");
  return xs[0].graph().node("Concat", name).in(xs).attr("axis", axis).output();
}
// Tensors of one shape along a new dimension, which stands at `axis` of the result.
inline Output stack(const std::vector<Output>& xs, std::int64_t axis = 0, std::string_view name = {}) {
  if (xs.empty()) fail(Code::kInvalidArgument, "stack needs at least one tensor");
  std::vector<Output> expanded;
  expanded.reserve(xs.size());
  for (const Output& x : xs) expanded.push_back(expand_dims(x, axis));
  return concat(expanded, axis, name.empty() ? "stack" : name);
}
// size[i] elements from begin[i] on in each dimension i; -1: all up to its end.
inline Output slice(const Output& x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& size,
                    std::string_view name = {}) {
  return x.graph().node("Slice", name).in(x).attr("begin", begin).attr("size", size).output();
}
// In each dimension i the elements from begin[i] to before end[i], every strides[i]-th (none given: every one), as
// numpy's x[begin:end:stride]: negative places count from the end, places outside are cut, a negative stride goes
// backwards. Dimensions behind the last one named stay whole. Bit i of a mask: begin[i] or end[i] does not count, but
// the start or end of the dimension; shrink: only the element at begin[i], and no dimension for it.
struct SliceMasks {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t shrink = 0;
};
inline Output strided_slice(const Output& x, const std::vector<std::int64_t>& begin,
                            const std::vector<std::int64_t>& end, const std::vector<std::int64_t>& strides = {},
                            const SliceMasks& masks = {}, std::string_view name = {}) {
  return x.graph()
      .node("StridedSlice", name)
      .in(x)
      .attr("begin", begin)
      .attr("end", end)
      .attr("strides", strides)
      .attr("begin_mask", masks.begin)
      .attr("end_mask", masks.end)
      .attr("shrink_axis_mask", masks.shrink)
      .output();
}
// In the opposite order along these axes.
inline Output reverse(const Output& x, const std::vector<std::int64_t>& axes, std::string_view name = {}) {
  if (x.rank() < 0) fail(Code::kInvalidArgument, "reverse: the rank of " + x.text() + " must be known");
  const auto rank = static_cast<std::size_t>(x.rank());
  std::vector<std::int64_t> places(rank, 0), strides(rank, 1);
  SliceMasks masks;
  masks.begin = masks.end = (std::int64_t{1} << rank) - 1;
  for (const std::int64_t axis : axes) {
    const std::int64_t i = axis < 0 ? axis + x.rank() : axis;
    if (i < 0 || i >= x.rank())
      fail(Code::kInvalidArgument, "reverse: " + x.text() + " has no axis " + std::to_string(axis));
    strides[static_cast<std::size_t>(i)] = -1;
  }
  return strided_slice(x, places, places, strides, masks, name.empty() ? "reverse" : name);
}
// x with before[i] and after[i] more elements in each dimension i, all of them `value`. Numbers only.
inline Output pad(const Output& x, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after,
                  double value = 0, std::string_view name = {}) {
  return x.graph().node("Pad", name).in(x).attr("before", before).attr("after", after).attr("value", value).output();
}
// x multiples[i] times one after the other along each dimension i.
inline Output tile(const Output& x, const std::vector<std::int64_t>& multiples, std::string_view name = {}) {
  return x.graph().node("Tile", name).in(x).attr("multiples", multiples).output();
}
namespace detail_shape {
// The dimension `axis` of x, whose size must be known; as 0..rank-1.
inline std::size_t known_axis(const char* what, const Output& x, std::int64_t axis) {
  const std::int64_t i = axis < 0 ? axis + x.rank() : axis;
  if (i < 0 || i >= x.rank() || x.dim(static_cast<std::int32_t>(i)) < 0)
    fail(Code::kInvalidArgument,
         std::string(what) + ": the size of axis " + std::to_string(axis) + " of " + x.text() + " must be known");
  return static_cast<std::size_t>(i);
}
}  // namespace detail_shape
// Parts of these sizes along the axis, one after the other; together they are x.
inline std::vector<Output> split(const Output& x, const std::vector<std::int64_t>& sizes, std::int64_t axis = 0) {
  const std::size_t at = detail_shape::known_axis("split", x, axis);
  std::vector<std::int64_t> begin(x.dims().size(), 0), size(x.dims().size(), -1);
  std::vector<Output> parts;
  for (const std::int64_t n : sizes) {
    size[at] = n;
    parts.push_back(slice(x, begin, size, "split"));
    begin[at] += n;
  }
  if (begin[at] != x.dims()[at])
    fail(Code::kInvalidArgument, "split: the parts have " + std::to_string(begin[at]) + " elements together, axis " +
                                     std::to_string(axis) + " of " + x.text() + " has " + std::to_string(x.dims()[at]));
  return parts;
}
// So many parts of the same size.
inline std::vector<Output> split(const Output& x, std::int64_t parts, std::int64_t axis = 0) {
  const std::size_t at = detail_shape::known_axis("split", x, axis);
  if (parts < 1 || x.dims()[at] % parts != 0)
    fail(Code::kInvalidArgument, "split: axis " + std::to_string(axis) + " of " + x.text() + " cannot be cut into " +
                                     std::to_string(parts) + " equal parts");
  return split(x, std::vector<std::int64_t>(static_cast<std::size_t>(parts), x.dims()[at] / parts), axis);
}
// The slices along an axis, without it: what stack puts together.
inline std::vector<Output> unstack(const Output& x, std::int64_t axis = 0) {
  const std::size_t at = detail_shape::known_axis("unstack", x, axis);
  std::vector<Output> parts;
  if (x.dims()[at] == 0) return parts;
  for (const Output& part : split(x, x.dims()[at], axis))
    parts.push_back(squeeze(part, {static_cast<std::int64_t>(at)}));
  return parts;
}
// start, start + delta ... up to before limit, as a constant.
inline Output range(const Graph& g, double start, double limit, double delta = 1, DType dtype = DType::kInt32,
                    std::string_view name = {}) {
  if (delta == 0 || !(std::fabs((limit - start) / delta) < 1e9))
    fail(Code::kInvalidArgument, "range: from " + std::to_string(start) + " to " + std::to_string(limit) +
                                     " in steps of " + std::to_string(delta) + " does not end");
  std::vector<double> values;
  for (double i = 0; delta > 0 ? start + i * delta < limit : start + i * delta > limit; ++i)
    values.push_back(start + i * delta);
  const Dims dims{static_cast<std::int64_t>(values.size())};
  const std::string_view called = name.empty() ? std::string_view("range") : name;
  const auto as = [&](auto zero) {
    std::vector<decltype(zero)> elements;
    for (const double v : values) elements.push_back(static_cast<decltype(zero)>(v));
    return constant(g, Tensor(dims, elements), called);
  };
  switch (dtype) {
    case DType::kInt32: return as(std::int32_t{0});
    case DType::kInt64: return as(std::int64_t{0});
    case DType::kFloat32: return as(0.0f);
    case DType::kFloat64: return as(0.0);
    default: fail(Code::kInvalidArgument, std::string("range: there is no range of ") + dtype_name(dtype));
  }
}
// x repeated to the shape of `like`, by numpy's rule.
inline Output broadcast_like(const Output& x, const Output& like, std::string_view name = {}) {
  return x.graph().node("BroadcastLike", name).in(x).in(like).output();
}
// The reverse: x summed over what `like` would be repeated along.
inline Output sum_like(const Output& x, const Output& like, std::string_view name = {}) {
  return x.graph().node("SumLike", name).in(x).in(like).output();
}
// Dimensions as an int64 vector; number of elements as an int64 scalar.
inline Output shape(const Output& x, std::string_view name = {}) {
  return x.graph().node("Shape", name).in(x).output();
}
inline Output size(const Output& x, std::string_view name = {}) { return x.graph().node("Size", name).in(x).output(); }
inline Output ones_like(const Output& x, std::string_view name = {}) {
  return x.graph().node("OnesLike", name).in(x).output();
}
inline Output zeros_like(const Output& x, std::string_view name = {}) {
  return x.graph().node("ZerosLike", name).in(x).output();
}
// One value everywhere.
inline Output fill(const Graph& g, const Dims& dims, double value, DType dtype = DType::kFloat32,
                   std::string_view name = {}) {
  return g.node("Fill", name).attr("shape", dims).attr("value", value).attr("dtype", dtype).output();
}
inline Output zeros(const Graph& g, const Dims& dims, DType dtype = DType::kFloat32, std::string_view name = {}) {
  return fill(g, dims, 0, dtype, name.empty() ? "zeros" : name);
}
inline Output ones(const Graph& g, const Dims& dims, DType dtype = DType::kFloat32, std::string_view name = {}) {
  return fill(g, dims, 1, dtype, name.empty() ? "ones" : name);
}
// A new last dimension of `depth`: `on` at the index (int32 or int64), `off` elsewhere; an index outside: only `off`.
inline Output one_hot(const Output& indices, std::int64_t depth, double on = 1, double off = 0,
                      DType dtype = DType::kFloat32, std::string_view name = {}) {
  return indices.graph()
      .node("OneHot", name)
      .in(indices)
      .attr("depth", depth)
      .attr("on", on)
      .attr("off", off)
      .attr("dtype", dtype)
      .output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
