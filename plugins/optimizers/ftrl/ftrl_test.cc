// SPDX-License-Identifier: Apache-2.0
// tests/optimizer/optimizer_formulas_test.cc tests the rule itself, step by step.
#include <gtest/gtest.h>

#include <cmath>

#include "plugins/optimizers/two_variables_test.h"

extern "C" const belay_module belay_module_ftrl;

namespace ftrl_test {

using namespace belay::testing;

std::unique_ptr<OptimizerDriver> built(const OptionValues& options = {}) {
  return two_variables(belay_module_ftrl, options);
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

}  // namespace ftrl_test
