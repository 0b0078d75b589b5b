// SPDX-License-Identifier: Apache-2.0
// Pooling of images [batch, height, width, channels] (NCHW: [batch, channels, height, width]), float32 or float64,
// channel by channel. windows.h has the number of windows of an axis.
//
//   Output y = ops::max_pool2d(x, 2);                                     // halves height and width
//   Output z = ops::avg_pool2d(x, 3, {.strides = 1, .padding = "SAME"});  // keeps them
#pragma once

#include <string_view>

#include "belay/graph.h"
#include "belay/ops/defaults.h"
#include "belay/ops/reductions.h"
#include "belay/ops/windows.h"

namespace belay {
inline namespace v0 {
namespace ops {

// These are like WindowOptions, but the strides default to the window's size and there are no dilations.
struct PoolOptions {
  // 0: the window's size, so windows touch and do not overlap.
  HeightWidth strides = detail_defaults::value(&PoolOptions::strides, 0);
  // "VALID" leaves out elements that do not fill a window. "SAME" and "EXPLICIT" are as in WindowOptions. Padding is
  // never the maximum.
  std::string_view padding = detail_defaults::value(&PoolOptions::padding, "VALID");
  // Padding at the top, bottom, left and right; less than the window.
  std::array<std::int64_t, 4> explicit_paddings = detail_defaults::value(&PoolOptions::explicit_paddings, {0, 0, 0, 0});
  // The order of dimensions: "NHWC", or "NCHW", which is slower because the kernel computes the channels of a pixel
  // together.
  std::string_view data_format = detail_defaults::value(&PoolOptions::data_format, "NHWC");
};

namespace detail_pooling {

inline Output pool(const char* op, const Output& x, const HeightWidth& size, const PoolOptions& options,
                   std::string_view name) {
  WindowOptions window;
  window.strides = {options.strides.height == 0 ? size.height : options.strides.height,
                    options.strides.width == 0 ? size.width : options.strides.width};
  window.padding = options.padding;
  window.explicit_paddings = options.explicit_paddings;
  window.data_format = options.data_format;
  NodeBuilder node = x.graph().node(op, name).in(x).attr("ksize", detail_windows::per_dimension(size, window));
  return detail_windows::add_window_options(node, window).output();
}

}  // namespace detail_pooling

// The largest element of each window; NaN if any element is NaN. sibling(1) is its place in the window: row * width +
// column, the first of equal elements. It is uint8, or int32 for windows of more than 256 elements. The gradient passes
// to that element; sibling(1) has none.
inline Output max_pool2d(const Output& x, const HeightWidth& size, const PoolOptions& options = {},
                         std::string_view name = {}) {
  return detail_pooling::pool("MaxPool", x, size, options, name);
}
// The mean of each window. Padding counts neither as an element nor in their number (TensorFlow's rule; others divide
// by the whole window). It has gradients of any order.
inline Output avg_pool2d(const Output& x, const HeightWidth& size, const PoolOptions& options = {},
                         std::string_view name = {}) {
  return detail_pooling::pool("AvgPool", x, size, options, name);
}
// The mean of each channel over height and width: [batch, channels]. It replaces flatten before the last dense layer
// (Lin et al. 2014, Network in network).
inline Output global_avg_pool2d(const Output& x, std::string_view data_format = "NHWC", std::string_view name = {}) {
  return reduce_mean(x, data_format == "NCHW" ? Axes{2, 3} : Axes{1, 2}, false, name);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
