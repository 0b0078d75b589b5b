// SPDX-License-Identifier: Apache-2.0
// The rule itself, step by step, is in tests/optimizer/optimizer_formulas_test.cc.
#include "belay/testing/optimizer_driver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_adamw;

namespace {

using namespace belay::testing;
using belay::Tensor;
using Names = std::vector<std::string>;
using Numbers = std::vector<double>;

std::unique_ptr<OptimizerDriver> built(const OptionValues& options = {}) {
  auto optimizer = std::make_unique<OptimizerDriver>(module_under_test(belay_module_adamw), options);
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

}  // namespace
