// SPDX-License-Identifier: Apache-2.0
// Pooling of images [batch, height, width, channels] (NCHW: [batch, channels, height, width]), float32 or float64,
// channel by channel; windows.h says how many windows an axis has.
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

// As WindowOptions, but the strides default to the window's size and there are no dilations.
struct PoolOptions {
  // 0: the window's size, so that windows touch and none overlap.
  HeightWidth strides = detail_defaults::value(&PoolOptions::strides, 0);
  // "VALID" leaves out what does not fill a window; "SAME" and "EXPLICIT" as in WindowOptions. Padding never wins a
  // maximum.
  std::string_view padding = detail_defaults::value(&PoolOptions::padding, "VALID");
  // At the top, bottom, left and right; less than the window.
  std::array<std::int64_t, 4> explicit_paddings = detail_defaults::value(&PoolOptions::explicit_paddings, {0, 0, 0, 0});
  // Or "NCHW", which is slower: the channels of a pixel are what is computed side by side.
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

// The largest of each window, NaN where any element is NaN; sibling(1) is where in the window it is (row * width +
// column; uint8, int32 for windows of more than 256 elements), the first of equal ones. The gradient goes to that
// element; it has none itself.
inline Output max_pool2d(const Output& x, const HeightWidth& size, const PoolOptions& options = {},
                         std::string_view name = {}) {
  return detail_pooling::pool("MaxPool", x, size, options, name);
}
// The mean of each window; padding does not count, neither as an element nor in their number (TensorFlow's rule; others
// divide by the whole window). Gradients of any order.
inline Output avg_pool2d(const Output& x, const HeightWidth& size, const PoolOptions& options = {},
                         std::string_view name = {}) {
  return detail_pooling::pool("AvgPool", x, size, options, name);
}
// The mean of each channel over height and width: [batch, channels], which replaces flatten before the last dense layer
// (Lin et al. 2014, Network in network).
inline Output global_avg_pool2d(const Output& x, std::string_view data_format = "NHWC", std::string_view name = {}) {
  return reduce_mean(x, data_format == "NCHW" ? Axes{2, 3} : Axes{1, 2}, false, name);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
