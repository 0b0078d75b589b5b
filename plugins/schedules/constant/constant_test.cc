// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/schedule_driver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_constant;

namespace constant_test {

using namespace belay::testing;

const belay_module& module() { return module_under_test(belay_module_constant); }

constexpr double kRounded = 1e-6;

TEST(Constant, IsTheRateInEveryStep) {
  ScheduleDriver schedule(module());
  schedule.learning_rate(0.3);
  EXPECT_LT(schedule.worst_error([](double) { return 0.3; }), kRounded);
  EXPECT_FLOAT_EQ(static_cast<float>(ScheduleDriver(module()).rate(5)), 0.001f);
}

}  // namespace constant_test
