// SPDX-License-Identifier: Apache-2.0
// Element-wise arithmetic, comparison and choice. Operands have one dtype. The result has it too; comparisons return
// bool. Operands of different shapes are repeated by numpy's rule: shapes are aligned at the last dimension, and a
// dimension of 1 matches any. Integers wrap.
//
//   Output y = (a + b) * 2.0 - ops::sqrt(c);      a number takes the dtype of its tensor operand
//   Output z = ops::select(ops::greater(y, ops::zeros_like(y)), y, -y);
//   Output right = ops::cast(ops::equal(ops::arg_max(logits), labels), DType::kFloat32);       1 if right, else 0
//
//   a                    b               a + b
//   [batch, features]    [features]      [batch, features]         b is added to each row
//   [batch, features]    [batch, 1]      [batch, features]         b[i] is added to row i
//   [batch, 1, width]    [time, width]   [batch, time, width]
//   [2, 3]               [2]             INVALID_ARGUMENT          expand_dims(b, 1) makes [2, 1] of it
//
// Numbers are float32, float64, int32, int64 and uint8; floats are the first two. Wrong or different dtypes are
// INVALID_ARGUMENT while the graph is built. So are shapes that do not match, if they are known then. The gradient of a
// repeated operand is summed back to its shape. Kernels divide a large tensor among the threads of the run. float32
// exp, log and log1p are within 3 units in the last place of the exact value. The C library computes all other
// functions.
//
// ops::equal compares elements and makes a node. Output's own == tests if two handles are the same output.
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/ops/control.h"

