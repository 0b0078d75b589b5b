// SPDX-License-Identifier: Apache-2.0
// A run leaves these for people and programs: its log, its event files, its plan, its last word.
#include <signal.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/events/event_reader.h"
#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

constexpr const char* kEval = "[input.eval]\nplugin = \"numbers\"\nexamples = 64\nepochs = 1\n";

class OutputTest : public RunTest {
 protected:
  using Steps = std::vector<std::int64_t>;

  // One per line; a line that is no object fails the test.
  static std::vector<nlohmann::json> json_lines(const std::string& text) {
    std::vector<nlohmann::json> objects;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      objects.push_back(nlohmann::json::parse(line, nullptr, false));
      EXPECT_TRUE(objects.back().is_object()) << line;
    }
    return objects;
  }
  // Full names of a folder's event files, oldest first.
  static Names event_files(const std::string& dir) {
    Names names;
    for (const auto& entry : fs::directory_iterator(dir))
      if (entry.path().filename().string().rfind(kEventFile, 0) == 0) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
      return fs::last_write_time(dir + "/" + a) < fs::last_write_time(dir + "/" + b);
    });
    return names;
  }
  static std::vector<pb::Event> events(const std::string& dir, const std::string& name) {
    std::vector<pb::Event> found;
    EventReader reader(posix_file_system().open_directory(dir)->open(name));
    for (pb::Event event; reader.next(event);) found.push_back(event);
    return found;
  }
  // Tag -> the steps that it has a number for.
  static std::map<std::string, std::vector<std::int64_t>> scalar_steps(const std::vector<pb::Event>& all) {
    std::map<std::string, std::vector<std::int64_t>> steps;
    for (const pb::Event& e : all)
      for (const pb::Summary::Value& v : e.summary().value())
        if (v.has_simple_value()) steps[v.tag()].push_back(e.step());
    return steps;
  }
  // "start 1", "checkpoint 50" ...
  static Names session_log(const std::vector<pb::Event>& all) {
    Names log;
    for (const pb::Event& e : all)
      if (e.has_session_log())
        log.push_back(pb::SessionLog::SessionStatus_Name(e.session_log().status()) + " " + std::to_string(e.step()));
    return log;
  }
};

