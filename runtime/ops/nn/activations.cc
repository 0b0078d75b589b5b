// SPDX-License-Identifier: Apache-2.0
// Activation functions and softmax.
#include "belay/ops/activations.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "runtime/ops/kernels/activation_functions.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/softmax.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// ---- one element, and its gradient; dy is the incoming gradient

struct ReluGradOf : Cheap {
  template <class T>
  T operator()(T dy, T y) const {
    return y > T(0) ? dy : T(0);
  }
};
struct Relu6Of : Cheap {
  template <class T>
  T operator()(T x) const {
    return x < T(0) ? T(0) : (x > T(6) ? T(6) : x);
  }
};
struct Relu6GradOf : Cheap {
  template <class T>
  T operator()(T dy, T y) const {
    return y > T(0) && y < T(6) ? dy : T(0);
  }
};
struct LeakyReluOf : Cheap {
  double alpha;
  explicit LeakyReluOf(const Attrs& attrs) : alpha(attrs.number("alpha")) {}
  template <class T>
  T operator()(T x) const {
    return x > T(0) ? x : static_cast<T>(alpha) * x;
  }
};
struct LeakyReluGradOf : Cheap {
  double alpha;
  explicit LeakyReluGradOf(const Attrs& attrs) : alpha(attrs.number("alpha")) {}
  template <class T>
  T operator()(T dy, T x) const {
    return x > T(0) ? dy : static_cast<T>(alpha) * dy;
  }
};
struct EluOf : Expensive {
  template <class T>
  T operator()(T x) const {
    const T below = expm1_of_negative(x > T(0) ? T(0) : x);
    return x > T(0) ? x : below;
  }
};
struct EluGradOf : Cheap {
  template <class T>
  T operator()(T dy, T y) const {
    return y > T(0) ? dy : dy * (y + T(1));
  }
};
struct SigmoidGradOf : Cheap {
  template <class T>
  T operator()(T y, T dy) const {
    return dy * (y * (T(1) - y));
  }
};
struct TanhGradOf : Cheap {
  template <class T>
  T operator()(T y, T dy) const {
    return dy * (T(1) - y * y);
  }
};
struct SoftplusOf : Expensive {
  auto operator()(auto x) const { return softplus_of(x); }
};

void infer_unary(InferContext& c) {
  c.need_float(0);
  c.output(c.dtype(0), c.shape(0));
}
void infer_grad(InferContext& c) {
  c.need_same_dtype(0, 1);
  c.need_float(0);
  bool ok = true;
  Shape shape = Shape::merged(c.shape(0), c.shape(1), ok);
  if (!ok) c.fail(c.input_text(0) + " and " + c.input_text(1) + " must have the same shape");
  c.output(c.dtype(0), std::move(shape));
}

// ---- gradients

// Adds an operation of two inputs that computes the gradient's elements.
Output by(GradContext& c, const char* op, const Output& a, const Output& b) {
  return c.graph().node(op).in(a).in(b).output();
}
Output leaky_relu_grad(GradContext& c, const Output& x) {
  return c.graph().node("LeakyReluGrad").in(c.grad()).in(x).attr("alpha", c.attrs().number("alpha")).output();
}
void grad_relu(GradContext& c) { c.set(0, by(c, "ReluGrad", c.grad(), c.output(0))); }
void grad_relu6(GradContext& c) { c.set(0, by(c, "Relu6Grad", c.grad(), c.output(0))); }
void grad_leaky_relu(GradContext& c) { c.set(0, leaky_relu_grad(c, c.input(0))); }
void grad_elu(GradContext& c) { c.set(0, by(c, "EluGrad", c.grad(), c.output(0))); }
void grad_sigmoid(GradContext& c) { c.set(0, by(c, "SigmoidGrad", c.output(0), c.grad())); }
void grad_tanh(GradContext& c) { c.set(0, by(c, "TanhGrad", c.output(0), c.grad())); }
void grad_softplus(GradContext& c) { c.set(0, c.grad() * ops::sigmoid(c.input(0))); }

