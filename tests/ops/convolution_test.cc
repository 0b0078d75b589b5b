// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "belay/ops/pooling.h"
#include "runtime/loader/file/cpu_features.h"
#include "runtime/ops/kernels/onednn_version.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/nn/convolution.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

using ops::HeightWidth;
using ops::WindowOptions;

WindowOptions window(HeightWidth strides, std::string_view padding, HeightWidth dilations = 1) {
  WindowOptions w;
  w.strides = strides;
  w.dilations = dilations;
  w.padding = padding;
  return w;
}
WindowOptions padded_window(std::array<std::int64_t, 4> paddings) {
  WindowOptions w;
  w.padding = "EXPLICIT";
  w.explicit_paddings = paddings;
  return w;
}

// The attributes of a node that was given these, with the defaults for the rest.
Windows windows_of_node(std::vector<std::pair<std::string, AttrValue>> given, const Dims& image, std::int64_t window) {
  static const std::vector<AttrDef> declared = window_attrs();
  Attrs attrs;
  for (auto& [name, value] : given) attrs.set(name, std::move(value));
  attrs.declare(declared);
  return windows_of(attrs, image, window, window);
}

struct ConvolutionCase {
  const char* name;
  std::int64_t batch, height, width, in, out;
  HeightWidth filter;
  WindowOptions window;
};

std::vector<Operand> operands(const ConvolutionCase& c, bool channels_last, bool bias = false) {
  std::vector<Operand> all = {
      {channels_last ? Dims{c.batch, c.height, c.width, c.in} : Dims{c.batch, c.in, c.height, c.width}},
      {{c.filter.height, c.filter.width, c.in, c.out}}};
  if (bias) all.push_back({{c.out}});
  return all;
}
Build convolution(const ConvolutionCase& c, bool channels_last) {
  WindowOptions w = c.window;
  if (!channels_last) w.data_format = "NCHW";
  return [w](const Inputs& in) { return ops::convolve2d(in[0], in[1], w); };
}

template <class Check>
void for_each(const std::vector<ConvolutionCase>& cases, Check&& check) {
  for (const ConvolutionCase& c : cases)
    for (const bool channels_last : {true, false}) {
      SCOPED_TRACE(std::string(c.name) + (channels_last ? ", NHWC" : ", NCHW"));
      check(c, channels_last);
    }
}

TEST(Conv2D, GradientsAgreeWithFiniteDifferences) {
  for_each({{"valid", 2, 4, 5, 2, 3, {3, 2}, window(1, "VALID")},
            {"same", 1, 3, 4, 1, 2, {2, 3}, window(1, "SAME")},
            {"strided", 1, 5, 6, 2, 1, 3, window({2, 3}, "SAME")},
            {"dilated", 1, 6, 5, 1, 2, 2, window(1, "VALID", {3, 2})},
            {"padded", 1, 3, 2, 1, 1, {2, 4}, padded_window({0, 1, 2, 1})},
            {"a point", 3, 2, 2, 3, 2, 1, window(2, "VALID")}},
           [](const ConvolutionCase& c, bool last) { check_gradients(convolution(c, last), operands(c, last)); });
}

TEST(Conv2D, Float32AgreesWithFloat64) {
  for_each({{"one element", 1, 1, 1, 1, 1, 1, window(1, "VALID")},
            {"no images", 0, 5, 5, 2, 3, 3, window(1, "SAME")},
            {"no channels in", 2, 3, 3, 0, 2, 3, window(1, "SAME")},
            {"no channels out", 2, 3, 3, 2, 0, 3, window(1, "SAME")},
            {"odd", 3, 7, 5, 3, 5, {3, 2}, window(1, "SAME")},
            {"as the cnn's first", 2, 28, 28, 1, 32, 5, window(1, "SAME")},
            {"as the cnn's second", 2, 14, 14, 32, 64, 5, window(1, "SAME")},
            {"not of 16", 2, 9, 9, 17, 33, 3, window(1, "VALID")},
            {"strided", 2, 11, 10, 16, 16, 3, window(2, "SAME")},
            {"strided, what is left over", 1, 6, 6, 4, 4, 3, window(2, "VALID")},
            {"a point, strided", 2, 8, 8, 16, 32, 1, window(2, "SAME")},
            {"dilated", 1, 12, 12, 3, 16, 3, window(1, "SAME", 2)},
            {"padded", 2, 6, 6, 3, 4, {3, 5}, padded_window({1, 0, 0, 3})},
            {"padded by more than the filter", 1, 3, 3, 2, 2, 2, padded_window({3, 3, 4, 3})}},
           [](const ConvolutionCase& c, bool last) { check_float32(convolution(c, last), operands(c, last), 2e-4); });
}

