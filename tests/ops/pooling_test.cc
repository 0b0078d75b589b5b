// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "belay/ops/control.h"
#include "belay/ops/math.h"
#include "tests/ops/kernel_check.h"

namespace belay::runtime::testing {
namespace {

using ops::HeightWidth;
using ops::PoolOptions;

PoolOptions options(HeightWidth strides, std::string_view padding, std::string_view data_format = "NHWC") {
  PoolOptions o;
  o.strides = strides;
  o.padding = padding;
  o.data_format = data_format;
  return o;
}
PoolOptions padded(std::array<std::int64_t, 4> paddings) {
  PoolOptions o;
  o.strides = 1;
  o.padding = "EXPLICIT";
  o.explicit_paddings = paddings;
  return o;
}

struct PoolingCase {
  const char* name;
  std::int64_t batch, height, width, channels;
  HeightWidth window;
  PoolOptions options;
};
const std::vector<PoolingCase> kCases = {{"halves", 2, 4, 6, 3, 2, options(0, "VALID")},
                                         {"the rest is left out", 1, 5, 5, 2, 2, options(0, "VALID")},
                                         {"overlapping", 1, 5, 6, 2, {3, 2}, options({2, 1}, "SAME")},
                                         {"with gaps", 2, 7, 7, 1, 2, options(3, "VALID")},
                                         {"same, in part outside", 1, 3, 5, 2, 2, options(2, "SAME")},
                                         {"padded", 1, 3, 4, 1, 3, padded({2, 1, 0, 2})},
                                         {"all", 2, 4, 3, 2, {4, 3}, options(0, "VALID")}};
const std::vector<PoolingCase> kLargeCases = {{"one element", 1, 1, 1, 1, 1, options(0, "VALID")},
                                              {"no images", 0, 4, 4, 3, 2, options(0, "VALID")},
                                              {"no channels", 2, 4, 4, 0, 2, options(0, "VALID")},
                                              {"as the cnn's", 3, 28, 28, 32, 2, options(0, "VALID")},
                                              {"17 channels", 3, 15, 15, 17, 3, options(2, "SAME")},
                                              {"24 channels", 2, 9, 33, 24, 2, options(0, "VALID")},
                                              {"windows of over 256", 2, 20, 17, 5, 17, options(1, "VALID")}};

template <class Check>
void for_each(const std::vector<PoolingCase>& cases, Check&& check) {
  for (const PoolingCase& c : cases)
    for (const char* format : {"NHWC", "NCHW"}) {
      SCOPED_TRACE(std::string(c.name) + ", " + format);
      PoolOptions o = c.options;
      o.data_format = format;
      const Dims dims = std::string_view(format) == "NHWC" ? Dims{c.batch, c.height, c.width, c.channels}
                                                           : Dims{c.batch, c.channels, c.height, c.width};
      check(c, o, dims);
    }
}

Build max_pool(HeightWidth window, const PoolOptions& o) {
  return [=](const Inputs& in) { return ops::max_pool2d(in[0], window, o); };
}
Build mean_pool(HeightWidth window, const PoolOptions& o) {
  return [=](const Inputs& in) { return ops::avg_pool2d(in[0], window, o); };
}

TEST(MaxPool, GradientsAgreeWithFiniteDifferences) {
  for_each(kCases, [](const PoolingCase& c, const PoolOptions& o, const Dims& dims) {
    check_gradients(max_pool(c.window, o), {{dims, -2, 2}});
  });
}
TEST(MaxPool, Float32AgreesWithFloat64) {
  for (const auto& cases : {kCases, kLargeCases})
    for_each(cases, [](const PoolingCase& c, const PoolOptions& o, const Dims& dims) {
      check_float32(max_pool(c.window, o), {{dims}}, 1e-6);
    });
}
TEST(AvgPool, GradientsAgreeWithFiniteDifferences) {
  for_each(kCases, [](const PoolingCase& c, const PoolOptions& o, const Dims& dims) {
    check_gradients(mean_pool(c.window, o), {{dims}});
  });
}
TEST(AvgPool, Float32AgreesWithFloat64) {
  for (const auto& cases : {kCases, kLargeCases})
    for_each(cases, [](const PoolingCase& c, const PoolOptions& o, const Dims& dims) {
      check_float32(mean_pool(c.window, o), {{dims}}, 1e-5);
    });
}
TEST(AvgPool, TheSecondDerivativeExists) {
  const Build build = [](const Inputs& in) {
    const Output y = ops::avg_pool2d(in[0], 2, options(1, "SAME"));
    return y.graph().gradients({ops::square(y)}, {in[0]})[0];
  };
  check_gradients(build, {{{1, 3, 3, 2}}});
}

TEST(MaxPool, GivesTheFirstOfEqualOnesAndWhereItStands) {
  const Tensor x({1, 2, 4, 1}, std::vector<float>{1, 3, 5, 5, 3, 2, 4, 5});
  EXPECT_EQ(run_op<float>(max_pool(2, {}), {x}), (std::vector<float>{3, 5}));
  EXPECT_EQ(run_op<std::uint8_t>([](const Inputs& in) { return ops::max_pool2d(in[0], 2).sibling(1); }, {x}),
            (std::vector<std::uint8_t>{1, 0}));
  EXPECT_EQ(run_op<float>(
                [](const Inputs& in) { return in[0].graph().gradients({ops::max_pool2d(in[0], 2)}, {in[0]})[0]; }, {x}),
            (std::vector<float>{0, 1, 1, 0, 0, 0, 0, 0}));
}

TEST(MaxPool, NanIsLargerThanAllAndPaddingIsNeverLarger) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<float> y =
      run_op<float>(max_pool(2, options(2, "SAME")),
                    {Tensor({1, 3, 3, 1}, std::vector<float>{nan, 1, -2, inf, nan, -3, -1, -4, -inf})});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(std::vector<float>(y.begin() + 1, y.end()), (std::vector<float>{-2, -1, -inf}));
}

TEST(AvgPool, PaddingDoesNotCount) {
  EXPECT_EQ(run_op<float>(mean_pool(2, options(2, "SAME")),
                          {Tensor({1, 3, 3, 1}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9})}),
            (std::vector<float>{3, 4.5, 7.5, 9}));
}

