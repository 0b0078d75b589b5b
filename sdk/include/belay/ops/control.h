// SPDX-License-Identifier: Apache-2.0
// Constants, placeholders, identity, groups: nodes that carry or order values. In all of ops/ the last argument is a
// name for the node, made unique in the current scope; empty, the operation's own is used ("Const", "Const_1").
//
//    const Output x = ops::placeholder(g, DType::kFloat32, {-1, 28, 28, 1}, "images");   // fed in every run
//    const Output half = ops::scalar(g, 0.5, x.dtype());
//    const Output both = ops::group(g, {update_a, update_b}, "updates");                 // runs both
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

// value, in every run; copied into the graph. No gradient. Strings are allowed. A large constant is stored with the
// graph: feed it or make it a variable instead.
inline Output constant(const Graph& g, const Tensor& value, std::string_view name = {}) {
  return g.node("Const", name).attr("value", value).output();
}
// A number as a constant of any dtype but string, bfloat16 and float16 (INVALID_ARGUMENT), for a factor that must have
// the dtype of what it multiplies. Integers: what is behind the point is cut off; bool: value != 0.
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
// A value that every run must feed that needs it. dims: -1 for unknown ones; what is fed must fit them and the dtype.
// Any dtype, strings too. Each new combination of fed dimensions is planned once.
inline Output placeholder(const Graph& g, DType dtype, const Dims& dims, std::string_view name = {}) {
  return g.node("Placeholder", name).attr("dtype", dtype).attr("shape", dims).output();
}
// The same without a rank. Operations that need one (dense, convolutions) refuse it.
inline Output placeholder_of_any_rank(const Graph& g, DType dtype, std::string_view name = {}) {
  return g.node("Placeholder", name).attr("dtype", dtype).attr("unknown_rank", true).output();
}
// x under another name, or (with control dependencies) at another time: of a variable, after a write, the new value.
// The memory of x, no copy. Its gradient passes.
inline Output identity(const Output& x, std::string_view name = {}) {
  return x.graph().node("Identity", name).in(x).output();
}
// x, through which no gradient passes: for the optimizer a constant.
inline Output stop_gradient(const Output& x, std::string_view name = {}) {
  return x.graph().node("StopGradient", name).in(x).output();
}
// An operation that runs all of these, operations or values, in no particular order among them.
inline Output group(const Graph& g, const std::vector<Output>& after, std::string_view name = {}) {
  NodeBuilder n = g.node("NoOp", name);
  for (const Output& o : after) n.control(o);
  return n.operation();
}
// An operation that does nothing; under Graph::ControlScope it is a point that others can wait for.
inline Output no_op(const Graph& g, std::string_view name = {}) { return g.node("NoOp", name).operation(); }
// x (floats); a NaN or infinity in it ends the run as DIVERGED, and the error is "<message>: the tensor has NaN
// values". Gradients pass unchecked. Costs one pass over x by one thread.
inline Output check_numerics(const Output& x, std::string_view message, std::string_view name = {}) {
  return x.graph().node("CheckNumerics", name).in(x).attr("message", message).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
