// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/run_events_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "belay/error.h"
#include "runtime/events/event_writer.h"
#include "tests/platform/fake_clock.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool everything(const EventValue&, std::int64_t) { return true; }

// "1 loss@3=0.5", redone ones with a bar at the end; entries without a tag by their kind.
std::vector<std::string> shown(const ReadEvents& events) {
  std::vector<std::string> lines;
  for (const EventPoint& p : events.points) {
    std::ostringstream line;
    line << (p.run == 0 ? "" : events.runs[p.run] + " ") << p.attempt << " "
         << (p.value.tag.empty() ? p.value.kind : p.value.tag) << "@" << p.step;
    if (p.value.number) line << "=" << *p.value.number;
    lines.push_back(line.str() + (p.redone ? "|" : ""));
  }
  return lines;
}

class RunEventsTest : public ::testing::Test {
 protected:
  // One attempt from that step on, with a loss at each; the file's name.
  std::string attempt(std::int64_t first, std::int64_t last, const std::string& folder = "") {
    const auto directory = posix_file_system().make_directories(dir_ / folder);
    clock_.advance(FakeClock::kSecond);
    EventWriter writer(*directory, clock_, {.host = "node", .pid = 7, .suffix = {}, .on_warning = {}});
    if (first > 0) writer.add_session_log(EventWriter::kStart, first);
    for (std::int64_t step = std::max<std::int64_t>(first, 1); step <= last; ++step)
      writer.add_scalar("loss", step, static_cast<double>(step) / 2);
    return writer.file_name();
  }
  ReadEvents read() { return read_events(posix_file_system(), dir_.path(), everything); }

  TempDir dir_;
  FakeClock clock_;
};

TEST_F(RunEventsTest, AttemptsComeInOrderAndWhatWasDoneAgainIsMarked) {
  attempt(1, 3), attempt(3, 4);
  const ReadEvents events = read();
  EXPECT_THAT(shown(events), ElementsAre("1 start@1", "1 loss@1=0.5", "1 loss@2=1", "1 loss@3=1.5|", "2 start@3",
                                         "2 loss@3=1.5", "2 loss@4=2"));
  EXPECT_THAT(events.runs, ElementsAre("."));
  EXPECT_THAT(events.problems, IsEmpty());
}

TEST_F(RunEventsTest, ASessionThatWasRecoveredMarksWhatIsBeforeItInTheSameFile) {
  const auto directory = posix_file_system().make_directories(dir_.path());
  {
    EventWriter writer(*directory, clock_, {.host = "node", .pid = 7, .suffix = {}, .on_warning = {}});
    writer.add_session_log(EventWriter::kStart, 1);
    for (const std::int64_t step : {1, 2, 3}) writer.add_scalar("loss", step, 1);
    writer.add_session_log(EventWriter::kStart, 2);
    for (const std::int64_t step : {2, 3}) writer.add_scalar("loss", step, 1);
  }
  EXPECT_THAT(shown(read()), ElementsAre("1 start@1", "1 loss@1=1", "1 loss@2=1|", "1 loss@3=1|", "1 start@2",
                                         "1 loss@2=1", "1 loss@3=1"));
}

TEST_F(RunEventsTest, AFileWithoutAStartGoesOnWithTheAttempt) {
  attempt(1, 1), attempt(0, 1), attempt(2, 2);
  EXPECT_THAT(shown(read()), ElementsAre("1 start@1", "1 loss@1=0.5", "1 loss@1=0.5", "2 start@2", "2 loss@2=1"));
}

TEST_F(RunEventsTest, AFolderBelowIsARunForItself) {
  attempt(1, 1), attempt(1, 1, "eval"), attempt(2, 2, "eval");
  const ReadEvents events = read();
  EXPECT_THAT(events.runs, ElementsAre(".", "eval"));
  EXPECT_THAT(shown(events), ElementsAre("1 start@1", "1 loss@1=0.5", "eval 1 start@1", "eval 1 loss@1=0.5",
                                         "eval 2 start@2", "eval 2 loss@2=1"));
}

TEST_F(RunEventsTest, OnlyWhatIsWantedIsKept) {
  attempt(1, 3);
  const ReadEvents events = read_events(posix_file_system(), dir_.path(), [](const EventValue& v, std::int64_t step) {
    return v.tag == "loss" && step >= 3;
  });
  EXPECT_THAT(shown(events), ElementsAre("1 loss@3=1.5"));
}

TEST_F(RunEventsTest, ATornTailIsSaidAndTheFilesBehindItAreRead) {
  const std::string torn = attempt(1, 2);
  attempt(3, 3);
  const auto size = std::filesystem::file_size(dir_ / torn);
  std::filesystem::resize_file(dir_ / torn, size - 5);
  const ReadEvents events = read();
  EXPECT_THAT(shown(events), ElementsAre("1 start@1", "1 loss@1=0.5", "2 start@3", "2 loss@3=1.5"));
  ASSERT_EQ(events.problems.size(), 1u);
  EXPECT_FALSE(events.problems[0].damage);
  EXPECT_THAT(events.problems[0].text, HasSubstr("'" + (dir_ / torn) + "' ends within the record at byte "));
  EXPECT_THAT(events.problems[0].text, HasSubstr("bytes are left out"));
}

