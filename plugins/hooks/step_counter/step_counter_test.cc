// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_step_counter;

namespace step_counter_test {

using namespace belay::testing;

using Scalars = std::vector<WrittenScalar>;
using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_step_counter); }

std::unique_ptr<HookDriver> started(const OptionValues& options, std::int64_t step = 0,
                                    const StoredState* state = nullptr, const char* name = "global_step") {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->global_step(step, name);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}

// Makes runs that take `seconds` each.
void run(HookDriver& hook, int runs, double seconds) {
  for (int i = 0; i < runs; ++i) {
    hook.host().clock.advance(seconds);
    hook.step();
  }
}

TEST(StepCounter, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"every_n_steps", 0}});
            }),
            "INVALID_ARGUMENT: 'every_n_steps' is 0, must be >= 1");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"every_n_secs", 0}});
            }),
            "INVALID_ARGUMENT: 'every_n_secs' is 0, must be >= 0.001");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"every_n_steps", 5}, {"every_n_secs", 5}});
            }),
            "INVALID_ARGUMENT: give at most one of 'every_n_steps' and 'every_n_secs'; both are given");
}

TEST(StepCounter, NeedsAGlobalStep) {
  HookDriver hook(module());
  EXPECT_EQ(error_of([&] { hook.begin(); }), "FAILED_PRECONDITION: the graph has no global step");
}

TEST(StepCounter, MeasuresFromTheFirstRun) {
  const auto hook = started({{"every_n_steps", 10}});
  hook->begin_again();
  run(*hook, 30, 0.5);
  EXPECT_EQ(hook->events().scalars(), (Scalars{{"global_step/sec", 11, 2}, {"global_step/sec", 21, 2}}));
  EXPECT_EQ(hook->logged(), Texts{}) << "the log has the rate from progress";
}

TEST(StepCounter, WithoutAPeriodItIsEveryHundredSteps) {
  const auto hook = started({});
  run(*hook, 202, 0.25);
  EXPECT_EQ(hook->events().scalars(), (Scalars{{"global_step/sec", 101, 4}, {"global_step/sec", 201, 4}}));
}

TEST(StepCounter, MeasuresEveryNSeconds) {
  const auto hook = started({{"every_n_secs", 0.1}});
  run(*hook, 3, 0.2);
  EXPECT_EQ(hook->events().scalars(), (Scalars{{"global_step/sec", 2, 5}, {"global_step/sec", 3, 5}}));
}

TEST(StepCounter, TheTagIsTheNameOfTheStep) {
  const auto hook = started({{"every_n_steps", 1}}, 0, nullptr, "bar/foo");
  run(*hook, 2, 0.5);
  EXPECT_EQ(hook->events().scalars(), (Scalars{{"bar/foo/sec", 2, 2}}));
}

TEST(StepCounter, CountsAllStepsOfARun) {
  struct Case {
    int every;
    Scalars written;
  };
  const std::string tag = "global_step/sec";
  for (const Case& c :
       {Case{10, {{tag, 15, 5}, {tag, 25, 5}}}, Case{5, {{tag, 10, 5}, {tag, 15, 5}, {tag, 20, 5}, {tag, 25, 5}}}}) {
    const auto hook = started({{"every_n_steps", c.every}});
    hook->steps_per_run(5);
    run(*hook, 5, 1);
    EXPECT_EQ(hook->events().scalars(), c.written);
  }
}

TEST(StepCounter, NoTimeGivesNoRate) {
  const auto hook = started({{"every_n_steps", 1}});
  run(*hook, 3, 0);
  EXPECT_TRUE(hook->events().scalars().empty());
  run(*hook, 1, 0.5);
  EXPECT_EQ(hook->events().scalars(), (Scalars{{"global_step/sec", 4, 2}}));
}

TEST(StepCounter, WarnsFiveTimesThatTheStepStandsStill) {
  const auto hook = started({{"every_n_steps", 10}}, 7);
  run(*hook, 3, 0.5);
  EXPECT_TRUE(hook->logged().empty());
  hook->steps_per_run(0);
  run(*hook, 10, 0.5);
  EXPECT_EQ(hook->logged(),
            Texts(5,
                  "warning: the global step is still 10 after another run, so nothing that counts steps will happen: "
                  "let the train operation advance it"));
}

TEST(StepCounter, ARecoveryIsNoStandstill) {
  const auto hook = started({{"every_n_steps", 100}}, 7);
  hook->save();
  hook->step();
  hook->recover();  // fetches 7 again
  run(*hook, 2, 0.5);
  EXPECT_TRUE(hook->logged().empty());
}

TEST(StepCounter, StepsThatAreDoneAgainAreMeasuredAgain) {
  const auto hook = started({{"every_n_steps", 2}}, 10);
  run(*hook, 3, 0.5);  // 11: base, 13: measured
  hook->set_global_step(10);
  hook->recover();  // without a checkpoint's state
  run(*hook, 3, 0.25);
  EXPECT_EQ(hook->events().scalars(), (Scalars{{"global_step/sec", 13, 2}, {"global_step/sec", 13, 4}}));
}

TEST(StepCounter, AResumedRunMeasuresTheSameSteps) {
  const auto first = started({{"every_n_steps", 10}});
  run(*first, 4, 0.5);
  const StoredState state = first->save_state();
  EXPECT_EQ(state, (StoredState{{"last_triggered_step", 1}, {"seconds_since", 1.5}}));

  const auto second = started({{"every_n_steps", 10}}, 4, &state);
  run(*second, 10, 0.5);
  EXPECT_EQ(second->events().scalars(), (Scalars{{"global_step/sec", 11, 2}}));  // without the time between the two
}

TEST(StepCounter, AllocatesNothingUntilItWrites) {
  for (const OptionValues& options : {OptionValues{{"every_n_steps", 1000}}, OptionValues{{"every_n_secs", 1000}}}) {
    const auto hook = started(options);
    hook->step();
    hook->probe_with(allocations);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(hook->step().probed, 0u) << i;
  }
}

}  // namespace step_counter_test
