// SPDX-License-Identifier: Apache-2.0
// Element-wise functions of one tensor, casts, and the sum of many tensors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "belay/ops/math.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/elementwise.h"
#include "runtime/ops/kernels/half.h"
#include "runtime/ops/kernels/vector_math.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// ---- one element

struct NegOf : Cheap {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(WrappingOf<T>(0) - static_cast<WrappingOf<T>>(x));
    return static_cast<T>(-x);
  }
};
struct AbsOf : Cheap {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
    return x < T(0) ? NegOf()(x) : x;
  }
};
struct SignOf : Cheap {
  template <class T>
  T operator()(T x) const {
    return x > T(0) ? T(1) : (x < T(0) ? static_cast<T>(-1) : x);  // x is 0 or NaN here
  }
};
struct SquareOf : Cheap {
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(static_cast<WrappingOf<T>>(x) * static_cast<WrappingOf<T>>(x));
  }
};
struct SqrtOf : Cheap {
  auto operator()(auto x) const { return std::sqrt(x); }
};
struct RsqrtOf : Cheap {
  auto operator()(auto x) const { return 1 / std::sqrt(x); }
};
struct ReciprocalOf : Cheap {
  auto operator()(auto x) const { return 1 / x; }
};
struct ExpOf : Expensive {
  auto operator()(auto x) const { return exp_of(x); }
};
struct LogOf : Expensive {
  auto operator()(auto x) const { return log_of(x); }
};
struct Log1pOf : Expensive {
  auto operator()(auto x) const { return log1p_of(x); }
};
struct CosOf : Expensive {
  auto operator()(auto x) const { return std::cos(x); }
};
struct SinOf : Expensive {
  auto operator()(auto x) const { return std::sin(x); }
};
struct Expm1Of : Expensive {
  auto operator()(auto x) const { return std::expm1(x); }
};
struct TanOf : Expensive {
  auto operator()(auto x) const { return std::tan(x); }
};
struct AtanOf : Expensive {
  auto operator()(auto x) const { return std::atan(x); }
};
struct ErfOf : Expensive {
  auto operator()(auto x) const { return std::erf(x); }
};
struct CeilOf : Cheap {
  auto operator()(auto x) const { return std::ceil(x); }
};
struct RoundOf : Cheap {
  auto operator()(auto x) const { return std::nearbyint(x); }  // the loader ensures the rounding mode to nearest even
};
struct FloorOf : Cheap {
  auto operator()(auto x) const { return std::floor(x); }
};
struct ClipOf : Cheap {
  double min, max;
  explicit ClipOf(const Attrs& attrs) : min(attrs.number("min")), max(attrs.number("max")) {}
  template <class T>
  T operator()(T x) const {
    const auto low = static_cast<T>(min), high = static_cast<T>(max);
    return x < low ? low : (x > high ? high : x);
  }
};
// The gradient of ClipOf, from x and the incoming gradient. It passes if x is inside the range.
struct ClipGradOf : Cheap {
  double min, max;
  explicit ClipGradOf(const Attrs& attrs) : min(attrs.number("min")), max(attrs.number("max")) {}
  template <class T>
  T operator()(T dy, T x) const {
    return x < static_cast<T>(min) || x > static_cast<T>(max) ? T(0) : dy;
  }
};

void infer_number(InferContext& c) {
  c.need_number(0);
  c.output(c.dtype(0), c.shape(0));
}
void infer_float(InferContext& c) {
  c.need_float(0);
  c.output(c.dtype(0), c.shape(0));
}

