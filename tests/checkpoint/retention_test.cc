// SPDX-License-Identifier: Apache-2.0
// Which checkpoints stay for good, beside the newest ones: by the hour and by the step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "runtime/checkpoint/write/pinned.h"
#include "tests/checkpoint/run_directory_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Retention : public RunDirectoryTest {
 protected:
  // A new process over the same directory continues from its newest checkpoint.
  void begin(const CheckpointSettings& settings) {
    series_.emplace(files_, *run_, clock_, log_, settings);
    series_->recover();
    if (const auto state = read_checkpoint_state(*run_)) series_->restored(state->current);
  }
  void save(std::int64_t step, double hours_later = 0) {
    pass(hours_later);
    series_->save(StepContent(step).content(), saver_.use());
    series_->retain();
  }
  void pass(double hours) { clock_.advance(static_cast<std::int64_t>(hours * 3600 * FakeClock::kSecond)); }
  std::vector<std::string> on_disk() const {
    std::vector<std::string> names;
    for (const std::string& name : run_->entries())
      if (name.starts_with("model.ckpt")) names.push_back(name.substr(11));
    return names;
  }
  // The directory's own time is of another clock than the test's.
  void date(const std::string& name) {
    const std::chrono::nanoseconds since(clock_.wall_ns());
    std::filesystem::last_write_time(
        dir_ / name, std::chrono::file_clock::from_sys(std::chrono::sys_time<std::chrono::nanoseconds>(since)));
  }
  double last_preserved() const { return read_checkpoint_state(*run_)->last_preserved; }
  double now() const { return static_cast<double>(clock_.wall_ns()) * 1e-9; }

  std::optional<CheckpointSeries> series_;
};

TEST_F(Retention, SAVER_29_OneCheckpointEverySoManyHoursStays) {
  begin({.max_to_keep = 2, .keep_every_hours = 0.7});
  save(1, 1.0);
  save(2), save(3);
  EXPECT_THAT(on_disk(), ElementsAre("1", "2", "3"));
  save(4);
  EXPECT_THAT(on_disk(), ElementsAre("1", "3", "4"));
  EXPECT_TRUE(is_pinned(*run_, "model.ckpt-1"));
  EXPECT_FALSE(is_pinned(*run_, "model.ckpt-3"));
  EXPECT_THAT(log_.lines, ElementsAre("info checkpoint: model.ckpt-1 is pinned: it stays (keep_every_hours)"));
}

// TensorFlow's Saver keeps one at each save then, until its time has come up with the clock's.
TEST_F(Retention, SAVER_30_BehindALongPauseOnlyOneStays) {
  begin({.max_to_keep = 1, .keep_every_hours = 1});
  save(1, 0.5);
  save(2, 10);
  for (const std::int64_t step : {3, 4, 5}) save(step, 0.1);
  EXPECT_THAT(on_disk(), ElementsAre("2", "5"));
}

TEST_F(Retention, MGR_03_WhatStaysByTheHourIsTheSameOverThreeProcesses) {
  begin({.max_to_keep = 2});
  save(1, 1.1);
  const double first = now();
  save(2, 3610.0 / 3600);
  EXPECT_EQ(last_preserved(), 0);
  const CheckpointSettings hourly{.max_to_keep = 2, .keep_every_hours = 1.5};
  begin(hourly);
  save(3, 0.2);
  EXPECT_THAT(on_disk(), ElementsAre("1", "2", "3"));
  EXPECT_NEAR(last_preserved(), first, 1e-3);
  save(4, 0.5);
  const double fourth = now();
  save(5, 0.5);
  EXPECT_THAT(on_disk(), ElementsAre("1", "4", "5"));
  EXPECT_NEAR(last_preserved(), first, 1e-3);
  begin(hourly);
  save(6, 10.0 / 3600);
  EXPECT_THAT(on_disk(), ElementsAre("1", "4", "5", "6"));
  EXPECT_NEAR(last_preserved(), fourth, 1e-3);
}

// Then a time that has not come yet would keep none until it comes.
TEST_F(Retention, MGR_05_BehindAClockThatIsSetBackTheHoursCountFromNow) {
  const CheckpointSettings hourly{.max_to_keep = 1, .keep_every_hours = 1};
  begin(hourly);
  save(1, 1.1);
  save(2);
  EXPECT_THAT(log_.lines, ElementsAre("info checkpoint: model.ckpt-1 is pinned: it stays (keep_every_hours)"));
  log_.lines.clear();
  pass(-100);
  begin(hourly);
  EXPECT_THAT(log_.lines, ElementsAre("warning checkpoint: the clock was set back to before the last checkpoint that "
                                      "keep_every_hours kept: it counts from now on"));
  save(3);
  EXPECT_THAT(on_disk(), ElementsAre("1", "3"));
  save(4, 1.1);
  save(5);
  EXPECT_THAT(on_disk(), ElementsAre("1", "4", "5"));
}

