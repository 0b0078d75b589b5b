#include "belay/second_or_step_timer.h"

#include <gtest/gtest.h>

#include <limits>

#include "belay/testing/error_of.h"
#include "belay/testing/fake_state.h"

namespace {

using belay::SecondOrStepTimer;
using belay::testing::FakeHost;
using belay::testing::FakeState;
using belay::testing::StoredState;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kNoSeconds = std::nullopt;
constexpr auto kNoSteps = std::nullopt;

TEST(SecondOrStepTimer, NeedsAPeriod) {
  EXPECT_EQ(belay::testing::error_of([] { SecondOrStepTimer(kNoSeconds, kNoSteps); }),
            "INVALID_ARGUMENT: give a period: either seconds or steps");
}

TEST(SecondOrStepTimer, ADefaultOneNeverTriggers) {
  SecondOrStepTimer timer;
  EXPECT_FALSE(timer.should_trigger_for_step(1, seconds(0)));
  EXPECT_FALSE(timer.last_triggered_step().has_value());
  EXPECT_FALSE(timer.update_last_triggered_step(1, seconds(0)).has_value());
}

TEST(SecondOrStepTimer, TriggersEveryThreeSteps) {
  SecondOrStepTimer timer(kNoSeconds, 3);
  EXPECT_TRUE(timer.should_trigger_for_step(1, seconds(0)));
  timer.update_last_triggered_step(1, seconds(0));
  EXPECT_EQ(timer.last_triggered_step(), 1);
  for (const std::int64_t step : {1, 2, 3}) EXPECT_FALSE(timer.should_trigger_for_step(step, seconds(1000))) << step;
  EXPECT_TRUE(timer.should_trigger_for_step(4, seconds(0)));
  EXPECT_TRUE(timer.should_trigger_for_step(5, seconds(0)));
}

TEST(SecondOrStepTimer, TriggersEverySecondAndOncePerStep) {
  SecondOrStepTimer timer(1.0, kNoSteps);
  timer.update_last_triggered_step(1, seconds(10));
  EXPECT_FALSE(timer.should_trigger_for_step(2, milliseconds(10999)));
  EXPECT_TRUE(timer.should_trigger_for_step(2, seconds(11)));
  EXPECT_FALSE(timer.should_trigger_for_step(1, seconds(11)));
}

TEST(SecondOrStepTimer, WithBothPeriodsEitherTriggers) {
  SecondOrStepTimer timer(10.0, 100);
  timer.update_last_triggered_step(1, seconds(0));
  EXPECT_FALSE(timer.should_trigger_for_step(100, seconds(9)));
  EXPECT_TRUE(timer.should_trigger_for_step(2, seconds(10)));
  EXPECT_TRUE(timer.should_trigger_for_step(101, seconds(0)));
}

TEST(SecondOrStepTimer, AskingChangesNothing) {
  SecondOrStepTimer timer(kNoSeconds, 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(timer.should_trigger_for_step(7, seconds(0)));
  EXPECT_FALSE(timer.last_triggered_step().has_value());
}

TEST(SecondOrStepTimer, TellsWhatPassedSinceTheLastTime) {
  SecondOrStepTimer timer(kNoSeconds, 3);
  EXPECT_FALSE(timer.update_last_triggered_step(1, seconds(10)).has_value());
  const auto elapsed = timer.update_last_triggered_step(5, milliseconds(12500));
  ASSERT_TRUE(elapsed.has_value());
  EXPECT_EQ(elapsed->steps, 4);
  EXPECT_EQ(elapsed->seconds, 2.5);
}

TEST(SecondOrStepTimer, ResetForgets) {
  SecondOrStepTimer timer(kNoSeconds, 3);
  timer.update_last_triggered_step(1, seconds(10));
  timer.reset();
  EXPECT_TRUE(timer.should_trigger_for_step(1, seconds(10)));
  EXPECT_FALSE(timer.update_last_triggered_step(1, seconds(10)).has_value());
}

TEST(SecondOrStepTimer, ReadsTheHostsClockOnlyForSeconds) {
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

TEST(SecondOrStepTimer, TheLargestPeriodsDoNotOverflow) {
  SecondOrStepTimer timer(kNoSeconds, std::numeric_limits<std::int64_t>::max());
  timer.update_last_triggered_step(std::numeric_limits<std::int64_t>::max() - 1, seconds(0));
  EXPECT_FALSE(timer.should_trigger_for_step(std::numeric_limits<std::int64_t>::max(), seconds(0)));
}

// A save and a load, in another process whose clock has another start.
TEST(SecondOrStepTimer, StateKeepsThePhase) {
  FakeHost host;
  FakeState::offer(host);
  const belay::Host services(host.api(), host.raw());
  SecondOrStepTimer timer(10.0, 3);
  timer.update_last_triggered_step(5, seconds(100));
  FakeState state(host);
  belay::StateWriter writer(&services.services().state, state.raw());
  timer.save(writer, seconds(104));
  EXPECT_EQ(state.values(), (StoredState{{"last_triggered_step", 5}, {"seconds_since", 4.0}}));

  SecondOrStepTimer resumed(10.0, 3);
  const belay::StateReader reader(&services.services().state, state.raw());
  resumed.load(reader, seconds(1));
  EXPECT_EQ(resumed.last_triggered_step(), 5);
  EXPECT_FALSE(resumed.should_trigger_for_step(7, milliseconds(6999)));
  EXPECT_TRUE(resumed.should_trigger_for_step(7, seconds(7)));
  EXPECT_TRUE(resumed.should_trigger_for_step(8, seconds(1)));
}

TEST(SecondOrStepTimer, WithoutStateItIsNew) {
  FakeHost host;
  FakeState::offer(host);
  const belay::Host services(host.api(), host.raw());
  FakeState state(host);
  belay::StateWriter writer(&services.services().state, state.raw());
  SecondOrStepTimer timer(kNoSeconds, 3);
  timer.save(writer, seconds(0));
  EXPECT_TRUE(state.values().empty());
  timer.update_last_triggered_step(5, seconds(0));
  timer.load(belay::StateReader(&services.services().state, state.raw()), seconds(0));
  EXPECT_FALSE(timer.last_triggered_step().has_value());
}

}  // namespace
