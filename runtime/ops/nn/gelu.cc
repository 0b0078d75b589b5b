// SPDX-License-Identifier: Apache-2.0
// The Gaussian error linear unit: x times the probability that a normal number is below x.
#include <cmath>

#include "belay/ops/activations.h"
#include "runtime/ops/kernels/elementwise.h"
#include "runtime/ops/kernels/vector_math.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// The relative error is at most 1e-8 for x <= 0, for which the result goes to 0. It is e^(-x^2/2) times a polynomial in
// 1 / (1 + 0.35 u) with u = |x| / sqrt(2). The polynomial was fitted by least squares at Chebyshev nodes. The caller
// passes the exponential, since the gradient needs it, too.
[[gnu::always_inline]] inline float normal_below(float x, float exponential) {
  const float t = 1.0f / (1.0f + 0.247487373f * std::fabs(x));
  float p = 0.0403965013f;
  p = p * t - 0.169887676f;
  p = p * t + 0.207557189f;
  p = p * t - 0.0629996003f;
  p = p * t + 0.116841434f;
  p = p * t + 0.12974561f;
  p = p * t + 0.15693507f;
  p = p * t + 0.186641914f;
  p = p * t + 0.197294035f;
  p = p * t + 0.197475532f;
  const float tail = 0.5f * exponential * p * t;
  return x < 0.0f ? tail : 1.0f - tail;
}
inline double normal_below(double x, double) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

struct GeluOf : Expensive {
  template <class T>
  T operator()(T x) const {
    // e^(-x^2/2) is 0 long before x^2 overflows. Otherwise an infinite x would become 0 * infinity.
    const T y = x * normal_below(x, exp_of(T(-0.5) * x * x));
    return x < T(-40) ? T(0) : y;
  }
};
struct GeluGradOf : Expensive {
  template <class T>
  T operator()(T dy, T x) const {
    const T exponential = exp_of(T(-0.5) * x * x);
    const T density = T(0.3989422804014327) * exponential;
    const T slope = normal_below(x, exponential) + x * density;
    return dy * (x > T(40) ? T(1) : (x < T(-40) ? T(0) : slope));
  }
};

// Computes z = sqrt(2 / pi) (x + 0.044715 x^3) of the form with tanh, 0.5 x (1 + tanh(z)).
template <class T>
[[gnu::always_inline]] inline T tanh_argument(T x) {
  return T(0.7978845608028654) * (x + T(0.044715) * x * x * x);
}
struct GeluTanhOf : Expensive {
  template <class T>
  T operator()(T x) const {
    const T y = T(0.5) * x * (T(1) + tanh_of(tanh_argument(x)));
    return x < T(-40) ? T(0) : y;
  }
};
struct GeluTanhGradOf : Expensive {
  template <class T>
  T operator()(T dy, T x) const {
    const T t = tanh_of(tanh_argument(x));
    const T slope = T(0.7978845608028654) * (T(1) + T(3 * 0.044715) * x * x);
    const T whole = T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * slope;
    return dy * (x > T(40) ? T(1) : (x < T(-40) ? T(0) : whole));
  }
};

void infer_gelu(InferContext& c) {
  c.need_float(0);
  c.output(c.dtype(0), c.shape(0));
}
void grad_gelu(GradContext& c) {
  c.set(0, c.graph()
               .node("GeluGrad")
               .in(c.grad())
               .in(c.input(0))
               .attr("approximate", c.attrs().flag("approximate"))
               .output());
}
void infer_gelu_grad(InferContext& c) {
  c.need_same_dtype(0, 1);
  c.need_float(0);
  bool ok = true;
  Shape shape = Shape::merged(c.shape(0), c.shape(1), ok);
  if (!ok) c.fail(c.input_text(0) + " and " + c.input_text(1) + " must have the same shape");
  c.output(c.dtype(0), std::move(shape));
}

std::unique_ptr<Kernel> make_gelu(const KernelSpec& spec) {
  return spec.attrs().flag("approximate") ? make_unary<GeluTanhOf>(spec) : make_unary<GeluOf>(spec);
}
std::unique_ptr<Kernel> make_gelu_grad(const KernelSpec& spec) {
  return spec.attrs().flag("approximate") ? make_binary<GeluTanhGradOf>(spec) : make_binary<GeluGradOf>(spec);
}

AttrDef approximate_attr() { return bool_attr("approximate", "by the formula with tanh"); }

}  // namespace

void add_gelu_ops(OpRegistry& r) {
  r.add({.name = "Gelu",
         .doc = "x times the probability that a normal number lies below x.",
         .inputs = "x",
         .dtypes = "floats",
         .n_inputs = 1,
         .attrs = {approximate_attr()},
         .in_place = 1,
         .elementwise = true,
         .infer = infer_gelu,
         .gradient = grad_gelu,
         .kernel = make_gelu});
  r.add({.name = "GeluGrad",
         .doc = "The gradient of Gelu, by the incoming gradient and its input.",
         .inputs = "dy, x",
         .dtypes = "floats",
         .n_inputs = 2,
         .attrs = {approximate_attr()},
         .in_place = 3,
         .elementwise = true,
         .infer = infer_gelu_grad,
         .kernel = make_gelu_grad});
}

}  // namespace belay::runtime
