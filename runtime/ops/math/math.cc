// SPDX-License-Identifier: Apache-2.0
// Arithmetic on two operands, with broadcasting.
#include "belay/ops/math.h"

#include <cmath>

#include "belay/ops/shape.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/elementwise.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// ---- one element

struct AddOf : Cheap {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<WrappingOf<T>>(a) + static_cast<WrappingOf<T>>(b));
  }
};
struct SubOf : Cheap {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<WrappingOf<T>>(a) - static_cast<WrappingOf<T>>(b));
  }
};
struct MulOf : Cheap {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<WrappingOf<T>>(a) * static_cast<WrappingOf<T>>(b));
  }
};
struct SquaredDifferenceOf : Cheap {
  template <class T>
  T operator()(T a, T b) const {
    const T d = SubOf()(a, b);
    return MulOf()(d, d);
  }
};
struct DivideOf : Cheap {
  auto operator()(auto a, auto b) const { return a / b; }
};
// Rounds towards minus infinity. Integers have the result 0 for x / 0, since a trap would end the process.
struct FloorDivOf : Cheap {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(a / b);
    } else {
      if (b == T(0)) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1))
          return static_cast<T>(WrappingOf<T>(0) - static_cast<WrappingOf<T>>(a));  // also for the smallest
        const T quotient = static_cast<T>(a / b);
        return a % b != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
      } else {
        return static_cast<T>(a / b);
      }
    }
  }
};
// The remainder of FloorDivOf, with the sign of b. For integers divided by 0 it is 0.
struct FloorModOf : Expensive {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T rest = std::fmod(a, b);
      return rest != T(0) && (rest < T(0)) != (b < T(0)) ? rest + b : rest;
    } else {
      if (b == T(0)) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return 0;
        const T rest = static_cast<T>(a % b);
        return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
      } else {
        return static_cast<T>(a % b);
      }
    }
  }
};
struct PowOf : Expensive {
  auto operator()(auto a, auto b) const { return std::pow(a, b); }
};
// Returns a if it is NaN, and b if that is NaN.
struct MaximumOf : Cheap {
  auto operator()(auto a, auto b) const { return a > b || a != a ? a : b; }
};
struct MinimumOf : Cheap {
  auto operator()(auto a, auto b) const { return a < b || a != a ? a : b; }
};

// ---- shape rules

void infer_numbers(InferContext& c) {
  c.need_same_dtype(0, 1);
  c.need_number(0);
  c.output(c.dtype(0), broadcast_inputs(c));
}
void infer_floats(InferContext& c) {
  c.need_same_dtype(0, 1);
  c.need_float(0);
  c.output(c.dtype(0), broadcast_inputs(c));
}
// `bias` is a vector as long as x's last dimension.
void infer_bias_add(InferContext& c) {
  c.need_same_dtype(0, 1);
  c.need_number(0);
  c.need_rank(1, 1);
  Shape shape = c.shape(0);
  if (shape.has_rank() && c.shape(1).has_rank()) {
    if (shape.rank() < 1) c.fail(c.input_text(0) + " must have at least one dimension");
    const auto last = static_cast<std::size_t>(shape.rank() - 1);
    if (shape.dim(last) >= 0 && c.shape(1).dim(0) >= 0 && shape.dim(last) != c.shape(1).dim(0))
      c.fail(c.input_text(1) + " must be as long as the last dimension of " + c.input_text(0));
    if (shape.dim(last) < 0) shape.set_dim(last, c.shape(1).dim(0));
  }
  c.output(c.dtype(0), std::move(shape));
}

// ---- gradients