TEST(GlobalAvgPool, IsTheMeanOfEachChannel) {
  const Tensor x({1, 2, 1, 2}, std::vector<float>{1, 10, 3, 20});
  EXPECT_EQ(run_op<float>([](const Inputs& in) { return ops::global_avg_pool2d(in[0]); }, {x}),
            (std::vector<float>{2, 15}));
  EXPECT_EQ(run_op<float>([](const Inputs& in) { return ops::global_avg_pool2d(in[0], "NCHW"); }, {x}),
            (std::vector<float>{5.5, 11.5}));
}

TEST(Pooling, BadInputIsNamed) {
  const std::string node = "INVALID_ARGUMENT: node 'MaxPool' (MaxPool): ";
  EXPECT_EQ(build_error(max_pool(2, {}), {{DType::kFloat32, {4, 4}}}),
            node + "input 0 (float32 [4, 4]) must have 4 dimensions");
  EXPECT_EQ(build_error(max_pool(2, {}), {{DType::kInt32, {1, 4, 4, 1}}}),
            node + "input 0 (int32 [1, 4, 4, 1]) must be float32 or float64");
  EXPECT_EQ(build_error(max_pool(5, {}), {{DType::kFloat32, {1, 4, 6, 1}}}),
            node + "a window of height 5 does not fit into 4; use a smaller window or padding SAME");
  EXPECT_EQ(build_error(max_pool(2, padded({0, 0, 2, 0})), {{DType::kFloat32, {1, 4, 4, 1}}}),
            node + "the padding of width, 2 and 0, must be less than the window's 2");
  EXPECT_EQ(build_error(max_pool({0, 2}, {}), {{DType::kFloat32, {1, 4, 4, 1}}}),
            node +
                "attribute ksize [1, 0, 2, 1] must have four numbers, one for each dimension of NHWC: at least 1 for "
                "height and width, 1 for batch and channels");
  EXPECT_EQ(build_error(
                [](const Inputs& in) {
                  return in[0]
                      .graph()
                      .node("AvgPool", "p")
                      .in(in[0])
                      .attr("ksize", std::vector<std::int64_t>{1, 2, 2, 1})
                      .attr("dilations", std::vector<std::int64_t>{1, 2, 1, 1})
                      .output();
                },
                {{DType::kFloat32, {1, 4, 4, 1}}}),
            "INVALID_ARGUMENT: node 'p' (AvgPool): pooling has no dilations");
  EXPECT_EQ(build_error(
                [](const Inputs& in) {
                  return in[0]
                      .graph()
                      .node("AvgPoolGrad", "p")
                      .in(in)
                      .attr("ksize", std::vector<std::int64_t>{1, 2, 2, 1})
                      .output();
                },
                {{DType::kFloat32, {1, 2, 2, 1}}, {DType::kFloat32, {1, 4, 4, 1}}}),
            "INVALID_ARGUMENT: node 'p' (AvgPoolGrad): input 0 (float32 [1, 2, 2, 1]) must have the shape of the "
            "pooling's result, [1, 3, 3, 1]");
}

