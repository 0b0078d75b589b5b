// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/text/float32_value.h"

#include <gtest/gtest.h>

#include <limits>

namespace belay::runtime {
namespace {

TEST(Float32Value, T_117_NumbersThatAFloat32HasNotAreNamed) {
  EXPECT_EQ(float32_problem(1e39), "1e+39, which is no float32: the largest one is 3.4028235e+38");
  EXPECT_EQ(float32_problem(-1e300), "-1e+300, which is no float32: the largest one is 3.4028235e+38");
  EXPECT_EQ(float32_problem(1e-40), "1e-40, which is 0 as a float32: the smallest one above 0 is 1.1754944e-38");
  EXPECT_EQ(float32_problem(1e-300), "1e-300, which is 0 as a float32: the smallest one above 0 is 1.1754944e-38");
  EXPECT_EQ(float32_problem(0.99999999, true, 0.9999999999999999),
            "0.99999999, which is 1 as a float32, must be less: the largest one is 0.99999994");
}

TEST(Float32Value, T_117_AllOthersPassWithTheRoundingOfTheirDigits) {
  for (const double value : {0.0, 0.1, -0.1, 1e38, -2e-38, 1.2e-38, 0.999, 1e-8, 16777217.0})
    EXPECT_EQ(float32_problem(value, true, 1e38), "") << value;
  EXPECT_EQ(float32_problem(0.9999999, true, 0.9999999999999999), "");
  EXPECT_EQ(float32_problem(0.1, true, 0.1), "") << "the end of a range that belongs to it";
  EXPECT_EQ(float32_problem(1, true, 1), "");
  EXPECT_EQ(float32_problem(std::numeric_limits<double>::infinity()), "");
}

}  // namespace
}  // namespace belay::runtime
