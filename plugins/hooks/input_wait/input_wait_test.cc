// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_input_wait;

namespace input_wait_test {

using namespace belay::testing;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const belay_module& module() { return module_under_test(belay_module_input_wait); }

// A traced step takes 10 ms and waits wait_ms of them for its batch.
std::unique_ptr<HookDriver> started(const OptionValues& options, double wait_ms, const StoredState* state = nullptr,
                                    std::int64_t step = 0) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->global_step(step);
  hook->tensor<float>("batch");
  hook->tensor<float>("y");
  hook->session().node_stats("batch", "QueueDequeue", 1.0, 1.0 + wait_ms * 1e-3, 8);
  hook->session().node_stats("y", "MatMul", 1.0 + wait_ms * 1e-3, 1.010, 8);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}

TEST(InputWait, WritesTheTimeAndItsShareButNotOfTheFirstRun) {
  const auto hook = started({{"every_n_steps", 2}}, 4);
  std::vector<bool> traced;
  for (int i = 0; i < 4; ++i) traced.push_back(hook->step().options.has_value());
  EXPECT_EQ(traced, (std::vector<bool>{true, false, true, false}));
  const auto& written = hook->events().scalars();
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[0].tag, "input_wait/secs");
  EXPECT_EQ(written[0].step, 3);
  EXPECT_NEAR(written[0].value, 0.004, 1e-9);
  EXPECT_EQ(written[1].tag, "input_wait/share");
  EXPECT_NEAR(written[1].value, 0.4, 1e-6);
  hook->end();
  EXPECT_EQ(hook->logged().back(), "info: waited for the input in 40 % of the time of 1 measured steps");
}

TEST(InputWait, WarnsAtMostEveryTenMinutes) {
  const auto hook = started({{"every_n_steps", 1}}, 6);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(hook->step().logged, IsEmpty());
  const StepResult third = hook->step();
  ASSERT_EQ(third.logged.size(), 1u);
  EXPECT_THAT(third.logged[0], StartsWith("warning: a step waits for the input in 60 % of its time: "));
  hook->host().clock.advance(599);
  EXPECT_THAT(hook->step().logged, IsEmpty());
  hook->host().clock.advance(1);
  EXPECT_EQ(hook->step().logged.size(), 1u);
}

TEST(InputWait, DoesNotWarnWhereAStepWaitsALittle) {
  const auto hook = started({{"every_n_steps", 1}}, 4);
  for (int i = 0; i < 10; ++i) EXPECT_THAT(hook->step().logged, IsEmpty());
}

TEST(InputWait, AResumedRunGoesOnWithItsSums) {
  const auto before = started({{"every_n_steps", 1}}, 6);
  for (int i = 0; i < 3; ++i) before->step();
  const StoredState state = before->save_state();
  const auto after = started({{"every_n_steps", 1}}, 6, &state, 3);
  after->step();
  EXPECT_EQ(after->step().logged.size(), 1u);  // the third measured step
  after->end();
  EXPECT_EQ(after->logged().back(), "info: waited for the input in 60 % of the time of 3 measured steps");
}

TEST(InputWait, BetweenTwoLooksItAllocatesNothing) {
  const auto hook = started({}, 4);
  hook->step();
  hook->step();
  hook->probe_with(allocations);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(hook->step().probed, 0u);
}

}  // namespace input_wait_test