TEST(Pooling, BadInputOfTheGradientOfMaxPoolIsNamed) {
  const std::string node = "INVALID_ARGUMENT: node 'p' (MaxPoolGrad): ";
  const auto error_with = [](std::int64_t size, const Spec& dy, const Spec& places, const Spec& images) {
    return build_error(
        [=](const Inputs& in) {
          return in[0]
              .graph()
              .node("MaxPoolGrad", "p")
              .in(in)
              .attr("ksize", std::vector<std::int64_t>{1, size, size, 1})
              .output();
        },
        {dy, places, images});
  };
  const Spec images{DType::kFloat32, {1, 18, 18, 2}}, dy{DType::kFloat32, {1, 17, 17, 2}};
  EXPECT_EQ(error_with(2, dy, {DType::kUInt8, {1, 17, 17, 2}}, images), "no error");
  EXPECT_EQ(error_with(2, dy, {DType::kUInt8, {1, 17, 17}}, images),
            node + "input 1 (uint8 [1, 17, 17]) must have the shape of the pooling's result, [1, 17, 17, 2]");
  EXPECT_EQ(error_with(2, {DType::kFloat32, {1, 16, 17, 2}}, {DType::kUInt8, {1, 17, 17, 2}}, images),
            node + "input 0 (float32 [1, 16, 17, 2]) must have the shape of the pooling's result, [1, 17, 17, 2]");
  EXPECT_EQ(error_with(2, dy, {DType::kInt32, {1, 17, 17, 2}}, images),
            node + "input 1 (int32 [1, 17, 17, 2]) must be uint8");
  EXPECT_EQ(error_with(17, {DType::kFloat32, {1, 2, 2, 2}}, {DType::kUInt8, {1, 2, 2, 2}}, images),
            node + "input 1 (uint8 [1, 2, 2, 2]) must be int32");
  EXPECT_EQ(error_with(2, {DType::kFloat64, {1, 17, 17, 2}}, {DType::kUInt8, {1, 17, 17, 2}}, images),
            node + "input 0 (float64 [1, 17, 17, 2]) and input 2 (float32 [1, 18, 18, 2]) must have the same dtype");
}

// If images have no rows or columns, a window could see only padding.
TEST(Pooling, WindowsThatWouldSeeOnlyPaddingAreNamed) {
  PoolOptions o = padded({2, 2, 0, 0});
  EXPECT_EQ(build_error(max_pool({3, 1}, o), {{DType::kFloat32, {1, 0, 4, 1}}}),
            "INVALID_ARGUMENT: node 'MaxPool' (MaxPool): images of height 0 leave windows that lie in the padding "
            "alone");
  EXPECT_EQ(
      build_error(mean_pool({1, 3}, padded({0, 0, 1, 2})), {{DType::kFloat32, {1, 4, 0, 1}}}),
      "INVALID_ARGUMENT: node 'AvgPool' (AvgPool): images of width 0 leave windows that lie in the padding alone");
  EXPECT_EQ(run_error(max_pool({3, 1}, o), {Tensor(DType::kFloat32, {1, 0, 4, 1})}),
            "INVALID_ARGUMENT: node 'MaxPool' (MaxPool): images of height 0 leave windows that lie in the padding "
            "alone");
  EXPECT_EQ(build_error(max_pool(3, options(1, "SAME")), {{DType::kFloat32, {1, 0, 4, 1}}}), "no error");
}

TEST(Pooling, NumbersThatWouldOverflowAreNamed) {
  const std::int64_t large = std::int64_t{1} << 31;
  const std::string node = "INVALID_ARGUMENT: node 'MaxPool' (MaxPool): ";
  const Spec image{DType::kFloat32, {1, 4, 4, 1}};
  EXPECT_EQ(build_error(max_pool(2, options({large, 1}, "SAME")), {image}),
            node + "attribute strides [1, 2147483648, 1, 1] has a number above 2147483647");
  EXPECT_EQ(build_error(max_pool(2, padded({0, large, 0, 0})), {image}),
            node + "attribute explicit_paddings [0, 0, 0, 2147483648, 0, 0, 0, 0] has a number above 2147483647");
  EXPECT_EQ(build_error(max_pool({large / 2, 2}, options(1, "SAME")), {image}),
            node + "the window of attribute ksize [1, 1073741824, 2, 1] has more than 2147483647 elements");
  EXPECT_EQ(build_error(max_pool({large, large}, options(1, "SAME")), {image}),
            node + "the window of attribute ksize [1, 2147483648, 2147483648, 1] has more than 2147483647 elements");
  EXPECT_EQ(build_error(
                [](const Inputs& in) {
                  return in[0]
                      .graph()
                      .node("Conv2D")
                      .in(in)
                      .attr("dilations", std::vector<std::int64_t>{1, std::int64_t{1} << 62, 1, 1})
                      .output();
                },
                {image, {DType::kFloat32, {5, 1, 1, 1}}}),
            "INVALID_ARGUMENT: node 'Conv2D' (Conv2D): attribute dilations [1, 4611686018427387904, 1, 1] has a number "
            "above 2147483647");
}

}  // namespace
}  // namespace belay::runtime::testing
