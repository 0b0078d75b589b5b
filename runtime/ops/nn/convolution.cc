// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolutions, alone and fused with bias and activation.
#include "runtime/ops/nn/convolution.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "belay/ops/convolution.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/math/fused.h"
#include "runtime/ops/nn/pooling.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// ---- shape rules

// Returns the windows of a node with the image at input 0 and the filter at input 1.
Windows windows_of_inputs(InferContext& c) {
  c.need_float(0);
  c.need_same_dtype(0, 1);
  c.need_rank(0, 4);
  c.need_rank(1, 4);
  const Shape &x = c.shape(0), &filter = c.shape(1);
  const Dims f = filter.has_rank() ? filter.dims() : Dims(4, -1);
  if (f[0] == 0 || f[1] == 0) c.fail(c.input_text(1) + ", the filter, has a height or width of 0");
  const Windows w = windows_of(c, x, f[0], f[1]);
  const std::int64_t channels = x.has_rank() ? x.dim(w.layout.channels()) : -1;
  if (channels >= 0 && f[2] >= 0 && channels != f[2])
    c.fail(fmt::format("{} has {} channels, {}, the filter [height, width, in, out], takes {}", c.input_text(0),
                       channels, c.input_text(1), f[2]));
  return w;
}

Shape result_shape(const Windows& w, const Shape& x, const Shape& filter) {
  return Shape(w.layout.dims(x.has_rank() ? x.dim(0) : -1, w.height.output, w.width.output,
                             filter.has_rank() ? filter.dim(3) : -1));
}

void infer_conv2d(InferContext& c) {
  const Windows w = windows_of_inputs(c);
  c.output(c.dtype(0), result_shape(w, c.shape(0), c.shape(1)));
}

void check_result_gradient(InferContext& c, const Windows& w) {
  c.need_same_dtype(0, 2);
  const Shape y = result_shape(w, c.shape(0), c.shape(1));
  if (!Shape::compatible(c.shape(2), y))
    c.fail(c.input_text(2) + ", the incoming gradient, must have the shape of the convolution's result, " + y.text());
}
void infer_input_gradient(InferContext& c) {
  check_result_gradient(c, windows_of_inputs(c));
  c.output(c.dtype(0), c.shape(0));
}
void infer_filter_gradient(InferContext& c) {
  check_result_gradient(c, windows_of_inputs(c));
  c.output(c.dtype(0), c.shape(1));
}

// ---- gradients: a convolution is linear in its image and in its filter, and so are its gradients. Their gradients are
// made of the same three operations.

Output convolve(GradContext& c, const Output& x, const Output& filter) {
  return node_with_windows(c, "Conv2D", {x, filter}).output();
}
Output input_gradient(GradContext& c, const Output& x, const Output& filter, const Output& dy) {
  return node_with_windows(c, "Conv2DBackpropInput", {x, filter, dy}).output();
}
Output filter_gradient(GradContext& c, const Output& x, const Output& filter, const Output& dy) {
  return node_with_windows(c, "Conv2DBackpropFilter", {x, filter, dy}).output();
}

void grad_conv2d(GradContext& c) {
  const Output &x = c.input(0), &filter = c.input(1);
  if (c.wanted(0)) c.set(0, input_gradient(c, x, filter, c.grad()));
  if (c.wanted(1)) c.set(1, filter_gradient(c, x, filter, c.grad()));
}
void grad_input_gradient(GradContext& c) {
  const Output &filter = c.input(1), &dy = c.input(2);
  if (c.wanted(1)) c.set(1, filter_gradient(c, c.grad(), filter, dy));
  if (c.wanted(2)) c.set(2, convolve(c, c.grad(), filter));
}
void grad_filter_gradient(GradContext& c) {
  const Output &x = c.input(0), &dy = c.input(2);
  if (c.wanted(0)) c.set(0, input_gradient(c, x, c.grad(), dy));
  if (c.wanted(2)) c.set(2, convolve(c, x, c.grad()));
}

// ---- kernels

ConvolutionSizes sizes_of(const KernelSpec& spec, const Dims& x, const Dims& filter) {
  ConvolutionSizes s;
  s.windows = windows_of(spec.attrs(), x, filter[0], filter[1]);
  s.x = ImageDims(x, s.windows.layout);
  s.y = {};
  s.y.n = s.x.n, s.y.h = s.windows.height.output, s.y.w = s.windows.width.output, s.y.c = filter[3];
  return s;
}

