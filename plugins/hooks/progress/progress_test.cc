// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_progress;

BELAY_COUNT_ALLOCATIONS

namespace {

using namespace belay::testing;
using belay::Tensor;

using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_progress); }

std::unique_ptr<HookDriver> started(const OptionValues& options, const DriverSetup& setup = {}, std::int64_t step = 0,
                                    const StoredState* state = nullptr) {
  auto hook = std::make_unique<HookDriver>(module(), options, setup);
  hook->tensor<float>("loss");
  hook->tensor<double>("accuracy");
  hook->global_step(step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  hook->step({{"loss", 0.5f}, {"accuracy", 0.25}});
  return hook;
}

// Runs that take `seconds` each.
void run(HookDriver& hook, int runs, double seconds) {
  for (int i = 0; i < runs; ++i) {
    hook.host().clock.advance(seconds);
    hook.step();
  }
}

TEST(Progress, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"max_steps", -1}});
            }),
            "INVALID_ARGUMENT: 'max_steps' is -1, must be >= 0");
}

TEST(Progress, ShowsScalarNumbers) {
  struct Case {
    const char* name;
    const char* error;
  };
  for (const Case& c : {Case{"los", "NOT_FOUND: the graph has no 'los'; did you mean 'loss'?"},
                        Case{"logits", "INVALID_ARGUMENT: progress shows scalar numbers, 'logits' is none"},
                        Case{"text", "INVALID_ARGUMENT: progress shows scalar numbers, 'text' is none"},
                        Case{"train", "INVALID_ARGUMENT: progress shows scalar numbers, 'train' is none"}}) {
    HookDriver hook(module(), {{"tensors", Texts{c.name}}});
    hook.tensor<float>("loss");
    hook.tensor<float>("logits", {-1, 10});
    hook.graph().tensor("text", belay::DType::kString, belay::Dims{});
    hook.graph().operation("train");
    EXPECT_EQ(error_of([&] { hook.begin(); }), c.error);
  }
}

TEST(Progress, AShapeKnownOnlyInTheRunIsChecked) {
  HookDriver hook(module());
  hook.graph().tensor("loss", belay::DType::kFloat32, std::nullopt);
  hook.begin();
  hook.create_session();
  EXPECT_EQ(error_of([&] {
              hook.step({{"loss", Tensor({2}, {1.f, 2.f})}});
            }),
            "INVALID_ARGUMENT: progress shows scalar numbers, 'loss' had the shape [2]");
}

TEST(Progress, TheDefaultLossMayBeAbsent) {
  HookDriver hook(module(), {{"max_steps", 10}});
  hook.global_step(0);
  hook.begin();
  hook.begin_again();
  hook.create_session();
  EXPECT_EQ(hook.step().logged, Texts{"info: step 1/10 (10%)"});
}

TEST(Progress, PrintsTheFirstRunAtOnce) {
  EXPECT_EQ(started({{"max_steps", 2000}})->logged(), Texts{"info: step 1/2000 (0%), loss 0.5"});
  EXPECT_EQ(started({})->logged(), Texts{"info: step 1, loss 0.5"});
  EXPECT_EQ(started({{"tensors", Texts{"accuracy", "loss"}}})->logged(),
            Texts{"info: step 1, accuracy 0.25, loss 0.5"});
  EXPECT_EQ(started({{"tensors", Texts{}}})->logged(), Texts{"info: step 1"});
}

TEST(Progress, OffATerminalALineComesEveryTenSeconds) {
  const auto hook = started({{"max_steps", 2000}});
  run(*hook, 99, 0.1);
  EXPECT_EQ(hook->logged().size(), 1u);
  run(*hook, 1, 0.1);
  ASSERT_EQ(hook->logged().size(), 2u);
  EXPECT_EQ(hook->logged()[1], "info: step 101/2000 (5%), 10.0 steps/s, ETA 3:10, loss 0.5");
  run(*hook, 400, 0.1);
  EXPECT_EQ(hook->logged().size(), 6u);
}