TEST(Conv2D, TheSecondDerivativeIsMadeOfTheSameOperations) {
  const auto gradient_of = [](std::size_t i) {
    return [i](const Inputs& in) {
      const Output y = ops::convolve2d(in[0], in[1], window({2, 1}, "SAME"));
      return y.graph().gradients({ops::square(y)}, {in[i]})[0];
    };
  };
  check_gradients(gradient_of(0), {{{1, 4, 3, 2}}, {{3, 2, 2, 2}}}, 1e-5);
  check_gradients(gradient_of(1), {{{1, 4, 3, 2}}, {{3, 2, 2, 2}}}, 1e-5);
}

// Sizes and paddings as TensorFlow computes them.
TEST(Conv2D, TheShapeFollowsFromWindowAndPadding) {
  struct ShapeCase {
    Dims x;
    HeightWidth filter;
    WindowOptions window;
    Dims y;
  };
  for (const ShapeCase& c : {ShapeCase{{8, 28, 28, 3}, 5, window(1, "SAME"), {8, 28, 28, 4}},
                             ShapeCase{{8, 28, 28, 3}, 5, window(1, "VALID"), {8, 24, 24, 4}},
                             ShapeCase{{8, 28, 27, 3}, 5, window(2, "SAME"), {8, 14, 14, 4}},
                             ShapeCase{{8, 28, 27, 3}, 5, window(2, "VALID"), {8, 12, 12, 4}},
                             ShapeCase{{8, 7, 7, 3}, 3, window(1, "VALID", 3), {8, 1, 1, 4}},
                             ShapeCase{{8, 7, 7, 3}, 3, padded_window({1, 2, 0, 0}), {8, 8, 5, 4}},
                             ShapeCase{{-1, 7, -1, 3}, 3, window(1, "VALID"), {-1, 5, -1, 4}}}) {
    const std::unique_ptr<OpRegistry> registry = make_op_registry();
    NodeGraph graph(*registry);
    const Output x = ops::placeholder(graph.handle(), DType::kFloat32, c.x);
    const Output f = ops::placeholder(graph.handle(), DType::kFloat32, {c.filter.height, c.filter.width, 3, 4});
    EXPECT_EQ(ops::convolve2d(x, f, c.window).dims(), c.y) << dims_text(c.x);
  }
}

// SAME puts the odd element of padding at the end: a filter that picks its first tap shifts the image by nothing.
TEST(Conv2D, SamePadsLessBefore) {
  const Tensor x({1, 1, 3, 1}, std::vector<float>{1, 2, 3}), first({1, 2, 1, 1}, std::vector<float>{1, 0});
  const Build y = [](const Inputs& in) { return ops::convolve2d(in[0], in[1], window(1, "SAME")); };
  EXPECT_EQ(run_op<float>(y, {x, first}), (std::vector<float>{1, 2, 3}));
}

std::string error_with(const std::function<void(NodeBuilder&)>& set, const Dims& x = {1, 4, 4, 2},
                       const Dims& filter = {3, 3, 2, 5}) {
  return build_error(
      [&](const Inputs& in) {
        NodeBuilder node = in[0].graph().node("Conv2D").in(in[0]).in(in[1]);
        set(node);
        return node.output();
      },
      {{DType::kFloat32, x}, {DType::kFloat32, filter}});
}

