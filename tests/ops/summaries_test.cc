// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/summaries.h"

#include <png.h>

#include <cmath>
#include <limits>

#include "runtime/events/proto/event.pb.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime {
namespace {

using testing::error_of;

class Summaries : public testing::SessionTest {
 protected:
  pb::Summary message(const Output& summary) {
    const RunResult r = session().handle().run({summary});
    pb::Summary m;
    EXPECT_TRUE(m.ParseFromString(std::string(r[0].text(0))));
    return m;
  }
  // Pixels of an encoded image.
  static std::vector<int> pixels_of(const pb::Summary::Image& encoded) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    const std::string& bytes = encoded.encoded_image_string();
    EXPECT_NE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()), 0) << image.message;
    static constexpr png_uint_32 kFormats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
    image.format = kFormats[encoded.colorspace() - 1];
    EXPECT_EQ(image.height, static_cast<png_uint_32>(encoded.height()));
    EXPECT_EQ(image.width, static_cast<png_uint_32>(encoded.width()));
    std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image));
    EXPECT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0) << image.message;
    return {pixels.begin(), pixels.end()};
  }
};

TEST_F(Summaries, JoinTheirCollection) {
  const Output x = ops::constant(g, Tensor({1, 1, 1, 1}, {1.0f}));
  const std::vector<Output> all = {ops::scalar_summary("a", ops::constant(g, Tensor(1.0f))),
                                   ops::histogram_summary("b", x), ops::image_summary("c", x),
                                   ops::text_summary("d", ops::constant(g, Tensor(std::string_view("x"))))};
  EXPECT_EQ(g.collection(collections::kSummaries), all);
  EXPECT_EQ(all[1].name(), "HistogramSummary:0");
}

TEST_F(Summaries, AHistogramCountsIntoBuckets) {
  const Output s = ops::histogram_summary("h", ops::constant(g, Tensor({6}, {-1.0f, 0.0f, 0.0f, 0.5f, 0.5f, 1e30f})));
  open();
  const pb::Summary m = message(s);
  ASSERT_EQ(m.value_size(), 1);
  EXPECT_EQ(m.value(0).tag(), "h");
  const pb::HistogramProto& h = m.value(0).histo();
  EXPECT_EQ(h.min(), -1);
  EXPECT_EQ(h.max(), static_cast<double>(1e30f));
  EXPECT_EQ(h.num(), 6);
  EXPECT_EQ(h.sum(), static_cast<double>(1e30f));
  ASSERT_EQ(h.bucket_size(), h.bucket_limit_size());
  // The values of each bucket are below its limit, and not below the previous one.
  std::vector<double> counts;
  double total = 0;
  for (int i = 0; i < h.bucket_size(); ++i) {
    if (i > 0) {
      EXPECT_LT(h.bucket_limit(i - 1), h.bucket_limit(i));
    }
    if (h.bucket(i) != 0) counts.push_back(h.bucket(i));
    if (h.bucket(i) == 0 && i + 1 < h.bucket_size()) {
      EXPECT_NE(h.bucket(i + 1), 0) << "empty neighbours are one";
    }
    total += h.bucket(i);
  }
  EXPECT_EQ(counts, (std::vector<double>{1, 2, 2, 1}));
  EXPECT_EQ(total, 6);
  EXPECT_EQ(h.bucket_limit(h.bucket_limit_size() - 1), std::numeric_limits<double>::max());
}

TEST_F(Summaries, AHistogramOfIntegersAndOfNothing) {
  const Output ints = ops::histogram_summary("i", ops::constant(g, Tensor({3}, {1, 2, 3})));
  const Output none = ops::histogram_summary("n", ops::constant(g, Tensor({0}, std::vector<float>{})));
  open();
  EXPECT_EQ(message(ints).value(0).histo().sum_squares(), 14);
  EXPECT_EQ(message(none).value(0).histo().num(), 0);
}

TEST_F(Summaries, AHistogramWithNanEndsTheRun) {
  const Output s = ops::histogram_summary("w", ops::constant(g, Tensor({2}, {1.0f, std::nanf("")})));
  open();
  EXPECT_EQ(
      error_of([&] { message(s); }),
      "DIVERGED: node 'HistogramSummary' (HistogramSummary): 'w': the tensor has NaN or infinite values; there is no "
      "histogram");
}

