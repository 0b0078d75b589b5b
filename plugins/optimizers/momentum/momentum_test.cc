// SPDX-License-Identifier: Apache-2.0
// tests/optimizer/optimizer_formulas_test.cc tests the rule itself, step by step.
#include <gtest/gtest.h>

#include <cmath>

#include "plugins/optimizers/two_variables_test.h"

extern "C" const belay_module belay_module_momentum;

namespace momentum_test {

using namespace belay::testing;

std::unique_ptr<OptimizerDriver> built(const OptionValues& options = {}) {
  return two_variables(belay_module_momentum, options);
}

TEST(Momentum, StepsAlongADecayingSum) {
  const auto momentum = built({{"momentum", 0.5}});
  EXPECT_EQ(momentum->slots(), (Names{"w/Momentum", "b/Momentum"}));
  step(*momentum);
  expect_near(momentum->values("w/Momentum"), {1, -6});
  expect_near(momentum->values("w"), {0.875, -1.25});
  step(*momentum);
  expect_near(momentum->values("w/Momentum"), {1.5, -9});
  expect_near(momentum->values("w"), {0.6875, -0.125});
}

TEST(Momentum, NesterovLooksAhead) {
  const auto momentum = built({{"momentum", 0.5}, {"use_nesterov", true}});
  step(*momentum);  // rate * (gradient + 0.5 * sum)
  expect_near(momentum->values("w"), {1 - 0.125 * 1.5, -2 + 0.125 * 9});
}

TEST(Momentum, IsCheckedForItsRange) {
  EXPECT_NE(error_of([] { built({{"momentum", 1.5}}); }).find("'momentum' is 1.5, must be <= "), std::string::npos);
}

}  // namespace momentum_test
