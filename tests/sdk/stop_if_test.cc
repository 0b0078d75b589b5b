// SPDX-License-Identifier: Apache-2.0
#include "belay/hooks/stop_if.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "belay/testing/testing.h"

namespace belay {
namespace {

using testing::error_of;
using testing::HookDriver;

struct Asked {
  std::vector<std::int64_t> steps;
  bool answer = false;
};

std::unique_ptr<HookDriver> asking(Asked& asked, const StopIf::Periods& periods) {
  auto hook = std::make_unique<HookDriver>(std::make_unique<StopIf>(
      [&asked](const Session& session, std::int64_t step) {
        EXPECT_EQ(session.graph().finalized(), true);
        asked.steps.push_back(step);
        return asked.answer;
      },
      periods));
  hook->global_step(0);
  hook->begin();
  hook->create_session();
  return hook;
}

TEST(StopIf, ESTOP_06_AFunctionDecidesWhetherTheSessionStops) {
  Asked asked;
  const auto hook = asking(asked, {.every_secs = std::nullopt, .every_steps = 1});
  EXPECT_FALSE(hook->step().stop_asked);
  EXPECT_FALSE(hook->step().stop_asked);
  asked.answer = true;
  EXPECT_TRUE(hook->step().stop_asked);
  EXPECT_EQ(hook->stop_reason(), "its condition holds at step 3");
  EXPECT_EQ(asked.steps, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(StopIf, ESTOP_06_AnEmptyFunctionAndNoPeriodAreRefused) {
  EXPECT_EQ(error_of([] { StopIf hook{StopIf::Predicate()}; }), "INVALID_ARGUMENT: StopIf was given no function");
  EXPECT_EQ(error_of([] {
              StopIf hook([](const Session&, std::int64_t) { return false; },
                          {.every_secs = std::nullopt, .every_steps = std::nullopt});
            }),
            "INVALID_ARGUMENT: give a period: either seconds or steps");
}

TEST(StopIf, ESTOP_06_OfTwoPeriodsTheOneThatIsOverFirstCounts) {
  Asked asked;
  const auto hook = asking(asked, {.every_secs = 10, .every_steps = 5});
  for (int i = 0; i < 6; ++i) hook->step();
  hook->host().clock.advance(10);
  hook->step();
  EXPECT_EQ(asked.steps, (std::vector<std::int64_t>{1, 6, 7}));
}

TEST(StopIf, WithoutPeriodsItAsksEveryMinute) {
  Asked asked;
  auto counted = [&asked](const Session&, std::int64_t step) {
    asked.steps.push_back(step);
    return false;
  };
  HookDriver hook(std::make_unique<StopIf>(counted));
  hook.global_step(0);
  hook.begin();
  hook.create_session();
  hook.step(), hook.step();
  hook.host().clock.advance(59);
  hook.step();
  hook.host().clock.advance(1);
  hook.step();
  EXPECT_EQ(asked.steps, (std::vector<std::int64_t>{1, 4}));
}

}  // namespace
}  // namespace belay
