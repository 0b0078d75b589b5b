// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/eval_schedule.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <vector>

namespace belay::runtime::testing {
namespace {

using Steps = std::vector<std::int64_t>;

// Counts how often it is read.
class ReadClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const override {
    ++reads;
    return now;
  }
  std::int64_t wall_ns() const override { return monotonic_ns(); }
  void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, std::int64_t) override {}

  mutable int reads = 0;
  std::int64_t now = 0;
};

class EvalScheduleTest : public ::testing::Test {
 protected:
  // A second passes with each step, and so many with an evaluation. The steps at which it is evaluated.
  Steps evaluated(const EvalSettings& settings, std::int64_t first, std::int64_t last,
                  std::set<std::int64_t> saves = {}, std::int64_t last_evaluated = -1) {
    EvalSchedule schedule(settings, clock);
    Steps at;
    const auto evaluate = [&](std::int64_t step) {
      at.push_back(step);
      clock.now += seconds(evaluation_secs);
      schedule.evaluated(step);
    };
    if (schedule.begin(first, last_evaluated)) evaluate(first);
    for (std::int64_t step = first + 1; step <= last; ++step) {
      clock.now += seconds(1);
      if (schedule.due(step, saves.count(step) != 0)) evaluate(step);
    }
    skipped = schedule.skipped();
    return at;
  }
  static std::int64_t seconds(std::int64_t n) { return n * 1'000'000'000; }

  ReadClock clock;
  std::int64_t evaluation_secs = 0;
  std::int64_t skipped = 0;
};

TEST_F(EvalScheduleTest, WithoutAPeriodItNeverEvaluates) {
  EXPECT_FALSE(EvalSchedule({}, clock).active());
  EXPECT_EQ(evaluated({}, 0, 50, {10, 20}), Steps());
  EXPECT_EQ(evaluated({.every_steps = 0, .every_secs = 0}, 0, 50), Steps());
}

TEST_F(EvalScheduleTest, EveryStepsAreTheMultiplesWhereverAnAttemptBegins) {
  EXPECT_EQ(evaluated({.every_steps = 10}, 0, 35), (Steps{10, 20, 30}));
  EXPECT_EQ(evaluated({.every_steps = 10}, 17, 35), (Steps{20, 30}));
}

TEST_F(EvalScheduleTest, ARunOfSeveralStepsThatPassesAMultipleEvaluatesBehindIt) {
  const EvalSettings settings{.every_steps = 10};
  EvalSchedule schedule(settings, clock);
  schedule.begin(0, -1);
  EXPECT_FALSE(schedule.due(7, false));
  EXPECT_TRUE(schedule.due(14, false));
  EXPECT_FALSE(schedule.due(19, false));
}

TEST_F(EvalScheduleTest, NoClockIsReadWhereOnlyStepsCount) {
  evaluated({.every_steps = 10, .at_checkpoint = true}, 0, 100, {50});
  EXPECT_EQ(clock.reads, 0);
  // With a throttle it is read where an evaluation is due, and at its end.
  evaluated({.every_steps = 10, .throttle_secs = 1}, 0, 100);
  EXPECT_LE(clock.reads, 20);
}

TEST_F(EvalScheduleTest, EverySecsCountFromTheEndOfTheOneBefore) {
  EXPECT_EQ(evaluated({.every_secs = 10}, 0, 35), (Steps{10, 20, 30}));
  evaluation_secs = 100;  // longer than the period: training gets its ten seconds all the same
  EXPECT_EQ(evaluated({.every_secs = 10}, 0, 35), (Steps{10, 20, 30}));
}

TEST_F(EvalScheduleTest, AtCheckpointsItEvaluatesBehindEach) {
  EXPECT_EQ(evaluated({.at_checkpoint = true}, 0, 50, {1, 13, 40}), (Steps{1, 13, 40}));
}

TEST_F(EvalScheduleTest, TwoReasonsForAStepMakeOneEvaluation) {
  EXPECT_EQ(evaluated({.every_steps = 10, .every_secs = 10, .at_checkpoint = true}, 0, 20, {10}), (Steps{10, 20}));
}

TEST_F(EvalScheduleTest, AnEvaluationThatTheAttemptBeforeMissedComesFirst) {
  EXPECT_EQ(evaluated({.every_steps = 10}, 20, 35, {}, 10), (Steps{20, 30}));
  EXPECT_EQ(evaluated({.every_steps = 10}, 20, 35, {}, 20), (Steps{30}));
  EXPECT_EQ(evaluated({.at_checkpoint = true}, 23, 35, {}, 10), (Steps{23}));
  // Nothing was trained at step 0.
  EXPECT_EQ(evaluated({.every_steps = 10, .at_checkpoint = true}, 0, 5), Steps());
}

TEST_F(EvalScheduleTest, AThrottleSkipsCheckpointsAndCountsThem) {
  EXPECT_EQ(evaluated({.at_checkpoint = true, .throttle_secs = 10}, 0, 40, {5, 10, 15, 20, 38}), (Steps{5, 15, 38}));
  EXPECT_EQ(skipped, 2);
}

TEST_F(EvalScheduleTest, AThrottleCountsFromTheEndOfTheEvaluation) {
  evaluation_secs = 60;
  EXPECT_EQ(evaluated({.every_steps = 5, .throttle_secs = 10}, 0, 30), (Steps{5, 15, 25}));
  EXPECT_EQ(skipped, 3);
}

TEST_F(EvalScheduleTest, AStartDelaySkipsWhatIsDueBeforeAndCountsIt) {
  EXPECT_EQ(evaluated({.every_steps = 5, .start_delay_secs = 12}, 0, 20), (Steps{15, 20}));
  EXPECT_EQ(skipped, 2);
  EXPECT_EQ(evaluated({.every_steps = 5, .start_delay_secs = 3}, 10, 15, {}, 5), (Steps{15}));
  EXPECT_EQ(skipped, 1);
}

TEST_F(EvalScheduleTest, SecondsWaitForAThrottleWithoutCountingEachStep) {
  EXPECT_EQ(evaluated({.every_secs = 5, .start_delay_secs = 12, .throttle_secs = 8}, 0, 30), (Steps{12, 20, 28}));
  EXPECT_EQ(skipped, 0);
}

TEST_F(EvalScheduleTest, WhatARecoveryGoesBackBehindIsEvaluatedAgain) {
  const EvalSettings settings{.every_steps = 10};
  EvalSchedule schedule(settings, clock);
  schedule.begin(0, -1);
  for (std::int64_t step = 1; step <= 25; ++step)
    if (schedule.due(step, false)) schedule.evaluated(step);
  Steps again;
  for (std::int64_t step = 8; step <= 25; ++step)  // the first after the checkpoint of step 7
    if (schedule.due(step, false)) again.push_back(step), schedule.evaluated(step);
  EXPECT_EQ(again, (Steps{10, 20}));
}

}  // namespace
}  // namespace belay::runtime::testing