TEST(Progress, OffATerminalALineCoversAtLeastOnePercent) {
  const auto hook = started({{"max_steps", 10000}});
  run(*hook, 98, 1.0);
  EXPECT_EQ(hook->logged().size(), 1u);
  run(*hook, 2, 1.0);
  EXPECT_EQ(hook->logged().back(), "info: step 101/10000 (1%), 1.0 steps/s, ETA 2:44:59, loss 0.5");
}

TEST(Progress, TenThousandStepsStayUnderAHundredKilobytes) {
  for (const double seconds : {0.0001, 0.05, 1.0, 20.0}) {
    const auto hook = started({{"max_steps", 10000}, {"tensors", Texts{"loss", "accuracy"}}});
    run(*hook, 9999, seconds);
    hook->end();
    std::size_t bytes = 0;
    for (const std::string& line : hook->logged()) bytes += line.size() + 40;  // time, level and name
    EXPECT_LT(bytes, 100'000u / 4) << seconds;
    EXPECT_LE(hook->logged().size(), 103u) << seconds;
  }
}

TEST(Progress, OnATerminalTheLineIsLive) {
  const auto hook = started({{"max_steps", 2000}}, {.interactive = true});
  run(*hook, 1000, 0.01);
  const Texts shown = hook->host().status_lines();
  EXPECT_EQ(shown.size(), 101u);  // in 10 s, ten times a second, and the first one
  EXPECT_EQ(shown[1], "step 11/2000 (0%), 100.0 steps/s, ETA 0:20, loss 0.5");
  EXPECT_TRUE(hook->logged().empty());
}

// A run that was expected to be slow and is not: its values were fetched, and no line is shown.
TEST(Progress, NoLineComesTooEarly) {
  const auto hook = started({{"max_steps", 2000}}, {.interactive = true});
  run(*hook, 2, 0.1);  // the first one is not known to be slow
  EXPECT_EQ(hook->host().status_lines().size(), 2u);
  hook->host().clock.advance(0.001);
  EXPECT_FALSE(hook->step().fetched.empty());
  EXPECT_EQ(hook->host().status_lines().size(), 2u);
  run(*hook, 99, 0.001);
  EXPECT_EQ(hook->host().status_lines().size(), 3u);
}

TEST(Progress, FetchesOnlyForALine) {
  const auto hook = started({{"max_steps", 2000}}, {.interactive = true});
  int fetched = 0;
  for (int i = 0; i < 100; ++i) {
    hook->host().clock.advance(0.01);
    fetched += hook->step().fetched.empty() ? 0 : 1;
  }
  EXPECT_EQ(fetched, 10);
}

TEST(Progress, TheLastLineHasTheLastValues) {
  for (const bool interactive : {false, true}) {
    const auto hook = started({{"max_steps", 100}}, {.interactive = interactive});
    run(*hook, 98, 0.05);
    hook->host().clock.advance(0.05);
    hook->step({{"loss", 0.125f}});
    hook->end();
    EXPECT_EQ(hook->logged().back(), "info: ended at step 100/100 after 5.0 s, 20.2 steps/s, loss 0.125")
        << interactive;
    EXPECT_EQ(hook->host().status_lines().empty(), !interactive);
    if (interactive) {
      EXPECT_EQ(hook->host().status_lines().back(), "");
    }
  }
}

TEST(Progress, AnEarlyEndTellsNoOldValues) {
  const auto hook = started({{"max_steps", 100}});
  run(*hook, 9, 0.5);
  hook->end();
  EXPECT_EQ(hook->logged().back(), "info: ended at step 10/100 after 4.5 s, 2.2 steps/s");
}

TEST(Progress, TheRateIsTheMedian) {
  const auto hook = started({{"max_steps", 1000}}, {.interactive = true});
  run(*hook, 20, 0.1);
  run(*hook, 1, 60);  // an evaluation
  run(*hook, 1, 0.1);
  EXPECT_EQ(hook->host().status_lines().back(), "step 23/1000 (2%), 10.0 steps/s, ETA 1:38, loss 0.5");
}

TEST(Progress, TheWaitsForAnInputThatComesInBurstsCount) {
  const auto hook = started({{"max_steps", 1001}}, {.interactive = true});
  for (int burst = 0; burst < 5; ++burst) {
    run(*hook, 9, 0.001);
    run(*hook, 1, 0.091);
  }
  const std::string line = hook->host().status_lines().back();
  EXPECT_NE(line.find(", 100.0 steps/s, ETA 0:10, "), std::string::npos) << line;
}

TEST(Progress, TheTimeLeftCountsSaving) {
  const auto hook = started({{"max_steps", 1001}}, {.interactive = true});
  run(*hook, 49, 0.1);
  hook->saving_takes(5);
  hook->save();
  run(*hook, 1, 0.1);
  EXPECT_EQ(hook->host().status_lines().back(),
            "step 51/1001 (5%), 10.0 steps/s, ETA 3:08, loss 0.5");  // 950 * (0.1 + 5 / 51) s
}

TEST(Progress, SeveralStepsPerRunCount) {
  auto hook =
      std::make_unique<HookDriver>(module(), OptionValues{{"max_steps", 1000}}, DriverSetup{.interactive = true});
  hook->global_step(0);
  hook->steps_per_run(5);
  hook->begin();
  hook->create_session();
  run(*hook, 20, 0.1);
  EXPECT_EQ(hook->host().status_lines().back(), "step 100/1000 (10%), 50.0 steps/s, ETA 0:18");
}

TEST(Progress, CountsRunsWhereThereIsNoGlobalStep) {
  HookDriver hook(module(), {{"max_steps", 40}}, {.interactive = true});
  hook.tensor<float>("loss");
  hook.begin();
  hook.create_session();
  hook.step({{"loss", 1.f}});
  run(hook, 9, 0.1);
  EXPECT_EQ(hook.host().status_lines().back(), "step 10/40 (25%), 10.0 steps/s, ETA 0:03, loss 1");
  EXPECT_EQ(hook.save_state().at("runs"), 10);
}

TEST(Progress, LongTimesAreReadable) {
  struct Case {
    int max_steps;
    const char* eta;
  };
  for (const Case& c : {Case{103, "ETA 1:40"}, Case{3603, "ETA 1:00:00"}, Case{100003, "ETA 1d 03:46:40"}}) {
    const auto hook = started({{"max_steps", c.max_steps}}, {.interactive = true});
    run(*hook, 2, 1.0);
    EXPECT_NE(hook->host().status_lines().back().find(c.eta), std::string::npos) << hook->host().status_lines().back();
  }
}

TEST(Progress, AResumedRunKnowsItsPaceAndItsTime) {
  const auto first = started({{"max_steps", 2000}});
  run(*first, 10, 0.5);
  const StoredState state = first->save_state();
  EXPECT_EQ(state, (StoredState{{"seconds", 5.0}, {"seconds_per_run", 0.5}}));

  const auto second = started({{"max_steps", 2000}}, {}, 11, &state);
  EXPECT_EQ(second->logged(), Texts{"info: step 12/2000 (0%), 2.0 steps/s, ETA 16:34, loss 0.5"});
  run(*second, 2, 0.5);
  second->end();
  EXPECT_EQ(second->logged().back(), "info: ended at step 14/2000 after 6.0 s, 3.0 steps/s");
}

TEST(Progress, ARecoveryShowsALineAtOnce) {
  const auto hook = started({{"max_steps", 2000}});
  run(*hook, 5, 0.1);
  hook->recover();
  EXPECT_EQ(hook->step().logged, Texts{"info: step 7/2000 (0%), 10.0 steps/s, ETA 3:19, loss 0.5"});
}

TEST(Progress, AllocatesOnlyForItsLines) {
  for (const bool interactive : {false, true}) {
    const auto hook = started({{"max_steps", 2000}}, {.interactive = interactive});
    hook->probe_with(allocations);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(hook->step().probed, 0u) << i;
  }
}

}  // namespace
