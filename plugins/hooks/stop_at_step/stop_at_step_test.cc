// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_stop_at_step;

namespace stop_at_step_test {

using namespace belay::testing;

const belay_module& module() { return module_under_test(belay_module_stop_at_step); }

// Returns a hook at the start of a session at `step`.
std::unique_ptr<HookDriver> started(const OptionValues& options, std::int64_t step,
                                    const StoredState* state = nullptr) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->global_step(step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}

TEST(StopAtStep, NeedsExactlyOneOption) {
  EXPECT_EQ(error_of([] { HookDriver hook(module()); }),
            "INVALID_ARGUMENT: give exactly one of 'num_steps' and 'last_step'; none is given");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"num_steps", 5}, {"last_step", 10}});
            }),
            "INVALID_ARGUMENT: give exactly one of 'num_steps' and 'last_step'; both are given");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"num_steps", 0}});
            }),
            "INVALID_ARGUMENT: 'num_steps' is 0, must be >= 1");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"last_step", -1}});
            }),
            "INVALID_ARGUMENT: 'last_step' is -1, must be >= 1");
}

TEST(StopAtStep, NeedsAGlobalStep) {
  HookDriver hook(module(), {{"last_step", 10}});
  EXPECT_EQ(error_of([&] { hook.begin(); }), "FAILED_PRECONDITION: the graph has no global step");
}

TEST(StopAtStep, BeginAddsNothingToTheGraph) {
  HookDriver hook(module(), {{"last_step", 10}});
  hook.global_step(0);
  hook.begin();
  hook.begin_again();
  EXPECT_EQ(hook.graph().announced(), std::vector<std::string>{"global_step"});
}

TEST(StopAtStep, StopsAtTheLastStepAndAfterIt) {
  const auto hook = started({{"last_step", 10}}, 5);
  struct Case {
    std::int64_t fetched;
    bool stops;
  };
  for (const Case& c : {Case{5, false}, {7, false}, {8, false}, {9, true}, {10, true}, {15, true}}) {
    const StepResult result = hook->step({{"global_step", c.fetched}});
    EXPECT_EQ(result.stop_asked, c.stops) << c.fetched;
    EXPECT_EQ(result.fetched, std::vector<std::string>{"global_step"});
  }
}

TEST(StopAtStep, SaysWhereItStoppedAndWhy) {
  EXPECT_EQ(started({{"last_step", 2000}}, 1998)->step({{"global_step", std::int64_t{1999}}}).stop_reason,
            "reached step 2000 (last_step = 2000)");
  EXPECT_EQ(started({{"num_steps", 2}}, 5)->step({{"global_step", std::int64_t{6}}}).stop_reason,
            "reached step 7 (num_steps = 2)");
}

TEST(StopAtStep, NumStepsCountFromTheFirstSession) {
  const auto hook = started({{"num_steps", 10}}, 5);
  for (const std::int64_t fetched : {std::int64_t{5}, std::int64_t{12}, std::int64_t{13}})
    EXPECT_FALSE(hook->step({{"global_step", fetched}}).stop_asked) << fetched;
  EXPECT_TRUE(hook->step({{"global_step", std::int64_t{14}}}).stop_asked);
  EXPECT_TRUE(hook->step({{"global_step", std::int64_t{15}}}).stop_asked);
}

TEST(StopAtStep, AJumpPastTheTargetStops) {
  const auto hook = started({{"num_steps", 10}}, 5);
  EXPECT_FALSE(hook->step({{"global_step", std::int64_t{5}}}).stop_asked);
  EXPECT_EQ(hook->step({{"global_step", std::int64_t{15}}}).stop_reason, "reached step 16 (num_steps = 10)");
}

// The fetched step is only a hint. The step after the run counts.
TEST(StopAtStep, DecidesOnTheRealStep) {
  const auto hook = started({{"last_step", 10}}, 9);
  hook->steps_per_run(0);
  const std::size_t raw_runs = hook->session().raw_runs().size();
  EXPECT_FALSE(hook->step().stop_asked);
  EXPECT_EQ(hook->session().raw_runs().size(), raw_runs + 1);
  hook->steps_per_run(1);
  EXPECT_TRUE(hook->step().stop_asked);
}

