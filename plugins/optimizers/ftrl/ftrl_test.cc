// SPDX-License-Identifier: Apache-2.0
// The rule itself, step by step, is in tests/optimizer/optimizer_formulas_test.cc.
#include "belay/testing/optimizer_driver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_ftrl;

namespace {

using namespace belay::testing;
using belay::Tensor;
using Names = std::vector<std::string>;
using Numbers = std::vector<double>;

std::unique_ptr<OptimizerDriver> built(const OptionValues& options = {}) {
  auto optimizer = std::make_unique<OptimizerDriver>(module_under_test(belay_module_ftrl), options);
  optimizer->variable("w", Tensor({2}, {1.0, -2.0}));
  optimizer->variable("b", Tensor({1}, {0.5}));
  optimizer->build();
  return optimizer;
}

void step(OptimizerDriver& optimizer, double rate = 0.125) {
  optimizer.step({{"w", Tensor({2}, {1.0, -6.0})}, {"b", Tensor({1}, {0.0})}}, rate);
}

void expect_near(const Numbers& got, const Numbers& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-12) << i;
}

TEST(Ftrl, FollowsTheRegularizedLeader) {
  const auto ftrl = built({{"initial_accumulator_value", 0.25}, {"l1_regularization_strength", 0.5}});
  EXPECT_EQ(ftrl->slots(), (Names{"w/Ftrl", "b/Ftrl", "w/Ftrl_1", "b/Ftrl_1"}));
  step(*ftrl);
  const double root = std::sqrt(1.25), linear = 1 - (root - 0.5) / 0.125 * 1;
  expect_near({ftrl->values("w/Ftrl")[0]}, {1.25});
  expect_near({ftrl->values("w/Ftrl_1")[0]}, {linear});
  expect_near({ftrl->values("w")[0]}, {(-0.5 - linear) / (root / 0.125)});
  expect_near(ftrl->values("b"), {0});  // |linear| is not above l1
}

TEST(Ftrl, ThePowerIsNotAbove0) {
  EXPECT_NE(error_of([] { built({{"learning_rate_power", 0.5}}); }).find("must be <= "), std::string::npos);
}

}  // namespace