std::unique_ptr<Convolution> make_convolution(ConvolutionPart part, const ConvolutionSizes& s, bool bias, DType dtype,
                                              Precision precision, const Version* filter_version) {
  const bool empty = s.x.n == 0 || s.x.h == 0 || s.x.w == 0 || s.x.c == 0 || s.y.c == 0;
  if (dtype == DType::kFloat32 && !empty) return make_onednn_convolution(part, s, bias, precision, filter_version);
  return make_reference_convolution(part, s, bias, dtype);
}

class ConvolutionKernel final : public Kernel {
 public:
  // `inputs` lists the node's inputs that the convolution takes, in its order.
  ConvolutionKernel(const KernelSpec& spec, ConvolutionPart part, const Dims& x, const Dims& filter,
                    std::vector<std::size_t> inputs)
      : convolution_(make_convolution(part, sizes_of(spec, x, filter), inputs.size() > 2, spec.outputs[0].dtype,
                                      spec.precision, spec.inputs[1].version)),
        inputs_(std::move(inputs)) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    std::array<void*, 4> tensors;
    for (std::size_t i = 0; i < inputs_.size(); ++i) tensors[i] = in[inputs_[i]];
    tensors[inputs_.size()] = out[0];
    convolution_->run(tensors.data());
  }

 private:
  std::unique_ptr<Convolution> convolution_;
  std::vector<std::size_t> inputs_;
};

std::unique_ptr<Kernel> make_conv2d(const KernelSpec& spec) {
  return std::make_unique<ConvolutionKernel>(spec, ConvolutionPart::kForward, spec.inputs[0].dims, spec.inputs[1].dims,
                                             std::vector<std::size_t>{0, 1});
}
std::unique_ptr<Kernel> make_input_gradient(const KernelSpec& spec) {
  return std::make_unique<ConvolutionKernel>(spec, ConvolutionPart::kInputGradient, spec.outputs[0].dims,
                                             spec.inputs[1].dims, std::vector<std::size_t>{1, 2});
}
std::unique_ptr<Kernel> make_filter_gradient(const KernelSpec& spec) {
  return std::make_unique<ConvolutionKernel>(spec, ConvolutionPart::kFilterGradient, spec.inputs[0].dims,
                                             spec.outputs[0].dims, std::vector<std::size_t>{0, 2});
}

// ---- fused

bool has_member(const KernelSpec& spec, std::string_view op) {
  return std::any_of(spec.members.begin(), spec.members.end(), [&](const Node* m) { return m->op->name == op; });
}

// The convolution adds the bias. The activation follows while the result is in the cache, as in matmul.cc.
class FusedConvolutionKernel final : public Kernel {
 public:
  explicit FusedConvolutionKernel(const KernelSpec& spec)
      : convolution_(make_convolution(ConvolutionPart::kForward,
                                      sizes_of(spec, spec.inputs[0].dims, spec.inputs[1].dims), spec.inputs.size() > 2,
                                      DType::kFloat32, spec.precision, spec.inputs[1].version)),
        n_inputs_(spec.inputs.size()),
        n_(spec.outputs[0].elements()),
        threads_(spec.threads),
        activation_(fused_activation(spec.members.back()->op->name)) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    std::array<void*, 4> tensors;
    std::copy_n(in, n_inputs_, tensors.begin());
    tensors[n_inputs_] = out[0];
    convolution_->run(tensors.data());
    if (activation_ != nullptr) activation_->apply_to_all(output<float>(out, 0), n_, threads_);
  }

 private:
  std::unique_ptr<Convolution> convolution_;
  std::size_t n_inputs_;
  std::int64_t n_;
  int threads_;
  const FusedActivation* activation_;
};