TEST_F(OutputTest, AJsonLogIsOneObjectPerLine) {
  // Characters that a name may have must not end a string or a line.
  const std::string dir = temp / "a \"run\" \\ \xc3\xbc";
  const std::string manifest = regression();
  const ProcessResult r = belay({"run", manifest, "--log-format=json", "--set", "run.dir='" + dir + "'"});
  ASSERT_EQ(r.status, 0) << r.err;
  const std::vector<nlohmann::json> lines = json_lines(r.err);
  ASSERT_GE(lines.size(), 3u);
  for (const nlohmann::json& line : lines) {
    for (const char* key : {"time", "level", "source", "message"}) EXPECT_TRUE(line.at(key).is_string()) << line;
    EXPECT_THAT(line.at("time").get<std::string>(),
                ::testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z"));
    EXPECT_EQ(line.at("level"), "info");
  }
  EXPECT_FALSE(lines.front().contains("step"));
  EXPECT_EQ(lines.back().at("step"), 50);
  EXPECT_THAT(lines.back().at("message").get<std::string>(), ::testing::StartsWith("ended at step 50 (50 steps in "));
}

TEST_F(OutputTest, AJsonLogOfARunThatFailsIsOneObjectPerLineToo) {
  const ProcessResult thrown =
      belay({"run", regression("", "[[hooks]]\nplugin = \"trouble\"\nthrow_at_step = 3\n"), "--log-format=json"});
  ASSERT_EQ(thrown.status, 1) << thrown.err;
  const std::vector<nlohmann::json> lines = json_lines(thrown.err);
  ASSERT_FALSE(lines.empty());
  const nlohmann::json& error = lines.at(lines.size() - 2);  // after it comes the saved state
  EXPECT_EQ(error.at("level"), "error");
  EXPECT_EQ(
      error.at("message"),
      "training ended with an error: hook \"trouble\" (trouble.so 1.0.0, train.toml:13) in after_run at step 4: boom");
}

TEST_F(OutputTest, TenThousandStepsLogLessThanTwentyKilobytes) {
  const ProcessResult r = belay({"run", regression("", "", 10000)});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_LT(r.err.size(), 20'000u);
  EXPECT_EQ(lines_with(r.err, "\r").size(), 0u) << "no live line where no one watches";
  EXPECT_GE(lines_with(r.err, " progress: step ").size(), 2u);
}

TEST_F(OutputTest, AnEventFileHoldsTheVersionTheGraphTheSessionAndScalarsWithTheirSteps) {
  ASSERT_EQ(belay({"run", regression("", "[session]\nsave_summaries_steps = 10\nlog_step_count_steps = 20\n")}).status,
            0);
  const Names files = event_files(run_dir());
  ASSERT_EQ(files.size(), 1u);
  const std::vector<pb::Event> all = events(run_dir(), files[0]);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front().file_version(), "brain.Event:2");
  EXPECT_EQ(session_log(all), (Names{"START 1", "CHECKPOINT 0", "CHECKPOINT 50", "STOP 50"}));
  auto steps = scalar_steps(all);
  // The use of the time, and the machine: once, at the end, if the run took long enough to be looked at.
  std::erase_if(steps, [](const auto& tag) {
    return (tag.first.starts_with("time/") || tag.first.starts_with("system/")) && tag.second == Steps{50};
  });
  const Steps summaries = {1, 11, 21, 31, 41, 50};
  EXPECT_EQ(steps, (std::map<std::string, Steps>{{"examples/sec", {21, 41}},
                                                 {"global_step/sec", {21, 41}},
                                                 {"learning_rate", summaries},
                                                 {"loss", summaries},
                                                 {"mean_absolute_error", summaries}}));
  std::vector<std::string> graph;
  for (const pb::Event& e : all) {
    EXPECT_GT(e.wall_time(), 1.6e9);
    if (e.what_case() != pb::Event::kGraphDef) continue;
    pb::GraphDef def;
    ASSERT_TRUE(def.ParseFromString(e.graph_def()));
    for (const pb::NodeDef& node : def.node()) graph.push_back(node.name() + ": " + node.op());
  }
  EXPECT_THAT(graph, ::testing::Contains(::testing::StartsWith("linear/kernel: ")));
}

TEST_F(OutputTest, EachAttemptWritesANewEventFileThatStartsBehindTheRestoredStep) {
  ASSERT_EQ(belay({"run", regression("", kEval)}).status, 0);
  const Names first = event_files(run_dir());
  ASSERT_EQ(first.size(), 1u);
  const std::string before = contents(run_dir() + "/" + first[0]);
  ASSERT_EQ(belay({"run", regression("", kEval, 80)}).status, 0);
  const Names both = event_files(run_dir());
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0], first[0]);
  EXPECT_EQ(contents(run_dir() + "/" + first[0]), before) << "an attempt appends to no other's file";
  EXPECT_EQ(session_log(events(run_dir(), both[1])), (Names{"START 51", "CHECKPOINT 50", "CHECKPOINT 80", "STOP 80"}));
  // Each evaluation is a point of the run's "eval".
  const Names evals = event_files(run_dir() + "/eval");
  ASSERT_EQ(evals.size(), 2u);
  EXPECT_EQ(scalar_steps(events(run_dir() + "/eval", evals[0])).at("loss"), std::vector<std::int64_t>{50});
  EXPECT_EQ(scalar_steps(events(run_dir() + "/eval", evals[1])).at("loss"), std::vector<std::int64_t>{80});
}

