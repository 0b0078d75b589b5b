// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/schedule_driver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_natural_exp_decay;

namespace natural_exp_decay_test {

using namespace belay::testing;

const belay_module& module() { return module_under_test(belay_module_natural_exp_decay); }

constexpr double kRounded = 1e-6;

double decayed(double t, bool whole) {
  const double p = whole ? std::floor(t / 100) : t / 100;
  return 0.3 * std::exp(-0.7 * p);
}

TEST(NaturalExpDecay, FollowsItsFormula) {
  for (const bool staircase : {false, true}) {
    ScheduleDriver schedule(module(), {{"decay_steps", 100}, {"decay_rate", 0.7}, {"staircase", staircase}});
    schedule.learning_rate(0.3);
    for (const int t : {0, 1, 99, 100, 101, 250, 1000, 2000}) {
      const double wanted = decayed(t, staircase);
      EXPECT_NEAR(schedule.rate(t), wanted, kRounded * wanted) << t;
    }
  }
}

TEST(NaturalExpDecay, TakesAtLeastOneStep) {
  EXPECT_NE(error_of([] { ScheduleDriver(module(), {{"decay_steps", 0}}); }).find("must be >= "), std::string::npos);
}

}  // namespace natural_exp_decay_test
