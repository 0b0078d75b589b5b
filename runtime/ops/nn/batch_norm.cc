// SPDX-License-Identifier: Apache-2.0
// Batch normalization.
#include "runtime/ops/nn/batch_norm.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "belay/ops/normalization.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/math/fused.h"
#include "runtime/ops/nn/windows.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// ---- shape rules

// Checks the images at input i and returns their channels; -1: unknown.
std::int64_t channels_of(InferContext& c, std::size_t i) {
  c.need_float(i);
  const ImageLayout layout = image_layout(c.attrs());
  const Shape& x = c.shape(i);
  if (!layout.channels_last) c.need_rank(i, 4);
  if (x.has_rank() && x.rank() < 2)
    c.fail(c.input_text(i) + " must have at least two dimensions, the last one being the channels");
  if (!x.has_rank()) return -1;
  return x.dim(layout.channels_last ? static_cast<std::size_t>(x.rank() - 1) : 1);
}
void need_channels(InferContext& c, std::size_t i, std::size_t image, std::int64_t channels) {
  c.need_same_dtype(image, i);
  if (!Shape::compatible(c.shape(i), Shape{channels}))
    c.fail(c.input_text(i) + " must have one number for each channel of " + c.input_text(image));
}

void infer_batch_norm(InferContext& c) {
  const bool training = c.attrs().flag("is_training");
  if (c.n_inputs() != (training ? 3u : 5u))
    c.fail(fmt::format("with is_training {}, not {}",
                       training ? "true it takes 3 inputs (x, scale, offset)"
                                : "false it takes 5 inputs (x, scale, offset, mean, variance)",
                       c.n_inputs()));
  const std::int64_t channels = channels_of(c, 0);
  for (std::size_t i = 1; i < c.n_inputs(); ++i) need_channels(c, i, 0, channels);
  c.output(c.dtype(0), c.shape(0));
  for (int i = 0; training && i < 3; ++i) c.output(c.dtype(0), Shape{channels});
}

void infer_batch_norm_gradient(InferContext& c) {
  const std::int64_t channels = channels_of(c, 0);
  for (std::size_t i = 1; i < 4; ++i) need_channels(c, i, 0, channels);
  c.need_same_dtype(0, 4);
  if (!Shape::compatible(c.shape(0), c.shape(4)))
    c.fail(c.input_text(4) + ", the incoming gradient, must have the shape of " + c.input_text(0));
  c.output(c.dtype(0), c.shape(0));
  c.output(c.dtype(0), Shape{channels});
  c.output(c.dtype(0), Shape{channels});
}

void grad_batch_norm(GradContext& c) {
  const bool training = c.attrs().flag("is_training");
  for (std::size_t i = 1; training && i < 4; ++i)
    if (c.grad(i))
      fail(Code::kUnimplemented, "'" + c.output(i).name() + "' cannot be differentiated: of a batch norm only y can");
  for (std::size_t i = 3; i < c.n_inputs(); ++i)
    if (c.wanted(i))
      fail(Code::kUnimplemented,
           "a batch norm cannot be differentiated with respect to a mean or variance that it is given");
  const Output mean = training ? c.output(1) : c.input(3), variance = training ? c.output(3) : c.input(4);
  const Output dx = c.graph()
                        .node("FusedBatchNormGrad")
                        .in({c.input(0), c.input(1), mean, variance, c.grad(0)})
                        .attr("epsilon", c.attrs().number("epsilon"))
                        .attr("data_format", c.attrs().text("data_format"))
                        .attr("is_training", training)
                        .output();
  for (std::uint32_t i = 0; i < 3; ++i)
    if (c.wanted(i)) c.set(i, dx.sibling(i));
}

// ---- kernels

BatchNormSizes sizes_of(const KernelSpec& spec) {
  const Dims& x = spec.inputs[0].dims;
  BatchNormSizes s;
  s.channels_last = image_layout(spec.attrs()).channels_last;
  s.n = x[0];
  s.c = s.channels_last ? x.back() : x[1];
  for (std::size_t i = s.channels_last ? 1 : 2; i + (s.channels_last ? 1 : 0) < x.size(); ++i) s.inner *= x[i];
  s.epsilon = spec.attrs().number("epsilon");
  return s;
}

// Computes with plain loops, channel by channel.
template <class T>
class ReferenceBatchNorm final : public BatchNorm {
 public:
  ReferenceBatchNorm(BatchNormPart part, const BatchNormSizes& sizes) : part_(part), s_(sizes) {}

  void run(void* const* tensors) override {
    const auto in = [&](std::size_t i) { return static_cast<const T*>(tensors[i]); };
    const auto out = [&](std::size_t i) { return static_cast<T*>(tensors[i]); };
    for (std::int64_t c = 0; c < s_.c; ++c) {
      if (part_ == BatchNormPart::kTraining) {
        measure(c, in(0), out(4)[c], out(5)[c]);
        normalize(c, in(0), in(1)[c], in(2)[c], out(4)[c], out(5)[c], out(3));
      } else if (part_ == BatchNormPart::kInference) {
        normalize(c, in(0), in(1)[c], in(2)[c], in(3)[c], in(4)[c], out(5));
      } else {
        differentiate(c, in(0), in(1)[c], in(2)[c], in(3)[c], in(4), out(5), out(6)[c], out(7)[c]);
      }
    }
  }

