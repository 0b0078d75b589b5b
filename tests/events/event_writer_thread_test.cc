// SPDX-License-Identifier: Apache-2.0
// When the writer's thread writes, and what becomes of its failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "belay/error.h"
#include "runtime/events/event_writer.h"
#include "tests/events/events_in_a_directory.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using EventsThread = EventsTest;

const Error kFull(Code::kResourceExhausted, "cannot write 'x': No space left on device");

// TRAP-19
TEST_F(EventsThread, T_122_AddsAreInTheFileAfter2SecondsAtFirstAndAfter120Later) {
  EventWriter writer(*run_, clock_, options());
  std::size_t n = 1;  // the version
  for (const std::int64_t wait : {2, 4, 8, 16, 32, 64, 120, 120}) {
    writer.add_scalar("x", 1, 1);
    clock_.await_waiters(1);
    clock_.advance((wait - 1) * FakeClock::kSecond);
    writer.add_scalar("x", 2, 1);
    EXPECT_EQ(read(writer.file_name()).size(), n) << wait;
    clock_.advance(1 * FakeClock::kSecond);
    await_events(writer.file_name(), n += 2);
  }
  writer.add_scalar("x", 3, 1);
  clock_.await_waiters(1);
  EXPECT_EQ(read(writer.file_name()).size(), n);
  writer.flush();
  EXPECT_EQ(read(writer.file_name()).size(), n + 1);
}

TEST_F(EventsThread, TheTimeUntilTheyAreWrittenIsAnOption) {
  EventWriterOptions o = options();
  o.flush_secs = 1.5;
  EventWriter writer(*run_, clock_, o);
  for (std::size_t n = 1; n <= 3; ++n) {
    writer.add_scalar("x", static_cast<std::int64_t>(n), 1);
    clock_.await_waiters(1);
    EXPECT_EQ(read(writer.file_name()).size(), n);
    clock_.advance(FakeClock::kSecond * 3 / 2);
    await_events(writer.file_name(), n + 1);
  }
}

TEST_F(EventsThread, AtOnceWhereTheTimeIs0) {
  EventWriterOptions o = options();
  o.flush_secs = 0;
  EventWriter writer(*run_, clock_, o);
  writer.add_scalar("x", 1, 1);
  await_events(writer.file_name(), 2);
}

TEST_F(EventsThread, AFlushThatIsOnlyStartedIsTheThreads) {
  EventWriter writer(*run_, clock_, options());
  writer.start_flush();  // of nothing
  writer.add_scalar("x", 1, 1);
  clock_.await_waiters(1);
  EXPECT_EQ(read(writer.file_name()).size(), 1u);
  writer.start_flush();
  await_events(writer.file_name(), 2);
}

