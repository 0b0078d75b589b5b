// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_time_limit;

namespace time_limit_test {

using namespace belay::testing;

const belay_module& module() { return module_under_test(belay_module_time_limit); }

std::unique_ptr<HookDriver> started(const OptionValues& options, const StoredState* state = nullptr) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}

StepResult step_of(HookDriver& hook, double seconds) {
  hook.host().clock.advance(seconds);
  return hook.step();
}

TEST(TimeLimit, NeedsALimit) {
  EXPECT_EQ(error_of([] { HookDriver hook(module()); }), "INVALID_ARGUMENT: 'seconds' is required");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"seconds", 0.0}});
            }),
            "INVALID_ARGUMENT: 'seconds' is 0, must be >= 0.001");
}

TEST(TimeLimit, StopsAfterTheStepInWhichTheTimeIsOver) {
  const auto hook = started({{"seconds", 1.0}});
  EXPECT_FALSE(step_of(*hook, 0.5).stop_asked);
  EXPECT_FALSE(step_of(*hook, 0.25).stop_asked);
  EXPECT_EQ(step_of(*hook, 0.5).stop_reason, "trained for 1.25 s (seconds = 1 s)");
}

// TensorFlow's hook that stops after a number of seconds (TAE-23): the limit is 1000 s, runs are at 0, 500, 900 and
// 1100 s.
TEST(TimeLimit, TAE_23_TheFirstRunBehindTheLimitStops) {
  const auto hook = started({{"seconds", 1000.0}});
  EXPECT_FALSE(step_of(*hook, 0).stop_asked);
  EXPECT_FALSE(step_of(*hook, 500).stop_asked);
  EXPECT_FALSE(step_of(*hook, 400).stop_asked);
  EXPECT_EQ(step_of(*hook, 200).stop_reason, "trained for 1100 s (seconds = 1000 s)");
}

TEST(TimeLimit, TimeBeforeTheFirstSessionDoesNotCount) {
  HookDriver hook(module(), {{"seconds", 1.0}});
  hook.begin();
  hook.host().clock.advance(100);
  hook.create_session();
  EXPECT_FALSE(step_of(hook, 0.5).stop_asked);
}

TEST(TimeLimit, FetchesNothing) { EXPECT_TRUE(started({{"seconds", 1.0}})->step().fetched.empty()); }

TEST(TimeLimit, ARecoveryDoesNotGiveTimeBack) {
  const auto hook = started({{"seconds", 1.0}});
  step_of(*hook, 0.25);
  hook->save();
  step_of(*hook, 0.5);
  hook->recover();
  EXPECT_EQ(step_of(*hook, 0.5).stop_reason, "trained for 1.25 s (seconds = 1 s)");
}

TEST(TimeLimit, AResumedRunHasWhatIsLeft) {
  const auto first = started({{"seconds", 1.0}});
  step_of(*first, 0.75);
  const StoredState state = first->save_state();
  const auto second = started({{"seconds", 1.0}}, &state);
  EXPECT_EQ(step_of(*second, 0.25).stop_reason, "trained for 1 s (seconds = 1 s)");
}

TEST(TimeLimit, AResumedRunWithNothingLeftMakesNoStep) {
  const auto first = started({{"seconds", 1.0}});
  step_of(*first, 1.5);
  const StoredState state = first->save_state();
  const auto second = started({{"seconds", 1.0}}, &state);
  EXPECT_TRUE(second->stop_asked());
  EXPECT_EQ(second->stop_reason(), "trained for 1.5 s (seconds = 1 s)");
  // A higher limit lets the run continue.
  EXPECT_FALSE(started({{"seconds", 2.0}}, &state)->stop_asked());
}

TEST(TimeLimit, EachAttemptCanHaveAllOfIt) {
  const OptionValues options{{"seconds", 1.0}, {"count_earlier_attempts", false}};
  const auto first = started(options);
  step_of(*first, 0.75);
  const StoredState state = first->save_state();
  EXPECT_TRUE(state.empty());
  const auto second = started(options, &state);
  EXPECT_FALSE(step_of(*second, 0.75).stop_asked);
}

}  // namespace time_limit_test
