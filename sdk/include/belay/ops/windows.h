// SPDX-License-Identifier: Apache-2.0
// How windows slide over images: for convolutions and pooling.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

// A size in both directions, or one for each: 3 or {3, 5}.
struct HeightWidth {
  std::int64_t height;
  std::int64_t width;
  HeightWidth(std::int64_t both) : height(both), width(both) {}  // NOLINT: 3 stands for {3, 3}
  HeightWidth(std::int64_t h, std::int64_t w) : height(h), width(w) {}
};

struct WindowOptions {
  HeightWidth strides = 1;
  HeightWidth dilations = 1;
  // "VALID": none. "SAME": so much that a size of n gives ceil(n / stride). "EXPLICIT": as explicit_paddings says.
  std::string_view padding = "VALID";
  std::array<std::int64_t, 4> explicit_paddings = {0, 0, 0, 0};  // top, bottom, left, right
  // The order of an image tensor's dimensions: "NHWC", which is faster here, or "NCHW".
  std::string_view data_format = "NHWC";

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
