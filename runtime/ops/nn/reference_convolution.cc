// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/ops/nn/convolution.h"

namespace belay::runtime {
namespace {

// Loops over all multiplications of a convolution, for any layout of images in memory.
template <class T>
class ReferenceConvolution final : public Convolution {
 public:
  ReferenceConvolution(ConvolutionPart part, const ConvolutionSizes& sizes, bool bias)
      : part_(part), s_(sizes), bias_(bias) {}

  void run(void* const* tensors) override {
    const auto in = [&](std::size_t i) { return static_cast<const T*>(tensors[i]); };
    const auto out = [&](std::size_t i) { return static_cast<T*>(tensors[i]); };
    switch (part_) {
      case ConvolutionPart::kForward: return forward(in(0), in(1), bias_ ? in(2) : nullptr, out(bias_ ? 3 : 2));
      case ConvolutionPart::kInputGradient: return input_gradient(in(0), in(1), out(2));
      case ConvolutionPart::kFilterGradient: return filter_gradient(in(0), in(1), out(2));
    }
  }

 private:
  // The place of channel 0 of a pixel, and the distance between channels.
  struct Pixels {
    std::int64_t n, h, w, c;
    Pixels(const ImageDims& d, bool channels_last)
        : n(d.h * d.w * d.c),
          h(channels_last ? d.w * d.c : d.w),
          w(channels_last ? d.c : 1),
          c(channels_last ? 1 : d.h * d.w) {}
    std::int64_t at(std::int64_t image, std::int64_t row, std::int64_t column) const {
      return image * n + row * h + column * w;
    }
  };

  // Calls f(place in x, place in y, place in the filter) for each pair of pixels that a tap of the filter joins.
  template <class F>
  void for_each_tap(F&& f) const {
    const WindowAxis &h = s_.windows.height, &w = s_.windows.width;
    for (std::int64_t n = 0; n < s_.x.n; ++n)
      for (std::int64_t oh = 0; oh < h.output; ++oh)
        for (std::int64_t ow = 0; ow < w.output; ++ow)
          for (std::int64_t kh = 0; kh < h.size; ++kh)
            for (std::int64_t kw = 0; kw < w.size; ++kw) {
              const std::int64_t row = h.begin(oh) + kh * h.dilation, column = w.begin(ow) + kw * w.dilation;
              if (row < 0 || row >= h.input || column < 0 || column >= w.input) continue;
              f(x_.at(n, row, column), y_.at(n, oh, ow), (kh * w.size + kw) * s_.x.c * s_.y.c);
            }
  }

  void forward(const T* x, const T* filter, const T* bias, T* y) const {
    for (std::int64_t n = 0; n < s_.y.n; ++n)
      for (std::int64_t oh = 0; oh < s_.y.h; ++oh)
        for (std::int64_t ow = 0; ow < s_.y.w; ++ow)
          for (std::int64_t o = 0; o < s_.y.c; ++o) y[y_.at(n, oh, ow) + o * y_.c] = bias == nullptr ? T(0) : bias[o];
    for_each_tap([&](std::int64_t from, std::int64_t to, std::int64_t tap) {
      for (std::int64_t i = 0; i < s_.x.c; ++i)
        for (std::int64_t o = 0; o < s_.y.c; ++o) y[to + o * y_.c] += x[from + i * x_.c] * filter[tap + i * s_.y.c + o];
    });
  }
  void input_gradient(const T* filter, const T* dy, T* dx) const {
    std::fill_n(dx, s_.x.n * x_.n, T(0));
    for_each_tap([&](std::int64_t to, std::int64_t from, std::int64_t tap) {
      for (std::int64_t i = 0; i < s_.x.c; ++i) {
        T sum = 0;
        for (std::int64_t o = 0; o < s_.y.c; ++o) sum += dy[from + o * y_.c] * filter[tap + i * s_.y.c + o];
        dx[to + i * x_.c] += sum;
      }
    });
  }
  void filter_gradient(const T* x, const T* dy, T* dfilter) const {
    std::fill_n(dfilter, s_.filter_elements(), T(0));
    for_each_tap([&](std::int64_t a, std::int64_t b, std::int64_t tap) {
      for (std::int64_t i = 0; i < s_.x.c; ++i)
        for (std::int64_t o = 0; o < s_.y.c; ++o) dfilter[tap + i * s_.y.c + o] += x[a + i * x_.c] * dy[b + o * y_.c];
    });
  }

  ConvolutionPart part_;
  ConvolutionSizes s_;
  bool bias_;
  Pixels x_{s_.x, s_.windows.layout.channels_last};
  Pixels y_{s_.y, s_.windows.layout.channels_last};
};

}  // namespace

std::unique_ptr<Convolution> make_reference_convolution(ConvolutionPart part, const ConvolutionSizes& sizes, bool bias,
                                                        DType dtype) {
  if (dtype == DType::kFloat32) return std::make_unique<ReferenceConvolution<float>>(part, sizes, bias);
  return std::make_unique<ReferenceConvolution<double>>(part, sizes, bias);
}

}  // namespace belay::runtime
