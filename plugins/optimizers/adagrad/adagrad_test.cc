// SPDX-License-Identifier: Apache-2.0
// The rule itself, step by step, is in tests/optimizer/optimizer_formulas_test.cc.
#include "belay/testing/optimizer_driver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_adagrad;

namespace {

using namespace belay::testing;
using belay::Tensor;
using Names = std::vector<std::string>;
using Numbers = std::vector<double>;

std::unique_ptr<OptimizerDriver> built(const OptionValues& options = {}) {
  auto optimizer = std::make_unique<OptimizerDriver>(module_under_test(belay_module_adagrad), options);
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

}  // namespace