 private:
  // Calls f(place) for all elements of a channel.
  template <class F>
  void for_each(std::int64_t c, F&& f) const {
    for (std::int64_t n = 0; n < s_.n; ++n)
      for (std::int64_t i = 0; i < s_.inner; ++i)
        f(s_.channels_last ? (n * s_.inner + i) * s_.c + c : (n * s_.c + c) * s_.inner + i);
  }
  T reciprocal(T variance) const { return T(1) / std::sqrt(variance + static_cast<T>(s_.epsilon)); }
  T count() const { return static_cast<T>(std::max<std::int64_t>(s_.count(), 1)); }

  void measure(std::int64_t c, const T* x, T& mean, T& variance) const {
    T sum = 0, squares = 0;
    for_each(c, [&](std::int64_t i) { sum += x[i]; });
    mean = sum / count();
    for_each(c, [&](std::int64_t i) { squares += (x[i] - mean) * (x[i] - mean); });
    variance = squares / count();
  }
  void normalize(std::int64_t c, const T* x, T scale, T offset, T mean, T variance, T* y) const {
    const T factor = scale * reciprocal(variance);
    for_each(c, [&](std::int64_t i) { y[i] = (x[i] - mean) * factor + offset; });
  }
  void differentiate(std::int64_t c, const T* x, T scale, T mean, T variance, const T* dy, T* dx, T& dscale,
                     T& doffset) const {
    const T r = reciprocal(variance);
    T sum = 0, product = 0;
    for_each(c, [&](std::int64_t i) { sum += dy[i], product += dy[i] * (x[i] - mean) * r; });
    dscale = product;
    doffset = sum;
    const bool constant = part_ == BatchNormPart::kConstantGradient;
    const T mean_sum = constant ? T(0) : sum / count(), mean_product = constant ? T(0) : product / count();
    for_each(c, [&](std::int64_t i) { dx[i] = scale * r * (dy[i] - mean_sum - (x[i] - mean) * r * mean_product); });
  }

  BatchNormPart part_;
  BatchNormSizes s_;
};

std::unique_ptr<BatchNorm> make_batch_norm(BatchNormPart part, const KernelSpec& spec, bool relu = false) {
  BatchNormSizes s = sizes_of(spec);
  s.relu = relu;
  if (spec.inputs[0].dtype == DType::kFloat64) return std::make_unique<ReferenceBatchNorm<double>>(part, s);
  if (s.count() == 0 || s.c == 0) return std::make_unique<ReferenceBatchNorm<float>>(part, s);
  return make_onednn_batch_norm(part, s);
}

// Outputs: y, mean, variance and batch variance. The variance estimates that of the distribution (over n - 1). The
// batch variance is that of the batch itself.
template <class T>
class TrainingKernel final : public Kernel {
 public:
  explicit TrainingKernel(const KernelSpec& spec, bool relu = false)
      : norm_(make_batch_norm(BatchNormPart::kTraining, spec, relu)), channels_(spec.outputs[1].elements()) {
    const std::int64_t n = sizes_of(spec).count();
    correction_ = static_cast<T>(n > 1 ? static_cast<double>(n) / static_cast<double>(n - 1) : 1.0);
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const std::array<void*, 6> tensors{in[0], in[1], in[2], out[0], out[1], out[3]};
    norm_->run(tensors.data());
    T* corrected = output<T>(out, 2);
    const T* variance = output<T>(out, 3);
    for (std::int64_t c = 0; c < channels_; ++c) corrected[c] = variance[c] * correction_;
  }

 private:
  std::unique_ptr<BatchNorm> norm_;
  std::int64_t channels_;
  T correction_;
};

// The tensors are five inputs, then the outputs.
class PlainKernel final : public Kernel {
 public:
  PlainKernel(const KernelSpec& spec, BatchNormPart part)
      : norm_(make_batch_norm(part, spec)), n_outputs_(spec.outputs.size()) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    std::array<void*, 8> tensors;
    std::copy_n(in, 5, tensors.begin());
    std::copy_n(out, n_outputs_, tensors.begin() + 5);
    norm_->run(tensors.data());
  }

 private:
  std::unique_ptr<BatchNorm> norm_;
  std::size_t n_outputs_;
};

std::unique_ptr<Kernel> make_forward(const KernelSpec& spec) {
  if (!spec.attrs().flag("is_training")) return std::make_unique<PlainKernel>(spec, BatchNormPart::kInference);
  return make_typed<TrainingKernel>(spec);
}
std::unique_ptr<Kernel> make_gradient(const KernelSpec& spec) {
  return std::make_unique<PlainKernel>(
      spec, spec.attrs().flag("is_training") ? BatchNormPart::kGradient : BatchNormPart::kConstantGradient);
}

// ---- fused with the following activation, float32

