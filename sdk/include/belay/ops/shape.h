// Shapes: the same elements in another order or form, parts of tensors, and tensors made from shapes.
#pragma once

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
