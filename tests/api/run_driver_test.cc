// SPDX-License-Identifier: Apache-2.0
// An observer of a run gets these calls, and may end the run in some of them.
#include "runtime/api/run_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/manifest/parse.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Keeps the first of several calls in sequence with the same name.
class Recorder final : public RunObserver {
 public:
  void refused(const Diagnostics& problems) override {
    hear("refused");
    said = problems.text();
  }
  void failed(RunPart /*part*/, const Error& error, Diagnostics& /*problems*/) override {
    hear("failed");
    said = error.what();
  }
  void phase_over() override { hear("phase_over"); }
  RunStatus opens_directory() override {
    hear("opens_directory");
    if (on_opens) on_opens();
    return opens;
  }
  RunStatus begins() override {
    hear("begins");
    return may_begin;
  }
  void session(const std::string& /*ends*/) override { hear("session"); }
  void progress() override {
    hear("progress");
    if (on_progress) on_progress();
  }
  void trained(const TrainingResult& /*result*/, const std::string& /*untrained*/) override { hear("trained"); }
  void evaluated_at_end(const EvaluatedInput& /*result*/) override { hear("evaluated_at_end"); }
  void exported_at_end(const std::vector<WrittenExport>& /*exports*/) override { hear("exported_at_end"); }
  void used(const UsedCheckpoint& /*checkpoint*/) override { hear("used"); }
  void evaluated(const CheckpointResult& /*result*/) override { hear("evaluated"); }

  std::vector<std::string> heard;
  std::string said;
  RunStatus opens = RunStatus::kDone, may_begin = RunStatus::kDone;
  std::function<void()> on_opens, on_progress;

 private:
  void hear(const std::string& call) {
    if (heard.empty() || heard.back() != call) heard.push_back(call);
  }
};

class RunDriverTest : public ::testing::Test {
 protected:
  RunDriverTest() {
    std::ofstream(file_) << R"([run]
dir = "run"
max_steps = 2
threads = 1
[input.train]
plugin = "digits"
examples = 64
[input.eval]
plugin = "digits"
examples = 32
batch_size = 8
epochs = 1
[model]
plugin = "linear"
classes = 10
[optimizer]
name = "sgd"
learning_rate = 0.01
)";
  }
  // Reads the notes, and runs. The run's directory is free afterwards.
  RunStatus drive(const std::vector<std::string>& sets = {}) {
    return with_driver(sets, [](RunDriver& driver) {
      const RunStatus found = driver.prepare(Preparation::kNames);
      return found == RunStatus::kDone ? driver.run() : found;
    });
  }
  RunStatus with_driver(const std::vector<std::string>& sets, const std::function<RunStatus(RunDriver&)>& use) {
    const Environment environment = [](const std::string& name) -> std::optional<std::string> {
      if (name == "BELAY_PLUGIN_PATH") return BELAY_BINARY_DIR "/plugins";
      return std::nullopt;
    };
    Diagnostics problems;
    std::optional<Manifest> manifest = parse_manifest(file_, sets, environment, problems);
    if (!manifest) {
      ADD_FAILURE() << problems.text();
      return RunStatus::kUsage;
    }
    PreparedRun run(std::move(*manifest), {}, Platform{system_clock(), *log_, posix_file_system()}, environment,
                    control_);
    RunDriver driver(run, problems, recorder_);
    return use(driver);
  }
  static LogOutput nowhere() {
    LogOutput output;
    output.write = [](std::string_view) { return true; };
    return output;
  }

  TempDir temp_;
  const std::string file_ = temp_ / "train.toml";
  const std::unique_ptr<Logger> log_ = make_logger(nowhere(), LogFormat::kText, LogLevel::kInfo, system_clock());
  RunControl control_;
  Recorder recorder_;
};

TEST_F(RunDriverTest, ATrainingAndAnEvaluationAreHeardOfInTheirOrder) {
  EXPECT_EQ(drive(), RunStatus::kDone) << recorder_.said;
  EXPECT_THAT(recorder_.heard, ElementsAre("phase_over", "opens_directory", "begins", "session", "progress", "trained",
                                           "progress", "evaluated_at_end", "exported_at_end"));
  recorder_.heard.clear();
  EXPECT_EQ(drive({"run.mode=evaluate"}), RunStatus::kDone) << recorder_.said;
  EXPECT_THAT(recorder_.heard, ElementsAre("phase_over", "begins", "progress", "used", "evaluated"));
}