// With max pooling at the end, the convolution's result stays in scratch memory. Each part has few images, so the
// pooling finds it in the second-level cache. The largest is found before the relu. That changes only values without a
// gradient.
class PooledConvolutionKernel final : public Kernel {
 public:
  explicit PooledConvolutionKernel(const KernelSpec& spec)
      : sizes_(sizes_of(spec, spec.inputs[0].dims, spec.inputs[1].dims)),
        pooled_(spec.outputs[0].elements() / std::max<std::int64_t>(sizes_.y.n, 1)),
        place_bytes_(dtype_size(spec.outputs[1].dtype)),
        bias_(spec.inputs.size() > 2) {
    const std::int64_t n = sizes_.y.n, threads = spec.threads;
    std::int64_t most = std::max<std::int64_t>(kCacheElements * threads / (y_elements() + 1), 1);
    if (most > threads) most -= most % threads;  // the same number for each thread
    const std::int64_t runs = (n + most - 1) / most;
    images_ = runs == 0 ? 0 : std::min(n, ((n + runs - 1) / runs + threads - 1) / threads * threads);
    whole_ = make_part(spec, images_);
    if (images_ != 0 && n % images_ != 0) rest_ = make_part(spec, n % images_);
    y_ = DenseTensor(DType::kFloat32, {images_ * y_elements()});
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    runs_.fetch_add(1, std::memory_order_relaxed);
    for (std::int64_t first = 0; first < sizes_.x.n; first += images_) {
      Part& part = first + images_ <= sizes_.x.n ? whole_ : rest_;
      std::array<void*, 4> tensors{static_cast<float*>(in[0]) + first * x_elements(), in[1], bias_ ? in[2] : y_.data(),
                                   y_.data()};
      part.convolution->run(tensors.data());
      part.pooling->run(static_cast<const float*>(y_.data()), output<float>(out, 0) + first * pooled_,
                        output<std::byte>(out, 1) + first * pooled_ * static_cast<std::int64_t>(place_bytes_));
    }
  }

 private:
  static constexpr std::int64_t kCacheElements = 105'000;  // for each processor: 420 kB of the convolution's result
  struct Part {
    std::unique_ptr<Convolution> convolution;
    std::unique_ptr<Pooling> pooling;
  };
  std::int64_t x_elements() const { return sizes_.x.h * sizes_.x.w * sizes_.x.c; }
  std::int64_t y_elements() const { return sizes_.y.h * sizes_.y.w * sizes_.y.c; }

  Part make_part(const KernelSpec& spec, std::int64_t images) const {
    ConvolutionSizes s = sizes_;
    s.x.n = s.y.n = images;
    return {make_convolution(ConvolutionPart::kForward, s, bias_, DType::kFloat32, spec.precision,
                             spec.inputs[1].version != nullptr ? spec.inputs[1].version : &runs_),
            make_pooling(spec.members.back()->attrs, s.windows.layout.dims(images, s.y.h, s.y.w, s.y.c),
                         has_member(spec, "Relu"), spec.outputs[1].dtype, spec.threads)};
  }

  ConvolutionSizes sizes_;
  std::int64_t pooled_;  // elements of one image's result
  std::size_t place_bytes_;
  bool bias_;
  std::int64_t images_ = 0;  // images of a part
  Version runs_{0};          // the filter is the same for all parts of a run
  Part whole_, rest_;
  DenseTensor y_;
};

std::unique_ptr<Kernel> make_fused_convolution(const KernelSpec& spec) {
  if (has_member(spec, "MaxPool")) return std::make_unique<PooledConvolutionKernel>(spec);
  return std::make_unique<FusedConvolutionKernel>(spec);
}

}  // namespace

void add_convolution_ops(OpRegistry& r) {
  r.add({.name = "Conv2D",
         .doc = "Images (input 0) filtered by [height, width, in, out] (input 1).",
         .inputs = "images, filter",
         .dtypes = "floats",
         .n_inputs = 2,
         .attrs = window_attrs(),
         .infer = infer_conv2d,
         .gradient = grad_conv2d,
         .kernel = make_conv2d,
         .fused_kernel = make_fused_convolution});
  r.add({.name = "Conv2DBackpropInput",
         .doc = "The gradient of Conv2D for its images, of which only the shape matters (input 0), by the filter "
                "(input 1) and the incoming gradient (input 2).",
         .inputs = "images, filter, dy",
         .dtypes = "floats",
         .n_inputs = 3,
         .attrs = window_attrs(),
         .shape_inputs = 1,
         .infer = infer_input_gradient,
         .gradient = grad_input_gradient,
         .kernel = make_input_gradient});
  r.add({.name = "Conv2DBackpropFilter",
         .doc = "The gradient of Conv2D for its filter, of which only the shape matters (input 1), by the images "
                "(input 0) and the incoming gradient (input 2).",
         .inputs = "images, filter, dy",
         .dtypes = "floats",
         .n_inputs = 3,
         .attrs = window_attrs(),
         .shape_inputs = 2,
         .infer = infer_filter_gradient,
         .gradient = grad_filter_gradient,
         .kernel = make_filter_gradient});
}

}  // namespace belay::runtime
