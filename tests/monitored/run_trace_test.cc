// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/run_trace.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/monitored/saved_session.h"
#include "tests/platform/faulty_file_system.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Slices of one track, by name.
std::vector<std::string> slices(const json& events, int track) {
  std::vector<std::string> names;
  for (const json& event : events)
    if (event.at("ph") == "X" && event.at("tid") == track) names.push_back(event.at("name"));
  return names;
}

const json& slice(const json& events, const char* name) {
  for (const json& event : events)
    if (event.at("ph") == "X" && event.at("name") == name) return event;
  throw std::runtime_error(std::string("there is no slice '") + name + "'");
}

class RunTraceTest : public SavedSession {
 protected:
  RunTrace& trace_into(FileSystem& files, std::uint64_t most_bytes = RunTrace::kMostBytes) {
    const std::unique_ptr<OpenDirectory> directory = files.open_directory(temp.path());
    trace_.emplace(*directory, "trace.json", system_clock(), *log, most_bytes);
    MonitoredSessionOptions options;
    options.trace = &*trace_;
    open("", options);
    return *trace_;
  }
  // The present content of the file; an array that is still open is closed.
  json read_trace() {
    std::string text = posix_file_system().open_directory(temp.path())->read("trace.json", 1 << 20);
    text.resize(text.rfind('\n') + 1);  // of a write that failed half a line may be there
    return json::parse(text.ends_with("]\n") ? text : text + "{\"ph\":\"M\"}]");
  }
  void end_trace() { trace_.reset(); }

  TempDir temp;

 private:
  std::optional<RunTrace> trace_;
};

TEST_F(RunTraceTest, AStepHasItsHooksCallbacksItsRunAndItsOperationsInIt) {
  add_probe("x");
  add_probe("y");
  trace_into(posix_file_system());
  train();
  drop();
  end_trace();
  const json events = read_trace();
  const std::vector<std::string> session = slices(events, 1);
  for (const char* name : {"x before_run", "y before_run", "the run", "x after_run", "y after_run", "step 1"})
    EXPECT_THAT(session, Contains(name).Times(1));
  EXPECT_THAT(slices(events, 2), Contains(HasSubstr("train")));
  const json &outer = slice(events, "step 1"), &inner = slice(events, "y after_run");
  EXPECT_GE(inner.at("ts"), outer.at("ts"));
  EXPECT_LE(inner.at("ts").get<double>() + inner.at("dur").get<double>(),
            outer.at("ts").get<double>() + outer.at("dur").get<double>());
}

TEST_F(RunTraceTest, ASaveIsInItAndOnlyOnAThreadThatIsObserved) {
  RunTrace& trace = trace_into(posix_file_system());
  PublishedActivity activity;
  const PublishesActivity publishing(activity);
  session().save();
  trace.flush();
  EXPECT_THAT(slices(read_trace(), 1), Not(Contains("saving")));
  const ObservesActivity observing(&trace);
  session().save();
  trace.flush();
  EXPECT_THAT(slices(read_trace(), 1), Contains("saving"));
}

TEST_F(RunTraceTest, AProcessThatIsKilledLeavesWholeLines) {
  trace_into(posix_file_system());
  train();
  train();
  EXPECT_TRUE(posix_file_system().open_directory(temp.path())->read("trace.json", 1 << 20).ends_with("},\n"));
  EXPECT_THAT(slices(read_trace(), 1), Contains("step 2"));
}

TEST_F(RunTraceTest, AFullTraceEndsWithAWarningAndTheTrainingGoesOn) {
  RunTrace& trace = trace_into(posix_file_system(), 3000);
  for (int i = 0; i < 50; ++i) train();
  EXPECT_EQ(read(), 50);
  EXPECT_FALSE(trace.on());
  EXPECT_TRUE(logged("trace.json' ends here: it has 0 MiB, which is all that a trace may have"));
  const std::vector<std::string> names = slices(read_trace(), 1);
  EXPECT_THAT(names, Contains("step 1"));
  EXPECT_THAT(names, Not(Contains("step 50")));
}

TEST_F(RunTraceTest, ADiskThatFailsEndsTheTraceAndNotTheTraining) {
  FaultyFileSystem files(posix_file_system());
  RunTrace& trace = trace_into(files);
  train();
  files.fail(FileCall::kWrite, 1, Error(Code::kResourceExhausted, "no room"));
  train();
  EXPECT_FALSE(trace.on());
  EXPECT_EQ(train(), 3);
  EXPECT_TRUE(logged("ends here: no room; the training continues without it"));
  EXPECT_THAT(slices(read_trace(), 1), Contains("step 1"));
}

TEST_F(RunTraceTest, NamesAreWrittenAsJson) {
  add_probe("a \"quoted\"\\ name\n\xff");
  trace_into(posix_file_system());
  train();
  drop();
  end_trace();
  EXPECT_THAT(slices(read_trace(), 1), Contains(HasSubstr("a \"quoted\"\\ name\n")));
}

TEST_F(RunTraceTest, AnEarlierFileIsReplaced) {
  trace_into(posix_file_system());
  train();
  drop();
  end_trace();
  trace_into(posix_file_system());
  drop();
  end_trace();
  EXPECT_THAT(slices(read_trace(), 1), IsEmpty());
}

}  // namespace
}  // namespace belay::runtime::testing
