// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/schedule_driver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_polynomial_decay;

namespace polynomial_decay_test {

using namespace belay::testing;

const belay_module& module() { return module_under_test(belay_module_polynomial_decay); }

constexpr double kRounded = 1e-6;

TEST(PolynomialDecay, EndsAtItsEnd) {
  ScheduleDriver schedule(module(), {{"decay_steps", 100}, {"end_learning_rate", 0.02}, {"power", 1.5}});
  schedule.learning_rate(0.3);
  EXPECT_LT(
      schedule.worst_error([](double t) { return (0.3 - 0.02) * std::pow(1 - std::min(t, 100.0) / 100, 1.5) + 0.02; }),
      kRounded);
}

TEST(PolynomialDecay, CyclesBeginAgainOverMoreSteps) {
  ScheduleDriver schedule(module(),
                          {{"decay_steps", 100}, {"end_learning_rate", 0.02}, {"power", 2.0}, {"cycle", true}});
  schedule.learning_rate(0.3);
  EXPECT_LT(schedule.worst_error([](double t) {
    const double d = 100 * std::max(1.0, std::ceil(t / 100));
    return (0.3 - 0.02) * std::pow(1 - t / d, 2) + 0.02;
  }),
            kRounded);
}

TEST(PolynomialDecay, ThePowerIsAbove0) {
  EXPECT_NE(error_of([] { ScheduleDriver(module(), {{"power", 0.0}}); }).find("must be >= "), std::string::npos);
}

}  // namespace polynomial_decay_test
