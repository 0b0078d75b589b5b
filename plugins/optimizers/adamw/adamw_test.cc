// SPDX-License-Identifier: Apache-2.0
// tests/optimizer/optimizer_formulas_test.cc tests the rule itself, step by step.
#include <gtest/gtest.h>

#include <cmath>

#include "plugins/optimizers/two_variables_test.h"

extern "C" const belay_module belay_module_adamw;

namespace adamw_test {

using namespace belay::testing;

std::unique_ptr<OptimizerDriver> built(const OptionValues& options = {}) {
  return two_variables(belay_module_adamw, options);
}

TEST(AdamW, StepsAlongTheCorrectedMoments) {
  const auto adam = built({{"beta1", 0.75}, {"beta2", 0.9375}, {"epsilon", 0.5}, {"weight_decay", 0.25}});
  EXPECT_EQ(adam->slots(), (Names{"w/Adam", "b/Adam", "w/Adam_1", "b/Adam_1", "beta1_power", "beta2_power"}));
  expect_near(adam->values("beta2_power"), {0.9375});
  step(*adam);
  const double rate = 0.125 * std::sqrt(1 - 0.9375) / (1 - 0.75);
  expect_near(adam->values("w/Adam"), {0.25, -1.5});
  expect_near(adam->values("w/Adam_1"), {0.0625, 2.25});
  expect_near(adam->values("w"),
              {1 - rate * 0.25 / (0.25 + 0.5) - 0.125 * 0.25 * 1, -2 + rate * 1.5 / (1.5 + 0.5) + 0.125 * 0.25 * 2});
  expect_near(adam->values("beta1_power"), {0.75 * 0.75});
  expect_near(adam->values("beta2_power"), {0.9375 * 0.9375});
}

TEST(AdamW, BetasAreBelow1) {
  EXPECT_NE(error_of([] { built({{"beta1", 1.0}}); }).find("'beta1' is 1, must be <= "), std::string::npos);
}

}  // namespace adamw_test