namespace belay {
inline namespace v0 {
namespace ops {

namespace detail_math {
inline Output unary(const char* op, const Output& x, std::string_view name) {
  return x.graph().node(op, name).in(x).output();
}
inline Output binary(const char* op, const Output& a, const Output& b, std::string_view name) {
  return a.graph().node(op, name).in(a).in(b).output();
}
}  // namespace detail_math

// ---- numbers

// a + b of numbers.
inline Output add(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Add", a, b, name);
}
// a - b of numbers; uint8 wraps below 0.
inline Output sub(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Sub", a, b, name);
}
// a * b of numbers, element by element (for matrices use ops::matmul). The gradient of each operand is the incoming one
// times the other operand.
inline Output mul(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Mul", a, b, name);
}
// a / b of floats. Division by 0 returns an infinity, 0 / 0 returns NaN. For integers see floor_div, or cast first.
inline Output real_div(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("RealDiv", a, b, name);
}
// floor(a / b) of numbers, the whole number at or below the quotient: -7 by 2 is -4. Division of integers by 0 returns
// 0. No gradient passes.
inline Output floor_div(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("FloorDiv", a, b, name);
}
// The remainder of floor_div: a - floor(a / b) * b. It has the sign of b: -7 by 2 is 1. For integers and b = 0 it is 0.
// Gradients: 1 for a, -floor(a / b) for b.
inline Output floor_mod(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("FloorMod", a, b, name);
}
// a to the power b, of floats. A negative a with a fractional b returns NaN. The gradient for b is 0 unless a > 0.
inline Output pow(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Pow", a, b, name);
}
// The larger of a and b; NaN if either is NaN. If both are equal, the gradient passes to a.
inline Output maximum(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Maximum", a, b, name);
}
// The smaller of a and b, with the same rules.
inline Output minimum(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Minimum", a, b, name);
}
// (a - b)^2 of numbers, broadcast.
inline Output squared_difference(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("SquaredDifference", a, b, name);
}
// The sum of one or more tensors of numbers, all of one dtype and shape, without broadcasting. It makes one pass for
// any number of tensors. It also adds the gradients of several paths.
inline Output add_n(const std::vector<Output>& xs, std::string_view name = {}) {
  if (xs.empty()) fail(Code::kInvalidArgument, "add_n needs at least one tensor");
  return xs[0].graph().node("AddN", name).in(xs).output();
}

// -x of numbers.
inline Output neg(const Output& x, std::string_view name = {}) { return detail_math::unary("Neg", x, name); }
// x| of numbers; the smallest integer stays itself. The gradient at 0 is 0.
inline Output abs(const Output& x, std::string_view name = {}) { return detail_math::unary("Abs", x, name); }
// -1, 0 or 1 for numbers; NaN for NaN. No gradient passes.
inline Output sign(const Output& x, std::string_view name = {}) { return detail_math::unary("Sign", x, name); }
// x^2 of numbers.
inline Output square(const Output& x, std::string_view name = {}) { return detail_math::unary("Square", x, name); }
// The square root. From here to floor only floats are allowed; other dtypes are INVALID_ARGUMENT. A negative number
// returns NaN. The gradient at 0 is infinite: add a small number first if x may be 0.
inline Output sqrt(const Output& x, std::string_view name = {}) { return detail_math::unary("Sqrt", x, name); }
// 1 / sqrt(x); infinity for 0.
inline Output rsqrt(const Output& x, std::string_view name = {}) { return detail_math::unary("Rsqrt", x, name); }
// 1 / x; an infinity of its sign for 0.
inline Output reciprocal(const Output& x, std::string_view name = {}) {
  return detail_math::unary("Reciprocal", x, name);
}
// e^x; infinity above about 88.7 (float64: 709.7).
inline Output exp(const Output& x, std::string_view name = {}) { return detail_math::unary("Exp", x, name); }
// The natural logarithm: minus infinity for 0, NaN for a negative number.
inline Output log(const Output& x, std::string_view name = {}) { return detail_math::unary("Log", x, name); }
// e^x - 1, exact for small x; exp(x) - 1 loses digits there.
inline Output expm1(const Output& x, std::string_view name = {}) { return detail_math::unary("Expm1", x, name); }
// log(1 + x), exact for small x; NaN below -1.
inline Output log1p(const Output& x, std::string_view name = {}) { return detail_math::unary("Log1p", x, name); }
// Trigonometric functions of x in radians.
inline Output sin(const Output& x, std::string_view name = {}) { return detail_math::unary("Sin", x, name); }
inline Output cos(const Output& x, std::string_view name = {}) { return detail_math::unary("Cos", x, name); }
inline Output tan(const Output& x, std::string_view name = {}) { return detail_math::unary("Tan", x, name); }
// The arc tangent in radians, in [-pi / 2, pi / 2].
inline Output atan(const Output& x, std::string_view name = {}) { return detail_math::unary("Atan", x, name); }
// The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.
inline Output erf(const Output& x, std::string_view name = {}) { return detail_math::unary("Erf", x, name); }
// The smallest whole number that is not below x, in the dtype of x. No gradient passes.
inline Output ceil(const Output& x, std::string_view name = {}) { return detail_math::unary("Ceil", x, name); }
// The nearest whole number; a tie goes to the even one: 0.5 becomes 0, 1.5 becomes 2. No gradient passes.
inline Output round(const Output& x, std::string_view name = {}) { return detail_math::unary("Round", x, name); }
// The largest whole number that is not above x. No gradient passes.
inline Output floor(const Output& x, std::string_view name = {}) { return detail_math::unary("Floor", x, name); }
// Limits elements of floats to [min, max]. The gradient passes inside the limits and at min and max themselves, not
// outside. NaN stays NaN. INVALID_ARGUMENT: min > max.
inline Output clip_by_value(const Output& x, double min, double max, std::string_view name = {}) {
  return x.graph().node("ClipByValue", name).in(x).attr("min", min).attr("max", max).output();
}
// Converts x to another dtype: numbers and bool, in both directions (bool: x != 0). Integers drop the fraction; a value
// that does not fit an integer type becomes an unspecified number. bfloat16 and float16 are for storage. They convert
// to and from float32 only, rounded to the nearest, ties to even. Between floats the gradient passes, cast back.
inline Output cast(const Output& x, DType dtype, std::string_view name = {}) {
  return x.graph().node("Cast", name).in(x).attr("dtype", dtype).output();
}

// ---- comparison, logic and choice

// a == b, element by element: a bool of the broadcast shape. Numbers or bool. NaN equals no value, not even itself.
inline Output equal(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Equal", a, b, name);
}
// The opposite of equal: true for a NaN.
inline Output not_equal(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("NotEqual", a, b, name);
}
// These four compare numbers; each is false for a NaN. No comparison passes a gradient.
inline Output less(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Less", a, b, name);
}
inline Output less_equal(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("LessEqual", a, b, name);
}
inline Output greater(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Greater", a, b, name);
}
inline Output greater_equal(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("GreaterEqual", a, b, name);
}
// These four take bool tensors and broadcast them. They cast no other dtype.
inline Output logical_and(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("LogicalAnd", a, b, name);
}
inline Output logical_or(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("LogicalOr", a, b, name);
}
inline Output logical_not(const Output& x, std::string_view name = {}) {
  return detail_math::unary("LogicalNot", x, name);
}
// True if exactly one of the two is true.
inline Output logical_xor(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("LogicalXor", a, b, name);
}
// Test each element of floats and return bool. is_inf means either infinity; is_finite means neither infinity nor NaN.
inline Output is_nan(const Output& x, std::string_view name = {}) { return detail_math::unary("IsNan", x, name); }
inline Output is_inf(const Output& x, std::string_view name = {}) { return detail_math::unary("IsInf", x, name); }
inline Output is_finite(const Output& x, std::string_view name = {}) { return detail_math::unary("IsFinite", x, name); }
// Returns a where the condition (bool) is true, else b; all three are repeated to one shape. Both sides are computed:
// it chooses values but does not skip work (ops::cond does). The gradient passes to the chosen side; the other gets 0.
// An infinite gradient of the other side is multiplied by that 0, so guard the operand, not the result:
//
//   ops::log(ops::select(positive, x, one))       not: ops::select(positive, ops::log(x), zero)
inline Output select(const Output& condition, const Output& a, const Output& b, std::string_view name = {}) {
  return condition.graph().node("Select", name).in(condition).in(a).in(b).output();
}

}  // namespace ops

// Operators of the namespace belay, found for every Output. Nodes have the operations' names. / is real_div.
inline Output operator+(const Output& a, const Output& b) { return ops::add(a, b); }
inline Output operator-(const Output& a, const Output& b) { return ops::sub(a, b); }
inline Output operator*(const Output& a, const Output& b) { return ops::mul(a, b); }
inline Output operator/(const Output& a, const Output& b) { return ops::real_div(a, b); }
inline Output operator-(const Output& x) { return ops::neg(x); }

// Does the same with a number: a constant of the tensor's dtype. Integers drop the fraction (x + 0.5 adds 0 to an int32
// x).
inline Output operator+(const Output& a, double b) { return ops::add(a, ops::scalar(a.graph(), b, a.dtype())); }
inline Output operator-(const Output& a, double b) { return ops::sub(a, ops::scalar(a.graph(), b, a.dtype())); }
inline Output operator*(const Output& a, double b) { return ops::mul(a, ops::scalar(a.graph(), b, a.dtype())); }
inline Output operator/(const Output& a, double b) { return ops::real_div(a, ops::scalar(a.graph(), b, a.dtype())); }
inline Output operator+(double a, const Output& b) { return ops::add(ops::scalar(b.graph(), a, b.dtype()), b); }
inline Output operator-(double a, const Output& b) { return ops::sub(ops::scalar(b.graph(), a, b.dtype()), b); }
inline Output operator*(double a, const Output& b) { return ops::mul(ops::scalar(b.graph(), a, b.dtype()), b); }
inline Output operator/(double a, const Output& b) { return ops::real_div(ops::scalar(b.graph(), a, b.dtype()), b); }

}  // namespace v0
}  // namespace belay
