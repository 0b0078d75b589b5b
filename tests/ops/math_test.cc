// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "belay/ops/shape.h"
#include "tests/ops/kernel_check.h"

namespace belay::runtime::testing {
namespace {

struct BinaryCase {
  const char* name;
  Output (*function)(const Output&, const Output&, std::string_view);
  double low = -2, high = 2;
  double low_b = -2, high_b = 2;
};
Build build_of(const BinaryCase& c) {
  return [c](const Inputs& in) { return c.function(in[0], in[1], {}); };
}
const BinaryCase kBinary[] = {
    {"Add", ops::add},
    {"Sub", ops::sub},
    {"Mul", ops::mul},
    {"RealDiv", ops::real_div, -2, 2, 0.5, 3},
    {"Pow", ops::pow, 0.3, 2, -2, 3},
    {"Maximum", ops::maximum, -2, 2, 2.1, 3},
    {"Minimum", ops::minimum, -2, 2, -5, -2.1},
    {"SquaredDifference", ops::squared_difference},
};

// Pairs of shapes in all positions of broadcasting: the first, the second, both, at the front, in the middle, at the
// end.
const std::vector<std::pair<Dims, Dims>> kBroadcasts = {{{}, {}},
                                                        {{3}, {3}},
                                                        {{2, 3}, {3}},
                                                        {{3}, {2, 3}},
                                                        {{2, 3}, {}},
                                                        {{}, {2, 3}},
                                                        {{2, 1}, {2, 3}},
                                                        {{2, 3}, {2, 1}},
                                                        {{2, 1}, {1, 3}},
                                                        {{2, 1, 3}, {1, 4, 1}},
                                                        {{2, 3, 4}, {3, 1}},
                                                        {{1}, {2, 2}},
                                                        {{2, 1, 2, 1}, {3, 1, 2}}};

TEST(Math, GradientsAgreeWithFiniteDifferences) {
  for (const BinaryCase& c : kBinary)
    for (const auto& [a, b] : kBroadcasts) {
      SCOPED_TRACE(std::string(c.name) + " of " + dims_text(a) + " and " + dims_text(b));
      check_gradients(build_of(c), {{a, c.low, c.high}, {b, c.low_b, c.high_b}});
    }
}

TEST(Math, MaximumAndMinimumShareTheGradientWhereOperandsMix) {
  const Build maximum = [](const Inputs& in) { return ops::maximum(in[0], in[1]); };
  check_gradients(maximum, {{{5}, -2, 2}, {{3, 5}, -2, 2}});
  const Build minimum = [](const Inputs& in) { return ops::minimum(in[0], in[1]); };
  check_gradients(minimum, {{{5}, -2, 2}, {{3, 5}, -2, 2}});
}

TEST(Math, SecondGradientsAgreeWithFiniteDifferences) {
  // The gradient of a cube, differentiated again.
  check_gradients(
      [](const Inputs& in) {
        const Output cube = in[0] * in[0] * in[0];
        return in[0].graph().gradients({cube}, {in[0]})[0];
      },
      {{{4}}});
}

TEST(Math, Float32AgreesWithFloat64) {
  const std::vector<std::pair<Dims, Dims>> shapes = {{{0}, {0}},
                                                     {{1}, {1}},
                                                     {{17}, {17}},
                                                     {{0, 3}, {3}},
                                                     {{3, 0}, {1, 0}},
                                                     {{5, 31}, {31}},
                                                     {{5, 31}, {5, 1}},
                                                     {{7}, {129, 1}},
                                                     {{70001}, {70001}},
                                                     {{70001}, {}},
                                                     {{300, 257}, {257}},
                                                     {{300, 257}, {300, 1}},
                                                     {{3, 90, 1, 257}, {1, 2, 1}}};
  for (const BinaryCase& c : kBinary)
    for (const auto& [a, b] : shapes) {
      SCOPED_TRACE(std::string(c.name) + " of " + dims_text(a) + " and " + dims_text(b));
      check_float32(build_of(c), {{a, c.low, c.high}, {b, c.low_b, c.high_b}}, 2e-4);
    }
}

TEST(Math, IntegersWrapAndKeepTheirDtype) {
  const auto max32 = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(run_op<std::int32_t>([](const Inputs& in) { return in[0] + in[1]; },
                                 {Tensor({2}, {max32, 5}), Tensor({2}, {1, -7})}),
            (std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min(), -2}));
  EXPECT_EQ(run_op<std::int64_t>([](const Inputs& in) { return in[0] * 3.0; },
                                 {Tensor({2}, {std::int64_t{1} << 40, std::int64_t{-2}})}),
            (std::vector<std::int64_t>{3 * (std::int64_t{1} << 40), -6}));
  EXPECT_EQ(run_op<std::uint8_t>(
                [](const Inputs& in) { return ops::squared_difference(in[0], in[1]); },
                {Tensor({2}, {std::uint8_t{3}, std::uint8_t{20}}), Tensor({2}, {std::uint8_t{5}, std::uint8_t{3}})}),
            (std::vector<std::uint8_t>{4, static_cast<std::uint8_t>(17 * 17)}));
}

TEST(Math, FloorDivisionRoundsDownAndLeavesTheDivisorsSign) {
  const auto div = [](const Inputs& in) { return ops::floor_div(in[0], in[1]); };
  const auto mod = [](const Inputs& in) { return ops::floor_mod(in[0], in[1]); };
  const std::int32_t lowest = std::numeric_limits<std::int32_t>::min();
  const Tensor a({7}, {7, -7, 7, -7, 6, 5, lowest}), b({7}, {2, 2, -2, -2, -3, 0, -1});
  EXPECT_EQ(run_op<std::int32_t>(div, {a, b}), (std::vector<std::int32_t>{3, -4, -4, 3, -2, 0, lowest}));
  EXPECT_EQ(run_op<std::int32_t>(mod, {a, b}), (std::vector<std::int32_t>{1, 1, -1, -1, 0, 0, 0}));
  const Tensor x({4}, {7.5f, -7.5f, 7.5f, -7.5f}), y({4}, {2.0f, 2.0f, -2.0f, -2.0f});
  EXPECT_EQ(run_op<float>(div, {x, y}), (std::vector<float>{3, -4, -4, 3}));
  EXPECT_EQ(run_op<float>(mod, {x, y}), (std::vector<float>{1.5f, 0.5f, -0.5f, -1.5f}));
  EXPECT_EQ(run_op<std::uint8_t>(mod, {Tensor({2}, {std::uint8_t{7}, std::uint8_t{9}}), Tensor(std::uint8_t{4})}),
            (std::vector<std::uint8_t>{3, 1}));
  check_gradients(mod, {{{5}, 4.1, 4.9}, {{5}, 1.7, 1.9}});
  check_float32(mod, {{{17, 33}, 4.1, 4.9}, {{33}, 1.7, 1.9}});
  check_float32(div, {{{17, 33}, 4.1, 4.9}, {{33}, 1.7, 1.9}});
}

TEST(Math, MaximumAndMinimumAreNanWhereEitherIs) {
  const Tensor a({4}, {kNan, 1.0f, kInf, -0.5f}), b({4}, {2.0f, kNan, 3.0f, -kInf});
  const std::vector<float> most = run_op<float>([](const Inputs& in) { return ops::maximum(in[0], in[1]); }, {a, b});
  EXPECT_TRUE(std::isnan(most[0]) && std::isnan(most[1]));
  EXPECT_EQ(most[2], kInf);
  EXPECT_EQ(most[3], -0.5f);
  const std::vector<float> least = run_op<float>([](const Inputs& in) { return ops::minimum(in[0], in[1]); }, {a, b});
  EXPECT_TRUE(std::isnan(least[0]) && std::isnan(least[1]));
  EXPECT_EQ(least[2], 3.0f);
  EXPECT_EQ(least[3], -kInf);
}

TEST(Math, DivisionByZeroFollowsTheStandard) {
  const std::vector<float> q = run_op<float>([](const Inputs& in) { return in[0] / in[1]; },
                                             {Tensor({3}, {1.0f, -1.0f, 0.0f}), Tensor({3}, {0.0f, 0.0f, 0.0f})});
  EXPECT_EQ(q[0], kInf);
  EXPECT_EQ(q[1], -kInf);
  EXPECT_TRUE(std::isnan(q[2]));
}

TEST(Math, OperatorsTakeNumbersOnEitherSide) {
  EXPECT_EQ(run_op<double>([](const Inputs& in) { return 1.0 - (2.0 / (in[0] + 1.0) - in[0] * 3.0 + -in[0]); },
                           {Tensor({2}, {1.0, 3.0})}),
            (std::vector<double>{1 - (1 - 3.0 - 1), 1 - (0.5 - 9 - 3)}));
}

TEST(Math, AResultMayLieInAnOperandsMemory) {
  // Each value dies where the next one is made.
  const std::vector<float> y = run_op<float>(
      [](const Inputs& in) {
        const Output a = in[0] + in[1];
        const Output b = a * a;
        return (b - in[0]) / (b + 1.0);
      },
      {Tensor({3}, {1.0f, 2.0f, 3.0f}), Tensor({3}, {1.0f, 0.0f, -1.0f})});
  EXPECT_EQ(y, (std::vector<float>{3.0f / 5.0f, 2.0f / 5.0f, 1.0f / 5.0f}));
}

TEST(BiasAdd, GradientsAgreeWithFiniteDifferences) {
  const Build bias_add = [](const Inputs& in) { return in[0].graph().node("BiasAdd").in(in[0]).in(in[1]).output(); };
  check_gradients(bias_add, {{{3, 4}}, {{4}}});
  check_gradients(bias_add, {{{2, 3, 4}}, {{4}}});
  check_gradients(bias_add, {{{1}}, {{1}}});
  // The gradient of the bias is linear: its own gradient too.
  check_gradients([](const Inputs& in) { return in[0].graph().node("BiasAddGrad").in(in[0]).output(); }, {{{3, 4}}});
}

TEST(BiasAdd, Float32AgreesWithFloat64) {
  const Build bias_add = [](const Inputs& in) { return in[0].graph().node("BiasAdd").in(in[0]).in(in[1]).output(); };
  for (const Dims& dims : std::vector<Dims>{{0, 5}, {5, 0}, {1, 1}, {33, 17}, {500, 257}, {9, 4, 130}}) {
    SCOPED_TRACE(dims_text(dims));
    check_float32(bias_add, {{dims}, {{dims.back()}}}, 2e-5);
  }
}

TEST(Math, BadInputIsNamed) {
  const Build add = [](const Inputs& in) { return ops::add(in[0], in[1]); };
  const Build divide = [](const Inputs& in) { return ops::real_div(in[0], in[1]); };
  const Build bias_add = [](const Inputs& in) {
    return in[0].graph().node("BiasAdd", "b").in(in[0]).in(in[1]).output();
  };
  EXPECT_EQ(
      build_error(add, {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {4}}}),
      "INVALID_ARGUMENT: node 'Add' (Add): input 0 (float32 [2, 3]) and input 1 (float32 [4]) do not broadcast to "
      "one shape");
  EXPECT_EQ(build_error(add, {{DType::kFloat32, {2}}, {DType::kFloat64, {2}}}),
            "INVALID_ARGUMENT: node 'Add' (Add): input 0 (float32 [2]) and input 1 (float64 [2]) must have the same "
            "dtype");
  EXPECT_EQ(build_error(add, {{DType::kBool, {2}}, {DType::kBool, {2}}}),
            "INVALID_ARGUMENT: node 'Add' (Add): input 0 (bool [2]) must be a number");
  EXPECT_EQ(build_error(divide, {{DType::kInt32, {2}}, {DType::kInt32, {2}}}),
            "INVALID_ARGUMENT: node 'RealDiv' (RealDiv): input 0 (int32 [2]) must be float32 or float64");
  EXPECT_EQ(
      build_error(bias_add, {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {4}}}),
      "INVALID_ARGUMENT: node 'b' (BiasAdd): input 1 (float32 [4]) must be as long as the last dimension of input 0 "
      "(float32 [2, 3])");
  EXPECT_EQ(build_error(bias_add, {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {3, 1}}}),
            "INVALID_ARGUMENT: node 'b' (BiasAdd): input 1 (float32 [3, 1]) must have 1 dimension");
  EXPECT_EQ(build_error(bias_add, {{DType::kFloat32, {}}, {DType::kFloat32, {3}}}),
            "INVALID_ARGUMENT: node 'b' (BiasAdd): input 0 (float32 []) must have at least one dimension");
}

TEST(Math, ShapesThatDoNotFitAreFoundWhenTheyAreKnown) {
  EXPECT_EQ(
      run_error([](const Inputs& in) { return ops::add(in[0], in[1]); },
                {Tensor({2}, {1.0f, 2.0f}), Tensor({3}, {1.0f, 2.0f, 3.0f})}),
      "INVALID_ARGUMENT: node 'Add' (Add): input 0 (float32 [2]) and input 1 (float32 [3]) do not broadcast to one "
      "shape");
}

}  // namespace
}  // namespace belay::runtime::testing
