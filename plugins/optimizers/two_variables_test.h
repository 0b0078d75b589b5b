// SPDX-License-Identifier: Apache-2.0
// Two variables for the steps of the optimizers' tests. Their gradients are easy to follow by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "belay/testing/optimizer_driver.h"
#include "belay/testing/testing.h"

namespace belay::testing {

using Names = std::vector<std::string>;
using Numbers = std::vector<double>;

// Builds w = [1, -2] and b = [0.5], before the first step.
inline std::unique_ptr<OptimizerDriver> two_variables(const belay_module& module, const OptionValues& options = {}) {
  auto optimizer = std::make_unique<OptimizerDriver>(module_under_test(module), options);
  optimizer->variable("w", Tensor({2}, {1.0, -2.0}));
  optimizer->variable("b", Tensor({1}, {0.5}));
  optimizer->build();
  return optimizer;
}

// Makes a step with the gradients [1, -6] and [0].
inline void step(OptimizerDriver& optimizer, double rate = 0.125) {
  optimizer.step({{"w", Tensor({2}, {1.0, -6.0})}, {"b", Tensor({1}, {0.0})}}, rate);
}

inline void expect_near(const Numbers& got, const Numbers& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-12) << i;
}

}  // namespace belay::testing
