// SPDX-License-Identifier: Apache-2.0
// Windows that slide over images, for convolutions and pooling. Take an axis of size n, windows of k elements at
// distance dilation, and p elements of padding in all. It has
//
//    floor((n + p - ((k - 1) * dilation + 1)) / stride) + 1 results.       SAME: ceil(n / stride)
//
//   n    k   stride   padding          results
//   28   5   1        VALID            24
//   28   5   1        SAME             28        2 elements on each side
//   28   3   2        SAME             14        none before, 1 after
//   28   2   2        VALID            14
//   28   3   1        VALID, dilation 2    24    each window reaches over 5
//
// SAME splits the padding evenly; an odd element is at the bottom and right, as in TensorFlow.
//
//   ops::WindowOptions w = {.strides = 2, .padding = "SAME"};     28 x 28 -> 14 x 14
//   ops::WindowOptions w = {.strides = {1, 2}};                   every row, every second column
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

// A size in both directions, or one for each: 3 or {3, 5}, height first.
struct HeightWidth {
  std::int64_t height;
  std::int64_t width;
  // It is implicit, so a 3 can be passed.
  HeightWidth(std::int64_t both) : height(both), width(both) {}  // NOLINT: 3 is {3, 3}
  HeightWidth(std::int64_t h, std::int64_t w) : height(h), width(w) {}
};

// Options of windows. INVALID_ARGUMENT from the function that gets them: an unknown padding or format, a stride below
// 1, or a window larger than the padded image.
struct WindowOptions {
  // Steps from one window to the next, in elements; at least 1.
  HeightWidth strides = 1;
  // Distance between the elements of a window; 1: they are neighbours. Convolutions only.
  HeightWidth dilations = 1;
  // "VALID": none. "SAME": a size of n becomes ceil(n / stride). "EXPLICIT": explicit_paddings.
  std::string_view padding = "VALID";
  // For "EXPLICIT": elements at the top, bottom, left and right, none negative.
  std::array<std::int64_t, 4> explicit_paddings = {0, 0, 0, 0};
  // The order of an image tensor's dimensions: "NHWC", which is faster here, or "NCHW".
  std::string_view data_format = "NHWC";

  // True if channels are the last dimension, false if they are the second.
  bool channels_last() const { return data_format != "NCHW"; }
};

namespace detail_windows {

// One number for each dimension of an image tensor.
inline std::vector<std::int64_t> per_dimension(const HeightWidth& size, const WindowOptions& options) {
  if (options.channels_last()) return {1, size.height, size.width, 1};
  return {1, 1, size.height, size.width};
}

inline NodeBuilder& add_window_options(NodeBuilder& node, const WindowOptions& o) {
  node.attr("strides", per_dimension(o.strides, o)).attr("dilations", per_dimension(o.dilations, o));
  node.attr("padding", o.padding).attr("data_format", o.data_format);
  const std::array<std::int64_t, 4>& p = o.explicit_paddings;
  if (o.padding == "EXPLICIT")
    node.attr("explicit_paddings", o.channels_last() ? std::vector<std::int64_t>{0, 0, p[0], p[1], p[2], p[3], 0, 0}
                                                     : std::vector<std::int64_t>{0, 0, 0, 0, p[0], p[1], p[2], p[3]});
  return node;
}

}  // namespace detail_windows
}  // namespace ops
}  // namespace v0
}  // namespace belay