TEST(Conv2D, BadInputIsNamed) {
  const std::string node = "INVALID_ARGUMENT: node 'Conv2D' (Conv2D): ";
  const auto nothing = [](NodeBuilder&) {};
  EXPECT_EQ(error_with(nothing, {4, 4, 2}), node + "input 0 (float32 [4, 4, 2]) must have 4 dimensions");
  EXPECT_EQ(error_with(nothing, {1, 4, 4, 3}),
            node +
                "input 0 (float32 [1, 4, 4, 3]) has 3 channels, input 1 (float32 [3, 3, 2, 5]), the filter [height, "
                "width, in, out], takes 2");
  EXPECT_EQ(error_with(nothing, {1, 2, 4, 2}),
            node + "a window of height 3 does not fit into 2; use a smaller window or padding SAME");
  EXPECT_EQ(error_with([](NodeBuilder& n) {
              n.attr("dilations", std::vector<std::int64_t>{1, 1, 2, 1});
            }),
            node + "a window of width 3, dilated to 5, does not fit into 4; use a smaller window or padding SAME");
  EXPECT_EQ(error_with(nothing, {1, 4, 4, 2}, {0, 3, 2, 5}),
            node + "input 1 (float32 [0, 3, 2, 5]), the filter, has a height or width of 0");
  EXPECT_EQ(error_with([](NodeBuilder& n) { n.attr("data_format", "CHWN"); }),
            node + "attribute 'data_format' is 'CHWN', must be NHWC or NCHW");
  EXPECT_EQ(error_with([](NodeBuilder& n) { n.attr("padding", "FULL"); }),
            node + "attribute 'padding' is 'FULL', must be SAME, VALID or EXPLICIT");
  EXPECT_EQ(error_with([](NodeBuilder& n) {
              n.attr("strides", std::vector<std::int64_t>{1, 0, 1, 1});
            }),
            node +
                "attribute strides [1, 0, 1, 1] must have four numbers, one for each dimension of NHWC: at least 1 "
                "for height and width, 1 for batch and channels");
  EXPECT_EQ(error_with([](NodeBuilder& n) {
              n.attr("strides", std::vector<std::int64_t>{1, 2, 2, 1}).attr("data_format", "NCHW");
            }),
            node +
                "attribute strides [1, 2, 2, 1] must have four numbers, one for each dimension of NCHW: at least 1 "
                "for height and width, 1 for batch and channels");
  EXPECT_EQ(error_with([](NodeBuilder& n) { n.attr("padding", "EXPLICIT"); }),
            node +
                "attribute explicit_paddings [] must have eight numbers, before and after for each dimension of "
                "NHWC: none negative, 0 for batch and channels");
  EXPECT_EQ(error_with([](NodeBuilder& n) { n.attr("explicit_paddings", std::vector<std::int64_t>(8, 0)); }),
            node + "attribute explicit_paddings needs padding EXPLICIT, not VALID");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::convolve2d(in[0], in[1]); },
                        {{DType::kInt32, {1, 4, 4, 2}}, {DType::kInt32, {3, 3, 2, 5}}}),
            node + "input 0 (int32 [1, 4, 4, 2]) must be float32 or float64");
}

TEST(Conv2D, AGradientOfAnotherShapeIsNamed) {
  EXPECT_EQ(
      build_error([](const Inputs& in) { return in[0].graph().node("Conv2DBackpropFilter", "dw").in(in).output(); },
                  {{DType::kFloat32, {1, 4, 4, 2}}, {DType::kFloat32, {3, 3, 2, 5}}, {DType::kFloat32, {1, 3, 2, 5}}}),
      "INVALID_ARGUMENT: node 'dw' (Conv2DBackpropFilter): input 2 (float32 [1, 3, 2, 5]), the incoming gradient, must "
      "have the shape of the convolution's result, [1, 2, 2, 5]");
}

TEST_F(SessionTest, Conv2dMakesItsVariablesInAScope) {
  const Output x = ops::placeholder(g, DType::kFloat32, {-1, 28, 28, 3}, "x");
  ops::Conv2dOptions options;
  options.window.padding = "SAME";
  options.activation = ops::Activation::kRelu;
  const Output y = ops::conv2d(x, 8, 5, options);
  EXPECT_EQ(y.name(), "conv2d/Relu:0");
  EXPECT_EQ(y.dims(), (Dims{-1, 28, 28, 8}));
  ops::Conv2dOptions other;
  other.window.data_format = "NCHW";
  other.name = "other";
  EXPECT_EQ(ops::conv2d(ops::transpose(y, {0, 3, 1, 2}), 4, {3, 1}, other).dims(), (Dims{-1, 4, 26, 28}));
  std::vector<std::string> names;
  for (const Output& v : g.collection(collections::kTrainableVariables)) names.push_back(g.node_name_of(v));
  EXPECT_EQ(names, (std::vector<std::string>{"conv2d/kernel", "conv2d/bias", "other/kernel", "other/bias"}));
  EXPECT_EQ(g.find("other/kernel").dims(), (Dims{3, 1, 8, 4}));
}

