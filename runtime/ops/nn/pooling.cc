// SPDX-License-Identifier: Apache-2.0
// Pooling of images: the largest and the mean of windows.
#include "runtime/ops/nn/pooling.h"

#include <fmt/core.h>

#include "belay/ops/pooling.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/elementwise.h"
#include "runtime/ops/math/fused.h"
#include "runtime/ops/nn/pool_loops.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// ---- the mean of each window; padding does not count

// Handles n channels of one window.
template <class T>
[[gnu::always_inline]] inline void mean_of_window(const PoolSizes& s, Taps rows, Taps columns, std::int64_t n,
                                                  const T* x, T* y) {
  T sum[kChannelTile] = {};
  for (std::int64_t i = rows.first; i < rows.last; ++i)
    for (std::int64_t j = columns.first; j < columns.last; ++j) {
      const T* tap = x + (i * s.width.input + j) * s.c;
#pragma omp simd
      for (std::int64_t c = 0; c < n; ++c) sum[c] += tap[c];
    }
  const T count = static_cast<T>((rows.last - rows.first) * (columns.last - columns.first));
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) y[c] = sum[c] / count;
}

template <class T>
[[gnu::always_inline]] inline void mean_pool_rows(const PoolSizes& s, std::int64_t begin, std::int64_t end, const T* x,
                                                  T* y) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t oh = row % s.height.output;
    const Taps rows(s.height, oh);
    const T* image = x + row / s.height.output * s.image_in() + s.height.begin(oh) * s.width.input * s.c;
    for (std::int64_t ow = 0; ow < s.width.output; ++ow) {
      const Taps columns(s.width, ow);
      const std::int64_t to = (row * s.width.output + ow) * s.c;
      const auto tile = [&](std::int64_t c, std::int64_t n) __attribute__((always_inline)) {
        mean_of_window(s, rows, columns, n, image + s.width.begin(ow) * s.c + c, y + to + c);
      };
      for_each_tile(s.c, tile);
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void mean_pool_gradient(const PoolSizes& s, std::int64_t begin, std::int64_t end,
                                                      const T* dy, T* dx) {
  std::fill(dx + begin * s.image_in(), dx + end * s.image_in(), T(0));
  for (std::int64_t row = begin * s.height.output; row < end * s.height.output; ++row) {
    const std::int64_t oh = row % s.height.output;
    const Taps rows(s.height, oh);
    T* image = dx + row / s.height.output * s.image_in() + s.height.begin(oh) * s.width.input * s.c;
    for (std::int64_t ow = 0; ow < s.width.output; ++ow) {
      const Taps columns(s.width, ow);
      const T* grad = dy + (row * s.width.output + ow) * s.c;
      const T share = T(1) / static_cast<T>((rows.last - rows.first) * (columns.last - columns.first));
      for (std::int64_t i = rows.first; i < rows.last; ++i)
        for (std::int64_t j = columns.first; j < columns.last; ++j) {
          T* tap = image + (i * s.width.input + s.width.begin(ow) + j) * s.c;
#pragma omp simd
          for (std::int64_t c = 0; c < s.c; ++c) tap[c] += grad[c] * share;
        }
    }
  }
}

// ---- shape rules

// Returns height and width of the window. The other entries of ksize are 1.
std::array<std::int64_t, 2> window_of(const Attrs& attrs) {
  const ImageLayout layout = image_layout(attrs);
  const std::vector<std::int64_t>& k = attrs.integers("ksize");
  if (k.size() != 4 || k[0] != 1 || k[layout.channels()] != 1 || k[layout.height()] < 1 || k[layout.width()] < 1)
    fail(Code::kInvalidArgument,
         "attribute ksize " + dims_text(k) + " must have four numbers, one for each dimension of " +
             (layout.channels_last ? "NHWC" : "NCHW") + ": at least 1 for height and width, 1 for batch and channels");
  if (k[layout.height()] > kMostOfWindow / k[layout.width()])  // the place of the largest is an int32
    fail(Code::kInvalidArgument,
         fmt::format("the window of attribute ksize {} has more than {} elements", dims_text(k), kMostOfWindow));
  return {k[layout.height()], k[layout.width()]};
}

// A window that lay only in the padding would have no elements.
void check_padding(const WindowAxis& a, const char* what) {
  if (a.input == 0 && a.output > 0)
    fail(Code::kInvalidArgument, std::string("images of ") + what + " 0 leave windows that lie in the padding alone");
  if (a.before >= a.size || a.after >= a.size)
    fail(Code::kInvalidArgument, fmt::format("the padding of {}, {} and {}, must be less than the window's {}", what,
                                             a.before, a.after, a.size));
}

Windows pool_windows(const Attrs& attrs, const Dims& image) {
  const std::array<std::int64_t, 2> size = window_of(attrs);
  const Windows w = windows_of(attrs, image, size[0], size[1]);
  if (w.height.dilation != 1 || w.width.dilation != 1) fail(Code::kInvalidArgument, "pooling has no dilations");
  check_padding(w.height, "height");
  check_padding(w.width, "width");
  return w;
}

// Returns the shape of a pooling operation's output for the images at input i.
Shape pooled_shape(InferContext& c, std::size_t i) {
  c.need_float(i);
  c.need_rank(i, 4);
  try {
    const Shape& x = c.shape(i);
    const Dims image = x.has_rank() ? x.dims() : Dims(4, -1);
    const Windows w = pool_windows(c.attrs(), image);
    return Shape(w.layout.dims(image[0], w.height.output, w.width.output, image[w.layout.channels()]));
  } catch (const Error& e) {
    c.fail(std::string(e.message()));
  }
}

// The place of the largest is a number below the window's size.
DType where_dtype(InferContext& c) {
  const std::array<std::int64_t, 2> size = window_of(c.attrs());
  return size[0] * size[1] <= 256 ? DType::kUInt8 : DType::kInt32;
}

void infer_max_pool(InferContext& c) {
  const Shape y = pooled_shape(c, 0);
  c.output(c.dtype(0), y);
  c.output(where_dtype(c), y);
}
void infer_mean_pool(InferContext& c) { c.output(c.dtype(0), pooled_shape(c, 0)); }

// Input 0 is the incoming gradient. The images are the last input.
void infer_pool_gradient(InferContext& c) {
  const std::size_t image = c.n_inputs() - 1;
  c.need_same_dtype(0, image);
  const Shape y = pooled_shape(c, image);
  for (std::size_t i = 0; i < image; ++i)
    if (!Shape::compatible(c.shape(i), y))
      c.fail(c.input_text(i) + " must have the shape of the pooling's result, " + y.text());
  c.output(c.dtype(0), c.shape(image));
}
void infer_max_gradient(InferContext& c) {
  infer_pool_gradient(c);
  c.need_dtype(1, where_dtype(c));
}

// ---- gradients

Output pool_node(GradContext& c, const char* op, const std::vector<Output>& inputs) {
  return node_with_windows(c, op, inputs).attr("ksize", c.attrs().integers("ksize")).output();
}
void grad_max_pool(GradContext& c) { c.set(0, pool_node(c, "MaxPoolGrad", {c.grad(), c.output(1), c.input(0)})); }
void grad_mean_pool(GradContext& c) { c.set(0, pool_node(c, "AvgPoolGrad", {c.grad(), c.input(0)})); }
void grad_mean_pool_grad(GradContext& c) {
  if (c.wanted(0)) c.set(0, pool_node(c, "AvgPool", {c.grad()}));
}

// ---- kernels

PoolSizes pool_sizes(const Attrs& attrs, const Dims& image) {
  const Windows w = pool_windows(attrs, image);
  const ImageDims d(image, w.layout);
  const bool last = w.layout.channels_last;
  return {last ? d.n : d.n * d.c, last ? d.c : 1, w.height, w.width};
}

std::int64_t rows_grain(const PoolSizes& s) {
  return kCheapGrain / (s.width.output * s.c * s.height.size * s.width.size + 1) + 1;
}
std::int64_t images_grain(const PoolSizes& s) { return kCheapGrain / (s.image_in() + 1) + 1; }

template <bool relu, class T, class Index>
void max_pool(const PoolSizes& s, int threads, const T* x, T* y, Index* where) {
  parallel_items(s.n * s.height.output, rows_grain(s), threads, [&](std::int64_t begin, std::int64_t end, int) {
    hot<T, max_pool_rows<relu, T, Index>>(s, begin, end, x, y, where);
  });
}
// `y` is null if no relu comes before the pooling.
template <bool relu, class T, class Index>
void max_pool_gradient(const PoolSizes& s, int threads, const T* dy, const Index* where, const T* y, T* dx) {
  parallel_items(s.n, images_grain(s), threads, [&](std::int64_t begin, std::int64_t end, int) {
    hot<T, max_pool_gradient_of<relu, T, Index>>(s, begin, end, dy, where, y, dx);
  });
}

template <class T, class Index>
class MaxPoolKernel final : public Kernel {
 public:
  explicit MaxPoolKernel(const KernelSpec& spec)
      : sizes_(pool_sizes(spec.attrs(), spec.inputs[0].dims)), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    max_pool<false>(sizes_, threads_, input<T>(in, 0), output<T>(out, 0), output<Index>(out, 1));
  }

 private:
  PoolSizes sizes_;
  int threads_;
};