TEST_F(Summaries, ImagesArePngFiles) {
  const std::uint8_t a = 1, b = 2, c = 3, d = 255;
  const Output grey = ops::image_summary("grey", ops::constant(g, Tensor({1, 2, 2, 1}, {a, b, c, d})));
  const Output colors = ops::image_summary("colors", ops::constant(g, Tensor({2, 1, 1, 3}, {a, b, c, d, c, b})), 1);
  open();
  const pb::Summary m = message(grey);
  ASSERT_EQ(m.value_size(), 1);
  EXPECT_EQ(m.value(0).tag(), "grey/image/0");
  EXPECT_EQ(pixels_of(m.value(0).image()), (std::vector<int>{1, 2, 3, 255}));
  const pb::Summary n = message(colors);
  ASSERT_EQ(n.value_size(), 1) << "max_images";
  EXPECT_EQ(n.value(0).tag(), "colors/image");
  EXPECT_EQ(pixels_of(n.value(0).image()), (std::vector<int>{1, 2, 3}));
}

TEST_F(Summaries, FloatImagesAreScaledEach) {
  const Output s = ops::image_summary(
      "x", ops::constant(g, Tensor({3, 1, 3, 1}, {0.0f, 1.0f, 2.0f, -2.0f, 0.0f, 1.0f, 0.0f, 0.0f, std::nanf("")})));
  open();
  const pb::Summary m = message(s);
  ASSERT_EQ(m.value_size(), 3);
  EXPECT_EQ(pixels_of(m.value(0).image()), (std::vector<int>{0, 127, 255}));
  EXPECT_EQ(pixels_of(m.value(1).image()), (std::vector<int>{1, 128, 191}));
  EXPECT_EQ(pixels_of(m.value(2).image()), (std::vector<int>{0, 0, 255})) << "no number: the colour of errors";
}

TEST_F(Summaries, TextsAreStringTensors) {
  Tensor texts(DType::kString, {2});
  texts.set_text(0, "one");
  texts.set_text(1, "*two*");
  const Output s = ops::text_summary("t", ops::constant(g, texts));
  open();
  const pb::Summary::Value v = message(s).value(0);
  EXPECT_EQ(v.tag(), "t");
  EXPECT_EQ(v.metadata().plugin_data().plugin_name(), "text");
  EXPECT_EQ(v.tensor().dtype(), pb::DT_STRING);
  ASSERT_EQ(v.tensor().string_val_size(), 2);
  EXPECT_EQ(v.tensor().string_val(1), "*two*");
  EXPECT_EQ(v.tensor().tensor_shape().dim(0).size(), 2);
}

TEST_F(Summaries, AreMergedIntoOne) {
  const Output s = ops::merge_summary(g, {ops::scalar_summary("a", ops::constant(g, Tensor(1.5f))),
                                          ops::scalar_summary("b", ops::constant(g, Tensor(2)))});
  open();
  const pb::Summary m = message(s);
  ASSERT_EQ(m.value_size(), 2);
  EXPECT_EQ(m.value(0).simple_value(), 1.5f);
  EXPECT_EQ(m.value(1).tag(), "b");
}

TEST_F(Summaries, BadInputIsNamed) {
  const Output x = ops::placeholder(g, DType::kFloat32, Dims{2, 3}, "x");
  EXPECT_EQ(error_of([&] { ops::image_summary("x", x); }),
            "INVALID_ARGUMENT: node 'ImageSummary' (ImageSummary): input 0 (float32 [2, 3]) must have 4 dimensions");
  EXPECT_EQ(
      error_of([&] {
        ops::image_summary("x", ops::placeholder(g, DType::kFloat32, Dims{1, 2, 2, 5}));
      }),
      "INVALID_ARGUMENT: node 'ImageSummary' (ImageSummary): input 0 (float32 [1, 2, 2, 5]) must be [images, height, "
      "width, channels] with 1 (grey) to 4 (RGBA) channels");
  EXPECT_EQ(
      error_of([&] {
        ops::image_summary("x", ops::placeholder(g, DType::kInt32, Dims{1, 2, 2, 3}));
      }),
      "INVALID_ARGUMENT: node 'ImageSummary' (ImageSummary): input 0 (int32 [1, 2, 2, 3]) must be float32 or uint8");
  EXPECT_EQ(error_of([&] {
              ops::image_summary("x", ops::placeholder(g, DType::kUInt8, Dims{1, 2, 2, 3}), 0);
            }),
            "INVALID_ARGUMENT: node 'ImageSummary' (ImageSummary): attribute 'max_images' must be at least 1, got 0");
  EXPECT_EQ(error_of([&] { ops::histogram_summary("", x); }),
            "INVALID_ARGUMENT: node 'HistogramSummary' (HistogramSummary): attribute 'tag' is missing");
  EXPECT_EQ(error_of([&] { ops::text_summary("t", x); }),
            "INVALID_ARGUMENT: node 'TextSummary' (TextSummary): input 0 (float32 [2, 3]) must be string");
}