// A process that is killed between the mark and the state file has kept one, and not two.
TEST_F(Retention, AMarkThatTheStateFileDoesNotKnowOfCounts) {
  const CheckpointSettings hourly{.max_to_keep = 1, .keep_every_hours = 1};
  begin(hourly);
  save(1, 1.1);
  const std::string before = read_file(dir_ / "checkpoint");
  save(2);
  ASSERT_TRUE(is_pinned(*run_, "model.ckpt-1"));
  write_file(dir_ / "checkpoint", before);
  begin(hourly);
  save(2), save(3);
  EXPECT_THAT(on_disk(), ElementsAre("1", "3"));
}

TEST_F(Retention, WhatAUserPinnedAtThatTimeIsTheHours) {
  begin({.max_to_keep = 1, .keep_every_hours = 1});
  save(1, 1.1);
  pin(*run_->open_directory("model.ckpt-1"));
  save(2), save(3);
  EXPECT_THAT(on_disk(), ElementsAre("1", "3"));
  EXPECT_THAT(log_.lines, IsEmpty());
}

TEST_F(Retention, TheFirstCheckpointAtOrBehindEachMultipleStays) {
  const CheckpointSettings hundreds{.max_to_keep = 1, .keep_every_steps = 100};
  begin(hundreds);
  for (const std::int64_t step : {0, 30, 60, 90, 120, 150, 180, 210, 240}) save(step);
  EXPECT_THAT(on_disk(), ElementsAre("120", "210", "240"));
  begin(hundreds);
  save(240);  // a session begins with a save
  for (const std::int64_t step : {270, 300, 330}) save(step);
  EXPECT_THAT(on_disk(), ElementsAre("120", "210", "300", "330"));
  EXPECT_TRUE(is_pinned(*run_, "model.ckpt-300"));
}

// It has the mark before it is in its place, so no moment of a crash loses it.
TEST_F(Retention, AStepThatStaysIsPinnedBeforeItIsThere) {
  begin({.max_to_keep = 1, .keep_every_steps = 10});
  files_.fail(FileCall::kRename, 1, Error(Code::kDataLoss, "disk on fire"));
  EXPECT_THROW(save(10), Error);
  EXPECT_THAT(on_disk(), IsEmpty());
  files_.forget_calls();
  save(11);
  const std::vector<std::string> calls = files_.calls();
  const auto first = [&](const std::string& start, const std::string& end) {
    return std::find_if(calls.begin(), calls.end(),
                        [&](const std::string& c) { return c.starts_with(start) && c.ends_with(end); }) -
           calls.begin();
  };
  EXPECT_LT(first("create", "/pinned"), first("rename", "-> model.ckpt-11"));
  EXPECT_THAT(on_disk(), ElementsAre("11"));
}

TEST_F(Retention, WhatStaysIsRemovedOnceItIsUnpinned) {
  begin({.max_to_keep = 1, .keep_every_steps = 10});
  save(10), save(11);
  EXPECT_THAT(on_disk(), ElementsAre("10", "11"));
  unpin(*run_->open_directory("model.ckpt-10"));
  save(12);
  EXPECT_THAT(on_disk(), ElementsAre("12"));
}

// No run continues from a newer checkpoint then, but the checkpoints that stay for good still stay.
TEST_F(Retention, GoingBackByHandRemovesNothingThatStays) {
  const CheckpointSettings hourly{.max_to_keep = 1, .keep_every_hours = 1};
  begin(hourly);
  save(1);
  const std::string before = read_file(dir_ / "checkpoint");
  std::filesystem::copy(dir_ / "model.ckpt-1", dir_ / "kept");
  save(2, 1.1);
  save(3);
  date("model.ckpt-2"), date("model.ckpt-3");
  ASSERT_THAT(on_disk(), ElementsAre("2", "3"));
  std::filesystem::rename(dir_ / "kept", dir_ / "model.ckpt-1");
  write_file(dir_ / "checkpoint", before);
  begin(hourly);
  for (const std::int64_t step : {10, 11, 12}) save(step);
  EXPECT_THAT(on_disk(), ElementsAre("12", "2"));
}

}  // namespace
}  // namespace belay::runtime
