// SPDX-License-Identifier: Apache-2.0
// belay/ops/control.h: what checks its input, and placeholders.
#include "belay/ops/control.h"

#include <gtest/gtest.h>

#include <limits>

#include "belay/ops/math.h"
#include "tests/ops/kernel_check.h"

namespace belay::runtime::testing {
namespace {

const Build kChecked = [](const Inputs& in) { return ops::check_numerics(in[0], "loss"); };

TEST(CheckNumerics, PassesNumbersOn) {
  const float big = std::numeric_limits<float>::max();
  EXPECT_EQ(run_op<float>(kChecked, {Tensor({3}, {1.0f, -big, 0.0f})}), (std::vector<float>{1, -big, 0}));
  const double bigger = std::numeric_limits<double>::max();
  EXPECT_EQ(run_op<double>(kChecked, {Tensor({2}, {bigger, -1e300})}), (std::vector<double>{bigger, -1e300}));
  EXPECT_EQ(run_op<double>(kChecked, {Tensor({0}, std::vector<double>{})}), std::vector<double>{});
}

TEST(CheckNumerics, SaysWhatItFoundInBothDtypes) {
  const std::string node = "DIVERGED: node 'CheckNumerics' (CheckNumerics): loss: the tensor has ";
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(run_error(kChecked, {Tensor({3}, {1.0f, 2.0f, kNan})}), node + "NaN values");
  EXPECT_EQ(run_error(kChecked, {Tensor({2}, {-kInf, 2.0f})}), node + "infinite values");
  EXPECT_EQ(run_error(kChecked, {Tensor({2}, {kInf, kNan})}), node + "NaN and infinite values");
  EXPECT_EQ(run_error(kChecked, {Tensor({3}, {1.0, 2.0, nan})}), node + "NaN values");
  EXPECT_EQ(run_error(kChecked, {Tensor({2}, {-inf, 2.0})}), node + "infinite values");
  EXPECT_EQ(run_error(kChecked, {Tensor({2}, {inf, nan})}), node + "NaN and infinite values");
}

TEST(CheckNumerics, GradientsPass) {
  const Build f = [](const Inputs& in) { return ops::check_numerics(ops::square(in[0]), "loss"); };
  check_gradients(f, {{{3, 4}}});
  check_float32(f, {{{100, 33}}});
}

TEST(CheckNumerics, BadInputIsNamed) {
  EXPECT_EQ(build_error(kChecked, {{DType::kInt32, {2}}}),
            "INVALID_ARGUMENT: node 'CheckNumerics' (CheckNumerics): input 0 (int32 [2]) must be float32 or float64");
}

TEST(Placeholder, NeedsADtype) {
  const auto error = [](DType dtype) {
    return build_error([&](const Inputs& in) { return ops::placeholder(in[0].graph(), dtype, {2}, "x"); },
                       {{DType::kFloat32, {}}});
  };
  EXPECT_EQ(error(DType::kInvalid),
            "INVALID_ARGUMENT: node 'x' (Placeholder): attribute 'dtype' is 0, which is no dtype");
  EXPECT_EQ(error(static_cast<DType>(99)),
            "INVALID_ARGUMENT: node 'x' (Placeholder): attribute 'dtype' is 99, which is no dtype");
  EXPECT_EQ(error(DType::kString), "no error");
}

}  // namespace
}  // namespace belay::runtime::testing
