// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>

#include "belay/error.h"
#include "belay/testing/allocations.h"
#include "tests/events/events_in_a_directory.h"

BELAY_COUNT_ALLOCATIONS

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

using Events = EventsTest;

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

// But for the buffer, which grows to what a flush takes and is used again.
TEST_F(Events, ScalarsAndSummariesAreAddedWithoutAnAllocation) {
  pb::Summary summary;
  summary.add_value()->set_tag("digits/image/of_a_tag_that_no_short_string_holds");
  summary.mutable_value(0)->mutable_image()->set_encoded_image_string(std::string(400, 'p'));
  const std::string bytes = summary.SerializeAsString();
  EventWriter writer(*run_, clock_, options());
  std::uint64_t allocated = 0;
  for (int round = 0; round < 3; ++round) {
    writer.add_scalar("training/a_loss_whose_name_no_short_string_holds", 0, 0.5);
    const std::uint64_t before = testing::allocations();
    for (int i = 1; i < 100; ++i) {
      writer.add_scalar("training/a_loss_whose_name_no_short_string_holds", i, 0.5);
      writer.add_summary(bytes, i);
    }
    allocated = testing::allocations() - before;
    writer.flush();
  }
  EXPECT_EQ(allocated, 0u);
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

TEST_F(Events, T_172_ATraceOfAStepIsWrittenOnce) {
  EventWriter writer(*run_, clock_, options());
  EXPECT_TRUE(writer.add_step_trace("first", 5));
  EXPECT_FALSE(writer.add_step_trace("again", 5));
  EXPECT_FALSE(writer.add_step_trace("before", 4));
  EXPECT_TRUE(writer.add_step_trace("later", 7));
  writer.add_run_metadata("step 7", "a program's", 7);
  writer.flush();
  EXPECT_THAT(shown(writer.file_name()),
              ElementsAre("brain.Event:2", "step_5 first@5", "step_7 later@7", "step 7 a program's@7"));
}

// A tag of each would be 8 MB. If a sanitizer has its own malloc, both figures are 0.
TEST_F(Events, T_172_NothingIsKeptOfATrace) {
  EventWriter writer(*run_, clock_, options());
  std::size_t before = 0;
  for (int step = 0; step <= 101'000; ++step) {
    writer.add_step_trace("t", step);
    if (step % 500 == 0) writer.flush();
    if (step == 1000) before = ::mallinfo2().uordblks;
  }
  EXPECT_LT(::mallinfo2().uordblks, before + 1'000'000);
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
              ElementsAre("'accuracy' is nan at step 2 (logged once)", "'rate' is -inf at step 2 (logged once)"));
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

}  // namespace
}  // namespace belay::runtime