template <class Index>
class FusedPooling final : public Pooling {
 public:
  FusedPooling(const PoolSizes& sizes, bool relu, int threads) : sizes_(sizes), relu_(relu), threads_(threads) {}
  void run(const float* x, float* y, void* where) override {
    const auto places = static_cast<Index*>(where);
    relu_ ? max_pool<true>(sizes_, threads_, x, y, places) : max_pool<false>(sizes_, threads_, x, y, places);
  }

 private:
  PoolSizes sizes_;
  bool relu_;
  int threads_;
};

template <class T, class Index>
class MaxPoolGradKernel final : public Kernel {
 public:
  explicit MaxPoolGradKernel(const KernelSpec& spec)
      : sizes_(pool_sizes(spec.attrs(), spec.outputs[0].dims)), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    max_pool_gradient<false, T, Index>(sizes_, threads_, input<T>(in, 0), input<Index>(in, 1), nullptr,
                                       output<T>(out, 0));
  }

 private:
  PoolSizes sizes_;
  int threads_;
};

// Fused with the gradient of a relu before the pooling. Inputs: the incoming gradient, the places, the pooling's
// result.
template <class T, class Index>
class ReluMaxPoolGradKernel final : public Kernel {
 public:
  explicit ReluMaxPoolGradKernel(const KernelSpec& spec)
      : sizes_(pool_sizes(spec.attrs(), spec.outputs[0].dims)), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    max_pool_gradient<true>(sizes_, threads_, input<T>(in, 0), input<Index>(in, 1), input<T>(in, 2), output<T>(out, 0));
  }

 private:
  PoolSizes sizes_;
  int threads_;
};

