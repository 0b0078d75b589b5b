// SPDX-License-Identifier: Apache-2.0
// tests/optimizer/optimizer_formulas_test.cc tests the rule itself, step by step.
#include <gtest/gtest.h>

#include <cmath>

#include "plugins/optimizers/two_variables_test.h"

extern "C" const belay_module belay_module_adagrad;

namespace adagrad_test {

using namespace belay::testing;

std::unique_ptr<OptimizerDriver> built(const OptionValues& options = {}) {
  return two_variables(belay_module_adagrad, options);
}

TEST(Adagrad, DividesByTheRootOfTheSumOfSquares) {
  const auto adagrad = built({{"initial_accumulator_value", 0.5}});
  EXPECT_EQ(adagrad->slots(), (Names{"w/Adagrad", "b/Adagrad"}));
  expect_near(adagrad->values("w/Adagrad"), {0.5, 0.5});
  step(*adagrad);
  expect_near(adagrad->values("w/Adagrad"), {1.5, 36.5});
  expect_near(adagrad->values("w"), {1 - 0.125 / std::sqrt(1.5), -2 + 0.75 / std::sqrt(36.5)});
  expect_near(adagrad->values("b"), {0.5});
}

TEST(Adagrad, StartsAbove0) {
  EXPECT_NE(error_of([] { built({{"initial_accumulator_value", 0.0}}); }).find("must be >= "), std::string::npos);
}

}  // namespace adagrad_test
