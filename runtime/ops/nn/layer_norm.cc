// SPDX-License-Identifier: Apache-2.0
// Layer normalization over the last dimension, with one operation forward and one backward.
#include "belay/ops/math.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/elementwise.h"
#include "runtime/ops/math/fused.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

struct NormRows {
  std::int64_t rows = 1;
  std::int64_t n;
  explicit NormRows(const Dims& x) : n(x.back()) {
    for (std::size_t i = 0; i + 1 < x.size(); ++i) rows *= x[i];
  }
  std::int64_t grain() const { return kCheapGrain / 4 / (n + 1) + 1; }
};

// ---- forward

void need_dimension(const InferContext& c, std::size_t i) {
  if (c.shape(i).rank() == 0) c.fail(c.input_text(i) + " must have at least one dimension");
}

void need_vector(const InferContext& c, std::size_t i, const Shape& x) {
  c.need_same_dtype(0, i);
  c.need_rank(i, 1);
  bool ok = true;
  if (x.has_rank()) Shape::merged(c.shape(i), Shape{x.dims().back()}, ok);
  if (!ok) c.fail(c.input_text(i) + " must have one element for each of the last dimension of " + c.input_text(0));
}

Shape shape_of_rows(const Shape& x) {
  return x.has_rank() ? Shape(Dims(x.dims().begin(), x.dims().end() - 1)) : Shape::unknown();
}

void infer_layer_norm(InferContext& c) {
  c.need_float(0);
  const Shape& x = c.shape(0);
  need_dimension(c, 0);
  need_vector(c, 1, x);
  need_vector(c, 2, x);
  c.output(c.dtype(0), x);
  c.output(c.dtype(0), shape_of_rows(x));
  c.output(c.dtype(0), shape_of_rows(x));
}

template <class T>
struct ForwardRows {
  const T *x, *scale, *offset;
  T *y, *mean, *rstd;
  std::int64_t rows, n;
  T epsilon;
};

template <class T>
[[gnu::always_inline]] inline void normalize_rows(const ForwardRows<T>& a) {
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const T* x = a.x + r * a.n;
    T* y = a.y + r * a.n;
    T sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < a.n; ++i) sum += x[i];
    const T mean = sum / static_cast<T>(a.n);
#pragma omp simd reduction(+ : squares)
    for (std::int64_t i = 0; i < a.n; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const T rstd = T(1) / std::sqrt(squares / static_cast<T>(a.n) + a.epsilon);
#pragma omp simd
    for (std::int64_t i = 0; i < a.n; ++i) y[i] = (x[i] - mean) * rstd * a.scale[i] + a.offset[i];
    a.mean[r] = mean, a.rstd[r] = rstd;
  }
}

template <class T>
class LayerNormKernel final : public Kernel {
 public:
  explicit LayerNormKernel(const KernelSpec& spec)
      : size_(spec.inputs[0].dims), epsilon_(static_cast<T>(spec.attrs().number("epsilon"))), threads_(spec.threads) {
    if (!spec.members.empty()) activation_ = fused_activation(spec.members.back()->op->name);
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    parallel_for(size_.rows, size_.grain(), threads_, [&](std::int64_t begin, std::int64_t end, int) {
      if (activation_ == nullptr) return hot<T, normalize_rows<T>>(rows(in, out, begin, end));
      if constexpr (std::is_same_v<T, float>) {
        // Processes some rows at a time, so that the activation finds them in a cache.
        const std::int64_t some = kCacheElements / (size_.n + 1) + 1;
        for (; begin < end; begin += some) {
          const ForwardRows<float> part = rows(in, out, begin, std::min(end, begin + some));
          hot<T, normalize_rows<T>>(part);
          activation_->apply(part.y, part.rows * part.n);
        }
      }
    });
  }

 private:
  static constexpr std::int64_t kCacheElements = 1 << 13;

  ForwardRows<T> rows(void* const* in, void* const* out, std::int64_t begin, std::int64_t end) const {
    const std::int64_t at = begin * size_.n;
    return {input<T>(in, 0) + at,
            input<T>(in, 1),
            input<T>(in, 2),
            output<T>(out, 0) + at,
            output<T>(out, 1) + begin,
            output<T>(out, 2) + begin,
            end - begin,
            size_.n,
            epsilon_};
  }

  NormRows size_;
  T epsilon_;
  int threads_;
  const FusedActivation* activation_ = nullptr;  // the activation after it in a fused step
};

void grad_layer_norm(GradContext& c) {
  if (c.grad(1) || c.grad(2))
    fail(Code::kUnimplemented, "'" + c.output(c.grad(1) ? 1 : 2).name() +
                                   "' cannot be differentiated: it is what layer normalization keeps for its gradient");
  const Output dx =
      c.graph().node("LayerNormGrad").in({c.grad(), c.input(0), c.input(1), c.output(1), c.output(2)}).output();
  for (std::uint32_t i = 0; i < 3; ++i)
    if (c.wanted(i)) c.set(i, dx.sibling(i));
}

// ---- backward