// These are second order gradients. If the first gradient is linear in dy and constant in the rest, it is its own
// gradient.
void grad_relu_grad(GradContext& c) {
  if (c.wanted(0)) c.set(0, by(c, "ReluGrad", c.grad(), c.input(1)));
}
void grad_relu6_grad(GradContext& c) {
  if (c.wanted(0)) c.set(0, by(c, "Relu6Grad", c.grad(), c.input(1)));
}
void grad_leaky_relu_grad(GradContext& c) {
  if (c.wanted(0)) c.set(0, leaky_relu_grad(c, c.input(1)));
}
void grad_elu_grad(GradContext& c) {
  const Output &dy = c.input(0), &y = c.input(1);
  if (c.wanted(0)) c.set(0, by(c, "EluGrad", c.grad(), y));
  const Output zero = ops::scalar(c.graph(), 0, y.dtype());
  if (c.wanted(1)) c.set(1, ops::select(ops::greater(y, zero), zero, c.grad() * dy));
}
void grad_sigmoid_grad(GradContext& c) {
  const Output &y = c.input(0), &dy = c.input(1);
  if (c.wanted(0)) c.set(0, (c.grad() * dy) * (1.0 - y * 2.0));
  if (c.wanted(1)) c.set(1, by(c, "SigmoidGrad", y, c.grad()));
}
void grad_tanh_grad(GradContext& c) {
  const Output &y = c.input(0), &dy = c.input(1);
  if (c.wanted(0)) c.set(0, (c.grad() * dy) * (y * -2.0));
  if (c.wanted(1)) c.set(1, by(c, "TanhGrad", y, c.grad()));
}

// ---- softmax

void infer_softmax(InferContext& c) {
  c.need_float(0);
  if (c.shape(0).has_rank() && c.shape(0).rank() < 1) c.fail(c.input_text(0) + " must have at least one dimension");
  c.output(c.dtype(0), c.shape(0));
}

template <class T>
[[gnu::always_inline]] inline void softmax_rows(const T* x, std::int64_t rows, std::int64_t n, T* y) {
  ExpRow<T> exps[kExpTile];
  const std::int64_t tile = rows_together(n);
  for (std::int64_t first = 0; first < rows; first += tile) {
    const std::int64_t in_tile = std::min(tile, rows - first);
    exp_rows(x + first * n, in_tile, n, y + first * n, exps);
    for (std::int64_t r = 0; r < in_tile; ++r) {
      const T scale = T(1) / exps[r].sum;
      T* row = y + (first + r) * n;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) row[i] *= scale;
    }
  }
}
template <class T>
[[gnu::always_inline]] inline void log_softmax_rows(const T* x, std::int64_t rows, std::int64_t n, T* y) {
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const T largest = row_largest(x, n);
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) sum += exp_of(x[i] - largest);
    const T log_sum = log_of(sum);
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - largest) - log_sum;
  }
}

template <class T, bool log>
class SoftmaxKernel final : public Kernel {
 public:
  explicit SoftmaxKernel(const KernelSpec& spec)
      : n_(spec.inputs[0].dims.back()), rows_(n_ == 0 ? 0 : spec.inputs[0].elements() / n_), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T* x = input<T>(in, 0);
    T* y = output<T>(out, 0);
    parallel_for(rows_, kExpensiveGrain / (n_ + 1) + 1, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      compute(x + begin * n_, end - begin, y + begin * n_);
    });
  }

 private:
  void compute(const T* x, std::int64_t rows, T* y) const {
    hot<T, log ? log_softmax_rows<T> : softmax_rows<T>>(x, rows, n_, y);
  }

  std::int64_t n_;
  std::int64_t rows_;
  int threads_;
};
template <class T>
using PlainSoftmaxKernel = SoftmaxKernel<T, false>;
template <class T>
using LogSoftmaxKernel = SoftmaxKernel<T, true>;

void grad_softmax(GradContext& c) {
  const Output& y = c.output(0);
  const Output weighted = c.grad() * y;
  c.set(0, weighted - y * ops::reduce_sum(weighted, {-1}, true));
}
void grad_log_softmax(GradContext& c) {
  c.set(0, c.grad() - ops::exp(c.output(0)) * ops::reduce_sum(c.grad(), {-1}, true));
}

