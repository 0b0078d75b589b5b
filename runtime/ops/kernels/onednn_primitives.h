// SPDX-License-Identifier: Apache-2.0
// The differences between oneDNN 2 and oneDNN 3: how to describe a primitive, and which processors have tiles. Version
// 2 first takes a description of the operation. Version 3 takes the engine and the tensors at once. The calculation is
// the same. Only sources of kernels include this header, since it includes oneDNN's.
//
// Each function throws dnnl::error if oneDNN has no such primitive. Attributes come last.
#pragma once

#include <dnnl_version.h>

#include <dnnl.hpp>
#include <string_view>

namespace belay::runtime::onednn {

using Attributes = dnnl::primitive_attr;
using Desc = dnnl::memory::desc;

// The windows of a convolution, height before width. A dilation of 0 leaves out nothing.
struct Windows {
  dnnl::memory::dims strides, dilations, before, after;
};

// True if the processor multiplies bfloat16 in tiles (AMX), and oneDNN may use them.
inline bool has_tiles() {
  constexpr int kTiles = static_cast<int>(dnnl::cpu_isa::avx512_core_amx);
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & kTiles) == kTiles;
}

// Describes c = a b, with + bias if that is not empty.
inline dnnl::matmul::primitive_desc matmul(const dnnl::engine& engine, const Desc& a, const Desc& b, const Desc& bias,
                                           const Desc& c, const Attributes& attributes = {}) {
#if DNNL_VERSION_MAJOR >= 3
  if (bias.is_zero()) return {engine, a, b, c, attributes};
  return {engine, a, b, bias, c, attributes};
#else
  using Operation = dnnl::matmul::desc;
  return {bias.is_zero() ? Operation(a, b, c) : Operation(a, b, bias, c), attributes, engine};
#endif
}

// Describes y of x and the filter, in training, with + bias if that is not empty.
inline dnnl::convolution_forward::primitive_desc convolution(const dnnl::engine& engine, const Desc& x,
                                                             const Desc& filter, const Desc& bias, const Desc& y,
                                                             const Windows& w, const Attributes& attributes = {}) {
  constexpr auto kind = dnnl::prop_kind::forward_training;
  constexpr auto method = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  if (bias.is_zero())
    return {engine, kind, method, x, filter, y, w.strides, w.dilations, w.before, w.after, attributes};
  return {engine, kind, method, x, filter, bias, y, w.strides, w.dilations, w.before, w.after, attributes};
#else
  using Operation = dnnl::convolution_forward::desc;
  return {bias.is_zero() ? Operation(kind, method, x, filter, y, w.strides, w.dilations, w.before, w.after)
                         : Operation(kind, method, x, filter, bias, y, w.strides, w.dilations, w.before, w.after),
          attributes, engine};
#endif
}

// Describes a gradient of a convolution. Primitive is dnnl::convolution_backward_data for x, and
// dnnl::convolution_backward_weights for the filter. `forward` is the primitive that it belongs to. An
// implementation whose name has `without` is not taken, unless oneDNN has no other; null: all may be taken.
//
// oneDNN 2 reads the operation's description again when it looks for the next implementation. So that is done here,
// while the description lives, and next_impl() of the result must not be called.
template <class Primitive>
typename Primitive::primitive_desc convolution_gradient(const dnnl::engine& engine, const Desc& x, const Desc& filter,
                                                        const Desc& y, const Windows& w,
                                                        const dnnl::convolution_forward::primitive_desc& forward,
                                                        const Attributes& attributes = {},
                                                        const char* without = nullptr) {
  using Description = typename Primitive::primitive_desc;
  constexpr auto method = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  Description found(engine, method, x, filter, y, w.strides, w.dilations, w.before, w.after, forward, attributes);
#else
  const typename Primitive::desc operation(method, x, filter, y, w.strides, w.dilations, w.before, w.after);
  Description found(operation, attributes, engine, forward);
#endif
  if (without == nullptr) return found;
  while (std::string_view(found.impl_info_str()).find(without) != std::string_view::npos && found.next_impl()) {
  }
  return found;
}

// y has the sizes and the layout of x.
inline dnnl::batch_normalization_forward::primitive_desc batch_norm(const dnnl::engine& engine, dnnl::prop_kind kind,
                                                                    const Desc& x, float epsilon,
                                                                    dnnl::normalization_flags flags,
                                                                    const Attributes& attributes = {}) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, kind, x, x, epsilon, flags, attributes};
#else
  return {{kind, x, epsilon, flags}, attributes, engine};
#endif
}

// True if a gradient takes the shift (DNNL_ARG_SHIFT), although it does not use its value. Version 2 refuses to run
// without it. Some of version 3 refuse to run with it.
inline constexpr bool kGradientTakesShift = DNNL_VERSION_MAJOR < 3;

// Describes the gradients of x, the scale and the shift.
inline dnnl::batch_normalization_backward::primitive_desc batch_norm_gradient(
    const dnnl::engine& engine, const Desc& x, float epsilon, dnnl::normalization_flags flags,
    const dnnl::batch_normalization_forward::primitive_desc& forward, const Attributes& attributes = {}) {
  constexpr auto kind = dnnl::prop_kind::backward;
#if DNNL_VERSION_MAJOR >= 3
  return {engine, kind, x, x, x, epsilon, flags, forward, attributes};
#else
  return {{kind, x, x, epsilon, flags}, attributes, engine, forward};
#endif
}

}  // namespace belay::runtime::onednn
