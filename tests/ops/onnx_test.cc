// SPDX-License-Identifier: Apache-2.0
// Operations against the results that ONNX's own tests expect.
#include <gtest/gtest.h>

#include <cmath>

#include "belay/ops/activations.h"
#include "belay/ops/convolution.h"
#include "belay/ops/matmul.h"
#include "belay/ops/normalization.h"
#include "belay/ops/pooling.h"
#include "belay/ops/shape.h"
#include "tests/ops/kernel_check.h"
#include "tests/ops/onnx_sample.h"

namespace belay::runtime::testing {
namespace {

using ops::HeightWidth;

// output: which of the sample's is wanted.
void expect_outputs(const Build& build, const OnnxSample& sample, double tolerance, std::size_t output = 0) {
  for (const int threads : {1, 2}) {
    const std::vector<float> got = run_op<float>(build, sample.inputs, threads);
    const std::vector<float> wanted = floats_of(sample.outputs.at(output));
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], wanted[i], tolerance * (1 + std::fabs(wanted[i]))) << "element " << i;
  }
}

// ONNX: top, left, bottom, right.
std::array<std::int64_t, 4> paddings_of(const OnnxSample& sample) {
  const std::vector<std::int64_t>& p = sample.integers.at("pads");
  return {p[0], p[2], p[1], p[3]};
}
HeightWidth pair_of(const OnnxSample& sample, const char* name) {
  const std::vector<std::int64_t>& p = sample.integers.at(name);
  return {p[0], p[1]};
}

TEST(Onnx, Convolution) {
  const std::optional<OnnxSample> sample = read_onnx_sample("test_Conv2d");
  if (!sample) GTEST_SKIP() << no_onnx_sample("test_Conv2d");
  ASSERT_EQ(sample->op, "Conv");
  ops::WindowOptions window;
  window.strides = pair_of(*sample, "strides");
  window.dilations = pair_of(*sample, "dilations");
  window.padding = "EXPLICIT";
  window.explicit_paddings = paddings_of(*sample);
  for (const bool channels_last : {false, true}) {
    const Build build = [&](const Inputs& in) {
      const Output filter = ops::transpose(in[1], {2, 3, 1, 0});  // ONNX's is [out, in, height, width]
      ops::WindowOptions w = window;
      w.data_format = channels_last ? "NHWC" : "NCHW";
      if (!channels_last) return ops::bias_add_image(ops::convolve2d(in[0], filter, w), in[2], w);
      const Output x = ops::transpose(in[0], {0, 2, 3, 1});
      return ops::transpose(ops::bias_add_image(ops::convolve2d(x, filter, w), in[2], w), {0, 3, 1, 2});
    };
    expect_outputs(build, *sample, 1e-5);
  }
}

TEST(Onnx, MaxPooling) {
  const std::optional<OnnxSample> sample = read_onnx_sample("test_MaxPool2d");
  if (!sample) GTEST_SKIP() << no_onnx_sample("test_MaxPool2d");
  ASSERT_EQ(sample->op, "MaxPool");
  ops::PoolOptions options;
  options.strides = pair_of(*sample, "strides");
  options.padding = "EXPLICIT";
  options.explicit_paddings = paddings_of(*sample);
  options.data_format = "NCHW";
  expect_outputs([&](const Inputs& in) { return ops::max_pool2d(in[0], pair_of(*sample, "kernel_shape"), options); },
                 *sample, 0);
}

TEST(Onnx, Linear) {
  const std::optional<OnnxSample> sample = read_onnx_sample("test_Linear");
  if (!sample) GTEST_SKIP() << no_onnx_sample("test_Linear");
  ASSERT_EQ(sample->op, "Gemm");
  ASSERT_EQ(sample->numbers.at("alpha"), 1);
  ASSERT_EQ(sample->numbers.at("beta"), 1);
  ASSERT_EQ(sample->integers.count("transA"), 0u);
  const bool transposed = sample->integers.at("transB")[0] != 0;
  expect_outputs([=](const Inputs& in) { return ops::bias_add(ops::matmul(in[0], in[1], false, transposed), in[2]); },
                 *sample, 1e-6);
}

// Outputs: y, and of each row the mean and 1 / sqrt(variance + epsilon).
TEST(Onnx, LayerNormalization) {
  const std::optional<OnnxSample> sample = read_onnx_sample("test_layer_normalization_default_axis");
  if (!sample) GTEST_SKIP() << no_onnx_sample("test_layer_normalization_default_axis");
  ASSERT_EQ(sample->op, "LayerNormalization");
  ASSERT_TRUE(sample->integers.empty());  // axis -1 and epsilon 1e-5, which ops::layer_norm has, too
  ASSERT_EQ(sample->outputs.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    expect_outputs([=](const Inputs& in) { return ops::layer_norm(in[0], in[1], in[2]).sibling(i); }, *sample, 2e-6, i);
  }
}

TEST(Onnx, Softmax) {
  const std::optional<OnnxSample> sample = read_onnx_sample("test_softmax_axis_1");
  if (!sample) GTEST_SKIP() << no_onnx_sample("test_softmax_axis_1");
  ASSERT_EQ(sample->op, "Softmax");
  ASSERT_EQ(sample->integers.at("axis"), std::vector<std::int64_t>{1});
  // Ours is along the last dimension.
  expect_outputs(
      [](const Inputs& in) {
        return ops::transpose(ops::softmax(ops::transpose(in[0], {0, 2, 1})), {0, 2, 1});
      },
      *sample, 1e-6);
}

}  // namespace
}  // namespace belay::runtime::testing
