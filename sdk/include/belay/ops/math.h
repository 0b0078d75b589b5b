// SPDX-License-Identifier: Apache-2.0
// Element-wise arithmetic, comparison and choice. Operands of different shapes are repeated by numpy's rule (aligned at
// the last dimension; a dimension of 1 fits any); operands have one dtype, which is the result's. Integers wrap.
//
//   Output y = (a + b) * 2.0 - ops::sqrt(c);      a number takes the dtype of the tensor beside it
//   Output z = ops::select(ops::greater(y, ops::zeros_like(y)), y, -y);
//
// ops::equal compares elements and makes a node; Output's own == asks whether two handles are the same output.
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

inline Output add(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Add", a, b, name);
}
inline Output sub(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Sub", a, b, name);
}
inline Output mul(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Mul", a, b, name);
}
// Floating-point only.
inline Output real_div(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("RealDiv", a, b, name);
}
// floor(a / b), the whole number at or below the quotient; integers divided by 0 give 0. No gradient passes.
inline Output floor_div(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("FloorDiv", a, b, name);
}
// What floor_div leaves: a - floor(a / b) * b. It has the sign of b; of integers divided by 0 it is 0.
inline Output floor_mod(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("FloorMod", a, b, name);
}
// Floating-point only. The gradient for b is 0 where a <= 0.
inline Output pow(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Pow", a, b, name);
}
// NaN where either is NaN. Where both are equal the gradient goes to a.
inline Output maximum(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Maximum", a, b, name);
}
inline Output minimum(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Minimum", a, b, name);
}
// (a - b)^2
inline Output squared_difference(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("SquaredDifference", a, b, name);
}
// The sum of tensors of one shape.
inline Output add_n(const std::vector<Output>& xs, std::string_view name = {}) {
  if (xs.empty()) fail(Code::kInvalidArgument, "add_n needs at least one tensor");
  return xs[0].graph().node("AddN", name).in(xs).output();
}

inline Output neg(const Output& x, std::string_view name = {}) { return detail_math::unary("Neg", x, name); }
inline Output abs(const Output& x, std::string_view name = {}) { return detail_math::unary("Abs", x, name); }
// -1, 0 or 1 (NaN of NaN). No gradient passes.
inline Output sign(const Output& x, std::string_view name = {}) { return detail_math::unary("Sign", x, name); }
inline Output square(const Output& x, std::string_view name = {}) { return detail_math::unary("Square", x, name); }
// From here to floor: floating-point only.
inline Output sqrt(const Output& x, std::string_view name = {}) { return detail_math::unary("Sqrt", x, name); }
// 1 / sqrt(x)
inline Output rsqrt(const Output& x, std::string_view name = {}) { return detail_math::unary("Rsqrt", x, name); }
// 1 / x
inline Output reciprocal(const Output& x, std::string_view name = {}) {
  return detail_math::unary("Reciprocal", x, name);
}
inline Output exp(const Output& x, std::string_view name = {}) { return detail_math::unary("Exp", x, name); }
inline Output log(const Output& x, std::string_view name = {}) { return detail_math::unary("Log", x, name); }
// e^x - 1, exact for small x.
inline Output expm1(const Output& x, std::string_view name = {}) { return detail_math::unary("Expm1", x, name); }
// log(1 + x), exact for small x.
inline Output log1p(const Output& x, std::string_view name = {}) { return detail_math::unary("Log1p", x, name); }
inline Output sin(const Output& x, std::string_view name = {}) { return detail_math::unary("Sin", x, name); }
inline Output cos(const Output& x, std::string_view name = {}) { return detail_math::unary("Cos", x, name); }
inline Output tan(const Output& x, std::string_view name = {}) { return detail_math::unary("Tan", x, name); }
inline Output atan(const Output& x, std::string_view name = {}) { return detail_math::unary("Atan", x, name); }
// The error function.
inline Output erf(const Output& x, std::string_view name = {}) { return detail_math::unary("Erf", x, name); }
// The smallest whole number that is not below x; the nearest one, of two that are the even one. No gradient passes.
inline Output ceil(const Output& x, std::string_view name = {}) { return detail_math::unary("Ceil", x, name); }
inline Output round(const Output& x, std::string_view name = {}) { return detail_math::unary("Round", x, name); }
// The largest whole number that is not above x. No gradient passes.
inline Output floor(const Output& x, std::string_view name = {}) { return detail_math::unary("Floor", x, name); }
// Elements below min become min, those above max become max; no gradient passes there. NaN stays NaN.
inline Output clip_by_value(const Output& x, double min, double max, std::string_view name = {}) {
  return x.graph().node("ClipByValue", name).in(x).attr("min", min).attr("max", max).output();
}
// x in another dtype: numbers and bool, in both directions (bool: x != 0). What is cut off is cut towards 0; a value
// that does not fit an integer type gives an unspecified number. bfloat16 and float16 are for storage: they are cast to
// and from float32 only, rounded to the nearest, of two to the even one.
inline Output cast(const Output& x, DType dtype, std::string_view name = {}) {
  return x.graph().node("Cast", name).in(x).attr("dtype", dtype).output();
}

// ---- truth values

inline Output equal(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("Equal", a, b, name);
}
inline Output not_equal(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("NotEqual", a, b, name);
}
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
inline Output logical_and(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("LogicalAnd", a, b, name);
}
inline Output logical_or(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("LogicalOr", a, b, name);
}
inline Output logical_not(const Output& x, std::string_view name = {}) {
  return detail_math::unary("LogicalNot", x, name);
}
inline Output logical_xor(const Output& a, const Output& b, std::string_view name = {}) {
  return detail_math::binary("LogicalXor", a, b, name);
}
// Of floating-point tensors.
inline Output is_nan(const Output& x, std::string_view name = {}) { return detail_math::unary("IsNan", x, name); }
inline Output is_inf(const Output& x, std::string_view name = {}) { return detail_math::unary("IsInf", x, name); }
inline Output is_finite(const Output& x, std::string_view name = {}) { return detail_math::unary("IsFinite", x, name); }
// a where the condition (bool) is true, b elsewhere; all three are repeated to one shape.
inline Output select(const Output& condition, const Output& a, const Output& b, std::string_view name = {}) {
  return condition.graph().node("Select", name).in(condition).in(a).in(b).output();
}

}  // namespace ops

inline Output operator+(const Output& a, const Output& b) { return ops::add(a, b); }
inline Output operator-(const Output& a, const Output& b) { return ops::sub(a, b); }
inline Output operator*(const Output& a, const Output& b) { return ops::mul(a, b); }
inline Output operator/(const Output& a, const Output& b) { return ops::real_div(a, b); }
inline Output operator-(const Output& x) { return ops::neg(x); }

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
