// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/schedule_driver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_piecewise_constant;

namespace piecewise_constant_test {

using namespace belay::testing;

const belay_module& module() { return module_under_test(belay_module_piecewise_constant); }

constexpr double kRounded = 1e-6;

using Steps = std::vector<std::int64_t>;
using Rates = std::vector<double>;

TEST(PiecewiseConstant, HoldsEachValueUpToItsBoundary) {
  ScheduleDriver schedule(module(), {{"boundaries", Steps{10, 100, 200}}, {"values", Rates{1, 0.5, 0.1, 0.01}}});
  EXPECT_LT(schedule.worst_error([](double t) {
    return t <= 10 ? 1 : t <= 100 ? 0.5 : t <= 200 ? 0.1 : 0.01;
  }),
            kRounded);
}

TEST(PiecewiseConstant, OneValueNeedsNoBoundary) {
  ScheduleDriver schedule(module(), {{"values", Rates{0.2}}});
  EXPECT_LT(schedule.worst_error([](double) { return 0.2; }), kRounded);
}

TEST(PiecewiseConstant, SaysWhatDoesNotFit) {
  const auto error = [](const OptionValues& options) { return error_of([&] { ScheduleDriver(module(), options); }); };
  EXPECT_NE(error({{"boundaries", Steps{5, 5}}, {"values", Rates{1, 2, 3}}}).find("the boundaries must rise"),
            std::string::npos);
  EXPECT_NE(error({{"boundaries", Steps{1, 2}}, {"values", Rates{1}}})
                .find("values has 1 numbers and boundaries 2; there must be one value more than boundaries"),
            std::string::npos);
  EXPECT_NE(error({}).find("'values' is required"), std::string::npos);
}

TEST(PiecewiseConstant, HasNoUseForARateToStartFrom) {
  ScheduleDriver schedule(module(), {{"values", Rates{0.2}}});
  schedule.learning_rate(0.1);
  EXPECT_NE(error_of([&] { schedule.rate(0); }).find("take learning_rate away"), std::string::npos);
}

}  // namespace piecewise_constant_test
