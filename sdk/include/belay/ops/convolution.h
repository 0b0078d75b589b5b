// SPDX-License-Identifier: Apache-2.0
// Convolutions of images, and the convolutional layer. float32 and float64. oneDNN computes float32. Its kernel
// includes a bias, an activation (relu, sigmoid, tanh) and, after a relu, a max pooling that follow.
//
//                                                                      x  [batch, 28, 28, 1]
//   Output y = ops::conv2d(x, 32, 5, {.window = {.padding = "SAME"},
//                                     .activation = ops::Activation::kRelu});   [batch, 28, 28, 32]
//   Output z = ops::max_pool2d(y, 2);                                           [batch, 14, 14, 32]
//
// As is usual in this field, "convolution" is a cross-correlation: the filter is not mirrored.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "belay/ops/activations.h"
#include "belay/ops/defaults.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/random.h"
#include "belay/ops/shape.h"
#include "belay/ops/variables.h"
#include "belay/ops/windows.h"

namespace belay {
inline namespace v0 {
namespace ops {

// Filters images [batch, height, width, channels] (NCHW: [batch, channels, height, width]) with a filter [height,
// width, in channels, out channels]. The result is [batch, height', width', out channels]; windows.h has the sizes.
// Both have one dtype. The images' channels must equal the filter's in channels (there are no groups). It has gradients
// of any order.
//
//   y[b, i, j, o] = sum over u, v, c of x[b, i * stride + u * dilation - before, j * ..., c] * filter[u, v, c, o]
//
// This costs batch * height' * width' * height * width * in * out multiplications, and twice that for both gradients.
inline Output convolve2d(const Output& x, const Output& filter, const WindowOptions& window = {},
                         std::string_view name = {}) {
  NodeBuilder node = x.graph().node("Conv2D", name).in(x).in(filter);
  return detail_windows::add_window_options(node, window).output();
}

// Adds one number per channel to images: bias [channels], of known size with NCHW. Only window.data_format is read.
inline Output bias_add_image(const Output& x, const Output& bias, const WindowOptions& window = {}) {
  return window.channels_last() ? bias_add(x, bias) : x + reshape(bias, {bias.dim(0), 1, 1});
}

// Options of a convolutional layer. The defaults are those of tf.layers.conv2d (padding VALID, no activation, a bias),
// or those of a scope (defaults.h).
struct Conv2dOptions {
  // Strides, dilations, padding and the order of dimensions.
  WindowOptions window = detail_defaults::value(&Conv2dOptions::window, {});
  // The function that is applied after the bias.
  Activation activation = detail_defaults::value(&Conv2dOptions::activation, Activation::kNone);
  // Called once with graph, dims [height, width, in, out] and dtype; empty: glorot_uniform.
  std::function<Output(const Graph&, const Dims&, DType)> kernel_initializer =
      detail_defaults::value(&Conv2dOptions::kernel_initializer, nullptr);
  // If true, the layer has a bias, initially 0. If false, there is no variable "<name>/bias". Use false before a batch
  // norm, which has an offset.
  bool use_bias = detail_defaults::value(&Conv2dOptions::use_bias, true);
  // The scope of the layer. A second layer of this name is "conv2d_1".
  std::string_view name = "conv2d";
};

// activation(x convolved with a kernel + bias). Its trainable variables are "<name>/kernel" [height, width, channels,
// filters] and "<name>/bias" [filters], initially 0, of the dtype of x. The name is made unique. The number of channels
// must be known; batch, height and width need not be. INVALID_ARGUMENT, with the layer's name: x, filters or
// kernel_size is wrong.
inline Output conv2d(const Output& x, std::int64_t filters, const HeightWidth& kernel_size,
                     const Conv2dOptions& options = {}) {
  const std::string who = "conv2d '" + std::string(options.name) + "': ";
  const std::int64_t channels = x.rank() == 4 ? x.dim(options.window.channels_last() ? 3 : 1) : -1;
  if (channels < 0)
    fail(Code::kInvalidArgument,
         who + x.text() + " must be images [batch, " +
             (options.window.channels_last() ? "height, width, channels" : "channels, height, width") +
             "] whose channels are known; use ops::reshape");
  if (filters < 1) fail(Code::kInvalidArgument, who + "filters must be at least 1, got " + std::to_string(filters));
  if (kernel_size.height < 1 || kernel_size.width < 1)
    fail(Code::kInvalidArgument, who + "the kernel must be at least 1 x 1, got " + std::to_string(kernel_size.height) +
                                     " x " + std::to_string(kernel_size.width));
  const Graph g = x.graph();
  const auto scope = g.scope(options.name);
  const Dims dims{kernel_size.height, kernel_size.width, channels, filters};
  const Output initial =
      options.kernel_initializer ? options.kernel_initializer(g, dims, x.dtype()) : glorot_uniform(g, dims, x.dtype());
  Output y = convolve2d(x, variable(g, "kernel", initial), options.window);
  if (options.use_bias) y = bias_add_image(y, variable(g, "bias", zeros(g, {filters}, x.dtype())), options.window);
  return activate(y, options.activation);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