TEST(StopAtStep, ReadsTheRealStepOnlyNearTheEnd) {
  const auto hook = started({{"last_step", 1000}}, 0);
  hook->step();
  const std::size_t raw_runs = hook->session().raw_runs().size();
  for (int i = 0; i < 100; ++i) hook->step();
  EXPECT_EQ(hook->session().raw_runs().size(), raw_runs);
}

TEST(StopAtStep, SeveralStepsPerRunAreSeenInTime) {
  const auto hook = started({{"last_step", 20}}, 0);
  hook->steps_per_run(5);
  for (int run = 1; run <= 3; ++run) EXPECT_FALSE(hook->step().stop_asked) << run;
  EXPECT_EQ(hook->step().stop_reason, "reached step 20 (last_step = 20)");
}

TEST(StopAtStep, ARunThatIsDoneMakesNoFurtherStep) {
  const auto hook = started({{"last_step", 10}}, 10);
  EXPECT_TRUE(hook->stop_asked());
  EXPECT_EQ(hook->stop_reason(), "reached step 10 (last_step = 10)");
  EXPECT_FALSE(started({{"last_step", 10}}, 9)->stop_asked());
}

TEST(StopAtStep, ARecoveryDoesNotMoveTheTarget) {
  const auto hook = started({{"num_steps", 4}}, 0);
  hook->step();
  hook->save();
  hook->step();
  hook->recover();
  EXPECT_EQ(hook->step_number(), 1);
  EXPECT_FALSE(hook->step().stop_asked);
  EXPECT_FALSE(hook->step().stop_asked);
  EXPECT_EQ(hook->step().stop_reason, "reached step 4 (num_steps = 4)");
}

TEST(StopAtStep, ARecoveryWithoutAnyCheckpointDoesNotMoveTheTarget) {
  const auto hook = started({{"num_steps", 3}}, 0);
  hook->step();
  hook->recover();
  EXPECT_FALSE(hook->step().stop_asked);
  EXPECT_TRUE(hook->step().stop_asked);
}

TEST(StopAtStep, AKilledRunKeepsItsTarget) {
  const auto first = started({{"num_steps", 10}}, 0);
  for (int i = 0; i < 4; ++i) first->step();
  const StoredState state = first->save_state();
  EXPECT_EQ(state, (StoredState{{"num_steps", 10}, {"target", 10}}));

  const auto second = started({{"num_steps", 10}}, 4, &state);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(second->step().stop_asked) << i;
  EXPECT_EQ(second->step().stop_reason, "reached step 10 (num_steps = 10)");
  EXPECT_EQ(second->save_state(), state);
}

TEST(StopAtStep, AFinishedRunGetsNumStepsMore) {
  const StoredState state{{"num_steps", 10}, {"target", 10}};
  const auto hook = started({{"num_steps", 10}}, 10, &state);
  EXPECT_FALSE(hook->stop_asked());
  EXPECT_EQ(hook->save_state().at("target"), 20);
}

TEST(StopAtStep, AnotherNumStepsIsANewTarget) {
  const StoredState state{{"num_steps", 10}, {"target", 10}};
  const auto hook = started({{"num_steps", 50}}, 4, &state);
  EXPECT_EQ(hook->save_state().at("target"), 54);
}

// A finished run starts again and fails before its first checkpoint. So the restored state is that of the finished run.
TEST(StopAtStep, ARecoveryOfAProlongedRunKeepsItsTarget) {
  const StoredState state{{"num_steps", 10}, {"target", 10}};
  const auto hook = started({{"num_steps", 10}}, 10, &state);
  hook->step();
  hook->set_global_step(10);
  hook->load_state(state);
  hook->recover();
  EXPECT_EQ(hook->save_state().at("target"), 20);
}

TEST(StopAtStep, LastStepNeedsNoState) { EXPECT_TRUE(started({{"last_step", 10}}, 0)->save_state().empty()); }

TEST(StopAtStep, AllocatesNothingOnTheWay) {
  const auto hook = started({{"last_step", 1000}}, 0);
  hook->probe_with(allocations);
  hook->step();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(hook->step().probed, 0u) << i;
}

}  // namespace stop_at_step_test
