// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "belay/ops/activations.h"
#include "tests/ops/kernel_check.h"

namespace belay::runtime::testing {
namespace {

Build gelu(bool approximate) {
  return [=](const Inputs& in) { return ops::gelu(in[0], approximate); };
}

TEST(Gelu, GradientsAgreeWithFiniteDifferences) {
  for (const bool approximate : {false, true}) {
    check_gradients(gelu(approximate), {{{3, 7}, -4, 4}});
    check_gradients(gelu(approximate), {{{1}, 1, 2}});
  }
}

TEST(Gelu, Float32AgreesWithFloat64) {
  for (const bool approximate : {false, true})
    for (const Dims& x : {Dims{}, Dims{0}, Dims{1}, Dims{17}, Dims{33, 1000}}) {
      SCOPED_TRACE(dims_text(x));
      check_float32(gelu(approximate), {{x, -12, 12}}, 2e-6);
    }
}

TEST(Gelu, SmallResultsFarBelowZeroAreRightToo) {
  for (const float x : {-1.0f, -3.0f, -6.0f, -9.0f}) {
    const double wanted = 0.5 * x * std::erfc(-static_cast<double>(x) * M_SQRT1_2);
    EXPECT_NEAR(run_op<float>(gelu(false), {Tensor({1}, {x})})[0] / wanted, 1, 1e-5) << x;
  }
}

TEST(Gelu, NanStaysAndInfinitiesHaveTheirLimits) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool approximate : {false, true}) {
    const Build gradient = [=](const Inputs& in) {
      return in[0].graph().gradients({ops::gelu(in[0], approximate)}, {in[0]})[0];
    };
    const Tensor x({4}, {nan, inf, -inf, -1e30f});
    const std::vector<float> y = run_op<float>(gelu(approximate), {x}), dx = run_op<float>(gradient, {x});
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(dx[0])) << approximate;
    EXPECT_EQ(y[1], inf);
    EXPECT_EQ(dx[1], 1);
    EXPECT_EQ(y[2], 0);
    EXPECT_EQ(dx[2], 0);
    EXPECT_EQ(y[3], 0);
  }
}

TEST(Gelu, BadInputIsNamed) {
  EXPECT_EQ(build_error(gelu(false), {{DType::kInt32, {2}}}),
            "INVALID_ARGUMENT: node 'Gelu' (Gelu): input 0 (int32 [2]) must be float32 or float64");
}

}  // namespace
}  // namespace belay::runtime::testing