TEST_F(RunEventsTest, EveryLengthOfATornTailIsSaid) {
  std::string name = attempt(1, 0);
  const auto whole = std::filesystem::file_size(dir_ / name);
  std::filesystem::remove(dir_ / name);
  name = attempt(1, 1);
  const auto size = std::filesystem::file_size(dir_ / name);
  ASSERT_GT(size, whole + 16);
  for (std::uintmax_t left = size - 1; left > whole; --left) {
    std::filesystem::resize_file(dir_ / name, left);
    const ReadEvents events = read();
    EXPECT_THAT(shown(events), ElementsAre("1 start@1")) << left;
    ASSERT_EQ(events.problems.size(), 1u) << left;
    EXPECT_FALSE(events.problems[0].damage) << left;
    EXPECT_THAT(events.problems[0].text,
                HasSubstr("ends within the record at byte " + std::to_string(whole) + ": its last " +
                          std::to_string(left - whole) + " bytes are left out"));
  }
  std::filesystem::resize_file(dir_ / name, whole);
  EXPECT_THAT(shown(read()), ElementsAre("1 start@1"));
  EXPECT_THAT(read().problems, IsEmpty()) << "the record is not there at all";
}

TEST_F(RunEventsTest, ADamagedRecordIsLeftOutAndADamagedLengthEndsTheFile) {
  const std::string name = attempt(1, 3);
  const auto flip = [&](std::streamoff at) {
    std::fstream file(dir_ / name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char c = static_cast<char>(file.get() ^ 1);
    file.seekp(at);
    file.put(c);
  };
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(dir_ / name));
  flip(size - 5);  // in the content of the last record
  EXPECT_THAT(shown(read()), ElementsAre("1 start@1", "1 loss@1=0.5", "1 loss@2=1"));
  ASSERT_EQ(read().problems.size(), 1u);
  EXPECT_TRUE(read().problems[0].damage);
  EXPECT_THAT(read().problems[0].text, HasSubstr("it is left out"));
  flip(0);
  EXPECT_THAT(shown(read()), IsEmpty());
  ASSERT_EQ(read().problems.size(), 1u);
  EXPECT_THAT(read().problems[0].text, HasSubstr("the record at byte 0 has a length of masked CRC32C"));
  EXPECT_THAT(read().problems[0].text, HasSubstr("what follows in this file is not read"));
}

TEST_F(RunEventsTest, WhereThereAreNoEventsThatIsSaid) {
  const auto error = [&](const std::string& path) -> std::string {
    try {
      read_events(posix_file_system(), path, everything);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error(dir_.path()),
            "[B5010] '" + dir_.path() + "' holds no event file (events.out.tfevents.*), nor do folders below it");
  EXPECT_EQ(error(dir_ / "none"), "[B5010] there is no '" + (dir_ / "none") + "'");
  EXPECT_THAT(shown(read_events(posix_file_system(), dir_ / attempt(1, 1), everything)),
              ElementsAre("1 start@1", "1 loss@1=0.5"));
}

// The event files of a real run of somebody else's.
TEST(SampleRunEvents, AreReadWithTheirStatedValues) {
  const char* given = std::getenv("BELAY_SAMPLES_DIR");
  const std::string samples = given != nullptr ? given : BELAY_SOURCE_DIR "/../shared/samples";
  if (!std::filesystem::exists(samples)) GTEST_SKIP() << "no samples at " << samples << "; set BELAY_SAMPLES_DIR";
  const ReadEvents events = read_events(posix_file_system(), samples + "/events/tfx_estimator", everything);
  EXPECT_THAT(events.runs, ElementsAre(".", "eval_chicago-taxi-eval"));
  EXPECT_THAT(events.problems, IsEmpty());
  std::map<std::string, int> kinds;
  std::vector<std::int64_t> rates;
  std::map<std::int64_t, double> losses;
  std::string path;
  std::vector<std::pair<std::string, std::int64_t>> session;
  for (const EventPoint& p : events.points) {
    EXPECT_FALSE(p.redone);
    EXPECT_EQ(p.attempt, 1);
    if (p.run == 0) ++kinds[p.value.kind];
    if (p.value.tag == "global_step/sec") rates.push_back(p.step);
    if (p.run == 0 && p.value.tag == "loss") losses[p.step] = p.value.number.value_or(0);
    if (p.value.tag.find("checkpoint_path") != std::string::npos) path = p.value.text;
    if (p.value.kind == "start" || p.value.kind == "checkpoint") session.emplace_back(p.value.kind, p.step);
  }
  EXPECT_THAT(rates, ElementsAre(101, 201, 301, 401, 501, 601, 701, 801, 901));
  // As a program of a few lines that reads the records' bytes has them.
  EXPECT_EQ(losses[1], 0.4280262589454651);
  EXPECT_EQ(losses[101], 0.4766015112400055);
  EXPECT_EQ(losses[901], 0.6653615236282349);
  EXPECT_THAT(path, HasSubstr("model.ckpt-1000"));
  EXPECT_EQ(session, (std::vector<std::pair<std::string, std::int64_t>>{
                         {"checkpoint", 0}, {"start", 1}, {"checkpoint", 999}, {"checkpoint", 1000}}));
  EXPECT_EQ(kinds["meta_graph"], 2);
  EXPECT_GT(kinds["histogram"], 0);
}

}  // namespace
}  // namespace belay::runtime
