// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "belay/error.h"
#include "runtime/events/event_reader.h"
#include "tests/platform/fake_clock.h"
#include "tests/platform/faulty_file_system.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

class Events : public ::testing::Test {
 protected:
  EventWriterOptions options() {
    EventWriterOptions o;
    o.host = "node-1";
    o.pid = 4711;
    o.on_warning = [this](std::string_view text) { warnings_.emplace_back(text); };
    return o;
  }
  std::vector<pb::Event> read(const std::string& name) {
    EventReader reader(run_->open(name));
    std::vector<pb::Event> events;
    for (pb::Event event; reader.next(event);) events.push_back(event);
    return events;
  }
  // Until the thread has written so many records.
  void await_events(const std::string& name, std::size_t n) {
    while (read(name).size() < n) std::this_thread::yield();
    EXPECT_EQ(read(name).size(), n);
  }
  // "version", "loss=0.5@3", "start@1", ... of a file.
  std::vector<std::string> shown(const std::string& name) {
    std::vector<std::string> lines;
    for (const pb::Event& e : read(name)) {
      const std::string at = "@" + std::to_string(e.step());
      if (e.what_case() == pb::Event::kFileVersion) lines.push_back(e.file_version());
      if (e.what_case() == pb::Event::kGraphDef) lines.push_back("graph " + e.graph_def() + at);
      if (e.what_case() == pb::Event::kTaggedRunMetadata)
        lines.push_back(e.tagged_run_metadata().tag() + " " + e.tagged_run_metadata().run_metadata() + at);
      if (e.what_case() == pb::Event::kSessionLog)
        lines.push_back(pb::SessionLog::SessionStatus_Name(e.session_log().status()) + " " +
                        e.session_log().checkpoint_path() + at);
      for (const pb::Summary::Value& v : e.summary().value()) {
        std::string value = std::to_string(v.simple_value());
        value.resize(value.find('.') + 2 < value.size() ? value.find('.') + 2 : value.size());
        lines.push_back(v.tag() + "=" + value + (v.has_metadata() ? "+metadata" : "") + at);
      }
    }
    return lines;
  }

  TempDir dir_;
  FakeClock clock_;
  FaultyFileSystem files_{posix_file_system()};
  std::unique_ptr<OpenDirectory> run_ = files_.open_directory(dir_.path());
  std::vector<std::string> warnings_;
};

const Error kFull(Code::kResourceExhausted, "cannot write 'x': No space left on device");

TEST_F(Events, TheNameTellsSecondsHostProcessAndCounter) {
  EventWriter writer(*run_, clock_, options());
  EXPECT_EQ(writer.file_name(), "events.out.tfevents.1704067200.node-1.4711.0");
  EXPECT_THAT(run_->entries(), ElementsAre(writer.file_name()));
}

TEST_F(Events, EarlySecondsHaveTenDigitsToo) {
  FakeClock early(5 * FakeClock::kSecond);
  EXPECT_EQ(EventWriter(*run_, early, options()).file_name(), "events.out.tfevents.0000000005.node-1.4711.0");
}

TEST_F(Events, ByDefaultItIsThisProcessOnThisMachine) {
  EventWriterOptions o;
  const std::string name = EventWriter(*run_, clock_, o).file_name();
  EXPECT_TRUE(name.ends_with("." + std::to_string(getpid()) + ".0")) << name;
}

// TRAP-18
TEST_F(Events, TwoInOneSecondAreTwoFiles) {
  const EventWriter a(*run_, clock_, options()), b(*run_, clock_, options());
  EXPECT_EQ(b.file_name(), "events.out.tfevents.1704067200.node-1.4711.1");
}

