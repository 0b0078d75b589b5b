// SPDX-License-Identifier: Apache-2.0
// Writes images as PNG files into summaries.
#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/events/proto/event.pb.h"
#include "runtime/graph/kernel.h"
#include "runtime/ops/summary/summary_message.h"

namespace belay::runtime {
namespace {

constexpr std::uint8_t kBadColor[4] = {255, 0, 0, 255};  // for pixels that are no number

void infer_image_summary(InferContext& c) {
  if (c.dtype(0) != DType::kUInt8 && c.dtype(0) != DType::kFloat32)
    c.fail(c.input_text(0) + " must be float32 or uint8");
  c.need_rank(0, 4);
  if (c.shape(0).has_rank()) {
    const std::int64_t channels = c.shape(0).dim(3);
    if (channels == 0 || channels > 4)
      c.fail(c.input_text(0) + " must be [images, height, width, channels] with 1 (grey) to 4 (RGBA) channels");
    for (const std::size_t i : {1u, 2u})
      if (c.shape(0).dim(i) == 0) c.fail(c.input_text(0) + " has images without pixels");
  }
  if (c.attrs().text("tag").empty()) c.fail("attribute 'tag' is missing");
  c.output(DType::kString, Shape{});
}

struct ImageSize {
  std::int64_t height, width, channels;
  std::int64_t elements() const { return height * width * channels; }
};

std::string png_of(const std::uint8_t* pixels, const ImageSize& size) {
  static constexpr png_uint_32 kFormats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(size.width);
  image.height = static_cast<png_uint_32>(size.height);
  image.format = kFormats[size.channels - 1];
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t written = bytes.size();
  if (png_image_write_to_memory(&image, bytes.data(), &written, 0, pixels, 0, nullptr) == 0)
    fail(Code::kInternal, std::string("libpng: ") + image.message);
  bytes.resize(written);
  return bytes;
}

// Makes the pixels of a float image by TensorFlow's rule. Without negative values the largest one becomes 255. With
// them 0 becomes 128, and the value farthest from 0 becomes an end of the range.
void pixels_of(const float* x, const ImageSize& size, std::uint8_t* pixels) {
  float min = 0, max = 0;
  for (std::int64_t i = 0; i < size.elements(); ++i)
    if (std::isfinite(x[i])) min = std::min(min, x[i]), max = std::max(max, x[i]);
  const float farthest = std::max(-min, max);
  const float scale = min < 0 ? (farthest == 0 ? 0 : 127 / farthest) : (max == 0 ? 0 : 255 / max);
  const float offset = min < 0 ? 128 : 0;
  for (std::int64_t p = 0; p < size.height * size.width; ++p) {
    const float* from = x + p * size.channels;
    std::uint8_t* to = pixels + p * size.channels;
    const bool finite = std::all_of(from, from + size.channels, [](float v) { return std::isfinite(v); });
    for (std::int64_t c = 0; c < size.channels; ++c)
      to[c] = finite ? static_cast<std::uint8_t>(from[c] * scale + offset) : kBadColor[c];
  }
}

class ImageSummaryKernel final : public Kernel {
 public:
  explicit ImageSummaryKernel(const KernelSpec& spec)
      : is_float_(spec.inputs[0].dtype == DType::kFloat32),
        size_{spec.inputs[0].dims[1], spec.inputs[0].dims[2], spec.inputs[0].dims[3]} {
    const std::int64_t most = spec.attrs().integer("max_images"), n = std::min(most, spec.inputs[0].dims[0]);
    const std::string tag = spec.attrs().text("tag");
    for (std::int64_t i = 0; i < n; ++i) {
      pb::Summary::Value* value = summary_.add_value();
      std::string name = tag + "/image";
      if (most != 1) name.append("/").append(std::to_string(i));
      value->set_tag(name);
      value->mutable_image()->set_height(static_cast<std::int32_t>(size_.height));
      value->mutable_image()->set_width(static_cast<std::int32_t>(size_.width));
      value->mutable_image()->set_colorspace(static_cast<std::int32_t>(size_.channels));
    }
    pixels_.resize(static_cast<std::size_t>(size_.elements()));
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    for (int i = 0; i < summary_.value_size(); ++i) {
      const std::int64_t at = i * size_.elements();
      const std::uint8_t* pixels = pixels_.data();
      if (is_float_) {
        pixels_of(input<float>(in, 0) + at, size_, pixels_.data());
      } else {
        pixels = input<std::uint8_t>(in, 0) + at;
      }
      summary_.mutable_value(i)->mutable_image()->set_encoded_image_string(png_of(pixels, size_));
    }
    summary_.SerializeToString(&bytes_);
    *output<belay_str>(out, 0) = detail::str(bytes_);
  }

 private:
  bool is_float_;
  ImageSize size_;
  std::vector<std::uint8_t> pixels_;
  pb::Summary summary_;
  std::string bytes_;
};

std::unique_ptr<Kernel> make_image_summary(const KernelSpec& spec) {
  return std::make_unique<ImageSummaryKernel>(spec);
}

}  // namespace

OpDef image_summary_op() {
  return {.name = "ImageSummary",
          .doc =
              "A Summary message with the first `max_images` of [images, height, width, channels] as PNG "
              "files, under `tag`/image/0 ... Channels: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA. float32 images are "
              "scaled: the largest value becomes 255; where some are negative, 0 becomes 128.",
          .inputs = "images",
          .dtypes = "float32, uint8",
          .n_inputs = 1,
          .attrs = {tag_attr(), int_attr("max_images", "the most images of a summary").at_least(1).defaults_to(3)},
          .infer = infer_image_summary,
          .stops_gradient = true,
          .kernel = make_image_summary};
}

}  // namespace belay::runtime
