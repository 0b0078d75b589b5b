// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_checkpoint_saver;

namespace checkpoint_saver_test {

using namespace belay::testing;

using Steps = std::vector<std::int64_t>;

const belay_module& module() { return module_under_test(belay_module_checkpoint_saver); }

// Returns a hook at the start of a session at `step`.
std::unique_ptr<HookDriver> started(const OptionValues& options, std::int64_t step = 0,
                                    const StoredState* state = nullptr) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->global_step(step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}

TEST(CheckpointSaver, NeedsAPeriod) {
  EXPECT_EQ(error_of([] { HookDriver hook(module()); }),
            "INVALID_ARGUMENT: give a period: 'save_secs', 'save_steps', or both");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"save_steps", 0}});
            }),
            "INVALID_ARGUMENT: 'save_steps' is 0, must be >= 1");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"save_secs", 0}});
            }),
            "INVALID_ARGUMENT: 'save_secs' is 0, must be >= 0.001");
}

TEST(CheckpointSaver, NeedsAGlobalStep) {
  HookDriver hook(module(), {{"save_steps", 2}});
  EXPECT_EQ(error_of([&] { hook.begin(); }), "FAILED_PRECONDITION: the graph has no global step");
}

TEST(CheckpointSaver, BeginAddsNothingToTheGraph) {
  HookDriver hook(module(), {{"save_steps", 2}});
  hook.global_step(0);
  hook.begin();
  hook.begin_again();
}

TEST(CheckpointSaver, SavesWhenASessionBegins) { EXPECT_EQ(started({{"save_steps", 2}}, 7)->saves(), (Steps{7})); }

TEST(CheckpointSaver, SavesEveryNSteps) {
  const auto hook = started({{"save_steps", 2}});
  hook->step();
  EXPECT_EQ(hook->saves(), (Steps{0}));
  EXPECT_TRUE(hook->step().saved);
  EXPECT_EQ(hook->saves(), (Steps{0, 2}));
  for (int i = 0; i < 5; ++i) hook->step();
  EXPECT_EQ(hook->saves(), (Steps{0, 2, 4, 6}));
}

TEST(CheckpointSaver, SavesEveryStepAndNotOnceMoreAtTheEnd) {
  const auto hook = started({{"save_steps", 1}});
  hook->step();
  hook->step();
  hook->end();
  EXPECT_EQ(hook->saves(), (Steps{0, 1, 2}));
}

TEST(CheckpointSaver, SavesAtTheEndWhatIsNotSaved) {
  const auto hook = started({{"save_steps", 10}});
  hook->step();
  hook->step();
  hook->end();
  EXPECT_EQ(hook->saves(), (Steps{0, 2}));
}

TEST(CheckpointSaver, ASessionWithoutAStepSavesOnce) {
  const auto hook = started({{"save_steps", 10}}, 5);
  hook->end();
  EXPECT_EQ(hook->saves(), (Steps{5}));
}

TEST(CheckpointSaver, SavesEveryNSeconds) {
  const auto hook = started({{"save_secs", 2.0}});
  double at = 0;
  for (const double time : {0.5, 1.9, 2.5, 2.6, 4.4, 4.5, 10.0}) {
    hook->host().clock.advance(time - at);
    at = time;
    hook->step();
  }
  EXPECT_EQ(hook->saves(), (Steps{0, 3, 6, 7}));
}

TEST(CheckpointSaver, WithBothPeriodsTheFirstOneCounts) {
  const auto hook = started({{"save_secs", 10.0}, {"save_steps", 3}});
  hook->step();
  hook->host().clock.advance(10);
  hook->step();  // saves since the time is over
  for (int i = 0; i < 3; ++i) hook->step();
  EXPECT_EQ(hook->saves(), (Steps{0, 2, 5}));
}

