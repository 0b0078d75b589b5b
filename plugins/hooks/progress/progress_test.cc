// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "belay/ops/summaries.h"
#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_progress;

namespace progress_test {

using namespace belay::testing;
using belay::Tensor;

using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_progress); }

// Returns a log line without its fields.
std::string text_of(const std::string& line) { return line.substr(0, line.find('\x1f')); }
Texts texts_of(Texts lines) {
  for (std::string& line : lines) line = text_of(line);
  return lines;
}
Texts lines_of(const HookDriver& hook) { return texts_of(hook.logged()); }

// Starts a training with a loss and an accuracy, for which the host has made summaries. Its first step is done.
std::unique_ptr<HookDriver> started(const OptionValues& options, const DriverSetup& setup = {}, std::int64_t step = 0,
                                    const StoredState* state = nullptr) {
  auto hook = std::make_unique<HookDriver>(module(), options, setup);
  belay::ops::scalar_summary("accuracy", hook->tensor<double>("accuracy"));
  belay::ops::scalar_summary("loss", hook->tensor<float>("loss"));
  hook->global_step(step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  hook->step({{"loss", 0.5f}, {"accuracy", 0.25}});
  return hook;
}

// Makes runs that take `seconds` each.
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
  EXPECT_EQ(texts_of(hook.step().logged), Texts{"info: step 1/10 (10%)"});
}

TEST(Progress, PrintsTheFirstRunAtOnce) {
  EXPECT_EQ(lines_of(*started({{"max_steps", 2000}})),
            Texts{"info: step 1/2000 (0%), loss 0.5 (average 0.5), accuracy 0.25"});
  EXPECT_EQ(lines_of(*started({})), Texts{"info: step 1, loss 0.5 (average 0.5), accuracy 0.25"});
  EXPECT_EQ(lines_of(*started({{"tensors", Texts{"accuracy"}}})), Texts{"info: step 1, accuracy 0.25"});
}

TEST(Progress, UnaskedItShowsTheLossTheMetricsTheRateAndTheExamples) {
  HookDriver hook(module(), {{"max_steps", 100}});
  belay::ops::scalar_summary("error", hook.tensor<float>("error"));
  belay::ops::scalar_summary("accuracy", hook.tensor<double>("accuracy"));
  belay::ops::scalar_summary("loss", hook.tensor<float>("loss"));
  belay::ops::scalar_summary("a_norm", hook.tensor<float>("of_another_name"));
  belay::ops::histogram_summary("weights", hook.tensor<float>("weights", {3}));
  const belay::Output rate = hook.tensor<float>("rate");
  rate.graph().collect("learning_rate", rate);
  const belay::Output images = hook.tensor<float>("input/image", {-1, 28});
  const belay::Output labels = hook.tensor<float>("input/label", {-1});
  for (const belay::Output& o : {images, labels}) o.graph().collect(belay::collections::kInputBatch, o);
  hook.global_step(0);
  hook.begin();
  hook.create_session();
  const HookDriver::Values values = {{"loss", 2.f},
                                     {"accuracy", 0.5},
                                     {"error", 0.25f},
                                     {"rate", 0.01f},
                                     {"input/label", Tensor({4}, {1.f, 2.f, 3.f, 4.f})}};
  EXPECT_EQ(texts_of(hook.step(values).logged),
            Texts{"info: step 1/100 (1%), loss 2 (average 2), accuracy 0.5, error 0.25, learning_rate 0.01"});
  run(hook, 9, 0.5);
  EXPECT_EQ(hook.logged().back(),
            "info: step 10/100 (10%), loss 2 (average 2), accuracy 0.5, error 0.25, learning_rate 0.01, 2.0 steps/s, 8 "
            "examples/s, ETA 0:45\x1f{\"loss\":2,\"loss_average\":2,\"accuracy\":0.5,\"error\":0.25,"
            "\"learning_rate\":0.009999999776482582,\"step\":10,\"max_steps\":100,\"steps_per_sec\":2,"
            "\"examples_per_sec\":8,\"eta_secs\":45}");
}

