// Drives the schedule on the real engine. It runs twice: with the schedule linked in, and with the .so.
#include <belay/testing/schedule_driver.h>
#include <belay/testing/testing.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

extern "C" const belay_module belay_module_my_schedule;

namespace {

using namespace belay::testing;

TEST(MySchedule, FollowsItsFormula) {
  ScheduleDriver schedule(module_under_test(belay_module_my_schedule), {{"steps", 1000}});
  schedule.learning_rate(0.5);
  EXPECT_EQ(schedule.rate(0), 0.5);
  EXPECT_EQ(schedule.rate(2000), 0.125);
  EXPECT_NEAR(schedule.rate(300), 0.5 * std::pow(0.5, 0.3), 1e-6);
}

TEST(MySchedule, ChecksItsOptions) {
  EXPECT_NE(error_of([] {
              ScheduleDriver(module_under_test(belay_module_my_schedule), {{"steps", 0}});
            }).find("'steps' is 0, must be >= "),
            std::string::npos);
}

}  // namespace
