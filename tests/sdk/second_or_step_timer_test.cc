// SPDX-License-Identifier: Apache-2.0
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

TEST(SecondOrStepTimer, TriggersEverySecondAndOncePerStep) {
  SecondOrStepTimer timer(1.0, kNoSteps);
  timer.update_last_triggered_step(1, seconds(10));
  EXPECT_FALSE(timer.should_trigger_for_step(2, milliseconds(10999)));
  EXPECT_TRUE(timer.should_trigger_for_step(2, seconds(11)));
  EXPECT_FALSE(timer.should_trigger_for_step(1, seconds(11)));
}

TEST(SecondOrStepTimer, TellsWhatPassedSinceTheLastTime) {
  SecondOrStepTimer timer(kNoSeconds, 3);
  EXPECT_FALSE(timer.update_last_triggered_step(1, seconds(10)).has_value());
  const auto elapsed = timer.update_last_triggered_step(5, milliseconds(12500));
  ASSERT_TRUE(elapsed.has_value());
  EXPECT_EQ(elapsed->steps, 4);
  EXPECT_EQ(elapsed->seconds, 2.5);
}

TEST(SecondOrStepTimer, TheLargestPeriodsDoNotOverflow) {
  SecondOrStepTimer timer(kNoSeconds, std::numeric_limits<std::int64_t>::max());
  timer.update_last_triggered_step(std::numeric_limits<std::int64_t>::max() - 1, seconds(0));
  EXPECT_FALSE(timer.should_trigger_for_step(std::numeric_limits<std::int64_t>::max(), seconds(0)));
}

TEST(SecondOrStepTimer, AStateThatIsNotItsOwnIsLeftAlone) {
  FakeHost host;
  FakeState::offer(host);
  const belay::Host services(host.api(), host.raw());
  const struct {
    std::int64_t step;
    double seconds;
  } states[] = {{std::numeric_limits<std::int64_t>::min(), 1},
                {-1, 1},
                {5, 1e300},
                {5, -1e300},
                {5, std::numeric_limits<double>::quiet_NaN()}};
  for (const auto& s : states) {
    FakeState state(host);
    belay::StateWriter writer(&services.services().state, state.raw());
    writer.put("last_triggered_step", s.step);
    writer.put("seconds_since", s.seconds);
    SecondOrStepTimer timer(10.0, 3);
    timer.load(belay::StateReader(&services.services().state, state.raw()), seconds(1));
    EXPECT_FALSE(timer.last_triggered_step().has_value()) << s.step << " " << s.seconds;
    EXPECT_TRUE(timer.should_trigger_for_step(0, seconds(1)));
  }
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
