// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/host/time_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#include "tests/checkpoint/checkpoint_fixture.h"
#include "tests/monitored/event_files.h"
#include "tests/platform/fake_clock.h"

namespace belay::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A window of ten seconds, in which the processor computed all the time.
Shares window(std::int64_t computing, std::int64_t input_wait, std::int64_t saving, std::int64_t evaluating,
              std::int64_t in_hook = 0) {
  Shares shares;
  shares.by_activity = {computing, input_wait, saving, evaluating};
  if (in_hook > 0) shares.hooks = {{"quick", 1}, {"slow", in_hook}};
  shares.looks = computing + input_wait + saving + evaluating + (in_hook > 0 ? in_hook + 1 : 0);
  shares.seconds = shares.cpu_seconds = 10;
  return shares;
}

TEST(TimeShares, OfTwoActivitiesInsideEachOtherTheOuterOneCounts) {
  PublishedActivity activity{Activity::kSaving};
  const PublishesActivity publishing(activity);
  EXPECT_EQ(activity, Activity::kComputing);
  {
    const Doing evaluating(Activity::kEvaluating);
    const Doing waiting(Activity::kInputWait);
    EXPECT_EQ(activity, Activity::kEvaluating);
  }
  EXPECT_EQ(activity, Activity::kComputing);
  std::thread([&] {
    const Doing waiting(Activity::kInputWait);  // of a thread that publishes nothing
    EXPECT_EQ(activity, Activity::kComputing);
  }).join();
}

class TimeSharesOfARun : public ::testing::Test {
 protected:
  // With a look every tenth of a second, and all that it leads to.
  void pass(TimeShares& times, int seconds) {
    for (int i = 0; i < seconds * 10; ++i) {
      clock.await_waiters(1);
      const std::int64_t looks = times.shares().looks;
      clock.advance(FakeClock::kSecond / 10);
      while (times.shares().looks == looks) std::this_thread::yield();
      clock.await_waiters(1);
    }
  }

  FakeClock clock;
  RecordingLogger log;
  RunControl control;
  RunHost run{{clock, log, posix_file_system()}, control, {}};
};

TEST_F(TimeSharesOfARun, EachLookCountsWhatIsDoneThen) {
  TimeShares times(run, nullptr);
  const PublishesActivity publishing(times.activity());
  for (int i = 0; i < 6; ++i) times.look();
  {
    const Doing waiting(Activity::kInputWait);
    for (int i = 0; i < 3; ++i) times.look();
  }
  {
    const Doing saving(Activity::kSaving);
    times.look();
  }
  Shares shares = times.shares();
  EXPECT_EQ(shares.looks, 10);
  EXPECT_EQ(shares.text(), "training 60%, input wait 30%, hooks 0%, saving 10%, evaluation 0%");
  EXPECT_EQ(shares.since(shares).looks, 0);
  {
    const Doing exchanging(Activity::kOtherRanks);
    for (int i = 0; i < 10; ++i) times.look();
  }
  shares = times.shares();
  EXPECT_EQ(shares.text(), "training 30%, input wait 15%, hooks 0%, saving 5%, evaluation 0%, other ranks 50%");
  EXPECT_EQ(why_slow(shares), "");
  times.activity() = Activity::kOtherRanks;
  times.look();
  EXPECT_THAT(why_slow(times.shares()),
              StartsWith("the ranks exchange gradients, and wait for each other, 52% of the time: raise batch_size"));
}

TEST(TimeShares, TheSlowestHookIsNamed) {
  EXPECT_EQ(window(70, 0, 0, 0, 29).text(),
            "training 70%, input wait 0%, hooks 30% (slowest slow 29%), saving 0%, evaluation 0%");
}

TEST(TimeShares, WhatSlowsARunDownIsNamedWithWhatHelps) {
  EXPECT_EQ(why_slow(window(90, 10, 0, 0)), "");
  EXPECT_EQ(why_slow(window(30, 0, 0, 70)), "") << "evaluations are asked for";
  EXPECT_THAT(why_slow(window(60, 40, 0, 0)), StartsWith("the training waits for its input 40% of the time: raise "));
  EXPECT_THAT(why_slow(window(70, 0, 30, 0)),
              StartsWith("the training waits for its checkpoints 30% of the time: the disk is slow for how often it "));
  EXPECT_THAT(why_slow(window(60, 0, 0, 0, 39)), StartsWith("the hook \"slow\" takes 39% of the time: "));
  Shares busy = window(100, 0, 0, 0);
  busy.cpu_seconds = 6;
  EXPECT_EQ(why_slow(busy), "");
  busy.cpu_seconds = 2.5;
  EXPECT_THAT(why_slow(busy),
              StartsWith("the machine is busy: steps take 4 times as long by the clock as they compute; "));
}

TEST_F(TimeSharesOfARun, ASlowRunIsToldOnceInTenMinutes) {
  TimeShares times(run, nullptr);
  times.activity() = Activity::kInputWait;  // and nothing else
  times.start();
  pass(times, 9);
  EXPECT_TRUE(log.lines.empty());
  pass(times, 3);
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_THAT(log.lines[0], HasSubstr("the training waits for its input 100% of the time"));
  pass(times, 580);
  EXPECT_EQ(log.lines.size(), 1u);
  pass(times, 40);
  EXPECT_EQ(log.lines.size(), 2u);
  times.stop();
}

TEST_F(TimeSharesOfARun, EveryTenSecondsAndAtTheEndTheyAreEvents) {
  const TempDir dir;
  const auto directory = posix_file_system().open_directory(dir.path());
  {
    FakeClock of_writer;  // whose thread waits too, and not for this test's time
    EventWriter events(*directory, of_writer);
    TimeShares times(run, &events);
    run.monitor().step = 7;
    times.activity() = Activity::kSaving;
    times.start();
    pass(times, 12);
    run.monitor().step = 9;
    times.stop();
    times.stop();  // as its destructor does
  }
  const auto steps = testing::read_event_files(dir.path()).steps;
  EXPECT_EQ(steps.at("time/saving"), (std::vector<std::int64_t>{7, 9}));
  for (const char* tag : {"time/training", "time/input_wait", "time/evaluation", "time/hooks", "system/attempt"})
    EXPECT_EQ(steps.count(tag), 1u) << tag;
}

}  // namespace
}  // namespace belay::runtime