TEST(CheckpointSaver, SeveralStepsPerRunSaveAtTheRealStep) {
  const auto hook = started({{"save_steps", 10}});
  hook->steps_per_run(5);
  for (int i = 0; i < 5; ++i) hook->step();
  EXPECT_EQ(hook->saves(), (Steps{0, 10, 20}));
  const auto odd = started({{"save_steps", 10}});
  odd->steps_per_run(7);
  for (int i = 0; i < 4; ++i) odd->step();
  EXPECT_EQ(odd->saves(), (Steps{0, 14, 28}));
}

// The predicted step is 10, the real one is 9: nothing is saved.
TEST(CheckpointSaver, DecidesOnTheRealStep) {
  const auto hook = started({{"save_steps", 10}});
  for (int i = 0; i < 9; ++i) hook->step();
  hook->steps_per_run(0);
  hook->step();
  EXPECT_EQ(hook->saves(), (Steps{0}));
  hook->steps_per_run(1);
  hook->step();
  EXPECT_EQ(hook->saves(), (Steps{0, 10}));
}

TEST(CheckpointSaver, ARecoverySavesAtOnce) {
  const auto hook = started({{"save_steps", 3}});
  for (int i = 0; i < 5; ++i) hook->step();
  hook->recover();
  EXPECT_EQ(hook->step_number(), 3);
  EXPECT_EQ(hook->saves(), (Steps{0, 3, 3}));
  for (int i = 0; i < 3; ++i) hook->step();
  EXPECT_EQ(hook->saves(), (Steps{0, 3, 3, 6}));
}

// Another hook, or a signal, saved at step 4, and this run resumes from there. Its next regular save is at the step of
// a run without a stop.
TEST(CheckpointSaver, AResumedRunKeepsThePhase) {
  const auto first = started({{"save_steps", 3}});
  for (int i = 0; i < 4; ++i) first->step();
  const StoredState state = first->save_state();
  EXPECT_EQ(state, (StoredState{{"last_triggered_step", 3}, {"seconds_since", 0.0}}));

  const auto second = started({{"save_steps", 3}}, 4, &state);
  for (int i = 0; i < 6; ++i) second->step();
  EXPECT_EQ(second->saves(), (Steps{4, 6, 9}));
}

TEST(CheckpointSaver, AResumedRunKeepsThePhaseInSeconds) {
  const auto first = started({{"save_secs", 10.0}});
  first->host().clock.advance(7);
  first->step();
  const StoredState state = first->save_state();
  EXPECT_EQ(state.at("seconds_since"), 7.0);

  const auto second = started({{"save_secs", 10.0}}, 1, &state);
  second->host().clock.advance(2.9);
  EXPECT_FALSE(second->step().saved);
  second->host().clock.advance(0.1);
  EXPECT_TRUE(second->step().saved);
}

TEST(CheckpointSaver, StateOfLaterStepsIsNotUsed) {
  const StoredState state{{"last_triggered_step", 100}, {"seconds_since", 0.0}};
  const auto hook = started({{"save_steps", 2}}, 10, &state);
  for (int i = 0; i < 2; ++i) hook->step();
  EXPECT_EQ(hook->saves(), (Steps{10, 12}));
}

TEST(CheckpointSaver, AFailedRequestIsAnError) {
  const auto hook = started({{"save_steps", 1}});
  hook->checkpoints().fail_saves_with(belay::Error(belay::Code::kResourceExhausted, "no space left"));
  EXPECT_EQ(error_of([&] { hook->step(); }), "RESOURCE_EXHAUSTED: no space left");
}

TEST(CheckpointSaver, NeedsTheCheckpointService) {
  HookDriver hook(module(), {{"save_steps", 1}}, {.without = {"checkpoint"}});
  hook.global_step(0);
  hook.begin();
  EXPECT_EQ(error_of([&] { hook.create_session(); }), "UNIMPLEMENTED: the other side offers no 'checkpoint.save'");
}

TEST(CheckpointSaver, AllocatesNothingUntilItSaves) {
  for (const OptionValues& options : {OptionValues{{"save_steps", 1000}}, OptionValues{{"save_secs", 1000}}}) {
    const auto hook = started(options);
    hook->probe_with(allocations);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(hook->step().probed, 0u) << i;
  }
}

}  // namespace checkpoint_saver_test
