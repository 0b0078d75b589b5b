// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <string>

#include "belay/error.h"
#include "runtime/ops/kernels/onednn_call.h"
#include "runtime/ops/kernels/onednn_primitives.h"
#include "runtime/ops/nn/convolution.h"

namespace belay::runtime {
namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;
using Dims = dnnl::memory::dims;

// oneDNN counts dilation from 0 and lists dimensions as NCHW and OIHW, whatever their order in memory.
onednn::Windows geometry(const Windows& w) {
  return {{w.height.stride, w.width.stride},
          {w.height.dilation - 1, w.width.dilation - 1},
          {w.height.before, w.width.before},
          {w.height.after, w.width.after}};
}

class OnednnConvolution final : public Convolution {
 public:
  OnednnConvolution(ConvolutionPart part, const ConvolutionSizes& s, bool bias, Precision precision,
                    const Version* filter_version)
      : call_("convolution"),
        filter_version_(filter_version),
        factor_(precision == Precision::kBfloat16 ? Type::bf16 : Type::f32),
        x_{s.x.n, s.x.c, s.x.h, s.x.w},
        y_{s.y.n, s.y.c, s.y.h, s.y.w},
        filter_{s.y.c, s.x.c, s.windows.height.size, s.windows.width.size},
        plain_(s.windows.layout.channels_last ? Tag::nhwc : Tag::nchw),
        geometry_(geometry(s.windows)) {
    if (bias) bias_ = Desc({s.y.c}, Type::f32, Tag::x);
    attr_.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    switch (part) {
      case ConvolutionPart::kForward: prepare_forward(); break;
      case ConvolutionPart::kInputGradient: prepare_input_gradient(); break;
      case ConvolutionPart::kFilterGradient: prepare_filter_gradient(); break;
    }
  }
  void run(void* const* tensors) override { call_.run(tensors); }

 private:
  using Forward = dnnl::convolution_forward;
  using BackwardData = dnnl::convolution_backward_data;
  using BackwardWeights = dnnl::convolution_backward_weights;

  // `result` is the type of y.
  Forward::primitive_desc forward(Type result) const {
    return onednn::convolution(call_.engine(), image(x_, factor_), any_filter(factor_), bias_, image(y_, result),
                               geometry_, attr_);
  }
  void prepare_forward() {
    const Forward::primitive_desc p = forward(Type::f32);
    call_.set<Forward>(p);
    call_.add_input(DNNL_ARG_SRC, plain(x_), p.src_desc());
    call_.add_input(DNNL_ARG_WEIGHTS, plain_filter(), p.weights_desc(), filter_version_);
    if (!bias_.is_zero()) call_.add_input(DNNL_ARG_BIAS, bias_, bias_);
    call_.add_output(DNNL_ARG_DST, plain(y_), p.dst_desc());
  }
  void prepare_input_gradient() {
    const BackwardData::primitive_desc p =
        onednn::convolution_gradient<BackwardData>(call_.engine(), image(x_, Type::f32), any_filter(factor_),
                                                   image(y_, factor_), geometry_, forward(factor_), attr_);
    call_.set<BackwardData>(p);
    call_.add_input(DNNL_ARG_WEIGHTS, plain_filter(), p.weights_desc(), filter_version_);
    call_.add_input(DNNL_ARG_DIFF_DST, plain(y_), p.diff_dst_desc());
    call_.add_output(DNNL_ARG_DIFF_SRC, plain(x_), p.diff_src_desc());
  }
  void prepare_filter_gradient() {
    // A tile has a row for each of 16 channels of x. It is no faster than float32 if nearly all rows are empty.
    const bool tiles = factor_ == Type::bf16 && onednn::has_tiles();
    if (tiles && x_[1] < 4) factor_ = Type::f32;
    const BackwardWeights::primitive_desc p = onednn::convolution_gradient<BackwardWeights>(
        call_.engine(), image(x_, factor_), any_filter(Type::f32), image(y_, factor_), geometry_, forward(factor_),
        attr_, outruns_scratch() ? "1x1" : nullptr);
    call_.set<BackwardWeights>(p);
    call_.add_input(DNNL_ARG_SRC, plain(x_), p.src_desc());
    call_.add_input(DNNL_ARG_DIFF_DST, plain(y_), p.diff_dst_desc());
    call_.add_output(DNNL_ARG_DIFF_WEIGHTS, plain_filter(), p.diff_weights_desc());
  }

  // oneDNN 2.6 fails in the filter gradient of points whose strides leave out pixels. It copies whole registers of
  // channels to scratch memory with room only for the channels. That overwrites the memory after it. With two threads
  // the threads wait for each other there, and they wait for ever. This was seen with AVX2 below 8 channels, and with
  // AVX-512 below 16.
  bool outruns_scratch() const {
    const bool point = filter_[2] == 1 && filter_[3] == 1;
    return point && (geometry_.strides[0] > 1 || geometry_.strides[1] > 1) && x_[1] < 16;
  }

  // The layouts of the primitive, and those of the caller.
  static Desc image(const Dims& dims, Type type) { return Desc(dims, type, Tag::nhwc); }
  Desc any_filter(Type type) const { return Desc(filter_, type, Tag::any); }
  Desc plain(const Dims& dims) const { return Desc(dims, Type::f32, plain_); }
  Desc plain_filter() const { return Desc(filter_, Type::f32, Tag::hwio); }

  OnednnPlainCall call_;
  const Version* filter_version_;
  Type factor_;  // type of the factors
  Dims x_, y_, filter_;
  Tag plain_;
  Desc bias_;  // zero if there is no bias
  onednn::Windows geometry_;
  dnnl::primitive_attr attr_;
};

}  // namespace

std::unique_ptr<Convolution> make_onednn_convolution(ConvolutionPart part, const ConvolutionSizes& sizes, bool bias,
                                                     Precision precision, const Version* filter_version) {
  try {
    return std::make_unique<OnednnConvolution>(part, sizes, bias, precision, filter_version);
  } catch (const dnnl::error& e) {
    fail_onednn(fmt::format("convolution of {} x {} x {} by {} x {} to {} channels", sizes.x.h, sizes.x.w, sizes.x.c,
                            sizes.windows.height.size, sizes.windows.width.size, sizes.y.c),
                e);
  }
}

}  // namespace belay::runtime
