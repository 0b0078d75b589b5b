// SPDX-License-Identifier: Apache-2.0
// tests/optimizer/optimizer_formulas_test.cc tests the rule itself, step by step.
#include <gtest/gtest.h>

#include "plugins/optimizers/two_variables_test.h"

extern "C" const belay_module belay_module_sgd;

namespace sgd_test {

using namespace belay::testing;

std::unique_ptr<OptimizerDriver> built(const OptionValues& options = {}) {
  return two_variables(belay_module_sgd, options);
}

TEST(Sgd, TakesTheRateTimesTheGradientOff) {
  const auto sgd = built();
  EXPECT_EQ(sgd->slots(), Names());
  step(*sgd);
  expect_near(sgd->values("w"), {0.875, -1.25});
  expect_near(sgd->values("b"), {0.5});
  step(*sgd, 0);
  expect_near(sgd->values("w"), {0.875, -1.25});
  EXPECT_EQ(sgd->global_step(), 2);
}

}  // namespace sgd_test