TEST_F(OutputTest, ADryRunPrintsThePlanAndMakesNothing) {
  const ProcessResult r = belay({"run", "--dry-run", regression("", kEval)});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(replaced(r.out, temp.path(), "DIR"),
            "input.eval  numbers, 64 examples, feature x float32 [?, 4], label y float32 [?]\n"
            "input.train  numbers, 1000 examples, feature x float32 [?, 4], label y float32 [?]\n"
            "model  linear\n"
            "  linear/kernel  float32 [4, 1]\n"
            "  linear/bias  float32 [1]\n"
            "  5 trainable parameters\n"
            "optimizer  sgd\n"
            "scaffold  saver safetensors, init_op default, local_init default, ready default, "
            "ready_for_local_init default, summary_op default\n"
            "hook  stop_at_step\n"
            "hook  step_counter\n"
            "hook  summary_saver\n"
            "hook  checkpoint_saver\n"
            "hook  nan_tensor\n"
            "hook  json_lines\n"
            "hook  progress\n"
            "run directory  DIR/run\n");
  EXPECT_EQ(listing(temp.path()), Names{"train.toml"});
  // Nor does it touch what is there.
  ASSERT_EQ(belay({"run", temp / "train.toml"}).status, 0);
  const Names made = listing(run_dir());
  EXPECT_EQ(belay({"run", "--dry-run", regression("", kEval, 80)}).status, 0);
  EXPECT_EQ(listing(run_dir()), made);
  EXPECT_EQ(listing(temp.path()), (Names{"run", "train.toml"}));
}

