// SPDX-License-Identifier: Apache-2.0
// tests/optimizer/optimizer_formulas_test.cc tests the rule itself, step by step.
#include <gtest/gtest.h>

#include <cmath>

#include "plugins/optimizers/two_variables_test.h"

extern "C" const belay_module belay_module_rmsprop;

namespace rmsprop_test {

using namespace belay::testing;

std::unique_ptr<OptimizerDriver> built(const OptionValues& options = {}) {
  return two_variables(belay_module_rmsprop, options);
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

}  // namespace rmsprop_test
