// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string_view>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_summary_saver;

namespace summary_saver_test {

using namespace belay::testing;
using namespace std::string_view_literals;

using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_summary_saver); }

std::unique_ptr<HookDriver> started(const OptionValues& options, std::int64_t step = 0,
                                    const StoredState* state = nullptr) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->global_step(step);
  hook->graph().tensor("merged", belay::DType::kString, belay::Dims{});
  hook->graph().collect("summary_op", "merged");
  hook->tensor<float>("loss");
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}

std::vector<std::int64_t> written_steps(HookDriver& hook) {
  std::vector<std::int64_t> steps;
  for (const WrittenSummary& s : hook.events().summaries()) steps.push_back(s.step);
  return steps;
}

TEST(SummarySaver, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"save_steps", 0}});
            }),
            "INVALID_ARGUMENT: 'save_steps' is 0, must be >= 1");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"save_secs", -1}});
            }),
            "INVALID_ARGUMENT: 'save_secs' is -1, must be >= 0.001");
}

TEST(SummarySaver, NeedsAGlobalStep) {
  HookDriver hook(module());
  EXPECT_EQ(error_of([&] { hook.begin(); }), "FAILED_PRECONDITION: the graph has no global step");
}

TEST(SummarySaver, WritesTheFirstStepAndEveryNth) {
  const auto hook = started({{"save_steps", 8}});
  hook->begin_again();
  int fetched = 0;
  for (int step = 1; step <= 30; ++step) {
    const std::string summary = "summary " + std::to_string(step);
    const StepResult result = hook->step({{"merged", std::string_view(summary)}});
    if (result.fetched == Texts{"global_step", "merged"}) {
      ++fetched;
      EXPECT_EQ(hook->events().summaries().back().bytes, summary);
    } else {
      EXPECT_EQ(result.fetched, Texts{"global_step"});
    }
  }
  EXPECT_EQ(fetched, 4);
  EXPECT_EQ(written_steps(*hook), (std::vector<std::int64_t>{1, 9, 17, 25}));
}

TEST(SummarySaver, WithoutAPeriodItIsEveryHundredSteps) {
  const auto hook = started({});
  for (int step = 1; step <= 202; ++step) hook->step({{"merged", "s"sv}});
  EXPECT_EQ(written_steps(*hook), (std::vector<std::int64_t>{1, 101, 201}));
}

TEST(SummarySaver, TheLastLossIsWrittenAtTheEndUnlessItsStepWas) {
  for (const int steps : {3, 4}) {
    const auto hook = started({{"save_steps", 3}, {"last_loss", true}});
    for (int step = 1; step <= steps; ++step) hook->step({{"merged", "s"sv}, {"loss", static_cast<float>(step)}});
    hook->end();
    const bool was = steps == 4;
    EXPECT_EQ(hook->events().order(), was ? (Texts{"start@1", "summary@1", "summary@4", "flush"})
                                          : (Texts{"start@1", "summary@1", "scalar loss@3", "flush"}));
    if (!was) {
      EXPECT_EQ(hook->events().scalars().back(), (WrittenScalar{"loss", 3, 3.0}));
    }
  }
}

TEST(SummarySaver, T_118_TheLossOfTheStepThatEndedTheRunIsWritten) {
  const auto hook = started({{"save_steps", 100}, {"last_loss", true}});
  for (int step = 1; step <= 7; ++step)
    hook->step({{"merged", "s"sv}, {"loss", step < 7 ? 1.0f : std::numeric_limits<float>::quiet_NaN()}});
  hook->error(belay::Error(belay::Code::kDiverged, "'loss' is nan at step 7"));
  ASSERT_EQ(hook->events().order(), (Texts{"start@1", "summary@1", "scalar loss@7"}));
  EXPECT_TRUE(std::isnan(hook->events().scalars().back().value));
}

TEST(SummarySaver, WritesEveryNSeconds) {
  const auto often = started({{"save_secs", 0.5}});
  for (int i = 0; i < 4; ++i) {
    often->step({{"merged", "s"sv}});
    often->host().clock.advance(0.5);
  }
  EXPECT_EQ(written_steps(*often), (std::vector<std::int64_t>{1, 2, 3, 4}));

  const auto seldom = started({{"save_secs", 9.0}});
  for (int i = 0; i < 8; ++i) {
    seldom->step({{"merged", "s"sv}});
    seldom->host().clock.advance(3.1);
  }
  EXPECT_EQ(written_steps(*seldom), (std::vector<std::int64_t>{1, 4, 7}));
}

TEST(SummarySaver, WithBothPeriodsTheFirstOneCounts) {
  const auto hook = started({{"save_secs", 10.0}, {"save_steps", 3}});
  for (const double pause : {0.0, 10.0, 0.0, 0.0, 0.0}) {
    hook->host().clock.advance(pause);
    hook->step({{"merged", "s"sv}});
  }
  EXPECT_EQ(written_steps(*hook), (std::vector<std::int64_t>{1, 2, 5}));
}

