// SPDX-License-Identifier: Apache-2.0
// The rule itself, step by step, is in tests/optimizer/optimizer_formulas_test.cc.
#include "belay/testing/optimizer_driver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_rmsprop;

namespace {

using namespace belay::testing;
using belay::Tensor;
using Names = std::vector<std::string>;
using Numbers = std::vector<double>;

std::unique_ptr<OptimizerDriver> built(const OptionValues& options = {}) {
  auto optimizer = std::make_unique<OptimizerDriver>(module_under_test(belay_module_rmsprop), options);
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

TEST(RmsProp, DividesByTheRootOfTheMeanSquare) {
  const auto rms_prop = built({{"decay", 0.75}, {"momentum", 0.5}, {"epsilon", 0.25}});
  EXPECT_EQ(rms_prop->slots(), (Names{"w/RMSProp", "b/RMSProp", "w/RMSProp_1", "b/RMSProp_1"}));
  expect_near(rms_prop->values("w/RMSProp"), {1, 1});
  step(*rms_prop);
  expect_near(rms_prop->values("w/RMSProp"), {1, 9.75});
  expect_near(rms_prop->values("w"), {1 - 0.125 / std::sqrt(1.25), -2 + 0.75 / std::sqrt(10.0)});
}

TEST(RmsProp, CenteredKeepsTheMeanToo) {
  const auto rms_prop = built({{"decay", 0.75}, {"epsilon", 0.25}, {"centered", true}});
  EXPECT_EQ(rms_prop->slots(),
            (Names{"w/RMSProp", "b/RMSProp", "w/RMSProp_1", "b/RMSProp_1", "w/RMSProp_2", "b/RMSProp_2"}));
  step(*rms_prop);
  expect_near(rms_prop->values("w/RMSProp_1"), {0.25, -1.5});
  expect_near(rms_prop->values("w"),
              {1 - 0.125 / std::sqrt(1 - 0.0625 + 0.25), -2 + 0.75 / std::sqrt(9.75 - 2.25 + 0.25)});
}

TEST(RmsProp, KeepsLessThanAllOfTheMeanSquare) {
  EXPECT_NE(error_of([] { built({{"decay", 1.0}}); }).find("'decay' is 1, must be <= "), std::string::npos);
}

}  // namespace