TEST_F(EventsThread, ManyAreWrittenBeforeTheyFillTheMemory) {
  EventWriter writer(*run_, clock_, options());
  for (int i = 0; i < 20'000; ++i) writer.add_scalar("a tag of some length", i, 1);
  while (run_->status(writer.file_name()).size < 500'000u) std::this_thread::yield();
}

// The clock does not move, so an end that waited for it would not come.
TEST_F(EventsThread, SUMW_05_TheEndOfAnIdleWriterWaitsForNoTime) {
  std::string name;
  {
    EventWriterOptions o = options();
    o.flush_secs = 1e9;
    const EventWriter untouched(*run_, clock_, o);
    EventWriter writer(*run_, clock_, o);
    writer.add_scalar("x", 1, 1);
    clock_.await_waiters(1);
    name = writer.file_name();
  }
  EXPECT_EQ(read(name).size(), 2u);
}

TEST_F(EventsThread, AnAddMakesNoCallOfTheFileSystem) {
  EventWriter writer(*run_, clock_, options());
  files_.forget_calls();
  for (int i = 0; i < 100; ++i) writer.add_scalar("x", i, 1);
  EXPECT_THAT(files_.calls(), IsEmpty());
}

// The file that takes nothing for now.
class StuckFile final : public OpenFile {
 public:
  StuckFile(std::unique_ptr<OpenFile> file, std::mutex& stuck) : file_(std::move(file)), stuck_(stuck) {}
  const std::string& path() const override { return file_->path(); }
  void write(const void* data, std::size_t size) override {
    const std::lock_guard lock(stuck_);
    file_->write(data, size);
  }
  void write_at(std::uint64_t offset, const void* data, std::size_t size) override {
    file_->write_at(offset, data, size);
  }
  void read_at(std::uint64_t offset, void* data, std::size_t size) const override {
    file_->read_at(offset, data, size);
  }
  std::uint64_t size() const override { return file_->size(); }
  void sync() override { file_->sync(); }
  void close() override { file_->close(); }

 private:
  const std::unique_ptr<OpenFile> file_;
  std::mutex& stuck_;
};

class StuckDirectory final : public OpenDirectory {
 public:
  StuckDirectory(OpenDirectory& directory, std::mutex& stuck) : directory_(directory), stuck_(stuck) {}
  const std::string& path() const override { return directory_.path(); }
  std::unique_ptr<OpenFile> create(std::string_view name) override {
    return std::make_unique<StuckFile>(directory_.create(name), stuck_);
  }
  std::unique_ptr<OpenFile> open(std::string_view name) const override { return directory_.open(name); }
  bool exists(std::string_view name) const override { return directory_.exists(name); }
  FileStatus status(std::string_view name) const override { return directory_.status(name); }
  std::vector<std::string> entries() const override { return directory_.entries(); }
  std::unique_ptr<OpenDirectory> make_directory(std::string_view name) override {
    return directory_.make_directory(name);
  }
  std::unique_ptr<OpenDirectory> open_directory(std::string_view name) const override {
    return directory_.open_directory(name);
  }
  void rename(std::string_view from, std::string_view to) override { directory_.rename(from, to); }
  void remove(std::string_view name) override { directory_.remove(name); }
  void remove_tree(std::string_view name) override { directory_.remove_tree(name); }
  void sync() override { directory_.sync(); }
  std::unique_ptr<OpenFile> try_lock(std::string_view name) override { return directory_.try_lock(name); }
  std::unique_ptr<PageFile> create_page(std::string_view name) override { return directory_.create_page(name); }
  bool locked(std::string_view name) const override { return directory_.locked(name); }

 private:
  OpenDirectory& directory_;
  std::mutex& stuck_;
};

TEST_F(EventsThread, AnAddGoesOnWhileTheDiskIsStuckAndWaitsForItBehindEightMebibytes) {
  std::mutex disk;
  StuckDirectory run(*run_, disk);
  EventWriter writer(run, clock_, options());
  const std::string graph(std::size_t{1} << 20, 'g');
  std::unique_lock stuck(disk);
  for (int i = 0; i < 7; ++i) writer.add_graph(graph, i);  // more than what wakes the thread
  std::atomic<int> added{7};
  std::thread adds([&] {
    for (; added < 30; ++added) writer.add_graph(graph, added);
  });
  while (added < 8) std::this_thread::yield();
  EXPECT_EQ(added, 8) << "the ninth waits";
  stuck.unlock();
  adds.join();
  writer.flush();
  EXPECT_EQ(read(writer.file_name()).size(), 31u);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(EventsThread, SeveralThreadsMayAddAndFlush) {
  EventWriter writer(*run_, clock_, options());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const std::string tag = "tag" + std::to_string(t);
      pb::Summary summary;
      summary.add_value()->set_tag(tag);
      summary.mutable_value(0)->mutable_metadata()->mutable_plugin_data()->set_plugin_name("scalars");
      for (std::int64_t i = 0; i < 500; ++i) {
        i % 2 == 0 ? writer.add_scalar(tag, i, 1) : writer.add_summary(summary.SerializeAsString(), i);
        if (i % 100 == 7) writer.flush();
        if (i % 100 == 57) writer.start_flush();
      }
    });
  for (std::thread& t : threads) t.join();
  writer.flush();
  std::map<std::string, std::int64_t> next;
  std::map<std::string, int> with_metadata;
  for (const pb::Event& e : read(writer.file_name()))
    for (const pb::Summary::Value& v : e.summary().value()) {
      EXPECT_EQ(e.step(), next[v.tag()]++) << "of one thread in its order";
      with_metadata[v.tag()] += v.has_metadata() ? 1 : 0;
    }
  ASSERT_EQ(next.size(), 4u);
  for (const auto& [tag, n] : next) {
    EXPECT_EQ(n, 500);
    EXPECT_EQ(with_metadata[tag], 1);
  }
}

TEST_F(EventsThread, TheEndOfTheWriterFlushes) {
  std::string name;
  {
    EventWriter writer(*run_, clock_, options());
    writer.add_scalar("x", 1, 1);
    name = writer.file_name();
  }
  EXPECT_EQ(read(name).size(), 2u);
}

TEST_F(EventsThread, ADeletedFileIsFollowedByANewOne) {
  EventWriter writer(*run_, clock_, options());
  const std::string first = writer.file_name();
  writer.add_scalar("x", 1, 1);
  std::filesystem::remove(dir_ / first);
  clock_.advance(FakeClock::kSecond);
  writer.flush();
  EXPECT_NE(writer.file_name(), first);
  EXPECT_THAT(shown(writer.file_name()), ElementsAre("brain.Event:2", "x=1.0@1"));
}

TEST_F(EventsThread, SUMW_12_WhatTheThreadFailsWithIsSaidByTheNextAddInItsThread) {
  EventWriterOptions o = options();
  std::vector<std::thread::id> said_by;
  o.on_warning = [&](std::string_view) { said_by.push_back(std::this_thread::get_id()); };
  {
    EventWriter writer(*run_, clock_, o);
    files_.fail(FileCall::kWrite, 1, kFull, HowOften::kForEver);
    files_.forget_calls();
    writer.add_scalar("x", 1, 1);
    clock_.await_waiters(1);
    clock_.advance(120 * FakeClock::kSecond);
    while (files_.calls().empty()) std::this_thread::yield();
    EXPECT_THAT(said_by, IsEmpty());
    std::int64_t step = 2;
    while (said_by.empty()) writer.add_scalar("x", step++, 1), std::this_thread::yield();
    files_.heal();
  }
  EXPECT_THAT(said_by, ElementsAre(std::this_thread::get_id(), std::this_thread::get_id()));
}

// F4, F16
TEST_F(EventsThread, SUMW_12_AFailureIsOneWarningAndTheNextFlushWritesANewFile) {
  EventWriter writer(*run_, clock_, options());
  const std::string first = writer.file_name();
  writer.add_scalar("x", 1, 1);
  files_.fail(FileCall::kWrite, 1, kFull, HowOften::kForEver);
  writer.flush();
  for (int i = 2; i < 5; ++i) writer.add_scalar("x", i, 1), writer.flush();
  EXPECT_THAT(warnings_, ElementsAre("events are not written for now: cannot write 'x': No space left on device"));
  EXPECT_THAT(run_->entries(), ElementsAre(first));  // no empty file for every attempt
  files_.heal();
  writer.flush();
  EXPECT_THAT(shown(writer.file_name()), ElementsAre("brain.Event:2", "x=1.0@1", "x=1.0@2", "x=1.0@3", "x=1.0@4"));
  EXPECT_EQ(warnings_.size(), 2u);
  EXPECT_EQ(warnings_[1], "event file '" + writer.file_name() + "' can be written again; 0 events were lost");
  // The torn file can be read up to the tear.
  EXPECT_THAT(shown(first), ElementsAre("brain.Event:2"));
}

// A limit of the file's size (ulimit -f) and a full disk take the first records of a write.
TEST_F(EventsThread, T_122_WhatATornFileHoldsDoesNotComeAgain) {
  for (const int n : {1, 2, 7}) {
    EventWriter writer(*run_, clock_, options());
    for (int i = 0; i < n; ++i) writer.add_scalar("x", i, 1);
    files_.fail(FileCall::kWrite, 1, kFull);
    writer.flush();
    files_.heal();
    writer.flush();
    std::vector<std::int64_t> steps;
    for (const std::string& name : run_->entries()) {
      for (const pb::Event& e : read(name))
        if (e.has_summary()) steps.push_back(e.step());
      std::filesystem::remove(dir_ / name);
    }
    std::vector<std::int64_t> wanted(static_cast<std::size_t>(n));
    std::iota(wanted.begin(), wanted.end(), 0);
    std::ranges::sort(steps);
    EXPECT_EQ(steps, wanted);
  }
}

TEST_F(EventsThread, WhileNothingCanBeWrittenMemoryIsBoundedAndLossesAreCounted) {
  files_.fail(FileCall::kCreate, 1, kFull, HowOften::kForEver);
  EventWriter writer(*run_, clock_, options());
  EXPECT_EQ(writer.file_name(), "");
  const std::string graph(1 << 20, 'g');
  for (int i = 0; i < 20; ++i) writer.add_graph(graph, i);
  files_.heal();
  writer.flush();
  EXPECT_EQ(read(writer.file_name()).size(), 8u);  // the version and seven graphs
  EXPECT_EQ(warnings_.back(), "event file '" + writer.file_name() + "' can be written again; 13 events were lost");
}

TEST_F(EventsThread, ADirectoryThatIsGoneEndsNothing) {
  EventWriter writer(*run_, clock_, options());
  std::filesystem::remove_all(dir_.path());
  writer.add_scalar("x", 1, 1);
  writer.flush();
  writer.flush();
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(EventsThread, EveryFailingCallLeavesReadableFiles) {
  for (int nth = 1; nth <= 6; ++nth) {
    files_.fail_any(nth, kFull);
    EventWriter writer(*run_, clock_, options());
    for (int i = 0; i < 4; ++i) writer.add_scalar("x", i, 1), writer.flush();
    files_.heal();
    writer.flush();
    std::size_t scalars = 0;
    for (const std::string& name : run_->entries()) {
      for (const pb::Event& e : read(name)) scalars += e.has_summary() ? 1 : 0;
      std::filesystem::remove(dir_ / name);
    }
    EXPECT_EQ(scalars, 4u) << nth;
  }
}

}  // namespace
}  // namespace belay::runtime