TEST_F(RunDriverTest, ARunIsPreparedAsFarAsItIsAskedFor) {
  const auto prepare = [this](Preparation until, const std::vector<std::string>& sets = {}) {
    recorder_.heard.clear();
    return with_driver(sets, [until](RunDriver& driver) { return driver.prepare(until); });
  };
  EXPECT_EQ(prepare(Preparation::kNames), RunStatus::kDone);
  EXPECT_THAT(recorder_.heard, IsEmpty());
  EXPECT_EQ(prepare(Preparation::kGraph, {"optimizer.name=no_such_optimizer"}), RunStatus::kPlugin);
  EXPECT_THAT(recorder_.heard, ElementsAre("refused"));
  for (const Preparation until : {Preparation::kGraph, Preparation::kCompare}) {
    EXPECT_EQ(prepare(until), RunStatus::kDone) << recorder_.said;
    EXPECT_THAT(recorder_.heard, ElementsAre("phase_over"));
    EXPECT_FALSE(fs::exists(temp_ / "run"));
  }
  EXPECT_EQ(prepare(Preparation::kRun), RunStatus::kDone) << recorder_.said;
  EXPECT_THAT(recorder_.heard, ElementsAre("phase_over", "opens_directory"));
  EXPECT_TRUE(fs::exists(temp_ / "run/manifest.toml"));
  EXPECT_FALSE(fs::exists(temp_ / "run/model.ckpt-0"));
}

TEST_F(RunDriverTest, AnObserverMayEndARunBeforeItsDirectoryStays) {
  recorder_.opens = RunStatus::kUsage;
  EXPECT_EQ(drive(), RunStatus::kUsage);
  EXPECT_THAT(recorder_.heard, ElementsAre("phase_over", "opens_directory"));
  EXPECT_FALSE(fs::exists(temp_ / "run"));

  recorder_.heard.clear();
  recorder_.on_opens = [] { fail(Code::kResourceExhausted, "the disk is full"); };
  EXPECT_EQ(drive(), RunStatus::kUsage);
  EXPECT_THAT(recorder_.heard, ElementsAre("phase_over", "opens_directory", "failed"));
  EXPECT_THAT(recorder_.said, HasSubstr("the disk is full"));
  EXPECT_FALSE(fs::exists(temp_ / "run"));
}

TEST_F(RunDriverTest, AnObserverMayEndARunBeforeItsWork) {
  recorder_.may_begin = RunStatus::kUsage;
  EXPECT_EQ(drive(), RunStatus::kUsage);
  EXPECT_THAT(recorder_.heard, ElementsAre("phase_over", "opens_directory", "begins"));
  EXPECT_TRUE(fs::exists(temp_ / "run/manifest.toml"));
  EXPECT_FALSE(fs::exists(temp_ / "run/model.ckpt-2"));
}

TEST_F(RunDriverTest, WhatIsMissingIsHeardOfBeforeAnyPluginIsLoaded) {
  EXPECT_EQ(drive({"model.plugin=no_such_model"}), RunStatus::kPlugin);
  EXPECT_THAT(recorder_.heard, ElementsAre("refused"));
  EXPECT_THAT(recorder_.said, HasSubstr("no_such_model"));
  EXPECT_FALSE(fs::exists(temp_ / "run"));
}

TEST_F(RunDriverTest, AnEvaluationAfterATrainingThatIsStoppedHasNotFailed) {
  recorder_.on_progress = [this] {
    if (recorder_.heard.size() > 1 && recorder_.heard[recorder_.heard.size() - 2] == "trained") control_.stop("enough");
  };
  EXPECT_EQ(drive(), RunStatus::kDone);
  ASSERT_FALSE(recorder_.heard.empty());
  EXPECT_EQ(recorder_.heard.back(), "progress");
  EXPECT_THAT(recorder_.said, IsEmpty());
}

}  // namespace
}  // namespace belay::runtime