// `where` is the dtype of the largest's places.
template <template <class, class> class K>
std::unique_ptr<Kernel> make_max(const KernelSpec& spec, DType where) {
  return make_for(FloatTypes{}, spec.inputs[0].dtype, [&]<class T>(std::type_identity<T>) {
    return make_for(Types<std::uint8_t, std::int32_t>{}, where,
                    [&]<class Index>(std::type_identity<Index>) { return std::make_unique<K<T, Index>>(spec); });
  });
}
std::unique_ptr<Kernel> make_max_pool(const KernelSpec& spec) {
  return make_max<MaxPoolKernel>(spec, spec.outputs[1].dtype);
}
std::unique_ptr<Kernel> make_max_pool_grad(const KernelSpec& spec) {
  return make_max<MaxPoolGradKernel>(spec, spec.inputs[1].dtype);
}

template <class T>
class MeanPoolKernel final : public Kernel {
 public:
  explicit MeanPoolKernel(const KernelSpec& spec)
      : sizes_(pool_sizes(spec.attrs(), spec.inputs[0].dims)), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T* x = input<T>(in, 0);
    T* y = output<T>(out, 0);
    parallel_items(
        sizes_.n * sizes_.height.output, rows_grain(sizes_), threads_,
        [&](std::int64_t begin, std::int64_t end, int) { hot<T, mean_pool_rows<T>>(sizes_, begin, end, x, y); });
  }

 private:
  PoolSizes sizes_;
  int threads_;
};

template <class T>
class MeanPoolGradKernel final : public Kernel {
 public:
  explicit MeanPoolGradKernel(const KernelSpec& spec)
      : sizes_(pool_sizes(spec.attrs(), spec.outputs[0].dims)), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T* dy = input<T>(in, 0);
    T* dx = output<T>(out, 0);
    parallel_items(sizes_.n, images_grain(sizes_), threads_, [&](std::int64_t begin, std::int64_t end, int) {
      hot<T, mean_pool_gradient<T>>(sizes_, begin, end, dy, dx);
    });
  }

 private:
  PoolSizes sizes_;
  int threads_;
};

BELAY_HOT void add_where_positive(const float* dy, const float* y, std::int64_t rows, std::int64_t channels,
                                  float* sum) {
  std::int64_t r = 0;
  // It adds four rows at once, since a sum in memory makes each row wait for the previous one.
  for (; r + 4 <= rows; r += 4, dy += 4 * channels, y += 4 * channels)
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) {
      const float a0 = y[c] > 0 ? dy[c] : 0.0f;
      const float a1 = y[channels + c] > 0 ? dy[channels + c] : 0.0f;
      const float a2 = y[2 * channels + c] > 0 ? dy[2 * channels + c] : 0.0f;
      const float a3 = y[3 * channels + c] > 0 ? dy[3 * channels + c] : 0.0f;
      sum[c] += (a0 + a1) + (a2 + a3);
    }
  for (; r < rows; ++r, dy += channels, y += channels)
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) sum[c] += y[c] > 0 ? dy[c] : 0.0f;
}