AttrDef alpha_attr() { return float_attr("alpha", "the slope where x <= 0").defaults_to(0.2); }

OpDef activation(const char* name, const char* doc, void (*gradient)(GradContext&),
                 std::unique_ptr<Kernel> (*kernel)(const KernelSpec&), std::vector<AttrDef> attrs = {}) {
  return {.name = name,
          .doc = doc,
          .inputs = "x",
          .dtypes = "floats",
          .n_inputs = 1,
          .attrs = std::move(attrs),
          .in_place = 1,
          .elementwise = true,
          .infer = infer_unary,
          .gradient = gradient,
          .kernel = kernel};
}
OpDef activation_grad(const char* name, const char* doc, void (*gradient)(GradContext&),
                      std::unique_ptr<Kernel> (*kernel)(const KernelSpec&), std::vector<AttrDef> attrs = {}) {
  return {.name = name,
          .doc = doc,
          .inputs = "a, b",
          .dtypes = "floats",
          .n_inputs = 2,
          .attrs = std::move(attrs),
          .in_place = 3,
          .elementwise = true,
          .infer = infer_grad,
          .gradient = gradient,
          .kernel = kernel};
}

}  // namespace

void add_activation_ops(OpRegistry& r) {
  r.add(activation("Relu", "max(x, 0).", grad_relu, make_unary<ReluOf>));
  r.add(activation("Relu6", "min(max(x, 0), 6).", grad_relu6, make_unary<Relu6Of>));
  r.add(activation("LeakyRelu", "x where x > 0, `alpha` times x elsewhere.", grad_leaky_relu, make_unary<LeakyReluOf>,
                   {alpha_attr()}));
  r.add(activation("Elu", "x where x > 0, e^x - 1 elsewhere.", grad_elu, make_unary<EluOf>));
  r.add(activation("Sigmoid", "1 / (1 + e^-x).", grad_sigmoid, make_unary<SigmoidOf>));
  r.add(activation("Tanh", "The hyperbolic tangent.", grad_tanh, make_unary<TanhOf>));
  r.add(activation("Softplus", "log(1 + e^x).", grad_softplus, make_unary<SoftplusOf>));
  r.add(activation_grad("ReluGrad", "The gradient of Relu, by the incoming gradient and its output.", grad_relu_grad,
                        make_binary<ReluGradOf>));
  r.add(activation_grad("Relu6Grad", "The gradient of Relu6, by the incoming gradient and its output.", grad_relu6_grad,
                        make_binary<Relu6GradOf>));
  r.add(activation_grad("LeakyReluGrad", "The gradient of LeakyRelu, by the incoming gradient and its input.",
                        grad_leaky_relu_grad, make_binary<LeakyReluGradOf>, {alpha_attr()}));
  r.add(activation_grad("EluGrad", "The gradient of Elu, by the incoming gradient and its output.", grad_elu_grad,
                        make_binary<EluGradOf>));
  r.add(activation_grad("SigmoidGrad", "The gradient of Sigmoid, by its output and the incoming gradient.",
                        grad_sigmoid_grad, make_binary<SigmoidGradOf>));
  r.add(activation_grad("TanhGrad", "The gradient of Tanh, by its output and the incoming gradient.", grad_tanh_grad,
                        make_binary<TanhGradOf>));
  r.add({.name = "Softmax",
         .doc = "e^x / sum(e^x) along the last dimension.",
         .inputs = "x",
         .dtypes = "floats",
         .n_inputs = 1,
         .in_place = 1,
         .infer = infer_softmax,
         .gradient = grad_softmax,
         .kernel = make_typed<PlainSoftmaxKernel>});
  r.add({.name = "LogSoftmax",
         .doc = "log(softmax(x)) along the last dimension.",
         .inputs = "x",
         .dtypes = "floats",
         .n_inputs = 1,
         .in_place = 1,
         .infer = infer_softmax,
         .gradient = grad_log_softmax,
         .kernel = make_typed<LogSoftmaxKernel>});
}

}  // namespace belay::runtime