void grad_neg(GradContext& c) { c.set(0, -c.grad()); }
void grad_abs(GradContext& c) { c.set(0, c.grad() * ops::sign(c.input(0))); }
void grad_square(GradContext& c) { c.set(0, c.grad() * (c.input(0) * 2.0)); }
void grad_sqrt(GradContext& c) { c.set(0, (c.grad() * 0.5) / c.output(0)); }
void grad_rsqrt(GradContext& c) { c.set(0, (c.grad() * -0.5) * (c.output(0) * ops::square(c.output(0)))); }
void grad_reciprocal(GradContext& c) { c.set(0, -(c.grad() * ops::square(c.output(0)))); }
void grad_exp(GradContext& c) { c.set(0, c.grad() * c.output(0)); }
void grad_log(GradContext& c) { c.set(0, c.grad() / c.input(0)); }
void grad_log1p(GradContext& c) { c.set(0, c.grad() / (c.input(0) + 1.0)); }
void grad_cos(GradContext& c) { c.set(0, -(c.grad() * ops::sin(c.input(0)))); }
void grad_sin(GradContext& c) { c.set(0, c.grad() * ops::cos(c.input(0))); }
void grad_expm1(GradContext& c) { c.set(0, c.grad() * (c.output(0) + 1.0)); }
void grad_tan(GradContext& c) { c.set(0, c.grad() * (ops::square(c.output(0)) + 1.0)); }
void grad_atan(GradContext& c) { c.set(0, c.grad() / (ops::square(c.input(0)) + 1.0)); }
void grad_erf(GradContext& c) {
  c.set(0, c.grad() * (ops::exp(-ops::square(c.input(0))) * (2 / std::sqrt(std::numbers::pi))));
}

// ---- clip

void infer_clip(InferContext& c) {
  c.need_float(0);
  const double min = c.attrs().number("min"), max = c.attrs().number("max");
  if (!(min <= max))
    c.fail("the range must have min <= max, got [" + std::to_string(min) + ", " + std::to_string(max) + "]");
  c.output(c.dtype(0), c.shape(0));
}
Output clip_grad(GradContext& c, const Output& x) {
  return c.graph()
      .node("ClipByValueGrad")
      .in(c.grad())
      .in(x)
      .attr("min", c.attrs().number("min"))
      .attr("max", c.attrs().number("max"))
      .output();
}
void grad_clip(GradContext& c) { c.set(0, clip_grad(c, c.input(0))); }
void grad_clip_grad(GradContext& c) {
  if (c.wanted(0)) c.set(0, clip_grad(c, c.input(1)));  // linear in dy, constant in x
}
void infer_clip_grad(InferContext& c) {
  c.need_same_dtype(0, 1);
  c.need_float(0);
  c.output(c.dtype(0), broadcast_inputs(c));
}
// ---- cast

void infer_cast(InferContext& c) {
  const DType to = c.attrs().dtype("dtype");
  const auto plain = [](DType t) {
    return t == DType::kBool || t == DType::kFloat32 || t == DType::kFloat64 || t == DType::kInt32 ||
           t == DType::kInt64 || t == DType::kUInt8;
  };
  const auto half = [](DType t) { return t == DType::kBFloat16 || t == DType::kFloat16; };
  if ((half(c.dtype(0)) && to == DType::kFloat32) || (half(to) && c.dtype(0) == DType::kFloat32))
    return c.output(to, c.shape(0));
  if (half(c.dtype(0)) || half(to))
    c.fail(c.input_text(0) + " cannot be cast to " + dtype_name(to) +
           "; bfloat16 and float16 are cast to and from float32 only");
  if (!plain(c.dtype(0)) || !plain(to)) c.fail(c.input_text(0) + " cannot be cast to " + dtype_name(to));
  c.output(to, c.shape(0));
}
// Booleans are bytes: 0 is false.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class From, class To>
struct CastOf : Cheap {
  Stored<To> operator()(Stored<From> x) const {
    if constexpr (std::is_same_v<From, bool> || std::is_same_v<To, bool>) {
      return static_cast<Stored<To>>(x != Stored<From>(0) ? 1 : 0);
    } else {
      return static_cast<To>(x);
    }
  }
};
// The bits of the two dtypes of 16 bits.
struct ToBFloat16 : Cheap {
  std::uint16_t operator()(float x) const { return bfloat16_bits(x); }
};
struct FromBFloat16 : Cheap {
  float operator()(std::uint16_t x) const { return from_bfloat16_bits(x); }
};
struct ToFloat16 : Cheap {
  std::uint16_t operator()(float x) const { return float16_bits(x); }
};
struct FromFloat16 : Cheap {
  float operator()(std::uint16_t x) const { return from_float16_bits(x); }
};