TEST(Progress, OffATerminalALineComesAtEachTenthOfTheWay) {
  const auto hook = started({{"max_steps", 2000}});
  run(*hook, 1999, 0.01);
  hook->end();
  Texts steps;
  for (const std::string& line : lines_of(*hook)) steps.push_back(line.substr(0, line.find(',')));
  EXPECT_EQ(steps, (Texts{"info: step 1/2000 (0%)", "info: step 200/2000 (10%)", "info: step 400/2000 (20%)",
                          "info: step 600/2000 (30%)", "info: step 800/2000 (40%)", "info: step 1000/2000 (50%)",
                          "info: step 1200/2000 (60%)", "info: step 1400/2000 (70%)", "info: step 1600/2000 (80%)",
                          "info: step 1800/2000 (90%)", "info: step 2000/2000 (100%)"}));
}

TEST(Progress, AFewStepsHaveALineEachAndNoneTwice) {
  const auto hook = started({{"max_steps", 3}});
  run(*hook, 2, 0.01);
  hook->end();
  EXPECT_EQ(hook->logged().size(), 3u);
}

TEST(Progress, WhereATenthTakesLongerALineComesEachMinute) {
  const auto hook = started({{"max_steps", 100000}});
  run(*hook, 130, 1.0);
  ASSERT_EQ(hook->logged().size(), 3u);
  EXPECT_THAT(lines_of(*hook)[1], ::testing::StartsWith("info: step 62/100000 (0%), "));
  EXPECT_THAT(lines_of(*hook)[2], ::testing::StartsWith("info: step 123/100000 (0%), "));
}

TEST(Progress, ItsPeriodsCanBeSet) {
  const auto hook = started({{"max_steps", 100}, {"every_percent", 50.0}, {"every_secs", 1.0}});
  run(*hook, 99, 0.01);
  EXPECT_EQ(hook->logged().size(), 3u);
  const auto slow = started({{"max_steps", 100}, {"every_percent", 50.0}, {"every_secs", 1.0}});
  run(*slow, 40, 0.5);
  EXPECT_GE(slow->logged().size(), 11u);
}

