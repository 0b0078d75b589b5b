// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/event_reader.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "belay/error.h"
#include "runtime/events/record_writer.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

TEST(EventReading, ARecordThatIsNoEventIsNamedAndSkipped) {
  const TempDir dir;
  pb::Event good;
  good.set_step(7);
  std::string bytes;
  append_record(bytes, "\xff\xff\xff");
  append_record(bytes, good.SerializeAsString());
  std::ofstream(dir / "events") << bytes;
  EventReader reader(posix_file_system().open_directory(dir.path())->open("events"));
  pb::Event event;
  try {
    reader.next(event);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kDataLoss);
    EXPECT_EQ(std::string(e.what()), "'" + (dir / "events") + "': the record at byte 0 is no event");
  }
  ASSERT_TRUE(reader.next(event));
  EXPECT_EQ(event.step(), 7);
  EXPECT_FALSE(reader.next(event));
}

// The event files of a real run of somebody else's.
class SampleEvents : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* samples = std::getenv("BELAY_SAMPLES_DIR");
    folder_ = std::filesystem::path(samples != nullptr ? samples : BELAY_SOURCE_DIR "/../shared/samples") /
              "events/tfx_estimator";
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << "no samples at " << folder_ << "; set BELAY_SAMPLES_DIR";
  }
  static std::vector<pb::Event> read(const std::filesystem::path& folder) {
    std::vector<pb::Event> events;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      EventReader reader(posix_file_system().open_directory(folder)->open(entry.path().filename().string()));
      for (pb::Event event; reader.next(event);) events.push_back(event);
    }
    return events;
  }
  std::filesystem::path folder_;
};

TEST_F(SampleEvents, ATrainingRunIsReadWhole) {
  const auto events = read(folder_);
  ASSERT_EQ(events.size(), 28u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  std::map<int, int> kinds;
  std::vector<std::pair<int, std::int64_t>> sessions;
  std::vector<std::int64_t> rates;
  for (const pb::Event& e : events) {
    ++kinds[e.what_case()];
    if (e.has_session_log()) sessions.emplace_back(e.session_log().status(), e.step());
    for (const auto& v : e.summary().value())
      if (v.tag() == "global_step/sec") rates.push_back(e.step());
  }
  EXPECT_EQ(kinds[pb::Event::kGraphDef], 2);
  EXPECT_EQ(kinds[pb::Event::kMetaGraphDef], 2);
  EXPECT_EQ(kinds[pb::Event::kSessionLog], 4);
  EXPECT_EQ(sessions, (std::vector<std::pair<int, std::int64_t>>{{3, 0}, {1, 1}, {3, 999}, {3, 1000}}));
  EXPECT_EQ(rates, (std::vector<std::int64_t>{101, 201, 301, 401, 501, 601, 701, 801, 901}));
  pb::GraphDef graph;
  ASSERT_TRUE(graph.ParseFromString(events[1].graph_def()));
  EXPECT_GT(graph.node_size(), 100);
}

TEST_F(SampleEvents, AnEvaluationHoldsScalarsAndAText) {
  std::map<std::string, pb::Summary::Value> values;
  for (const pb::Event& e : read(folder_ / "eval_chicago-taxi-eval"))
    for (const auto& v : e.summary().value()) values[v.tag()] = v;
  ASSERT_TRUE(values.contains("loss"));
  EXPECT_EQ(values["loss"].value_case(), pb::Summary::Value::kSimpleValue);
  std::string path;
  for (const auto& [tag, value] : values)
    if (tag.find("checkpoint_path") != tag.npos) path = value.tensor().string_val(0);
  EXPECT_NE(path.find("model.ckpt-1000"), path.npos);
}

}  // namespace
}  // namespace belay::runtime