std::unique_ptr<Kernel> make_cast(const KernelSpec& spec) {
  const DType from = spec.inputs[0].dtype, to = spec.outputs[0].dtype;
  if (to == DType::kBFloat16) return std::make_unique<UnaryKernel<ToBFloat16, float, std::uint16_t>>(spec);
  if (to == DType::kFloat16) return std::make_unique<UnaryKernel<ToFloat16, float, std::uint16_t>>(spec);
  if (from == DType::kBFloat16) return std::make_unique<UnaryKernel<FromBFloat16, std::uint16_t, float>>(spec);
  if (from == DType::kFloat16) return std::make_unique<UnaryKernel<FromFloat16, std::uint16_t, float>>(spec);
  return make_for(PlainTypes{}, spec.outputs[0].dtype, [&]<class To>(std::type_identity<To>) {
    return make_for(PlainTypes{}, spec.inputs[0].dtype, [&]<class From>(std::type_identity<From>) {
      return std::make_unique<UnaryKernel<CastOf<From, To>, Stored<From>, Stored<To>>>(spec);
    });
  });
}
void grad_cast(GradContext& c) { c.set(0, ops::cast(c.grad(), c.input(0).dtype())); }

// ---- the sum of many

void infer_add_n(InferContext& c) {
  if (c.n_inputs() == 0) c.fail("there is nothing to add");
  c.need_number(0);
  Shape shape = c.shape(0);
  for (std::size_t i = 1; i < c.n_inputs(); ++i) {
    c.need_same_dtype(0, i);
    bool ok = true;
    shape = Shape::merged(shape, c.shape(i), ok);
    if (!ok) c.fail(c.input_text(0) + " and " + c.input_text(i) + " must have the same shape");
  }
  c.output(c.dtype(0), std::move(shape));
}
void grad_add_n(GradContext& c) {
  for (std::size_t i = 0; i < c.n_inputs(); ++i)
    if (c.wanted(i)) c.set(i, c.grad());
}

// Sums each tile before it is written, since the result may lie in the memory of any input.
constexpr std::int64_t kSumTile = 512;

template <class T>
[[gnu::always_inline]] inline void sum_tile(void* const* in, std::size_t n_in, std::int64_t at, std::int64_t n, T* y) {
  WrappingOf<T> sum[kSumTile];
  const T* x = input<T>(in, 0) + at;
  for (std::int64_t i = 0; i < n; ++i) sum[i] = static_cast<WrappingOf<T>>(x[i]);
  for (std::size_t k = 1; k < n_in; ++k) {
    x = input<T>(in, k) + at;
    for (std::int64_t i = 0; i < n; ++i) sum[i] += static_cast<WrappingOf<T>>(x[i]);
  }
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(sum[i]);
}

template <class T>
class AddNKernel final : public Kernel {
 public:
  explicit AddNKernel(const KernelSpec& spec)
      : n_in_(spec.inputs.size()), n_(spec.outputs[0].elements()), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    T* y = output<T>(out, 0);
    parallel_for(n_, kCheapGrain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t at = begin; at < end; at += kSumTile) {
        const std::int64_t n = std::min(kSumTile, end - at);
        hot<T, sum_tile<T>>(in, n_in_, at, n, y + at);
      }
    });
  }

 private:
  std::size_t n_in_;
  std::int64_t n_;
  int threads_;
};
std::vector<AttrDef> clip_attrs() {
  return {float_attr("min", "the least value"), float_attr("max", "the largest value, not below min")};
}

OpDef unary(const char* name, const char* doc, void (*infer)(InferContext&), void (*gradient)(GradContext&),
            std::unique_ptr<Kernel> (*kernel)(const KernelSpec&), std::vector<AttrDef> attrs = {}) {
  return {.name = name,
          .doc = doc,
          .inputs = "x",
          .dtypes = infer == infer_number ? "numbers" : "floats",
          .n_inputs = 1,
          .attrs = std::move(attrs),
          .in_place = 1,
          .elementwise = true,
          .infer = infer,
          .gradient = gradient,
          .stops_gradient = gradient == nullptr,
          .kernel = kernel};
}

}  // namespace

