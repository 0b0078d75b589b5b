// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/schedule_driver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_cosine_decay;

namespace cosine_decay_test {

using namespace belay::testing;

const belay_module& module() { return module_under_test(belay_module_cosine_decay); }

constexpr double kRounded = 1e-6;

TEST(CosineDecay, FallsAlongHalfACosineToAlpha) {
  ScheduleDriver schedule(module(), {{"decay_steps", 100}, {"alpha", 0.1}});
  schedule.learning_rate(0.3);
  EXPECT_LT(schedule.worst_error([](double t) {
    return 0.3 * (0.9 * 0.5 * (1 + std::cos(std::acos(-1.0) * std::min(t, 100.0) / 100)) + 0.1);
  }),
            kRounded);
}

TEST(CosineDecay, AlphaIsAPart) {
  EXPECT_NE(error_of([] { ScheduleDriver(module(), {{"alpha", 1.5}}); }).find("must be <= "), std::string::npos);
}

}  // namespace cosine_decay_test