// TensorBoard reads the files in the order of their names, and drops what comes before the one that it is at.
TEST_F(Events, T_53_ANewFileSortsBehindTheNewestThatIsThere) {
  const struct {
    const char* what;
    const char* there;
    const char* expected;
  } cases[] = {
      {"a clock that went back an hour", "events.out.tfevents.1704070800.node-1.4711.0",
       "events.out.tfevents.1704070800.node-1.4711.1"},
      {"the same, and a number with one digit more", "events.out.tfevents.1704070800.node-1.99.0",
       "events.out.tfevents.1704070801.node-1.4711.0"},
      {"a number with one digit more in the same second", "events.out.tfevents.1704067200.node-1.999.0",
       "events.out.tfevents.1704067201.node-1.4711.0"},
      {"another machine in the same second", "events.out.tfevents.1704067200.node-2.1.0",
       "events.out.tfevents.1704067201.node-1.4711.0"},
      {"ten files in one second", "events.out.tfevents.1704067200.node-1.4711.9",
       "events.out.tfevents.1704067201.node-1.4711.0"},
      {"TensorFlow's own name", "events.out.tfevents.1704067300.node-9",
       "events.out.tfevents.1704067301.node-1.4711.0"},
      {"an older file", "events.out.tfevents.1704067100.node-9.1.0", "events.out.tfevents.1704067200.node-1.4711.0"},
      {"no event file", "events.out.tfevents.tomorrow", "events.out.tfevents.1704067200.node-1.4711.0"},
      {"a time that no name can follow", "events.out.tfevents.9999999999.x.1.0",
       "events.out.tfevents.1704067200.node-1.4711.0"},
  };
  for (const auto& c : cases) {
    run_->create(c.there)->close();
    EXPECT_EQ(EventWriter(*run_, clock_, options()).file_name(), c.expected) << c.what;
    for (const std::string& name : run_->entries()) run_->remove(name);
  }
}

TEST_F(Events, T_53_TheFileOfAResumedRunSortsBehindWhenItsClockWentBack) {
  std::string before;
  for (int attempt = 0; attempt < 30; ++attempt) {
    clock_.set_wall_ns(clock_.wall_ns() - 100 * FakeClock::kSecond);
    EventWriterOptions o = options();
    o.pid = attempt % 2 == 0 ? 99 : 100000;
    const std::string name = EventWriter(*run_, clock_, o).file_name();
    EXPECT_GT(name, before);
    before = name;
  }
}

TEST_F(Events, TheVersionIsThereAtOnceInWholeSeconds) {
  clock_.advance(250 * FakeClock::kMillisecond);
  EventWriter writer(*run_, clock_, options());
  const auto events = read(writer.file_name());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_EQ(events[0].wall_time(), 1704067200.0);
}

TEST_F(Events, SUMW_01_EverythingComesInOrderWithItsStepAndTime) {
  EventWriter writer(*run_, clock_, options());
  pb::Summary summary;
  for (const char* tag : {"a", "b"}) {
    summary.add_value()->set_tag(tag);
    summary.mutable_value()->rbegin()->set_simple_value(2);
  }
  writer.add_session_log(EventWriter::kStart, 1);
  clock_.advance(1500 * FakeClock::kMillisecond);
  writer.add_scalar("loss", 10, 0.5);
  writer.add_summary(summary.SerializeAsString(), std::int64_t{1} << 40);
  writer.add_graph("GRAPH", 30);
  writer.add_session_log(EventWriter::kCheckpoint, 31, "/runs/x/model.ckpt-31");
  writer.add_run_metadata("step 31", "TRACE", 31);
  writer.add_session_log(EventWriter::kStop, 32);
  writer.flush();
  EXPECT_THAT(shown(writer.file_name()),
              ElementsAre("brain.Event:2", "START @1", "loss=0.5@10", "a=2.0@1099511627776", "b=2.0@1099511627776",
                          "graph GRAPH@30", "CHECKPOINT /runs/x/model.ckpt-31@31", "step 31 TRACE@31", "STOP @32"));
  EXPECT_EQ(read(writer.file_name())[2].wall_time(), 1704067201.5);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(Events, SUMW_01_RunMetadataOfATagIsWrittenOnce) {
  EventWriter writer(*run_, clock_, options());
  writer.add_run_metadata("t", "1", 1);
  try {
    writer.add_run_metadata("t", "2", 2);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kInvalidArgument);
    EXPECT_STREQ(e.what(), "there is run metadata of the tag 't' already; a tag is for one run");
  }
  writer.flush();
  EXPECT_THAT(shown(writer.file_name()), ElementsAre("brain.Event:2", "t 1@1"));
}

TEST_F(Events, SUMW_04_EachWriterHasAFileWithItsVersionAndItsStart) {
  std::vector<std::string> names;
  for (std::int64_t step = 1; step <= 2; ++step) {
    EventWriter writer(*run_, clock_, options());
    writer.add_session_log(EventWriter::kStart, step);
    names.push_back(writer.file_name());
  }
  EXPECT_THAT(run_->entries(), ElementsAreArray(names));
  EXPECT_THAT(shown(names[0]), ElementsAre("brain.Event:2", "START @1"));
  EXPECT_THAT(shown(names[1]), ElementsAre("brain.Event:2", "START @2"));
}