void add_unary_ops(OpRegistry& r) {
  r.add(unary("Neg", "-x.", infer_number, grad_neg, make_unary<NegOf, NumberTypes>));
  r.add(unary("Abs", "|x|.", infer_number, grad_abs, make_unary<AbsOf, NumberTypes>));
  r.add(unary("Sign", "-1, 0 or 1; no gradient passes.", infer_number, nullptr, make_unary<SignOf, NumberTypes>));
  r.add(unary("Square", "x^2.", infer_number, grad_square, make_unary<SquareOf, NumberTypes>));
  r.add(unary("Sqrt", "The square root.", infer_float, grad_sqrt, make_unary<SqrtOf>));
  r.add(unary("Rsqrt", "1 / sqrt(x).", infer_float, grad_rsqrt, make_unary<RsqrtOf>));
  r.add(unary("Reciprocal", "1 / x.", infer_float, grad_reciprocal, make_unary<ReciprocalOf>));
  r.add(unary("Exp", "e^x.", infer_float, grad_exp, make_unary<ExpOf>));
  r.add(unary("Log", "The natural logarithm.", infer_float, grad_log, make_unary<LogOf>));
  r.add(unary("Log1p", "log(1 + x).", infer_float, grad_log1p, make_unary<Log1pOf>));
  r.add(unary("Expm1", "e^x - 1.", infer_float, grad_expm1, make_unary<Expm1Of>));
  r.add(unary("Tan", "The tangent.", infer_float, grad_tan, make_unary<TanOf>));
  r.add(unary("Atan", "The arc tangent.", infer_float, grad_atan, make_unary<AtanOf>));
  r.add(unary("Erf", "The error function.", infer_float, grad_erf, make_unary<ErfOf>));
  r.add(unary("Ceil", "The smallest whole number that is not below x; no gradient passes.", infer_float, nullptr,
              make_unary<CeilOf>));
  r.add(unary("Round", "The nearest whole number, of two the even one; no gradient passes.", infer_float, nullptr,
              make_unary<RoundOf>));
  r.add(unary("Cos", "The cosine.", infer_float, grad_cos, make_unary<CosOf>));
  r.add(unary("Sin", "The sine.", infer_float, grad_sin, make_unary<SinOf>));
  r.add(unary("Floor", "The largest whole number that is not above x; no gradient passes.", infer_float, nullptr,
              make_unary<FloorOf>));
  r.add(unary("ClipByValue", "x held within [`min`, `max`].", infer_clip, grad_clip, make_unary<ClipOf>, clip_attrs()));
  r.add({.name = "ClipByValueGrad",
         .doc = "The incoming gradient (input 0) where x (input 1) is within [`min`, `max`], 0 elsewhere.",
         .inputs = "dy, x",
         .dtypes = "floats",
         .n_inputs = 2,
         .attrs = clip_attrs(),
         .in_place = 3,
         .elementwise = true,
         .infer = infer_clip_grad,
         .gradient = grad_clip_grad,
         .kernel = make_binary<ClipGradOf>});
  r.add({.name = "Cast",
         .doc = "x in the dtype `dtype`.",
         .inputs = "x",
         .dtypes = "numbers, bool; bfloat16 and float16 with float32",
         .n_inputs = 1,
         .attrs = {dtype_attr("dtype", "of the result")},
         .elementwise = true,
         .infer = infer_cast,
         .gradient = grad_cast,
         .kernel = make_cast});
  r.add({.name = "AddN",
         .doc = "The sum of tensors of one shape.",
         .inputs = "xs...",
         .dtypes = "numbers",
         .n_inputs = -1,
         .in_place = 3,
         .elementwise = true,
         .infer = infer_add_n,
         .gradient = grad_add_n,
         .kernel = make_typed<AddNKernel, NumberTypes>});
}

}  // namespace belay::runtime
