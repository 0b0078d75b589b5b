// SPDX-License-Identifier: Apache-2.0
// Constants, placeholders, identity, groups: nodes that carry or order values. The last argument of all functions in
// ops/ is a name for the node, made unique in the current scope. An empty name means the operation's own ("Const",
// "Const_1").
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

// Returns value in every run; the graph keeps a copy. It has no gradient. Strings are allowed. The graph stores a large
// constant as a whole: feed it, or make it a variable instead.
inline Output constant(const Graph& g, const Tensor& value, std::string_view name = {}) {
  return g.node("Const", name).attr("value", value).output();
}
// A number as a constant, for a factor that must have the dtype of its operand. Integers drop the fraction; bool is
// value != 0. INVALID_ARGUMENT: the dtype is string, bfloat16 or float16.
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
// A value that a run must feed if it needs it. dims: -1 for unknown ones; the fed tensor must match them and the dtype.
// Any dtype is allowed, strings too. The host plans once for each new combination of fed dimensions.
inline Output placeholder(const Graph& g, DType dtype, const Dims& dims, std::string_view name = {}) {
  return g.node("Placeholder", name).attr("dtype", dtype).attr("shape", dims).output();
}
// Does the same without a rank. Operations that need a rank (dense, convolutions) refuse it.
inline Output placeholder_of_any_rank(const Graph& g, DType dtype, std::string_view name = {}) {
  return g.node("Placeholder", name).attr("dtype", dtype).attr("unknown_rank", true).output();
}
// Returns x under another name. With control dependencies it returns x at another time: the new value of a variable
// after a write. It uses the memory of x, without a copy. The gradient passes.
inline Output identity(const Output& x, std::string_view name = {}) {
  return x.graph().node("Identity", name).in(x).output();
}
// Returns x but passes no gradient: the optimizer sees a constant.
inline Output stop_gradient(const Output& x, std::string_view name = {}) {
  return x.graph().node("StopGradient", name).in(x).output();
}
// An operation that runs all of these operations or values, in no fixed order.
inline Output group(const Graph& g, const std::vector<Output>& after, std::string_view name = {}) {
  NodeBuilder n = g.node("NoOp", name);
  for (const Output& o : after) n.control(o);
  return n.operation();
}
// An operation that does nothing. Under Graph::ControlScope it is a point that other nodes can wait for.
inline Output no_op(const Graph& g, std::string_view name = {}) { return g.node("NoOp", name).operation(); }
// Returns x (floats) and checks it. A NaN or infinity ends the run as DIVERGED: "<message>: the tensor has NaN values".
// Gradients pass unchecked. One thread makes one pass over x.
inline Output check_numerics(const Output& x, std::string_view message, std::string_view name = {}) {
  return x.graph().node("CheckNumerics", name).in(x).attr("message", message).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