TEST_F(Events, SUMW_08_StepsOfAnySizeAreKept) {
  EventWriter writer(*run_, clock_, options());
  pb::Summary summary;
  summary.add_value()->set_tag("a");
  for (const std::int64_t step : {std::int64_t{1}, std::int64_t{2}, INT64_MAX})
    writer.add_summary(summary.SerializeAsString(), step);
  writer.flush();
  EXPECT_THAT(shown(writer.file_name()),
              ElementsAre("brain.Event:2", "a=0.0@1", "a=0.0@2", "a=0.0@9223372036854775807"));
}

TEST_F(Events, SUMW_10_ASuffixEndsEveryFilesName) {
  EventWriterOptions o = options();
  o.suffix = ".v2";
  EventWriter writer(*run_, clock_, o);
  const std::string first = writer.file_name();
  EXPECT_EQ(first, "events.out.tfevents.1704067200.node-1.4711.0.v2");
  std::filesystem::remove(dir_ / first);
  clock_.advance(FakeClock::kSecond);
  writer.flush();
  EXPECT_EQ(writer.file_name(), "events.out.tfevents.1704067201.node-1.4711.0.v2");
}

TEST_F(Events, TagsAreCleaned) {
  const struct {
    const char *tag, *expected;
  } cases[] = {
      {"loss", "loss"},         {"/loss", "loss"},  {"//a//b", "a//b"},     {"global_step/sec", "global_step/sec"},
      {"a b:c(1)", "a_b_c_1_"}, {"\xc3\xa9", "__"}, {"A.b-C_9", "A.b-C_9"}, {"/", ""}};
  for (const auto& c : cases) EXPECT_EQ(clean_tag(c.tag), c.expected);
  EventWriter writer(*run_, clock_, options());
  writer.add_scalar("/a b", 1, 1);
  pb::Summary summary;
  summary.add_value()->set_tag("/c d");
  writer.add_summary(summary.SerializeAsString(), 2);
  writer.flush();
  EXPECT_THAT(shown(writer.file_name()), ElementsAre("brain.Event:2", "a_b=1.0@1", "c_d=0.0@2"));
}

TEST_F(Events, NaNAndInfinityAreWritten) {
  EventWriter writer(*run_, clock_, options());
  writer.add_scalar("x", 1, std::numeric_limits<double>::quiet_NaN());
  writer.add_scalar("x", 2, -std::numeric_limits<double>::infinity());
  writer.flush();
  const auto events = read(writer.file_name());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_TRUE(std::isnan(events[1].summary().value(0).simple_value()));
  EXPECT_EQ(events[2].summary().value(0).simple_value(), -std::numeric_limits<float>::infinity());
}

TEST_F(Events, T_61b_TheFirstValueOfAMetricThatIsNotFiniteIsAWarning) {
  EventWriter writer(*run_, clock_, options());
  writer.add_scalar("loss", 1, 0.5);
  pb::Summary summary;
  summary.add_value()->set_tag("accuracy");
  for (std::int64_t step = 2; step < 5; ++step) {
    summary.mutable_value(0)->set_simple_value(std::numeric_limits<float>::quiet_NaN());
    writer.add_summary(summary.SerializeAsString(), step);
    writer.add_scalar("rate", step, -std::numeric_limits<double>::infinity());
  }
  EXPECT_THAT(warnings_,
              ElementsAre("'accuracy' is nan at step 2 (said once)", "'rate' is -inf at step 2 (said once)"));
}

TEST_F(Events, SUMW_09_MetadataStaysOnTheFirstValueOfATag) {
  EventWriter writer(*run_, clock_, options());
  pb::Summary summary;
  summary.add_value()->set_tag("x");
  summary.mutable_value(0)->mutable_metadata()->mutable_plugin_data()->set_plugin_name("scalars");
  writer.add_summary(summary.SerializeAsString(), 1);
  writer.add_summary(summary.SerializeAsString(), 2);
  writer.flush();
  EXPECT_THAT(shown(writer.file_name()), ElementsAre("brain.Event:2", "x=0.0+metadata@1", "x=0.0@2"));
}

TEST_F(Events, WhatIsNoSummaryIsTheCallersError) {
  EventWriter writer(*run_, clock_, options());
  try {
    writer.add_summary("\xff\xff", 1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kInvalidArgument);
    EXPECT_STREQ(e.what(), "a summary of 2 bytes is no Summary message");
  }
}