void grad_add(GradContext& c) {
  for (std::size_t i = 0; i < 2; ++i)
    if (c.wanted(i)) c.set(i, sum_to_input(c, i, c.grad()));
}
void grad_sub(GradContext& c) {
  if (c.wanted(0)) c.set(0, sum_to_input(c, 0, c.grad()));
  if (c.wanted(1)) c.set(1, sum_to_input(c, 1, -c.grad()));
}
void grad_mul(GradContext& c) {
  for (std::size_t i = 0; i < 2; ++i)
    if (c.wanted(i)) c.set(i, sum_to_input(c, i, c.grad() * c.input(1 - i)));
}
void grad_real_div(GradContext& c) {
  const Output scaled = c.grad() / c.input(1);
  if (c.wanted(0)) c.set(0, sum_to_input(c, 0, scaled));
  if (c.wanted(1)) c.set(1, sum_to_input(c, 1, -(scaled * c.output(0))));
}
void grad_pow(GradContext& c) {
  const Output &a = c.input(0), &b = c.input(1);
  if (c.wanted(0)) c.set(0, sum_to_input(c, 0, c.grad() * (b * ops::pow(a, b - 1.0))));
  if (!c.wanted(1)) return;
  const Output zero = ops::scalar(c.graph(), 0, a.dtype());
  const Output log = ops::select(ops::greater(a, zero), ops::log(a), zero);
  c.set(1, sum_to_input(c, 1, c.grad() * (c.output(0) * log)));
}
void grad_squared_difference(GradContext& c) {
  const Output grad = c.grad() * ((c.input(0) - c.input(1)) * 2.0);
  if (c.wanted(0)) c.set(0, sum_to_input(c, 0, grad));
  if (c.wanted(1)) c.set(1, sum_to_input(c, 1, -grad));
}
// Passes the gradient to a if `takes_a`, else to b.
void share_gradient(GradContext& c, const Output& takes_a) {
  const Output zero = ops::scalar(c.graph(), 0, c.grad().dtype());
  if (c.wanted(0)) c.set(0, sum_to_input(c, 0, ops::select(takes_a, c.grad(), zero)));
  if (c.wanted(1)) c.set(1, sum_to_input(c, 1, ops::select(takes_a, zero, c.grad())));
}
void grad_maximum(GradContext& c) { share_gradient(c, ops::greater_equal(c.input(0), c.input(1))); }
void grad_minimum(GradContext& c) { share_gradient(c, ops::less_equal(c.input(0), c.input(1))); }

// It is a - floor(a / b) * b: the quotient is constant at each place with a derivative.
void grad_floor_mod(GradContext& c) {
  if (c.wanted(0)) c.set(0, sum_to_input(c, 0, c.grad()));
  if (c.wanted(1)) c.set(1, sum_to_input(c, 1, -(c.grad() * ops::floor_div(c.input(0), c.input(1)))));
}

void grad_bias_add(GradContext& c) {
  if (c.wanted(0)) c.set(0, c.grad());
  if (c.wanted(1)) c.set(1, c.graph().node("BiasAddGrad").in(c.grad()).output());
}

OpDef binary(const char* name, const char* doc, void (*infer)(InferContext&), void (*gradient)(GradContext&),
             std::unique_ptr<Kernel> (*kernel)(const KernelSpec&)) {
  return {.name = name,
          .doc = doc,
          .inputs = "a, b",
          .dtypes = infer == infer_floats ? "floats" : "numbers",
          .n_inputs = 2,
          .in_place = 3,
          .elementwise = true,
          .infer = infer,
          .gradient = gradient,
          .kernel = kernel};
}

}  // namespace

void add_math_ops(OpRegistry& r) {
  r.add(binary("Add", "a + b, broadcast.", infer_numbers, grad_add, make_binary<AddOf, NumberTypes>));
  r.add(binary("Sub", "a - b, broadcast.", infer_numbers, grad_sub, make_binary<SubOf, NumberTypes>));
  r.add(binary("Mul", "a * b, broadcast.", infer_numbers, grad_mul, make_binary<MulOf, NumberTypes>));
  r.add(binary("RealDiv", "a / b of floating-point tensors, broadcast.", infer_floats, grad_real_div,
               make_binary<DivideOf>));
  r.add(binary("Pow", "a to the power b, broadcast.", infer_floats, grad_pow, make_binary<PowOf>));
  OpDef floor_div = binary("FloorDiv", "floor(a / b), broadcast; integers divided by 0 give 0. No gradient passes.",
                           infer_numbers, nullptr, make_binary<FloorDivOf, NumberTypes>);
  floor_div.stops_gradient = true;
  r.add(std::move(floor_div));
  r.add(binary("FloorMod", "a - floor(a / b) * b, broadcast; integers divided by 0 give 0.", infer_numbers,
               grad_floor_mod, make_binary<FloorModOf, NumberTypes>));
  r.add(binary("Maximum", "The larger of a and b, broadcast; NaN where either is.", infer_numbers, grad_maximum,
               make_binary<MaximumOf, NumberTypes>));
  r.add(binary("Minimum", "The smaller of a and b, broadcast; NaN where either is.", infer_numbers, grad_minimum,
               make_binary<MinimumOf, NumberTypes>));
  r.add(binary("SquaredDifference", "(a - b)^2, broadcast.", infer_numbers, grad_squared_difference,
               make_binary<SquaredDifferenceOf, NumberTypes>));
  r.add({.name = "BiasAdd",
         .doc = "A vector (input 1) added along the last dimension.",
         .inputs = "x, bias",
         .dtypes = "numbers",
         .n_inputs = 2,
         .in_place = 1,
         .elementwise = true,
         .infer = infer_bias_add,
         .gradient = grad_bias_add,
         .kernel = make_binary<AddOf, NumberTypes>});
}

}  // namespace belay::runtime