TEST(Conv2d, BadInputIsNamed) {
  const Build layer = [](const Inputs& in) { return ops::conv2d(in[0], 4, 3); };
  EXPECT_EQ(
      build_error(layer, {{DType::kFloat32, {-1, 784}}}),
      "INVALID_ARGUMENT: conv2d 'conv2d': 'Placeholder:0' (float32 [?, 784]) must be images [batch, height, width, "
      "channels] whose channels are known; use ops::reshape");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::conv2d(in[0], 0, 3); }, {{DType::kFloat32, {1, 4, 4, 1}}}),
            "INVALID_ARGUMENT: conv2d 'conv2d': filters must be at least 1, got 0");
  EXPECT_EQ(build_error(
                [](const Inputs& in) {
                  return ops::conv2d(in[0], 1, {0, 3});
                },
                {{DType::kFloat32, {1, 4, 4, 1}}}),
            "INVALID_ARGUMENT: conv2d 'conv2d': the kernel must be at least 1 x 1, got 0 x 3");
}

// Convolutions with everything that is fused after them, forward and backward.
TEST(FusedConvolution, AgreesWithFloat64AndFiniteDifferences) {
  struct Fused {
    const char* name;
    bool bias;
    Output (*activation)(const Output&, std::string_view);
  };
  const std::vector<ConvolutionCase> cases = {{"odd", 2, 7, 5, 3, 5, 3, window(1, "SAME")},
                                              {"strided", 2, 8, 8, 16, 32, 3, window(2, "VALID")},
                                              {"no images", 0, 8, 8, 4, 4, 3, window(1, "SAME")}};
  for (const Fused& f : {Fused{"bias", true, nullptr}, Fused{"relu", false, ops::relu},
                         Fused{"bias, relu", true, ops::relu}, Fused{"bias, tanh", true, ops::tanh}})
    for_each(cases, [&](const ConvolutionCase& c, bool last) {
      SCOPED_TRACE(f.name);
      WindowOptions w = c.window;
      if (!last) w.data_format = "NCHW";
      const Build build = [&](const Inputs& in) {
        Output y = ops::convolve2d(in[0], in[1], w);
        if (f.bias) y = ops::bias_add_image(y, in[2], w);
        return f.activation == nullptr ? y : f.activation(y, {});
      };
      check_float32(build, operands(c, last, true), 2e-4);
    });
}

// Pooling after a convolution works on a few images at a time: here on three, three and one.
TEST(FusedConvolution, PoolsABatchInParts) {
  for (const bool last : {true, false}) {
    const Build build = [last](const Inputs& in) {
      WindowOptions w = window(1, "SAME");
      ops::PoolOptions pool;
      w.data_format = pool.data_format = last ? "NHWC" : "NCHW";
      return ops::max_pool2d(ops::relu(ops::bias_add_image(ops::convolve2d(in[0], in[1], w), in[2], w)), 2, pool);
    };
    check_float32(build, {{last ? Dims{7, 40, 40, 1} : Dims{7, 1, 40, 40}}, {{3, 3, 1, 17}}, {{17}}}, 2e-4);
  }
}

DenseTensor elements(std::int64_t n, int step) {
  DenseTensor t(DType::kFloat32, {n});
  for (std::int64_t i = 0; i < n; ++i) t.data<float>()[i] = static_cast<float>((i * step + i / 7) % 61) / 30 - 1;
  return t;
}

// oneDNN's kernel for points writes past its scratch memory there, and with AVX2 two threads never came back.
TEST(Convolution, TheFilterGradientOfStridedPointsWithFewChannelsEnds) {
  const Team team(2);
  for (const std::int64_t c : {1, 3, 7, 8, 15, 16}) {
    SCOPED_TRACE(std::to_string(c) + " channels");
    ConvolutionSizes s;
    const Dims x_dims{4, 28, 28, c}, y_dims{4, 14, 14, 8};
    s.windows = windows_of_node({{"padding", "SAME"}, {"strides", std::vector<std::int64_t>{1, 2, 2, 1}}}, x_dims, 1);
    s.x = ImageDims(x_dims, s.windows.layout), s.y = ImageDims(y_dims, s.windows.layout);
    DenseTensor x = elements(count_of(x_dims), 37), dy = elements(count_of(y_dims), 29);
    DenseTensor result(DType::kFloat32, {c * 8}), wanted(DType::kFloat32, {c * 8});
    void* tensors[] = {x.data(), dy.data(), result.data()};
    make_onednn_convolution(ConvolutionPart::kFilterGradient, s, false, Precision::kFloat32)->run(tensors);
    tensors[2] = wanted.data();
    make_reference_convolution(ConvolutionPart::kFilterGradient, s, false, DType::kFloat32)->run(tensors);
    for (std::int64_t i = 0; i < c * 8; ++i) ASSERT_NEAR(result.data<float>()[i], wanted.data<float>()[i], 1e-3) << i;
  }
}

