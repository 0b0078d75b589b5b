// SPDX-License-Identifier: Apache-2.0
// The geometry of windows that slide over images, for convolutions and pooling.
//
// The attributes are TensorFlow's (window_attrs). Lists have one entry for each dimension of an image tensor, in the
// order of data_format. The entries of batch and channels are 1.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/graph/op_def.h"

namespace belay::runtime {

// One spatial dimension. Windows of `size` elements that are `dilation` apart begin at every `stride`-th place of an
// input. The input has `before` and `after` elements of padding. -1: the input or the window is not known.
struct WindowAxis {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;
  std::int64_t after = 0;

  std::int64_t reach() const noexcept { return (size - 1) * dilation + 1; }
  // The start of the window at output place o; negative: in the padding.
  std::int64_t begin(std::int64_t o) const noexcept { return o * stride - before; }
};

// The numbers of an image tensor's dimensions; the batch is dimension 0.
struct ImageLayout {
  bool channels_last = true;
  std::size_t height() const noexcept { return channels_last ? 1 : 2; }
  std::size_t width() const noexcept { return channels_last ? 2 : 3; }
  std::size_t channels() const noexcept { return channels_last ? 3 : 1; }
  Dims dims(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c) const {
    return channels_last ? Dims{n, h, w, c} : Dims{n, c, h, w};
  }
};

// The sizes of an image tensor.
struct ImageDims {
  std::int64_t n = 0;
  std::int64_t h = 0;
  std::int64_t w = 0;
  std::int64_t c = 0;
  ImageDims() = default;
  ImageDims(const Dims& d, ImageLayout layout)
      : n(d[0]), h(d[layout.height()]), w(d[layout.width()]), c(d[layout.channels()]) {}
};

struct Windows {
  ImageLayout layout;
  WindowAxis height;
  WindowAxis width;
};

// The limit of strides, dilations and paddings, and of the elements of a window that pools. With it no computation
// overflows.
inline constexpr std::int64_t kMostOfWindow = 0x7fffffff;

// data_format: the place of the channels in an image tensor.
AttrDef data_format_attr();
// Returns data_format, strides, dilations, padding, explicit_paddings.
std::vector<AttrDef> window_attrs();

ImageLayout image_layout(const Attrs& attrs);

// Makes a node `op` with the window attributes of the node whose gradient is made.
NodeBuilder node_with_windows(GradContext& c, const char* op, const std::vector<Output>& inputs);

// Returns the windows for an image tensor of four dimensions and a window; -1 is unknown. INVALID_ARGUMENT: an
// attribute breaks the rules above, or the window does not fit.
Windows windows_of(const Attrs& attrs, const Dims& image, std::int64_t window_height, std::int64_t window_width);
// Does the same in a shape rule: an error names the node, and an image of unknown rank has dimensions of -1.
Windows windows_of(InferContext& c, const Shape& image, std::int64_t window_height, std::int64_t window_width);

}  // namespace belay::runtime
