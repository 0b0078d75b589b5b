// SPDX-License-Identifier: Apache-2.0
// SecondOrStepTimer: section 12 of the contract.
#include <gtest/gtest.h>

#include "belay/second_or_step_timer.h"
#include "belay/testing/error_of.h"
#include "belay/testing/fake_host.h"

namespace {

using belay::SecondOrStepTimer;
using belay::testing::FakeHost;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kNoSeconds = std::nullopt;
constexpr auto kNoSteps = std::nullopt;

// TensorFlow refuses two periods, and its documentation promises that one of them wins.
TEST(TimerConformance, TIMER_01_WithBothPeriodsEitherTriggers) {
  SecondOrStepTimer timer(10.0, 100);
  timer.update_last_triggered_step(1, seconds(0));
  EXPECT_FALSE(timer.should_trigger_for_step(100, seconds(9)));
  EXPECT_TRUE(timer.should_trigger_for_step(2, seconds(10)));
  EXPECT_TRUE(timer.should_trigger_for_step(101, seconds(0)));
}

TEST(TimerConformance, TIMER_02_NeedsAPeriod) {
  EXPECT_EQ(belay::testing::error_of([] { SecondOrStepTimer(kNoSeconds, kNoSteps); }),
            "INVALID_ARGUMENT: give a period: either seconds or steps");
}

TEST(TimerConformance, TIMER_04_TriggersEveryThreeSteps) {
  SecondOrStepTimer timer(kNoSeconds, 3);
  EXPECT_TRUE(timer.should_trigger_for_step(1, seconds(0)));
  timer.update_last_triggered_step(1, seconds(0));
  EXPECT_EQ(timer.last_triggered_step(), 1);
  for (const std::int64_t step : {1, 2, 3}) EXPECT_FALSE(timer.should_trigger_for_step(step, seconds(1000))) << step;
  EXPECT_TRUE(timer.should_trigger_for_step(4, seconds(0)));
  EXPECT_TRUE(timer.should_trigger_for_step(5, seconds(0)));
}

TEST(TimerConformance, TIMER_06_AskingChangesNothing) {
  SecondOrStepTimer timer(kNoSeconds, 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(timer.should_trigger_for_step(7, seconds(0)));
  EXPECT_FALSE(timer.last_triggered_step().has_value());
}

TEST(TimerConformance, TIMER_06_ResetForgetsStepAndTime) {
  SecondOrStepTimer timer(1.0, kNoSteps);
  timer.update_last_triggered_step(1, seconds(10));
  EXPECT_FALSE(timer.should_trigger_for_step(2, seconds(10)));
  timer.reset();
  EXPECT_FALSE(timer.last_triggered_step().has_value());
  EXPECT_TRUE(timer.should_trigger_for_step(1, seconds(10)));
  EXPECT_FALSE(timer.update_last_triggered_step(1, seconds(10)).has_value());
}

TEST(TimerConformance, TIMER_06_TheClockIsTheHostsMonotonicOne) {
  FakeHost fake;
  const belay::Host host(fake.api(), fake.raw());
  SecondOrStepTimer timer(2.0, kNoSteps);
  timer.update_last_triggered_step(1, host.monotonic());
  EXPECT_FALSE(timer.should_trigger_for_step(2, host));
  fake.clock.advance(2);
  EXPECT_TRUE(timer.should_trigger_for_step(2, host));

  SecondOrStepTimer by_steps(kNoSeconds, 2);
  by_steps.update_last_triggered_step(1, host.monotonic());
  EXPECT_FALSE(by_steps.should_trigger_for_step(2, host));
  EXPECT_TRUE(by_steps.should_trigger_for_step(3, host));
}

TEST(TimerConformance, TIMER_07_ADefaultOneNeverTriggers) {
  SecondOrStepTimer timer;
  EXPECT_FALSE(timer.should_trigger_for_step(1, seconds(0)));
  EXPECT_FALSE(timer.last_triggered_step().has_value());
  EXPECT_FALSE(timer.update_last_triggered_step(1, seconds(0)).has_value());
}

TEST(TimerConformance, PROSE_12_OnceAStepAndTheFirstQuestionIsAnsweredYes) {
  SecondOrStepTimer timer(1.0, kNoSteps);
  EXPECT_TRUE(timer.should_trigger_for_step(7, seconds(0)));
  timer.update_last_triggered_step(7, seconds(0));
  EXPECT_EQ(timer.last_triggered_step(), 7);
  EXPECT_FALSE(timer.should_trigger_for_step(7, seconds(100)));
  EXPECT_FALSE(timer.should_trigger_for_step(8, milliseconds(999)));
  EXPECT_TRUE(timer.should_trigger_for_step(8, seconds(1)));
  const auto elapsed = timer.update_last_triggered_step(9, seconds(4));
  ASSERT_TRUE(elapsed.has_value());
  EXPECT_EQ(elapsed->seconds, 4.0);
  EXPECT_EQ(elapsed->steps, 2);
}

}  // namespace
