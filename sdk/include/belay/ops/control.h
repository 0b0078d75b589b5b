// SPDX-License-Identifier: Apache-2.0
// Constants, placeholders, identity, groups: nodes that carry or order values.
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

inline Output constant(const Graph& g, const Tensor& value, std::string_view name = {}) {
  return g.node("Const", name).attr("value", value).output();
}
// A scalar of any dtype, for a factor that must have the dtype of what it multiplies.
inline Output scalar(const Graph& g, double value, DType dtype, std::string_view name = {}) {
  switch (dtype) {
    case DType::kFloat32: return constant(g, Tensor(static_cast<float>(value)), name);
    case DType::kFloat64: return constant(g, Tensor(value), name);
    case DType::kInt32: return constant(g, Tensor(static_cast<std::int32_t>(value)), name);
    case DType::kInt64: return constant(g, Tensor(static_cast<std::int64_t>(value)), name);
    case DType::kUInt8: return constant(g, Tensor(static_cast<std::uint8_t>(value)), name);
    case DType::kBool: return constant(g, Tensor(value != 0), name);
    default: fail(Code::kInvalidArgument, std::string("there is no ") + dtype_name(dtype) + " scalar constant");
  }
}
// Must be fed in every run. dims: -1 for unknown.
inline Output placeholder(const Graph& g, DType dtype, const Dims& dims, std::string_view name = {}) {
  return g.node("Placeholder", name).attr("dtype", dtype).attr("shape", dims).output();
}
inline Output placeholder_of_any_rank(const Graph& g, DType dtype, std::string_view name = {}) {
  return g.node("Placeholder", name).attr("dtype", dtype).attr("unknown_rank", true).output();
}
// x under another name, or (with control dependencies) at another time: of a variable, after a write, the new value.
inline Output identity(const Output& x, std::string_view name = {}) {
  return x.graph().node("Identity", name).in(x).output();
}
inline Output stop_gradient(const Output& x, std::string_view name = {}) {
  return x.graph().node("StopGradient", name).in(x).output();
}
// An operation that runs after all of these.
inline Output group(const Graph& g, const std::vector<Output>& after, std::string_view name = {}) {
  NodeBuilder n = g.node("NoOp", name);
  for (const Output& o : after) n.control(o);
  return n.operation();
}
inline Output no_op(const Graph& g, std::string_view name = {}) { return g.node("NoOp", name).operation(); }
// x; a NaN or infinity in it ends the run as DIVERGED with this message.
inline Output check_numerics(const Output& x, std::string_view message, std::string_view name = {}) {
  return x.graph().node("CheckNumerics", name).in(x).attr("message", message).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