// TRAP-19
TEST_F(Events, AddsAreInTheFile120SecondsLaterThoughNothingElseIsAdded) {
  EventWriter writer(*run_, clock_, options());
  writer.add_scalar("x", 1, 1);
  clock_.await_waiters(1);
  clock_.advance(119 * FakeClock::kSecond);
  writer.add_scalar("x", 2, 1);
  EXPECT_EQ(read(writer.file_name()).size(), 1u);
  clock_.advance(1 * FakeClock::kSecond);
  await_events(writer.file_name(), 3);
  writer.add_scalar("x", 3, 1);
  clock_.await_waiters(1);
  EXPECT_EQ(read(writer.file_name()).size(), 3u);
  writer.flush();
  EXPECT_EQ(read(writer.file_name()).size(), 4u);
}

TEST_F(Events, TheTimeUntilTheyAreWrittenIsAnOption) {
  EventWriterOptions o = options();
  o.flush_secs = 5;
  EventWriter writer(*run_, clock_, o);
  for (std::size_t n = 1; n <= 3; ++n) {
    writer.add_scalar("x", static_cast<std::int64_t>(n), 1);
    clock_.await_waiters(1);
    EXPECT_EQ(read(writer.file_name()).size(), n);
    clock_.advance(5 * FakeClock::kSecond);
    await_events(writer.file_name(), n + 1);
  }
}

TEST_F(Events, AtOnceWhereTheTimeIs0) {
  EventWriterOptions o = options();
  o.flush_secs = 0;
  EventWriter writer(*run_, clock_, o);
  writer.add_scalar("x", 1, 1);
  await_events(writer.file_name(), 2);
}

TEST_F(Events, AFlushThatIsOnlyStartedIsTheThreads) {
  EventWriter writer(*run_, clock_, options());
  writer.start_flush();  // of nothing
  writer.add_scalar("x", 1, 1);
  clock_.await_waiters(1);
  EXPECT_EQ(read(writer.file_name()).size(), 1u);
  writer.start_flush();
  await_events(writer.file_name(), 2);
}

TEST_F(Events, ManyAreWrittenBeforeTheyFillTheMemory) {
  EventWriter writer(*run_, clock_, options());
  for (int i = 0; i < 20'000; ++i) writer.add_scalar("a tag of some length", i, 1);
  while (run_->status(writer.file_name()).size < 500'000u) std::this_thread::yield();
}

// The clock does not move, so an end that waited for it would not come.
TEST_F(Events, SUMW_05_TheEndOfAnIdleWriterWaitsForNoTime) {
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

TEST_F(Events, AnAddMakesNoCallOfTheFileSystem) {
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

TEST_F(Events, AnAddGoesOnWhileTheDiskIsStuckAndWaitsForItBehindEightMebibytes) {
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

TEST_F(Events, SeveralThreadsMayAddAndFlush) {
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

TEST_F(Events, TheEndOfTheWriterFlushes) {
  std::string name;
  {
    EventWriter writer(*run_, clock_, options());
    writer.add_scalar("x", 1, 1);
    name = writer.file_name();
  }
  EXPECT_EQ(read(name).size(), 2u);
}

TEST_F(Events, ADeletedFileIsFollowedByANewOne) {
  EventWriter writer(*run_, clock_, options());
  const std::string first = writer.file_name();
  writer.add_scalar("x", 1, 1);
  std::filesystem::remove(dir_ / first);
  clock_.advance(FakeClock::kSecond);
  writer.flush();
  EXPECT_NE(writer.file_name(), first);
  EXPECT_THAT(shown(writer.file_name()), ElementsAre("brain.Event:2", "x=1.0@1"));
}

TEST_F(Events, SUMW_12_WhatTheThreadFailsWithIsSaidByTheNextAddInItsThread) {
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
TEST_F(Events, SUMW_12_AFailureIsOneWarningAndTheNextFlushWritesANewFile) {
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
  // What the torn file holds can be read up to the tear.
  EXPECT_THAT(shown(first), ElementsAre("brain.Event:2"));
}

TEST_F(Events, WhileNothingCanBeWrittenMemoryIsBoundedAndLossesAreCounted) {
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

TEST_F(Events, ADirectoryThatIsGoneEndsNothing) {
  EventWriter writer(*run_, clock_, options());
  std::filesystem::remove_all(dir_.path());
  writer.add_scalar("x", 1, 1);
  writer.flush();
  writer.flush();
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(Events, EveryFailingCallLeavesReadableFiles) {
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
    EXPECT_GE(scalars, 4u) << nth;
  }
}

}  // namespace
}  // namespace belay::runtime