// In bfloat16 what is multiplied has 8 bits; sums are float32, and so is what goes in and out.
TEST(Convolution, Bfloat16IsCloseToFloat32) {
  if (const std::string why = why_not(Precision::kBfloat16, CpuFeatures()); !why.empty())
    GTEST_SKIP() << "SKIPPED: " << why;
  if (std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr) GTEST_SKIP() << "SKIPPED: ONEDNN_MAX_CPU_ISA holds oneDNN back";
  ConvolutionSizes s;
  s.windows = windows_of_node({{"padding", "SAME"}}, {2, 9, 8, 16}, 3);
  s.x = ImageDims({2, 9, 8, 16}, s.windows.layout), s.y = ImageDims({2, 9, 8, 32}, s.windows.layout);
  DenseTensor x = elements(2 * 9 * 8 * 16, 37), y = elements(2 * 9 * 8 * 32, 29), filter = elements(9 * 16 * 32, 23);
  struct Part {
    ConvolutionPart part;
    DenseTensor *a, *b;
    std::int64_t results;
    double terms;  // that a result is the sum of
  };
  for (const Part& p : {Part{ConvolutionPart::kForward, &x, &filter, 2 * 9 * 8 * 32, 9 * 16},
                        Part{ConvolutionPart::kInputGradient, &filter, &y, 2 * 9 * 8 * 16, 9 * 32},
                        Part{ConvolutionPart::kFilterGradient, &x, &y, 9 * 16 * 32, 2 * 9 * 8}}) {
    DenseTensor exact(DType::kFloat32, {p.results}), rounded(DType::kFloat32, {p.results});
    void* tensors[] = {p.a->data(), p.b->data(), exact.data()};
    make_onednn_convolution(p.part, s, false, Precision::kFloat32)->run(tensors);
    tensors[2] = rounded.data();
    make_onednn_convolution(p.part, s, false, Precision::kBfloat16)->run(tensors);
    double difference = 0;
    for (std::int64_t i = 0; i < p.results; ++i)
      difference = std::max(difference, std::fabs(double{exact.data<float>()[i]} - double{rounded.data<float>()[i]}));
    EXPECT_LT(difference, p.terms / 128) << static_cast<int>(p.part);  // each factor is off by at most 2^-9 of itself
    EXPECT_GT(difference, 1e-4) << static_cast<int>(p.part);
  }
}

// Its tiles have a row for each of 16 channels.
TEST(Convolution, OnTilesAFilterGradientOfFewChannelsHasTheBitsOfFloat32) {
  if (onednn_text().find("avx512_core_amx") == std::string::npos)
    GTEST_SKIP() << "SKIPPED: oneDNN uses no tiles (AMX) of this processor";
  for (const std::int64_t c : {1, 3, 4}) {
    ConvolutionSizes s;
    s.windows = windows_of_node({{"padding", "SAME"}}, {4, 28, 28, c}, 5);
    s.x = ImageDims({4, 28, 28, c}, s.windows.layout), s.y = ImageDims({4, 28, 28, 32}, s.windows.layout);
    const std::int64_t n = 25 * c * 32;
    DenseTensor x = elements(4 * 28 * 28 * c, 37), dy = elements(4 * 28 * 28 * 32, 29);
    DenseTensor exact(DType::kFloat32, {n}), result(DType::kFloat32, {n});
    void* tensors[] = {x.data(), dy.data(), exact.data()};
    make_onednn_convolution(ConvolutionPart::kFilterGradient, s, false, Precision::kFloat32)->run(tensors);
    tensors[2] = result.data();
    make_onednn_convolution(ConvolutionPart::kFilterGradient, s, false, Precision::kBfloat16)->run(tensors);
    std::int64_t different = 0;
    for (std::int64_t i = 0; i < n; ++i) different += exact.data<float>()[i] != result.data<float>()[i] ? 1 : 0;
    EXPECT_EQ(different != 0, c == 4) << c << " channels: " << different;
  }
}

}  // namespace
}  // namespace belay::runtime::testing
