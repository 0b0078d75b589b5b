// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "belay/ops/math.h"
#include "belay/ops/normalization.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

Output normalized(const Inputs& in) { return ops::layer_norm(in[0], in[1], in[2], 1e-3); }

TEST(LayerNorm, GradientsAgreeWithFiniteDifferences) {
  check_gradients(normalized, {{{3, 5}}, {{5}}, {{5}}}, 1e-5);
  check_gradients(normalized, {{{2, 2, 4}}, {{4}}, {{4}}}, 1e-5);
  check_gradients(normalized, {{{6}}, {{6}}, {{6}}}, 1e-5);
  check_gradients(normalized, {{{3, 1}}, {{1}}, {{1}}}, 1e-5);
}

TEST(LayerNorm, Float32AgreesWithFloat64) {
  for (const Dims& x :
       {Dims{1, 2}, Dims{0, 5}, Dims{3, 0}, Dims{7, 17}, Dims{33, 128}, Dims{5, 4, 33}, Dims{1030, 64}}) {
    SCOPED_TRACE(dims_text(x));
    check_float32(normalized, {{x, -1, 3}, {{x.back()}}, {{x.back()}}}, 2e-4);
  }
}

TEST(LayerNorm, RowsFarFromZeroKeepTheirDifferences) {
  std::vector<float> x(64), one(64, 1), zero(64, 0);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 10000.0f + static_cast<float>(i % 2);
  const std::vector<float> y = run_op<float>([](const Inputs& in) { return ops::layer_norm(in[0], in[1], in[2], 0); },
                                             {Tensor({1, 64}, x), Tensor({64}, one), Tensor({64}, zero)});
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], i % 2 == 0 ? -1.0f : 1.0f) << i;
}

TEST(LayerNorm, TheNumberOfThreadsChangesNoBitOfItsGradients) {
  std::vector<float> x(1030 * 64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  const std::vector<Tensor> inputs = {Tensor({1030, 64}, x), Tensor({64}, std::vector<float>(64, 1.5f)),
                                      Tensor({64}, std::vector<float>(64, 0.5f))};
  for (const std::size_t which : {0, 1, 2}) {
    const Build gradient = [=](const Inputs& in) {
      return in[0].graph().gradients({ops::square(normalized(in))}, {in[which]})[0];
    };
    EXPECT_EQ(run_op<float>(gradient, inputs, 1), run_op<float>(gradient, inputs, 2)) << which;
  }
}

TEST_F(SessionTest, LayerNormBeginsWithScaleOneAndOffsetZero) {
  const Output x = ops::placeholder(g, DType::kFloat32, {-1, 4, 2}, "x");
  EXPECT_EQ(ops::layer_norm(x).dims(), (Dims{-1, 4, 2}));
  open();
  initialize();
  EXPECT_EQ(values<float>(g.find("layer_norm/scale")), (std::vector<float>{1, 1}));
  EXPECT_EQ(values<float>(g.find("layer_norm/offset")), (std::vector<float>{0, 0}));
}

TEST(LayerNorm, BadInputIsNamed) {
  EXPECT_EQ(build_error(normalized, {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {4}}, {DType::kFloat32, {3}}}),
            "INVALID_ARGUMENT: node 'LayerNorm' (LayerNorm): input 1 (float32 [4]) must have one element for each of "
            "the last dimension of input 0 (float32 [2, 3])");
  EXPECT_EQ(build_error(normalized, {{DType::kFloat32, {}}, {DType::kFloat32, {4}}, {DType::kFloat32, {3}}}),
            "INVALID_ARGUMENT: node 'LayerNorm' (LayerNorm): input 0 (float32 []) must have at least one dimension");
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::layer_norm(in[0], {.name = "n"}); }, {{DType::kFloat32, {2, -1}}}),
      "INVALID_ARGUMENT: layer_norm 'n': 'Placeholder:0' (float32 [2, ?]) must have a known last dimension");
}

TEST(LayerNorm, BadInputOfItsGradientIsNamed) {
  struct Case {
    std::vector<Dims> dims;  // dy, x, scale, mean, 1 / deviation
    const char* error;
  };
  for (const Case& c :
       {Case{{{2, 3}, {2, 4}, {3}, {2}, {2}},
             "input 0 (float32 [2, 3]) and input 1 (float32 [2, 4]) must have the same shape"},
        Case{{{}, {}, {3}, {}, {}}, "input 0 (float32 []) must have at least one dimension"},
        Case{{{2, 3}, {2, 3}, {4}, {2}, {2}},
             "input 2 (float32 [4]) must have one element for each of the last dimension of input 0 (float32 [2, 3])"},
        Case{{{2, 3}, {2, 3}, {3}, {1}, {2}},
             "input 3 (float32 [1]) must have the shape of input 1 (float32 [2, 3]) without its last dimension"},
        Case{{{4, 2, 3}, {4, 2, 3}, {3}, {4, 2}, {8}},
             "input 4 (float32 [8]) must have the shape of input 1 (float32 [4, 2, 3]) without its last dimension"}}) {
    std::vector<Spec> specs;
    for (const Dims& d : c.dims) specs.push_back({DType::kFloat32, d});
    EXPECT_EQ(
        build_error([](const Inputs& in) { return in[0].graph().node("LayerNormGrad", "d").in(in).output(); }, specs),
        std::string("INVALID_ARGUMENT: node 'd' (LayerNormGrad): ") + c.error);
  }
  const Spec x{DType::kFloat32, {2, 3}}, scale{DType::kFloat32, {3}}, mean{DType::kFloat32, {2}};
  EXPECT_EQ(build_error([](const Inputs& in) { return in[0].graph().node("LayerNormGrad", "d").in(in).output(); },
                        {x, x, scale, mean, {DType::kFloat64, {2}}}),
            "INVALID_ARGUMENT: node 'd' (LayerNormGrad): input 0 (float32 [2, 3]) and input 4 (float64 [2]) must have "
            "the same dtype");
}

TEST(LayerNorm, WhatItKeepsForItsGradientHasNone) {
  EXPECT_EQ(
      build_error([](const Inputs& in) { return in[0].graph().gradients({normalized(in).sibling(1)}, {in[0]})[0]; },
                  {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {3}}, {DType::kFloat32, {3}}}),
      "UNIMPLEMENTED: 'LayerNorm:1' cannot be differentiated: it is what layer normalization keeps for its "
      "gradient");
}

}  // namespace
}  // namespace belay::runtime::testing
