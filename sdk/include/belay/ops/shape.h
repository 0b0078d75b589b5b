// SPDX-License-Identifier: Apache-2.0
// Shapes: the same elements in another order or form, parts of tensors, and tensors made from shapes. Unless a function
// states otherwise, any dtype is allowed, strings too, and the gradient passes.
//
//   x [batch, 28, 28]
//   ops::flatten(x)                                   [batch, 784]
//   ops::expand_dims(x, -1)                           [batch, 28, 28, 1]
//   ops::transpose(x, {0, 2, 1})                      each image mirrored at its diagonal
//   ops::strided_slice(x, {0, 0}, {0, -1}, {}, {.begin = 1, .end = 1})    x[:, 0:-1], the last row of each left out
//
// Negative axes count from the last dimension. An impossible argument is INVALID_ARGUMENT while the graph is built. If
// it depends on unknown dimensions, the run that knows them checks it.
//
// reshape, reshape_like, expand_dims, squeeze and flatten are other views of the same memory and cost nothing. The
// others copy their result; the threads of the run share a large copy.
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

// The same elements, row by row, with other dimensions. One of them may be -1: it follows from the number of elements.
// The products must be equal: [2, 6] to {3, -1} is [3, 4].
inline Output reshape(const Output& x, const Dims& dims, std::string_view name = {}) {
  return x.graph().node("Reshape", name).in(x).attr("shape", dims).output();
}
// The elements of x with the dimensions of `like`, for shapes that only a run knows. `like` must have the same number
// of elements. Its dtype and values have no effect.
inline Output reshape_like(const Output& x, const Output& like, std::string_view name = {}) {
  return x.graph().node("ReshapeLike", name).in(x).in(like).output();
}
// Adds a dimension of 1 as number `axis` of the result: [3, 4] with axis 0 becomes [1, 3, 4], with -1 [3, 4, 1]. It
// prepares broadcasting: x [batch, n] - expand_dims(mean, 1) for a mean [batch].
inline Output expand_dims(const Output& x, std::int64_t axis, std::string_view name = {}) {
  return x.graph().node("ExpandDims", name).in(x).attr("axis", axis).output();
}
// Removes these dimensions, which must be 1. Without axes it removes all dimensions of 1, so the rank is unknown if a
// dimension is. Name the axes: then a batch of one example keeps its first dimension.
//
//   ops::squeeze(x, {-1})                       [batch, 1] to [batch]
inline Output squeeze(const Output& x, const std::vector<std::int64_t>& axes = {}, std::string_view name = {}) {
  return x.graph().node("Squeeze", name).in(x).attr("axes", axes).output();
}
// [examples, everything else]: [batch, 28, 28] becomes [batch, 784]. The dimensions after the first must be known.
inline Output flatten(const Output& x, std::string_view name = {}) {
  const Dims dims = x.dims();
  std::int64_t rest = 1;
  for (std::size_t i = 1; i < dims.size(); ++i) rest = dims[i] < 0 || rest < 0 ? -1 : rest * dims[i];
  if (x.rank() < 1 || rest < 0)
    fail(Code::kInvalidArgument,
         "flatten: " + x.text() + " must have known dimensions after the first; reshape it with the sizes meant");
  return reshape(x, {dims[0], rest}, name.empty() ? "flatten" : name);
}
// Dimension i of the result is dimension perm[i] of x. perm names each of 0 ... rank - 1 once; empty: reversed.
//
//   ops::transpose(images, {0, 3, 1, 2})        NHWC to NCHW
//
// Before a product use its transpose_a or transpose_b instead of a node.
inline Output transpose(const Output& x, const std::vector<std::int64_t>& perm = {}, std::string_view name = {}) {
  return x.graph().node("Transpose", name).in(x).attr("perm", perm).output();
}
// Joins tensors along an existing dimension: [2, 3] and [4, 3] along 0 make [6, 3]. There is at least one tensor. They
// have one dtype and rank and are equal in all other dimensions. The gradient of each is its part of the incoming one.
inline Output concat(const std::vector<Output>& xs, std::int64_t axis, std::string_view name = {}) {
  if (xs.empty()) fail(Code::kInvalidArgument, "concat needs at least one tensor");
  return xs[0].graph().node("Concat", name).in(xs).attr("axis", axis).output();
}
// Joins tensors of one shape along a new dimension, number `axis` of the result: three [4] make [3, 4], with axis -1
// [4, 3]. unstack separates them again.
inline Output stack(const std::vector<Output>& xs, std::int64_t axis = 0, std::string_view name = {}) {
  if (xs.empty()) fail(Code::kInvalidArgument, "stack needs at least one tensor");
  std::vector<Output> expanded;
  expanded.reserve(xs.size());
  for (const Output& x : xs) expanded.push_back(expand_dims(x, axis));
  return concat(expanded, axis, name.empty() ? "stack" : name);
}
// size[i] elements from begin[i] on in each dimension i; -1: all up to its end. There is one number for each dimension,
// and begin is not negative. A part outside of x is an error, unlike with strided_slice.
//
//   ops::slice(x, {0, 1}, {-1, 3})              x[:, 1:4] of a matrix
//
// The gradient is zeros in the shape of x around the incoming one.
inline Output slice(const Output& x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& size,
                    std::string_view name = {}) {
  return x.graph().node("Slice", name).in(x).attr("begin", begin).attr("size", size).output();
}
// Bit i of a mask is for dimension i, as in tf.strided_slice.
struct SliceMasks {
  // Ignores begin[i]: the part begins at the start of the dimension (at its end with a negative stride).
  std::int64_t begin = 0;
  // Ignores end[i]: the part ends at the end of the dimension (at its start with a negative stride).
  std::int64_t end = 0;
  // Takes only the element at begin[i], which must exist, and removes the dimension.
  std::int64_t shrink = 0;
};
// In each dimension i: the elements from begin[i] to before end[i], every strides[i]-th, as in numpy's
// x[begin:end:stride]. Empty strides mean every element; 0 is an error. Negative indices count from the end, indices
// outside are limited to it, and a negative stride goes backwards. begin, end and strides have one length; the
// dimensions after it stay whole.
//
//   ops::strided_slice(x, {-1}, {0}, {}, {.shrink = 1})                 x[-1]
//   ops::strided_slice(x, {0}, {0}, {2}, {.begin = 1, .end = 1})        x[::2]
//   ops::strided_slice(x, {0, 3}, {0, 7}, {}, {.begin = 1, .end = 1})   x[:, 3:7]
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
// Reverses the order along these axes. The rank must be known.
//
//   ops::reverse(images, {2})                   mirrored left to right, of [batch, height, width, channels]
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
// x with before[i] and after[i] additional elements (at least 0) in each dimension i, all equal to `value`. Numbers
// only. The gradient is cut to x.
//
//   ops::pad(images, {0, 4, 4, 0}, {0, 4, 4, 0})                        4 pixels on each side, black
inline Output pad(const Output& x, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after,
                  double value = 0, std::string_view name = {}) {
  return x.graph().node("Pad", name).in(x).attr("before", before).attr("after", after).attr("value", value).output();
}
// Repeats x multiples[i] times along each dimension i: [2, 3] by {1, 2} is [2, 6]. Its gradient, the sum over the
// repetitions, exists for floats.
//
//   ops::tile({1, 2}, {3})                      [1, 2, 1, 2, 1, 2]
//
// Arithmetic repeats a dimension of 1 by itself: operations broadcast.
inline Output tile(const Output& x, const std::vector<std::int64_t>& multiples, std::string_view name = {}) {
  return x.graph().node("Tile", name).in(x).attr("multiples", multiples).output();
}
// For split and unstack, which need the number of parts while the graph is built.
namespace detail_shape {
// Returns dimension `axis` of x as 0..rank-1. Its size must be known.
inline std::size_t known_axis(const char* what, const Output& x, std::int64_t axis) {
  const std::int64_t i = axis < 0 ? axis + x.rank() : axis;
  if (i < 0 || i >= x.rank() || x.dim(static_cast<std::int32_t>(i)) < 0)
    fail(Code::kInvalidArgument,
         std::string(what) + ": the size of axis " + std::to_string(axis) + " of " + x.text() + " must be known");
  return static_cast<std::size_t>(i);
}
}  // namespace detail_shape
// Parts of these sizes along the axis, in order. Together they are x, whose size there must be known. The parts are
// nodes "split", "split_1" ...
//
//   const auto qkv = ops::split(x, {64, 64, 32}, -1);                   x [batch, 160]
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
// The given number of parts of equal size; it must divide the axis.
inline std::vector<Output> split(const Output& x, std::int64_t parts, std::int64_t axis = 0) {
  const std::size_t at = detail_shape::known_axis("split", x, axis);
  if (parts < 1 || x.dims()[at] % parts != 0)
    fail(Code::kInvalidArgument, "split: axis " + std::to_string(axis) + " of " + x.text() + " cannot be cut into " +
                                     std::to_string(parts) + " equal parts");
  return split(x, std::vector<std::int64_t>(static_cast<std::size_t>(parts), x.dims()[at] / parts), axis);
}
// The slices along an axis of known size, without that axis; stack joins them again. [batch, 3] along 1 makes three
// [batch]. An axis of size 0 makes none.
inline std::vector<Output> unstack(const Output& x, std::int64_t axis = 0) {
  const std::size_t at = detail_shape::known_axis("unstack", x, axis);
  std::vector<Output> parts;
  if (x.dims()[at] == 0) return parts;
  for (const Output& part : split(x, x.dims()[at], axis))
    parts.push_back(squeeze(part, {static_cast<std::int64_t>(at)}));
  return parts;
}
// start, start + delta ... up to before limit, as a constant vector [n] of int32, int64, float32 or float64. delta may
// be negative. INVALID_ARGUMENT: more than 1e9 elements, or a delta of 0.
//
//   ops::range(g, 0, 5)                         [0, 1, 2, 3, 4]
//   ops::range(g, 1, 0, -0.25, DType::kFloat32) [1, 0.75, 0.5, 0.25]
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
// Repeats x (numbers) to the shape of `like`, by numpy's rule: [3] or [1, 3] to [4, 3], a scalar to any shape. The
// values of `like` have no effect. The gradient is summed. Arithmetic does this by itself. INVALID_ARGUMENT: the shapes
// do not match.
inline Output broadcast_like(const Output& x, const Output& like, std::string_view name = {}) {
  return x.graph().node("BroadcastLike", name).in(x).in(like).output();
}
// The reverse: sums x (numbers) over the dimensions along which `like` would be repeated. The result has the shape of
// `like`.
inline Output sum_like(const Output& x, const Output& like, std::string_view name = {}) {
  return x.graph().node("SumLike", name).in(x).in(like).output();
}
// The dimensions in the run, as an int64 vector [rank]. It has no gradient.
inline Output shape(const Output& x, std::string_view name = {}) {
  return x.graph().node("Shape", name).in(x).output();
}
// The number of elements in the run, as an int64 scalar. For the batch dimension use strided_slice of shape.
inline Output size(const Output& x, std::string_view name = {}) { return x.graph().node("Size", name).in(x).output(); }
// Ones in the shape and dtype of x (any but string). The values of x have no effect. It has no gradient.
inline Output ones_like(const Output& x, std::string_view name = {}) {
  return x.graph().node("OnesLike", name).in(x).output();
}
// Zeros in the same way: the 0 of a select or a comparison, which needs the dtype of the other side.
inline Output zeros_like(const Output& x, std::string_view name = {}) {
  return x.graph().node("ZerosLike", name).in(x).output();
}
// One value everywhere, of known dimensions and any dtype but string. The graph holds one number; a constant would hold
// all of them.
inline Output fill(const Graph& g, const Dims& dims, double value, DType dtype = DType::kFloat32,
                   std::string_view name = {}) {
  return g.node("Fill", name).attr("shape", dims).attr("value", value).attr("dtype", dtype).output();
}
// fill with 0, named "zeros".
inline Output zeros(const Graph& g, const Dims& dims, DType dtype = DType::kFloat32, std::string_view name = {}) {
  return fill(g, dims, 0, dtype, name.empty() ? "zeros" : name);
}
// fill with 1, named "ones".
inline Output ones(const Graph& g, const Dims& dims, DType dtype = DType::kFloat32, std::string_view name = {}) {
  return fill(g, dims, 1, dtype, name.empty() ? "ones" : name);
}
// Adds a last dimension of `depth`: `on` at the index (int32 or int64), `off` elsewhere. An index outside [0, depth)
// has only `off`. [batch] becomes [batch, depth]. dtype: numbers or bool. It has no gradient.
//
//   ops::one_hot({0, 2, 3}, 3) is [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
//
// For a loss keep the indices: softmax_cross_entropy takes them. For rows of a matrix use ops::gather, which needs no
// product.
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
