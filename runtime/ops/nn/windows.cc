// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/nn/windows.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "belay/error.h"

namespace belay::runtime {
namespace {

void check_numbers(const char* name, const std::vector<std::int64_t>& list) {
  for (const std::int64_t n : list)
    if (n > kMostOfWindow)
      fail(Code::kInvalidArgument,
           fmt::format("attribute {} {} has a number above {}", name, dims_text(list), kMostOfWindow));
}

// Reads height and width from a list with one entry for each dimension.
std::array<std::int64_t, 2> steps_of(const Attrs& attrs, const char* name, ImageLayout layout) {
  const std::vector<std::int64_t>& list = attrs.integers(name);
  check_numbers(name, list);
  const bool valid = list.size() == 4 && list[0] == 1 && list[layout.channels()] == 1 && list[layout.height()] >= 1 &&
                     list[layout.width()] >= 1;
  if (!valid)
    fail(Code::kInvalidArgument, std::string("attribute ") + name + " " + dims_text(list) +
                                     " must have four numbers, one for each dimension of " +
                                     (layout.channels_last ? "NHWC" : "NCHW") +
                                     ": at least 1 for height and width, 1 for batch and channels");
  return {list[layout.height()], list[layout.width()]};
}

void pad_as_stated(const Attrs& attrs, ImageLayout layout, Windows& w) {
  const std::vector<std::int64_t>& list = attrs.integers("explicit_paddings");
  check_numbers("explicit_paddings", list);
  bool valid = list.size() == 8 && std::all_of(list.begin(), list.end(), [](std::int64_t p) { return p >= 0; });
  for (const std::size_t i : {std::size_t{0}, layout.channels()})
    valid = valid && list[2 * i] == 0 && list[2 * i + 1] == 0;
  if (!valid)
    fail(Code::kInvalidArgument, "attribute explicit_paddings " + dims_text(list) +
                                     " must have eight numbers, before and after for each dimension of " +
                                     (layout.channels_last ? "NHWC" : "NCHW") +
                                     ": none negative, 0 for batch and channels");
  w.height.before = list[2 * layout.height()], w.height.after = list[2 * layout.height() + 1];
  w.width.before = list[2 * layout.width()], w.width.after = list[2 * layout.width() + 1];
}

void pad_to_same(WindowAxis& a) {
  if (a.input < 0 || a.size < 0) return;
  const std::int64_t output = (a.input + a.stride - 1) / a.stride;
  const std::int64_t padding = std::max<std::int64_t>((output - 1) * a.stride + a.reach() - a.input, 0);
  a.before = padding / 2;
  a.after = padding - a.before;
}

void count_outputs(WindowAxis& a, bool same, const char* what) {
  a.output = -1;
  if (a.input < 0) return;
  if (same) {
    a.output = (a.input + a.stride - 1) / a.stride;
    return;
  }
  if (a.size < 0) return;
  const std::int64_t room = a.input + a.before + a.after - a.reach();
  if (room < 0)
    fail(Code::kInvalidArgument,
         fmt::format(
             "a window of {} {}{} does not fit into {}{}; use a smaller window or padding SAME", what, a.size,
             a.dilation > 1 ? ", dilated to " + std::to_string(a.reach()) + "," : "", a.input,
             a.before + a.after > 0 ? " and the padding of " + std::to_string(a.before + a.after) : std::string()));
  a.output = room / a.stride + 1;
}

}  // namespace

AttrDef data_format_attr() {
  return string_attr("data_format", "the order of an image tensor's dimensions")
      .one_of({"NHWC", "NCHW"})
      .defaults_to("NHWC");
}

std::vector<AttrDef> window_attrs() {
  const std::vector<std::int64_t> ones(4, 1);
  return {data_format_attr(),
          ints_attr("strides", "how far apart windows begin, for each dimension; 1 for batch and channels")
              .defaults_to(ones),
          ints_attr("dilations", "how far apart the elements of a window are, for each dimension").defaults_to(ones),
          string_attr("padding",
                      "VALID: none. SAME: so much that n elements become ceil(n / stride), the odd one after them. "
                      "EXPLICIT: `explicit_paddings`")
              .one_of({"SAME", "VALID", "EXPLICIT"})
              .defaults_to("VALID"),
          ints_attr("explicit_paddings", "two numbers, before and after, for each dimension")
              .defaults_to(std::vector<std::int64_t>{})};
}

ImageLayout image_layout(const Attrs& attrs) { return {attrs.text("data_format") == "NHWC"}; }

NodeBuilder node_with_windows(GradContext& c, const char* op, const std::vector<Output>& inputs) {
  NodeBuilder node = c.graph().node(op).in(inputs);
  for (const char* name : {"strides", "dilations", "explicit_paddings"})
    if (c.attrs().has(name)) node.attr(name, c.attrs().integers(name));
  node.attr("padding", c.attrs().text("padding"));
  node.attr("data_format", c.attrs().text("data_format"));
  return node;
}

Windows windows_of(const Attrs& attrs, const Dims& image, std::int64_t window_height, std::int64_t window_width) {
  Windows w;
  w.layout = image_layout(attrs);
  const auto strides = steps_of(attrs, "strides", w.layout), dilations = steps_of(attrs, "dilations", w.layout);
  w.height.input = image[w.layout.height()], w.width.input = image[w.layout.width()];
  w.height.size = window_height, w.width.size = window_width;
  w.height.stride = strides[0], w.width.stride = strides[1];
  w.height.dilation = dilations[0], w.width.dilation = dilations[1];
  const std::string& padding = attrs.text("padding");
  if (padding == "SAME") {
    pad_to_same(w.height);
    pad_to_same(w.width);
  } else if (padding == "EXPLICIT") {
    pad_as_stated(attrs, w.layout, w);
  }
  if (padding != "EXPLICIT" && !attrs.integers("explicit_paddings").empty())
    fail(Code::kInvalidArgument, "attribute explicit_paddings needs padding EXPLICIT, not " + padding);
  count_outputs(w.height, padding == "SAME", "height");
  count_outputs(w.width, padding == "SAME", "width");
  return w;
}

Windows windows_of(InferContext& c, const Shape& image, std::int64_t window_height, std::int64_t window_width) {
  try {
    return windows_of(c.attrs(), image.has_rank() ? image.dims() : Dims(4, -1), window_height, window_width);
  } catch (const Error& e) {
    c.fail(std::string(e.message()));
  }
}

}  // namespace belay::runtime
