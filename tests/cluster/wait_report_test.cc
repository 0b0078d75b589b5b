// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/wait_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/checkpoint/locked_directory.h"
#include "runtime/cluster/rendezvous.h"
#include "tests/platform/fake_clock.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// When something was said, in milliseconds, and what.
class TimedLines final : public Logger {
 public:
  explicit TimedLines(const Clock& clock) : clock_(clock) {}
  void log(LogLevel, std::string_view, std::string_view text) override {
    {
      const std::lock_guard lock(mutex_);
      lines_.push_back(std::to_string(clock_.monotonic_ns() / FakeClock::kMillisecond) + ": " + std::string(text));
    }
    changed_.notify_all();
  }
  bool enabled(LogLevel) const override { return true; }
  bool interactive() const override { return false; }
  void status_line(std::string_view) override {}
  void set_step(std::int64_t) override {}
  void flush() override {}

  std::vector<std::string> await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return lines_.size() >= count; });
    return lines_;
  }

 private:
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

// A millisecond at a time, to the second line.
std::vector<std::string> two_lines(double max_wait_secs, std::int64_t milliseconds) {
  FakeClock clock;
  TimedLines log(clock);
  int asked = 0;
  const WaitReport report(clock, log, max_wait_secs, [&] { return "rank " + std::to_string(++asked); });
  for (std::size_t line = 1; line <= 2; ++line) {
    clock.await_waiters(1);
    for (std::int64_t i = 0; i < milliseconds; ++i) clock.advance(FakeClock::kMillisecond);
    log.await(line);
  }
  return log.await(2);
}

TEST(WaitReport, EveryTenSecondsItSaysWhomItStillWaitsForAndAsksAnew) {
  EXPECT_THAT(two_lines(300, 10'000), ElementsAre("10000: still waits for rank 1 (cluster.max_wait_secs = 300)",
                                                  "20000: still waits for rank 2 (cluster.max_wait_secs = 300)"));
}

TEST(WaitReport, OfAShortWaitItSpeaksFourTimes) {
  EXPECT_THAT(two_lines(2, 500), ElementsAre("500: still waits for rank 1 (cluster.max_wait_secs = 2)",
                                             "1000: still waits for rank 2 (cluster.max_wait_secs = 2)"));
}

TEST(MissingRanks, AreThoseWithoutASeatAndWithoutAChiefThatOne) {
  const TempDir temp;
  FileSystem& files = posix_file_system();
  const std::string dir = temp.path();
  EXPECT_THAT(missing_ranks(files, dir + "/none", 1, 4), ElementsAre(0));
  auto directory = files.open_directory(dir);
  RunLock lock = RunLock::take(*directory, system_clock());
  LockedDirectory run(std::move(directory), std::move(lock));
  begin_meeting(run, 1);
  // As a run that was killed leaves it.
  EXPECT_THAT(missing_ranks(files, dir, 1, 4), ElementsAre(0));
  const auto chief = run.open_directory(kRendezvousName)->try_lock(seat_name(0));
  EXPECT_THAT(missing_ranks(files, dir, 0, 4), ElementsAre(1, 2, 3));
  EXPECT_THAT(missing_ranks(files, dir, 1, 4), ElementsAre(2, 3));
  WorkerSeat two(files, dir, 2);
  two.look();
  EXPECT_THAT(missing_ranks(files, dir, 1, 4), ElementsAre(3));
  EXPECT_THAT(missing_ranks(files, dir, 3, 4), ElementsAre(1));
  WorkerSeat one(files, dir, 1);
  one.look();
  EXPECT_THAT(missing_ranks(files, dir, 3, 4), IsEmpty());
}

TEST(MissingRanks, AreNamedAsAPersonWould) {
  EXPECT_EQ(ranks_text({2}), "rank 2");
  EXPECT_EQ(ranks_text({1, 2}), "ranks 1 and 2");
  EXPECT_EQ(ranks_text({1, 2, 3}), "ranks 1, 2 and 3");
}

}  // namespace
}  // namespace belay::runtime::testing