class ActivatedTraining final : public Kernel {
 public:
  explicit ActivatedTraining(const KernelSpec& spec)
      : norm_(spec),
        activation_(*fused_activation(spec.members.back()->op->name)),
        n_(spec.outputs[0].elements()),
        threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext& context) override {
    norm_.run(in, out, context);
    activation_.apply_to_all(output<float>(out, 0), n_, threads_);
  }

 private:
  TrainingKernel<float> norm_;
  FusedActivation activation_;
  std::int64_t n_;
  int threads_;
};

// oneDNN's relu costs nothing, but turns NaN into 0. The result has a NaN only if a number of its channel is not
// finite. Then the step is repeated by the separate operations.
class ReluTraining final : public Kernel {
 public:
  explicit ReluTraining(const KernelSpec& spec)
      : fast_(spec, true), careful_(spec), channels_(spec.outputs[1].elements()) {}
  void run(void* const* in, void* const* out, const KernelContext& context) override {
    fast_.run(in, out, context);
    const float* const numbers[] = {input<float>(in, 1), input<float>(in, 2), output<float>(out, 1),
                                    output<float>(out, 3)};
    for (const float* of : numbers)
      if (!std::all_of(of, of + channels_, [](float v) { return std::isfinite(v); }))
        return careful_.run(in, out, context);
  }

 private:
  TrainingKernel<float> fast_;
  ActivatedTraining careful_;
  std::int64_t channels_;
};

// Processes a few images at a time, so that the activation finds them in a cache.
class ActivatedInference final : public Kernel {
 public:
  explicit ActivatedInference(const KernelSpec& spec)
      : activation_(*fused_activation(spec.members.back()->op->name)), threads_(spec.threads) {
    const BatchNormSizes s = sizes_of(spec);
    n_ = s.n;
    each_ = s.c * s.inner;
    part_ = std::clamp<std::int64_t>(kCacheElements * threads_ / (each_ + 1), 1, std::max<std::int64_t>(n_, 1));
    whole_ = make_part(spec, part_);
    if (n_ % part_ != 0) rest_ = make_part(spec, n_ % part_);
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    for (std::int64_t first = 0; first < n_; first += part_) {
      const std::int64_t n = std::min(part_, n_ - first);
      float* y = output<float>(out, 0) + first * each_;
      const std::array<void*, 6> tensors{static_cast<float*>(in[0]) + first * each_, in[1], in[2], in[3], in[4], y};
      (n == part_ ? whole_ : rest_)->run(tensors.data());
      activation_.apply_to_all(y, n * each_, threads_);
    }
  }

 private:
  static constexpr std::int64_t kCacheElements = 1 << 16;  // for each processor: 256 kB

  static std::unique_ptr<BatchNorm> make_part(KernelSpec spec, std::int64_t n) {
    spec.inputs[0].dims[0] = n;
    return make_batch_norm(BatchNormPart::kInference, spec);
  }

  FusedActivation activation_;
  int threads_;
  std::int64_t n_ = 0, each_ = 0, part_ = 1;
  std::unique_ptr<BatchNorm> whole_, rest_;
};

std::unique_ptr<Kernel> make_activated(const KernelSpec& spec) {
  if (!spec.attrs().flag("is_training")) return std::make_unique<ActivatedInference>(spec);
  const bool relu = spec.members.back()->op->name == "Relu" && spec.outputs[0].elements() != 0;
  if (relu) return std::make_unique<ReluTraining>(spec);
  return std::make_unique<ActivatedTraining>(spec);
}

}  // namespace

namespace {

std::vector<AttrDef> batch_norm_attrs() {
  return {float_attr("epsilon", "added to the variance").above(0).defaults_to(1e-3), data_format_attr(),
          bool_attr("is_training", "with the statistics of the batch").defaults_to(true)};
}

}  // namespace

void add_batch_norm_ops(OpRegistry& r) {
  r.add({.name = "FusedBatchNorm",
         .doc =
             "(x - mean) / sqrt(variance + `epsilon`) * scale + offset for each channel, the last dimension or that "
             "of `data_format`. Inputs x, scale, offset. With `is_training` mean and variance are those of the batch "
             "and outputs 1 and 2 (over n - 1), output 3 is the variance over n; without it they are inputs.",
         .inputs = "x, scale, offset, statistics...",
         .dtypes = "floats",
         .n_inputs = -1,
         .attrs = batch_norm_attrs(),
         .infer = infer_batch_norm,
         .gradient = grad_batch_norm,
         .kernel = make_forward,
         .fused_kernel = make_activated});
  r.add({.name = "FusedBatchNormGrad",
         .doc = "The gradients of FusedBatchNorm for x, scale and offset, by x, scale, mean, variance (over n) and "
                "the incoming gradient.",
         .inputs = "x, scale, mean, variance, dy",
         .dtypes = "floats",
         .n_inputs = 5,
         .attrs = batch_norm_attrs(),
         .infer = infer_batch_norm_gradient,
         .kernel = make_gradient});
}

}  // namespace belay::runtime
