// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "belay/error.h"
#include "runtime/ops/kernels/onednn_call.h"
#include "runtime/ops/kernels/onednn_primitives.h"
#include "runtime/ops/nn/batch_norm.h"

namespace belay::runtime {
namespace {

using Desc = dnnl::memory::desc;
using Flags = dnnl::normalization_flags;
using Forward = dnnl::batch_normalization_forward;
using Backward = dnnl::batch_normalization_backward;

class OnednnBatchNorm final : public BatchNorm {
 public:
  OnednnBatchNorm(BatchNormPart part, const BatchNormSizes& s)
      : gradient_(part == BatchNormPart::kGradient || part == BatchNormPart::kConstantGradient),
        call_("batch normalization"),
        x_({s.n, s.c, s.inner, 1}, dnnl::memory::data_type::f32,
           s.channels_last ? dnnl::memory::format_tag::nhwc : dnnl::memory::format_tag::nchw),
        channels_({s.c}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::x),
        epsilon_(static_cast<float>(s.epsilon)) {
    attr_.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    switch (part) {
      case BatchNormPart::kTraining: prepare_forward(false, s.relu); break;
      case BatchNormPart::kInference: prepare_forward(true, false); break;
      case BatchNormPart::kGradient: prepare_gradient(false); break;
      case BatchNormPart::kConstantGradient: prepare_gradient(true); break;
    }
  }
  void run(void* const* tensors) override {
    if (!gradient_ || !onednn::kGradientTakesShift) return call_.run(tensors);
    // Our tensors have no shift, so the scale takes its place.
    void* with_shift[9];
    std::copy_n(tensors, 2, with_shift);
    with_shift[2] = tensors[1];
    std::copy_n(tensors + 2, 6, with_shift + 3);
    call_.run(with_shift);
  }

 private:
  static Flags flags(bool given) {
    const Flags flags = Flags::use_scale | Flags::use_shift;
    return given ? flags | Flags::use_global_stats : flags;
  }
  void input(int id, const Desc& desc) { call_.add_input(id, desc, desc); }
  void output(int id, const Desc& desc) { call_.add_output(id, desc, desc); }

  // `given`: mean and variance are inputs.
  void prepare_forward(bool given, bool relu) {
    const auto kind = given ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training;
    const Flags all = relu ? flags(given) | Flags::fuse_norm_relu : flags(given);
    const Forward::primitive_desc p = onednn::batch_norm(call_.engine(), kind, x_, epsilon_, all, attr_);
    call_.set<Forward>(p);
    input(DNNL_ARG_SRC, x_);
    input(DNNL_ARG_SCALE, channels_);
    input(DNNL_ARG_SHIFT, channels_);
    if (given) {
      input(DNNL_ARG_MEAN, channels_);
      input(DNNL_ARG_VARIANCE, channels_);
    }
    output(DNNL_ARG_DST, x_);
    if (!given) {
      output(DNNL_ARG_MEAN, channels_);
      output(DNNL_ARG_VARIANCE, channels_);
    }
    if (!relu) return;
    positive_ = dnnl::memory(p.workspace_desc(), call_.engine());
    call_.add(DNNL_ARG_WORKSPACE, positive_);
  }
  void prepare_gradient(bool given) {
    const auto kind = dnnl::prop_kind::forward_training;
    const Forward::primitive_desc hint = onednn::batch_norm(call_.engine(), kind, x_, epsilon_, flags(given), attr_);
    const Backward::primitive_desc p =
        onednn::batch_norm_gradient(call_.engine(), x_, epsilon_, flags(given), hint, attr_);
    call_.set<Backward>(p);
    input(DNNL_ARG_SRC, x_);
    input(DNNL_ARG_SCALE, channels_);
    if (onednn::kGradientTakesShift) input(DNNL_ARG_SHIFT, channels_);
    input(DNNL_ARG_MEAN, channels_);
    input(DNNL_ARG_VARIANCE, channels_);
    input(DNNL_ARG_DIFF_DST, x_);
    output(DNNL_ARG_DIFF_SRC, x_);
    output(DNNL_ARG_DIFF_SCALE, channels_);
    output(DNNL_ARG_DIFF_SHIFT, channels_);
  }

  const bool gradient_;
  OnednnPlainCall call_;
  Desc x_, channels_;
  float epsilon_;
  dnnl::memory positive_;  // marks positive elements, for the library's gradient of a relu
  dnnl::primitive_attr attr_;
};

}  // namespace

std::unique_ptr<BatchNorm> make_onednn_batch_norm(BatchNormPart part, const BatchNormSizes& sizes) {
  try {
    return std::make_unique<OnednnBatchNorm>(part, sizes);
  } catch (const dnnl::error& e) {
    fail_onednn(fmt::format("batch normalization of {} x {} elements", sizes.count(), sizes.c), e);
  }
}

}  // namespace belay::runtime