// Sums by blocks of rows, so that the error does not grow with the number of rows.
class PooledBiasGradient final : public Kernel {
 public:
  explicit PooledBiasGradient(const KernelSpec& spec)
      : channels_(spec.outputs[0].elements()),
        rows_(channels_ == 0 ? 0 : spec.inputs[0].elements() / channels_),
        threads_(spec.threads),
        block_(static_cast<std::size_t>(channels_ * threads_)),
        sums_(static_cast<std::size_t>(channels_ * threads_)) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const float *dy = input<float>(in, 0), *y = input<float>(in, 1);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    parallel_for(rows_, kCheapGrain / (channels_ + 1) + 1, threads_,
                 [&](std::int64_t begin, std::int64_t end, int part) {
                   float* block = block_.data() + part * channels_;
                   double* sum = sums_.data() + part * channels_;
                   for (std::int64_t r = begin; r < end; r += kBlock) {
                     const std::int64_t rows = std::min(kBlock, end - r);
                     std::fill_n(block, channels_, 0.0f);
                     add_where_positive(dy + r * channels_, y + r * channels_, rows, channels_, block);
                     for (std::int64_t c = 0; c < channels_; ++c) sum[c] += block[c];
                   }
                 });
    float* result = output<float>(out, 0);
    for (std::int64_t c = 0; c < channels_; ++c) {
      double sum = 0;
      for (int part = 0; part < threads_; ++part) sum += sums_[static_cast<std::size_t>(part * channels_ + c)];
      result[c] = static_cast<float>(sum);
    }
  }

 private:
  static constexpr std::int64_t kBlock = 64;
  std::int64_t channels_;
  std::int64_t rows_;
  int threads_;
  std::vector<float> block_;
  std::vector<double> sums_;
};

}  // namespace

std::unique_ptr<Kernel> make_relu_max_pool_gradient(const KernelSpec& spec) {
  return make_max<ReluMaxPoolGradKernel>(spec, spec.inputs[1].dtype);
}

std::unique_ptr<Kernel> make_pooled_bias_gradient(const KernelSpec& spec) {
  return std::make_unique<PooledBiasGradient>(spec);
}

std::unique_ptr<Pooling> make_pooling(const Attrs& attrs, const Dims& image, bool relu, DType where, int threads) {
  const PoolSizes sizes = pool_sizes(attrs, image);
  if (where == DType::kUInt8) return std::make_unique<FusedPooling<std::uint8_t>>(sizes, relu, threads);
  return std::make_unique<FusedPooling<std::int32_t>>(sizes, relu, threads);
}

namespace {

std::vector<AttrDef> pool_attrs() {
  std::vector<AttrDef> attrs = window_attrs();
  attrs.push_back(ints_attr("ksize", "the size of a window, for each dimension; 1 for batch and channels"));
  return attrs;
}

}  // namespace

void add_pooling_ops(OpRegistry& r) {
  r.add({.name = "MaxPool",
         .doc = "The largest of each window of images; NaN where any is. Output 1: its place in the window.",
         .inputs = "images",
         .dtypes = "floats",
         .n_inputs = 1,
         .attrs = pool_attrs(),
         .infer = infer_max_pool,
         .gradient = grad_max_pool,
         .kernel = make_max_pool});
  r.add({.name = "MaxPoolGrad",
         .doc = "The incoming gradient (input 0) at the places of the largest (input 1) in images of which only the "
                "shape matters "
                "(input 2).",
         .inputs = "dy, places, images",
         .dtypes = "floats",
         .n_inputs = 3,
         .attrs = pool_attrs(),
         .shape_inputs = 4,
         .infer = infer_max_gradient,
         .kernel = make_max_pool_grad});
  r.add({.name = "AvgPool",
         .doc = "The mean of each window of images, without padding.",
         .inputs = "images",
         .dtypes = "floats",
         .n_inputs = 1,
         .attrs = pool_attrs(),
         .infer = infer_mean_pool,
         .gradient = grad_mean_pool,
         .kernel = make_typed<MeanPoolKernel>});
  r.add({.name = "AvgPoolGrad",
         .doc = "The incoming gradient (input 0), shared among each window of images of which only the shape matters "
                "(input 1).",
         .inputs = "dy, images",
         .dtypes = "floats",
         .n_inputs = 2,
         .attrs = pool_attrs(),
         .shape_inputs = 2,
         .infer = infer_pool_gradient,
         .gradient = grad_mean_pool_grad,
         .kernel = make_typed<MeanPoolGradKernel>});
}

}  // namespace belay::runtime