TEST(SummarySaver, StartsWithTheFirstStepToBeDone) {
  const auto hook = started({{"save_steps", 2}}, 100);
  hook->step({{"merged", "s"sv}});
  hook->step();
  hook->step();
  hook->end();
  EXPECT_EQ(hook->events().order(), (Texts{"start@101", "summary@101", "summary@103", "flush"}));
}

TEST(SummarySaver, ARecoveryStartsAgain) {
  const auto hook = started({{"save_steps", 2}});
  hook->step({{"merged", "s"sv}});
  hook->save();
  hook->step();
  hook->step();
  hook->recover();
  hook->step();
  hook->step();
  EXPECT_EQ(hook->events().order(), (Texts{"start@1", "summary@1", "summary@3", "start@2", "summary@3"}));
}

TEST(SummarySaver, ARecoveryWithoutAnyCheckpointWritesTheStepsAgain) {
  const auto hook = started({{"save_steps", 100}}, 10);
  hook->step({{"merged", "s"sv}});
  hook->set_global_step(10);
  hook->recover();
  hook->step();
  EXPECT_EQ(hook->events().order(), (Texts{"start@11", "summary@11", "start@11", "summary@11"}));
}

TEST(SummarySaver, WithoutSummariesItOnlyStarts) {
  HookDriver hook(module());
  hook.global_step(5);
  hook.begin();
  hook.create_session();
  EXPECT_EQ(hook.step().fetched, Texts{"global_step"});
  hook.end();
  EXPECT_EQ(hook.events().order(), (Texts{"start@6", "flush"}));
}

TEST(SummarySaver, WithoutARunDirectoryNothingIsFetched) {
  HookDriver hook(module(), {}, {.run_directory = ""});
  hook.global_step(0);
  hook.graph().tensor("merged", belay::DType::kString, belay::Dims{});
  hook.graph().collect("summary_op", "merged");
  hook.begin();
  hook.create_session();
  EXPECT_EQ(hook.step({{"merged", "s"sv}}).fetched, Texts{"global_step"});
  hook.end();
  EXPECT_EQ(hook.events().order(), Texts{});
}

TEST(SummarySaver, NeedsOneSummaryOperationThatGivesAString) {
  HookDriver two(module());
  two.global_step(0);
  for (const char* name : {"a", "b"}) {
    two.graph().tensor(name, belay::DType::kString, belay::Dims{});
    two.graph().collect("summary_op", name);
  }
  two.begin();
  EXPECT_EQ(error_of([&] { two.create_session(); }),
            "FAILED_PRECONDITION: the collection 'summary_op' has 2 items, a hook writes one: merge them");

  HookDriver number(module());
  number.global_step(0);
  number.tensor<float>("loss");
  number.graph().collect("summary_op", "loss");
  number.begin();
  EXPECT_EQ(error_of([&] { number.create_session(); }),
            "INVALID_ARGUMENT: the summary operation 'loss:0' (float32 []) is no string");
}

TEST(SummarySaver, SeveralStepsPerRunAreWrittenAtTheRealStep) {
  const auto hook = started({{"save_steps", 10}});
  hook->steps_per_run(5);
  for (int i = 0; i < 5; ++i) hook->step({{"merged", "s"sv}});
  EXPECT_EQ(written_steps(*hook), (std::vector<std::int64_t>{5, 15, 25}));
}

TEST(SummarySaver, AResumedRunWritesTheSameSteps) {
  const auto first = started({{"save_steps", 8}});
  for (int step = 1; step <= 12; ++step) first->step({{"merged", "s"sv}});
  const StoredState state = first->save_state();
  EXPECT_EQ(state, (StoredState{{"last_triggered_step", 9}, {"seconds_since", 0.0}}));

  const auto second = started({{"save_steps", 8}}, 12, &state);
  for (int step = 13; step <= 30; ++step) second->step({{"merged", "s"sv}});
  EXPECT_EQ(written_steps(*second), (std::vector<std::int64_t>{17, 25}));
  EXPECT_EQ(second->events().order()[0], "start@13");
}

TEST(SummarySaver, AnEventFileThatFailsIsAnError) {
  const auto hook = started({{"save_steps", 1}});
  hook->events().fail_with(belay::Error(belay::Code::kInternal, "the event file is gone"));
  EXPECT_EQ(error_of([&] { hook->step({{"merged", "s"sv}}); }), "INTERNAL: the event file is gone");
}

TEST(SummarySaver, AllocatesNothingUntilItWrites) {
  for (const bool last_loss : {false, true}) {
    const auto hook = started({{"save_steps", 1000}, {"last_loss", last_loss}});
    hook->step({{"merged", "s"sv}});
    hook->step({{"loss", 1.0f}});
    hook->probe_with(allocations);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(hook->step().probed, 0u) << i;
  }
}

}  // namespace summary_saver_test
