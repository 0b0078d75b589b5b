// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/watch/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <map>
#include <optional>

#include "tests/platform/faulty_file_system.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kSecondNs = 1'000'000'000;

// Jumps to whatever is waited for and does what the test wants at that second, on the thread that waits. Behind the
// last second it does not move.
class StoryClock final : public Clock {
 public:
  std::map<std::int64_t, std::function<void()>> at;  // seconds
  std::int64_t last = 0;
  std::function<void()> over;
  std::latch begun{1};  // the story waits for it

  std::int64_t monotonic_ns() const override { return now_ns_; }
  std::int64_t wall_ns() const override { return now_ns_; }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  std::int64_t deadline_ns) override {
    begun.wait();
    if (now_ns_ >= last * kSecondNs) {
      if (over) std::exchange(over, nullptr)();
      return changed.wait(lock);
    }
    now_ns_ = deadline_ns;
    if (const auto it = at.find(now_ns_ / kSecondNs); it != at.end()) it->second();
  }

 private:
  std::atomic<std::int64_t> now_ns_{0};
};

// A watchdog with a limit of 100 s, which looks every second.
class Watchdogs : public ::testing::Test {
 protected:
  // Until the second `last`, or until it gives up: the second at which it did.
  std::optional<std::int64_t> live(std::int64_t last) {
    std::promise<std::optional<std::int64_t>> ended;
    clock_.last = last;
    clock_.over = [&] { ended.set_value(std::nullopt); };
    const auto give_up = [&] { ended.set_value(clock_.monotonic_ns() / kSecondNs); };
    watchdog_.emplace(WatchdogOptions{100, [] { return "saver \"x\" in write"; }, &disk_, give_up}, *log_, clock_);
    clock_.begun.count_down();  // what happens in it may call the watchdog
    const std::optional<std::int64_t> result = ended.get_future().get();
    watchdog_.reset();
    return result;
  }
  static LogOutput kept(std::vector<std::string>& lines) {
    LogOutput output;
    output.write = [&lines](std::string_view text) {
      text.remove_prefix(text.find(' ', text.find(' ') + 1) + 1);  // no date, no time
      lines.emplace_back(text.substr(0, text.size() - 1));         // no \n
      return true;
    };
    return output;
  }

  StoryClock clock_;
  std::vector<std::string> lines_;
  std::unique_ptr<Logger> log_ = make_logger(kept(lines_), LogFormat::kText, LogLevel::kInfo, clock_);
  DiskCalls disk_;
  std::optional<Watchdog> watchdog_;
};

TEST_F(Watchdogs, WarnAtHalfOfTheTimeAndThenGiveUp) {
  EXPECT_EQ(live(300), 100);
  EXPECT_THAT(
      lines_,
      ElementsAre("warning no progress for 50 s, in saver \"x\" in write; the run ends after 100 s "
                  "(no_progress_secs)",
                  "error[B5017]: no progress for 100 s, in saver \"x\" in write; the stacks of all threads follow, "
                  "then the run ends with status 124"));
}

TEST_F(Watchdogs, AreContentWithASignOfProgressNowAndThen) {
  for (std::int64_t s = 40; s < 400; s += 40) clock_.at[s] = [this] { watchdog_->progress(); };
  EXPECT_EQ(live(400), std::nullopt);
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(Watchdogs, T_63d_TakeASlowSaveForProgress) {
  // Two hundred files, 30 s each.
  for (std::int64_t s = 1; s < 6000; s += 30) clock_.at[s] = [this] { ++disk_.begun; };
  for (std::int64_t s = 30; s < 6000; s += 30) clock_.at[s] = [this] { ++disk_.ended; };
  EXPECT_EQ(live(6000), std::nullopt);
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(Watchdogs, T_63d_WaitForOneCallOfTheDiskAndSaySo) {
  clock_.at[10] = [this] { ++disk_.begun; };
  clock_.at[1000] = [this] { ++disk_.ended; };
  EXPECT_EQ(live(2000), 1100) << "behind the call the run hangs";
  EXPECT_THAT(
      lines_,
      ElementsAre("warning the disk has not answered for 50 s, in saver \"x\" in write; the run waits for it",
                  "warning no progress for 50 s, in saver \"x\" in write; the run ends after 100 s "
                  "(no_progress_secs)",
                  "error[B5017]: no progress for 100 s, in saver \"x\" in write; the stacks of all threads follow, "
                  "then the run ends with status 124"));
}

TEST(WatchedFiles, T_63d_CountEachCallOfTheDiskAlsoThoseThatFail) {
  const TempDir temp;
  FaultyFileSystem disk(posix_file_system());
  DiskCalls calls;
  const auto files = watched_files(disk, calls);
  const auto counts = [&](auto&& call) {
    const std::uint64_t before = calls.ended;
    call();
    EXPECT_EQ(calls.begun, calls.ended);
    return calls.ended > before;
  };
  std::unique_ptr<OpenDirectory> watched, inner;
  std::unique_ptr<OpenFile> file;
  EXPECT_TRUE(counts([&] { watched = files->make_directories(temp.path()); }));
  EXPECT_TRUE(counts([&] { inner = watched->make_directory("a.tmp"); }));
  EXPECT_TRUE(counts([&] { file = inner->create("x"); }));
  EXPECT_TRUE(counts([&] { file->write("abc", 3); }));
  EXPECT_TRUE(counts([&] { file->sync(); }));
  EXPECT_TRUE(counts([&] { file->close(); }));
  EXPECT_TRUE(counts([&] { inner->sync(); }));
  EXPECT_TRUE(counts([&] { watched->rename("a.tmp", "a"); }));
  EXPECT_TRUE(counts([&] { EXPECT_TRUE(watched->exists("a")); }));
  EXPECT_TRUE(counts([&] { EXPECT_EQ(watched->open_directory("a")->entries(), std::vector<std::string>{"x"}); }));
  EXPECT_TRUE(counts([&] { EXPECT_EQ(watched->open_directory("a")->read("x", 10), "abc"); }));
  EXPECT_TRUE(counts([&] { EXPECT_EQ(watched->status("a").kind, FileKind::kDirectory); }));
  EXPECT_TRUE(counts([&] { EXPECT_NE(watched->try_lock("lock"), nullptr); }));
  EXPECT_TRUE(counts([&] { files->rename(temp / "a", temp / "b"); }));
  EXPECT_TRUE(counts([&] { EXPECT_TRUE(files->exists(temp / "b")); }));
  EXPECT_TRUE(counts([&] { EXPECT_GT(files->free_bytes(temp.path()), 0u); }));
  EXPECT_TRUE(counts([&] { EXPECT_EQ(files->status(temp / "b").kind, FileKind::kDirectory); }));
  EXPECT_TRUE(counts([&] { EXPECT_EQ(files->open_directory(temp / "b")->entries().size(), 1u); }));
  disk.fail(FileCall::kRemove, 1, Error(Code::kDataLoss, "disk on fire"));
  EXPECT_TRUE(counts([&] { EXPECT_THROW(watched->remove_tree("b"), Error); }));
  EXPECT_TRUE(counts([&] { watched->remove_tree("b"); }));
}

}  // namespace
}  // namespace belay::runtime