TEST(Progress, TenThousandStepsStayUnderTwentyKilobytesAMinute) {
  for (const double seconds : {0.0001, 0.005}) {
    const auto hook = started({{"max_steps", 10000}});
    run(*hook, 9999, seconds);
    hook->end();
    std::size_t bytes = 0;
    for (const std::string& line : lines_of(*hook)) bytes += line.size() + 40;  // for time, level and name
    EXPECT_LT(bytes, 20'000u / 4) << seconds;
    EXPECT_LE(hook->logged().size(), 12u) << seconds;
  }
}

TEST(Progress, OnATerminalTheLineIsLive) {
  const auto hook = started({{"max_steps", 2000}}, {.interactive = true});
  run(*hook, 1000, 0.01);
  const Texts shown = hook->host().status_lines();
  EXPECT_GE(shown.size(), 60u);  // at most ten times a second for 10 s
  EXPECT_LE(shown.size(), 102u);
  EXPECT_THAT(
      shown.back(),
      ::testing::MatchesRegex("\\[====(=?)>    ( ?)\\] (49|50)%, ETA 0:10, 100.0 steps/s, loss 0.5 \\(average 0.5\\), "
                              "accuracy 0.25, step (100[01]|9[89][0-9])/2000"));
  EXPECT_TRUE(hook->logged().empty());
}

TEST(Progress, T_124_EightyColumnsHoldThePartTheTimeLeftTheRateAndTheLoss) {
  const auto hook = started({{"max_steps", 1'000'000}}, {.interactive = true});
  for (int i = 0; i < 500; ++i) {
    hook->host().clock.advance(0.01);
    hook->step({{"loss", 0.123456f}, {"accuracy", 0.25}});
  }
  const std::string shown = hook->host().status_lines().back().substr(0, 79);
  EXPECT_EQ(shown.substr(0, shown.find(" (average")), "[>         ] 0%, ETA 2:46:35, 100.0 steps/s, loss 0.1235");
}

TEST(Progress, T_124_WithoutAnEndTheLiveLineBeginsWithItsStep) {
  const auto hook = started({}, {.interactive = true});
  run(*hook, 100, 0.2);
  EXPECT_THAT(hook->host().status_lines().back(),
              ::testing::MatchesRegex("step 10[01], 5.0 steps/s, loss 0.5 \\(average 0.5\\), accuracy 0.25"));
}

TEST(Progress, FetchesAllOnlyForALine) {
  const auto hook = started({{"max_steps", 2000}});
  int all = 0;
  for (int i = 0; i < 400; ++i) {
    hook->host().clock.advance(0.01);
    all += hook->step().fetched.size() == 1 ? 0 : 1;
  }
  EXPECT_EQ(all, 2) << "the loss alone, for its average";
}

TEST(Progress, TheAverageOfTheLossIsOfAboutItsLastHundredValues) {
  HookDriver hook(module(), {{"max_steps", 1000}});
  hook.tensor<float>("loss");
  hook.global_step(0);
  hook.begin();
  hook.create_session();
  for (int i = 0; i < 50; ++i) hook.step({{"loss", 1.f}});
  for (int i = 0; i < 49; ++i) hook.step({{"loss", 2.f}});
  hook.step({{"loss", std::numeric_limits<float>::quiet_NaN()}});
  EXPECT_THAT(lines_of(hook).back(), ::testing::EndsWith("loss nan (average 1.617)"));
  for (int i = 0; i < 900; ++i) hook.step({{"loss", 3.f}});
  EXPECT_THAT(lines_of(hook).back(), ::testing::EndsWith("loss 3 (average 3)"));
}

TEST(Progress, TheLastLineHasTheLastValues) {
  const auto hook = started({{"max_steps", 100}}, {.interactive = true});
  run(*hook, 98, 0.05);
  hook->host().clock.advance(0.05);
  hook->step({{"loss", 0.125f}});
  hook->end();
  EXPECT_THAT(lines_of(*hook).back(), ::testing::StartsWith("info: step 100/100 (100%), loss 0.125 (average 0.4"));
  EXPECT_EQ(hook->host().status_lines().back(), "");
}

TEST(Progress, AnEarlyEndShowsTheLastLossAndNoOldMetrics) {
  const auto hook = started({{"max_steps", 100}});
  run(*hook, 4, 0.5);
  hook->step({{"loss", 0.25f}});
  hook->end();
  EXPECT_THAT(lines_of(*hook).back(), ::testing::MatchesRegex("info: step 6/100 \\(6%\\), loss 0.25 \\(average "
                                                              "0.4[0-9]*\\), 2.0 steps/s, ETA 0:47"));
}

TEST(Progress, TheRateIsTheMedian) {
  const auto hook = started({{"max_steps", 1000}});
  run(*hook, 98, 0.1);
  run(*hook, 1, 60);  // an evaluation
  EXPECT_EQ(lines_of(*hook).back(),
            "info: step 100/1000 (10%), loss 0.5 (average 0.5), accuracy 0.25, 10.0 steps/s, ETA 1:30");
}

TEST(Progress, TheWaitsForAnInputThatComesInBurstsCount) {
  const auto hook = started({{"max_steps", 1000}});
  for (int burst = 0; burst < 10; ++burst) {
    run(*hook, 9, 0.001);
    run(*hook, 1, 0.091);
  }
  const std::string line = lines_of(*hook).back();
  const std::size_t end = line.find(" steps/s");
  ASSERT_NE(end, std::string::npos) << line;
  EXPECT_NEAR(std::stod(line.substr(line.rfind(' ', end - 1))), 100, 20) << "and not the 1000 of most of them";
}

// The save at the start of a run is no pause that is repeated.
TEST(Progress, TheTimeLeftCountsWhatComesNowAndThenOnceItHasComeAgain) {
  const auto hook = started({{"max_steps", 1000}});
  run(*hook, 48, 0.1);
  hook->saving_takes(5);
  hook->save();
  run(*hook, 51, 0.1);
  EXPECT_THAT(lines_of(*hook).back(), ::testing::HasSubstr("step 100/1000 (10%), "));
  EXPECT_THAT(lines_of(*hook).back(), ::testing::EndsWith(", 10.0 steps/s, ETA 1:30"));
  hook->save();
  run(*hook, 100, 0.1);  // 800 * (0.1 + 5 / 51) s
  EXPECT_THAT(lines_of(*hook).back(), ::testing::EndsWith(", 10.0 steps/s, ETA 2:38"));
}

TEST(Progress, SeveralStepsPerRunCount) {
  auto hook = std::make_unique<HookDriver>(module(), OptionValues{{"max_steps", 1000}});
  hook->global_step(0);
  hook->steps_per_run(5);
  hook->begin();
  hook->create_session();
  run(*hook, 20, 0.1);
  EXPECT_EQ(lines_of(*hook).back(), "info: step 100/1000 (10%), 50.0 steps/s, ETA 0:18");
}

TEST(Progress, CountsRunsWhereThereIsNoGlobalStep) {
  HookDriver hook(module(), {{"max_steps", 40}});
  hook.tensor<float>("loss");
  hook.begin();
  hook.create_session();
  hook.step({{"loss", 1.f}});
  run(hook, 11, 0.1);
  EXPECT_EQ(lines_of(hook).back(), "info: step 12/40 (30%), loss 1 (average 1), 10.0 steps/s, ETA 0:03");
  EXPECT_EQ(hook.save_state().at("runs"), 12);
}

TEST(Progress, LongTimesAreReadable) {
  struct Case {
    int max_steps;
    const char* eta;
  };
  for (const Case& c : {Case{1000, "ETA 1:40"}, Case{36000, "ETA 1:00:00"}, Case{1000000, "ETA 1d 03:46:40"}}) {
    const auto hook = started({{"max_steps", c.max_steps}, {"every_secs", 1000.0}}, {}, c.max_steps * 9 / 10 - 3);
    run(*hook, 2, 1.0);
    EXPECT_THAT(lines_of(*hook).back(), ::testing::HasSubstr(c.eta));
  }
}

TEST(Progress, AResumedRunKnowsItsPaceAndItsAverageFromTheFirstLine) {
  const auto first = started({{"max_steps", 2000}});
  run(*first, 10, 0.5);
  const StoredState state = first->save_state();
  EXPECT_EQ(state.at("seconds_per_run"), 0.5);

  const auto second = started({{"max_steps", 2000}}, {}, 11, &state);
  EXPECT_EQ(lines_of(*second),
            Texts{"info: step 12/2000 (0%), loss 0.5 (average 0.5), accuracy 0.25, 2.0 steps/s, ETA 16:34"});
}

// A save at the start of the session, and the first read of the data, come only once.
TEST(Progress, WhatTheFirstRunOfASessionWaitsForIsNotInTheTimeLeft) {
  const auto first = started({{"max_steps", 2000}});
  run(*first, 10, 0.1);
  const StoredState state = first->save_state();
  HookDriver second(module(), {{"max_steps", 2000}});
  second.tensor<float>("loss");
  second.global_step(100);
  second.begin();
  second.load_state(state);
  second.create_session();
  second.host().clock.advance(30);
  EXPECT_THAT(text_of(second.step({{"loss", 1.f}}).logged.at(0)), ::testing::EndsWith(", 10.0 steps/s, ETA 3:10"));
  run(second, 99, 0.1);
  EXPECT_THAT(lines_of(second).back(), ::testing::EndsWith(", 10.0 steps/s, ETA 3:00"));
}

TEST(Progress, ARecoveryShowsALineAtOnce) {
  const auto hook = started({{"max_steps", 2000}});
  run(*hook, 5, 0.1);
  hook->recover();
  EXPECT_EQ(texts_of(hook->step().logged),
            Texts{"info: step 7/2000 (0%), loss 0.5 (average 0.5), accuracy 0.25, 10.0 steps/s, ETA 3:19"});
}

TEST(Progress, AllocatesOnlyForItsLines) {
  for (const bool interactive : {false, true}) {
    const auto hook = started({{"max_steps", 2000}}, {.interactive = interactive});
    hook->probe_with(allocations);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(hook->step().probed, 0u) << i;
  }
}

}  // namespace progress_test