TEST_F(Summaries, AScalarOfAnyNumber) {
  const std::vector<Output> all = {ops::scalar_summary("a", ops::constant(g, Tensor(2.5))),
                                   ops::scalar_summary("b", ops::constant(g, Tensor(-3))),
                                   ops::scalar_summary("c", ops::constant(g, Tensor(std::int64_t{7}))),
                                   ops::scalar_summary("d", ops::constant(g, Tensor(std::uint8_t{255}))),
                                   ops::scalar_summary("e", ops::constant(g, Tensor(true)))};
  open();
  const std::vector<float> expected{2.5f, -3, 7, 255, 1};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const pb::Summary m = message(all[i]);
    ASSERT_EQ(m.value_size(), 1);
    EXPECT_EQ(m.value(0).tag(), std::string(1, static_cast<char>('a' + i)));
    EXPECT_EQ(m.value(0).simple_value(), expected[i]);
  }
}

TEST_F(Summaries, BadScalarsPixelsAndTagsAreNamed) {
  const Output x = ops::placeholder(g, DType::kFloat32, Dims{2, 3}, "x");
  const Output text = ops::constant(g, Tensor(std::string_view("x"))), one = ops::constant(g, Tensor(1.0f));
  const std::string scalar = "INVALID_ARGUMENT: node 'ScalarSummary' (ScalarSummary): ";
  EXPECT_EQ(error_of([&] { ops::scalar_summary("s", x); }), scalar + "input 0 (float32 [2, 3]) must be a scalar");
  EXPECT_EQ(error_of([&] { ops::scalar_summary("s", text); }), scalar + "input 0 (string []) must be a number");
  EXPECT_EQ(error_of([&] { ops::scalar_summary("", one); }), scalar + "attribute 'tag' is missing");
  const std::string image = "INVALID_ARGUMENT: node 'ImageSummary' (ImageSummary): ";
  const auto images = [&](const Dims& dims) {
    return error_of([&] { ops::image_summary("i", ops::placeholder(g, DType::kUInt8, dims)); });
  };
  EXPECT_EQ(images({1, 0, 2, 3}), image + "input 0 (uint8 [1, 0, 2, 3]) has images without pixels");
  EXPECT_EQ(images({1, 2, 0, 3}), image + "input 0 (uint8 [1, 2, 0, 3]) has images without pixels");
  EXPECT_EQ(images({1, 2, 2, 0}), image +
                                      "input 0 (uint8 [1, 2, 2, 0]) must be [images, height, width, channels] with 1 "
                                      "(grey) to 4 (RGBA) channels");
  EXPECT_EQ(images({0, -1, -1, -1}), "no error");
  EXPECT_EQ(error_of([&] {
              ops::image_summary("", ops::placeholder(g, DType::kUInt8, Dims{1, 2, 2, 3}));
            }),
            image + "attribute 'tag' is missing");
  EXPECT_EQ(error_of([&] { ops::text_summary("", text); }),
            "INVALID_ARGUMENT: node 'TextSummary' (TextSummary): attribute 'tag' is missing");
  EXPECT_EQ(error_of([&] { ops::histogram_summary("h", text); }),
            "INVALID_ARGUMENT: node 'HistogramSummary' (HistogramSummary): input 0 (string []) must be a number");
  EXPECT_EQ(error_of([&] { ops::merge_summary(g, {}); }),
            "INVALID_ARGUMENT: node 'MergeSummary' (MergeSummary): there is nothing to merge");
  EXPECT_EQ(error_of([&] {
              ops::merge_summary(g, {text, one});
            }),
            "INVALID_ARGUMENT: node 'MergeSummary' (MergeSummary): input 1 (float32 []) must be string");
}

TEST_F(Summaries, ImagesOfAnUnknownShapeAreCheckedWhenItRuns) {
  const Output x = ops::placeholder_of_any_rank(g, DType::kUInt8, "x");
  const Output s = ops::image_summary("i", x);
  open();
  const std::string image = "INVALID_ARGUMENT: node 'ImageSummary' (ImageSummary): ";
  const auto error = [&](const Dims& dims) {
    return error_of([&] { session().handle().run({s}, {{x, Tensor(DType::kUInt8, dims)}}); });
  };
  EXPECT_EQ(error({1, 2, 2, 1}), "no error");
  EXPECT_EQ(error({2}), image + "input 0 (uint8 [2]) must have 4 dimensions");
  EXPECT_EQ(error({1, 0, 2, 1}), image + "input 0 (uint8 [1, 0, 2, 1]) has images without pixels");
}

}  // namespace
}  // namespace belay::runtime
