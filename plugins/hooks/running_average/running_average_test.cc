// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_running_average;

namespace running_average_test {

using namespace belay::testing;

using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_running_average); }

std::unique_ptr<HookDriver> started(const OptionValues& options, const StoredState* state = nullptr,
                                    std::int64_t step = 0) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->tensor<float>("loss");
  hook->global_step(step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}

const OptionValues kHalf{{"tensors", Texts{"loss"}}, {"alpha", 0.5}, {"every_n_steps", 1}};

// The averages are 4; (4/2 + 8) / (1/2 + 1); (4/4 + 8/2 + 2) / (1/4 + 1/2 + 1).
TEST(RunningAverage, IsTheMeanOfItsValuesWithFallingWeights) {
  const auto hook = started(kHalf);
  for (const float loss : {4.f, 8.f, 2.f}) hook->step({{"loss", loss}});
  const auto& written = hook->events().scalars();
  ASSERT_EQ(written.size(), 3u);
  EXPECT_EQ(written[0].tag, "running_average/loss");
  EXPECT_NEAR(written[0].value, 4, 1e-12);
  EXPECT_NEAR(written[1].value, 10 / 1.5, 1e-12);
  EXPECT_NEAR(written[2].value, 7 / 1.75, 1e-12);
}

TEST(RunningAverage, TakesEachStepAndWritesSome) {
  const auto hook = started({{"tensors", Texts{"loss"}}, {"alpha", 0.5}, {"every_n_steps", 2}, {"log", true}});
  hook->step({{"loss", 4.f}});
  EXPECT_TRUE(hook->step({{"loss", 8.f}}).logged.empty());
  EXPECT_EQ(hook->step({{"loss", 2.f}}).logged, Texts{"info: averages at step 3: loss = 4"});
}

TEST(RunningAverage, WhatIsNotFiniteIsLeftOut) {
  const auto hook = started(kHalf);
  hook->step({{"loss", std::numeric_limits<float>::quiet_NaN()}});
  EXPECT_TRUE(hook->events().scalars().empty());
  hook->step({{"loss", 4.f}});
  hook->step({{"loss", std::numeric_limits<float>::infinity()}});
  EXPECT_NEAR(hook->events().scalars().back().value, 4, 1e-12);
}

TEST(RunningAverage, AResumedRunGoesOnWithItsAverages) {
  const auto whole = started(kHalf), before = started(kHalf);
  for (const float loss : {4.f, 8.f, 2.f}) whole->step({{"loss", loss}});
  for (const float loss : {4.f, 8.f}) before->step({{"loss", loss}});
  const StoredState state = before->save_state();
  const auto after = started(kHalf, &state, 2);
  after->step({{"loss", 2.f}});
  EXPECT_EQ(after->events().scalars().back(), whole->events().scalars().back());
}

TEST(RunningAverage, BetweenTwoPointsItAllocatesNothing) {
  const auto hook = started({{"tensors", Texts{"loss"}}});
  hook->step({{"loss", 1.f}});
  hook->step();
  hook->probe_with(allocations);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(hook->step().probed, 0u);
}

}  // namespace running_average_test