TEST_F(OutputTest, FromScratchMovesAllOfAnEarlierRunAside) {
  ASSERT_EQ(belay({"run", regression("", kEval)}).status, 0);
  const std::string before = weights(run_dir(), 50);
  const Names files = {"checkpoint",    "eval",          "evaluations",  kEventFile,      "manifest-0001.toml",
                       "manifest.toml", "metrics.jsonl", "model.ckpt-0", "model.ckpt-50", "schema.json"};
  for (const char* aside : {"before-1", "before-2"}) {
    const ProcessResult r = belay({"run", regression("", kEval), "--from-scratch"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(told(r), ::testing::StartsWith(std::string("info --from-scratch: what an earlier run left is now in "
                                                           "DIR/run/") +
                                               aside + "\ninfo a new run in DIR/run\n"));
    EXPECT_EQ(lines_with(r.err, "info ended at step 50 (50 steps").size(), 1u) << "it began at step 0: " << r.err;
    EXPECT_EQ(listing(run_dir() + "/" + aside), files);
    EXPECT_EQ(weights(run_dir() + "/" + aside, 50), before);
    EXPECT_EQ(event_files(run_dir() + "/eval").size(), 1u);
  }
  EXPECT_EQ(listing(run_dir()), (Names{"attempts", "before-1", "before-2", "checkpoint", "eval", "evaluations",
                                       kEventFile, "finished", "lock", "manifest-0001.toml", "manifest.toml",
                                       "metrics.jsonl", "model.ckpt-0", "model.ckpt-50", "schema.json"}));
  EXPECT_EQ(weights(run_dir(), 50), before) << "the same seed has the same bits";
}

TEST_F(OutputTest, T_55_AFreshStartSaysSoAndNamesTheRunThatWasPerhapsMeant) {
  const std::string manifest = regression("", "", 5);
  const ProcessResult first = belay({"run", manifest, "--set", "run.dir=" + temp / "runs/mnist"});
  EXPECT_THAT(told(first), ::testing::StartsWith("info a new run in DIR/runs/mnist\n"));
  const ProcessResult again = belay({"run", manifest, "--set", "run.dir=" + temp / "runs/mnist"});
  EXPECT_EQ(lines_with(again.err, "a new run").size(), 0u) << again.err;
  const ProcessResult mistyped = belay({"run", manifest, "--set", "run.dir=" + temp / "runs/mnits"});
  EXPECT_THAT(told(mistyped),
              ::testing::StartsWith("info a new run in DIR/runs/mnits; DIR/runs/mnist holds checkpoints "
                                    "of this model, the newest of step 5: to continue from there, set run.dir\n"));
  const ProcessResult other =
      belay({"run", manifest, "--set", "run.dir=" + temp / "runs/other", "--set", "model.plugin=blind"});
  EXPECT_THAT(told(other), ::testing::HasSubstr("info a new run in DIR/runs/other\n")) << "of another model";
}

TEST_F(OutputTest, FromScratchWithNothingThereMovesNothing) {
  const ProcessResult r = belay({"run", regression(), "--from-scratch"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(lines_with(r.err, "info --from-scratch: ").size(), 0u) << r.err;
  EXPECT_EQ(listing(run_dir()),
            (Names{"attempts", "checkpoint", kEventFile, "finished", "lock", "manifest-0001.toml", "manifest.toml",
                   "metrics.jsonl", "model.ckpt-0", "model.ckpt-50", "schema.json"}));
}

TEST_F(OutputTest, AnEvaluationFollowsTrainingAndIsAllOfStdout) {
  const ProcessResult r = belay({"run", regression("", kEval)});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, ::testing::MatchesRegex("eval at step 50 on 64 examples: loss = [0-9.]+, mean_absolute_error = "
                                             "[0-9.]+, r2 = [0-9.]+\n"));
  EXPECT_EQ(belay({"run", regression("", "", 60)}).out, "");
}

TEST_F(OutputTest, NoEvaluationFollowsASignalOrAnError) {
  BelayProcess run({"run", regression("delay_secs = 0.01\n", kEval, 100000)});
  ASSERT_TRUE(run.wait_for("saved ")) << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult stopped = run.wait();
  EXPECT_EQ(stopped.signal, SIGTERM) << stopped.err;
  EXPECT_EQ(stopped.out, "");
  EXPECT_FALSE(fs::exists(run_dir() + "/eval"));

  fs::remove_all(run_dir());
  const ProcessResult failed = belay({"run", regression("fail_at_batch = 5\nfail_with = \"data_loss\"\n", kEval)});
  EXPECT_EQ(failed.status, 1) << failed.err;
  EXPECT_EQ(failed.out, "");
  EXPECT_FALSE(fs::exists(run_dir() + "/eval"));
}

TEST_F(OutputTest, ARunSaysOnceWhyItEnded) {
  const std::string trouble = "[[hooks]]\nplugin = \"trouble\"\n";
  const struct {
    const char* input;
    std::string more;
    int steps;  // max_steps
    std::string why;
  } cases[] = {
      {"", "", 50, "stop_at_step: reached step 50 (last_step = 50)"},
      {"epochs = 1\nexamples = 64\n", "", 50,
       "the input ended: [input.train] (numbers, train.toml:5) has no more batches after epochs = 1, and max_steps is "
       "50: raise epochs, or leave it out; last checkpoint DIR/run/model.ckpt-4"},
      {"", trouble + "stop_at_run = 6\n", 50, "trouble: enough"},
      {"", trouble + "throw_at_step = 3\n", 50,
       "hook \"trouble\" (trouble.so 1.0.0, train.toml:13) in after_run at step 4: boom"},
      {"fail_at_batch = 5\nfail_with = \"data_loss\"\n", "", 50,
       "input \"train\" of \"numbers\" (numbers.so 1.0.0, train.toml:5) in next: record 5 is damaged"},
      {"nan_at_batch = 5\n", "", 50,
       "hook \"nan_tensor\" (nan_tensor.so 1.0.0) in after_run at step 6: 'loss' is nan at step 6: training has "
       "diverged; lower the learning rate or clip the gradients"},
  };
  for (const auto& c : cases) {
    fs::remove_all(run_dir());
    const std::string said = told(belay({"run", regression(c.input, c.more, c.steps)}));
    const Names ended = lines_with(said, " ended ");
    ASSERT_EQ(ended.size(), 1u) << said;
    EXPECT_NE(ended[0].find(": " + c.why), std::string::npos) << ended[0];
    const std::string behind = said.substr(said.find(ended[0]) + ended[0].size());
    EXPECT_THAT(behind, ::testing::MatchesRegex("\n(info   .*\n)+|\ninfo saved is .*\n")) << "a block, or what is kept";
  }
}

// Each option of `sequential` has many choices.
TEST_F(OutputTest, T_128_WhatDescribePrintsOfOptionsCanBeRead) {
  const ProcessResult r = belay({"describe", "sequential"});
  ASSERT_EQ(r.status, 0) << r.err;
  std::istringstream lines(r.out.substr(0, r.out.find("library\n")));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 160u) << line;
  EXPECT_NE(r.out.find("\"global_avg_pool\""), r.out.npos) << "none is left out";
}

}  // namespace
}  // namespace belay::runtime::testing
