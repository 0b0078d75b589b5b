// SPDX-License-Identifier: Apache-2.0
// The rule itself, step by step, is in tests/optimizer/optimizer_formulas_test.cc.
#include "belay/testing/optimizer_driver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_momentum;

namespace {

using namespace belay::testing;
using belay::Tensor;
using Names = std::vector<std::string>;
using Numbers = std::vector<double>;

std::unique_ptr<OptimizerDriver> built(const OptionValues& options = {}) {
  auto optimizer = std::make_unique<OptimizerDriver>(module_under_test(belay_module_momentum), options);
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

}  // namespace