void infer_layer_norm_grad(InferContext& c) {
  c.need_float(0);
  for (std::size_t i = 1; i < 5; ++i) c.need_same_dtype(0, i);
  need_dimension(c, 0);
  need_dimension(c, 1);
  bool ok = true;
  const Shape x = Shape::merged(c.shape(0), c.shape(1), ok);
  if (!ok) c.fail(c.input_text(0) + " and " + c.input_text(1) + " must have the same shape");
  need_vector(c, 2, x);
  for (const std::size_t i : {3, 4})
    if (!Shape::compatible(c.shape(i), shape_of_rows(x)))
      c.fail(c.input_text(i) + " must have the shape of " + c.input_text(1) + " without its last dimension");
  c.output(c.dtype(0), x);
  c.output(c.dtype(0), c.shape(2));
  c.output(c.dtype(0), c.shape(2));
}

template <class T>
struct BackwardRows {
  const T *dy, *x, *scale, *mean, *rstd;
  T *dx, *dscale, *doffset;  // dscale and doffset are added to
  std::int64_t rows, n;
};

// With h = (x - mean) rstd and g = dy scale: dx = rstd (g - mean(g) - h mean(g h)).
template <class T>
[[gnu::always_inline]] inline void differentiate_rows(const BackwardRows<T>& a) {
  const T per_element = T(1) / static_cast<T>(a.n);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const T *x = a.x + r * a.n, *dy = a.dy + r * a.n;
    T* dx = a.dx + r * a.n;
    const T mean = a.mean[r], rstd = a.rstd[r];
    T g_sum = 0, gh_sum = 0;
#pragma omp simd reduction(+ : g_sum, gh_sum)
    for (std::int64_t i = 0; i < a.n; ++i) {
      const T h = (x[i] - mean) * rstd, g = dy[i] * a.scale[i];
      g_sum += g;
      gh_sum += g * h;
      a.dscale[i] += dy[i] * h;
      a.doffset[i] += dy[i];
    }
    const T g_mean = g_sum * per_element, gh_mean = gh_sum * per_element;
#pragma omp simd
    for (std::int64_t i = 0; i < a.n; ++i) {
      const T h = (x[i] - mean) * rstd;
      dx[i] = rstd * (dy[i] * a.scale[i] - g_mean - h * gh_mean);
    }
  }
}

// The sums over rows are taken in chunks that depend only on the shape. So the number of threads changes no bit.
template <class T>
class LayerNormGradKernel final : public Kernel {
 public:
  explicit LayerNormGradKernel(const KernelSpec& spec)
      : size_(spec.inputs[1].dims),
        chunks_(std::clamp<std::int64_t>(size_.rows * size_.n / kChunk, 1, kMostChunks)),
        sums_(static_cast<std::size_t>(chunks_ * 2 * size_.n)),
        threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const std::int64_t n = size_.n;
    std::fill(sums_.begin(), sums_.end(), T(0));
    parallel_items(chunks_, threads_, [&](std::int64_t first, std::int64_t last, int) {
      for (std::int64_t chunk = first; chunk < last; ++chunk) {
        const std::int64_t begin = size_.rows * chunk / chunks_, end = size_.rows * (chunk + 1) / chunks_;
        T* sums = sums_.data() + chunk * 2 * n;
        run_rows({input<T>(in, 0) + begin * n, input<T>(in, 1) + begin * n, input<T>(in, 2), input<T>(in, 3) + begin,
                  input<T>(in, 4) + begin, output<T>(out, 0) + begin * n, sums, sums + n, end - begin, n});
      }
    });
    for (std::size_t which = 0; which < 2; ++which) {
      T* total = output<T>(out, which + 1);
      std::copy_n(sums_.data() + static_cast<std::int64_t>(which) * n, n, total);
      for (std::int64_t chunk = 1; chunk < chunks_; ++chunk) {
        const T* sums = sums_.data() + (chunk * 2 + static_cast<std::int64_t>(which)) * n;
        for (std::int64_t i = 0; i < n; ++i) total[i] += sums[i];
      }
    }
  }

 private:
  static constexpr std::int64_t kChunk = 1 << 13;  // elements
  static constexpr std::int64_t kMostChunks = 32;
  static void run_rows(const BackwardRows<T>& rows) { hot<T, differentiate_rows<T>>(rows); }

  NormRows size_;
  std::int64_t chunks_;
  std::vector<T> sums_;  // dscale and doffset of each chunk
  int threads_;
};

}  // namespace

void add_layer_norm_ops(OpRegistry& r) {
  r.add({.name = "LayerNorm",
         .doc =
             "(x - mean) / sqrt(variance + `epsilon`) * scale + offset over the last dimension of x; outputs 1 and 2 "
             "are each row's mean and 1 / sqrt(variance + epsilon).",
         .inputs = "x, scale, offset",
         .dtypes = "floats",
         .n_inputs = 3,
         .attrs = {float_attr("epsilon", "added to the variance").at_least(0).defaults_to(1e-5)},
         .in_place = 1,
         .infer = infer_layer_norm,
         .gradient = grad_layer_norm,
         .kernel = make_typed<LayerNormKernel>,
         .fused_kernel = make_typed<LayerNormKernel>});
  r.add(
      {.name = "LayerNormGrad",
       .doc = "The gradients of LayerNorm's x, scale and offset. Inputs: the gradient, x, scale, mean, 1 / deviation.",
       .inputs = "dy, x, scale, mean, inverse_deviation",
       .dtypes = "floats",
       .n_inputs = 5,
       .in_place = 1,
       .infer = infer_layer_norm_grad,
       .kernel = make_typed<LayerNormGradKernel>});
}

}  // namespace belay::runtime
