// SPDX-License-Identifier: Apache-2.0
// Hooks of a manifest: the effects of its tables on them, and their results.
#include <nlohmann/json.hpp>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string table(const std::string& keys) { return "[[hooks]]\n" + keys + "\n"; }

class HooksTest : public RunTest {
 protected:
  // The weights at the end of a run of fifty steps with these tables.
  std::string trained(const std::string& tables, const std::vector<std::string>& sets = {}) {
    std::vector<std::string> args{"run", regression("", tables), "--from-scratch"};
    for (const std::string& set : sets) args.insert(args.end(), {"--set", set});
    const ProcessResult r = belay(args);
    EXPECT_EQ(r.status, 0) << r.err;
    return weights(run_dir(), 50);
  }
};

TEST_F(HooksTest, FeedFnFeedsWhatItsTableSays) {
  const std::string plain = trained("");
  const std::string fed = trained(table("plugin = \"feed_fn\"\nfeeds = { learning_rate = 0.02 }"));
  EXPECT_NE(fed, plain);
  EXPECT_EQ(fed, trained("", {"optimizer.learning_rate=0.02"}));
}

TEST_F(HooksTest, AFeedThatDoesNotFitIsNamed) {
  const ProcessResult r =
      belay({"run", regression("", table("plugin = \"feed_fn\"\nfeeds = { learning_rate = [1.0, 2.0] }"))});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("in begin: 'learning_rate': a list of 2 value(s) is no value for '"));
}

TEST_F(HooksTest, FinalOpsLeavesItsValuesInTheRunDirectory) {
  trained(table("plugin = \"final_ops\"\nops = [\"global_step\", \"learning_rate\"]\noutput_file = \"last.json\""));
  const nlohmann::json values = nlohmann::json::parse(contents(run_dir() + "/last.json"));
  EXPECT_EQ(values.at("global_step"), 50);
  EXPECT_NEAR(values.at("learning_rate").get<double>(), 0.01, 1e-7);
}

TEST_F(HooksTest, TheProfilerLeavesTracesAndTheSameWeights) {
  const std::string plain = trained("");
  EXPECT_EQ(trained(table("plugin = \"profiler\"\nsave_steps = 20\nshow_memory = true\noutput_dir = \"traces\"")),
            plain);
  EXPECT_THAT(listing(temp / "traces"), ElementsAre("timeline-20.json", "timeline-40.json"));
  const nlohmann::json trace = nlohmann::json::parse(contents(temp / "traces/timeline-20.json"));
  std::vector<std::string> ops;
  for (const auto& event : trace.at("traceEvents"))
    if (event.at("ph") == "X") ops.push_back(event.at("name"));
  EXPECT_THAT(ops, Contains("QueueDequeue"));
}

TEST_F(HooksTest, ATraceHasEachHookOfEachStepAndChangesNoWeight) {
  const std::string plain = trained("");
  const std::string manifest =
      regression("", table("plugin = \"logging_tensor\"\ntensors = [\"loss\"]\nevery_n_iter = 10"));
  ProcessResult r = belay({"run", manifest, "--from-scratch", "--trace"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(weights(run_dir(), 50), plain);
  std::vector<std::string> names, operations;
  for (const auto& event : nlohmann::json::parse(contents(run_dir() + "/trace.json"))) {
    if (event.at("ph") != "X") continue;
    (event.at("cat") == "op" ? operations : names).push_back(event.at("name"));
  }
  EXPECT_THAT(names, Contains("logging_tensor after_run").Times(50));
  for (const char* name : {"step 1", "step 50", "saving"}) EXPECT_THAT(names, Contains(name)) << name;
  EXPECT_THAT(operations, Contains(::testing::StartsWith("QueueDequeue ")).Times(50));

  r = belay({"run", manifest, "--short", "3", "--trace=" + std::string(temp / "mine.json")});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(contents(temp / "mine.json"), HasSubstr("\"step 3\""));
  r = belay({"run", manifest, "--short", "3", "--trace"});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("--short removes its directory, and the trace with it: give --trace=FILE"));
  r = belay({"run", manifest, "--from-scratch", "--trace=" + std::string(temp / "nowhere/mine.json")});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("help: give --trace=FILE with a file in an existing folder that this user can write"));
}

TEST_F(HooksTest, StopAtCheckpointStepStopsForAnotherRunsCheckpoint) {
  trained("");
  const ProcessResult r = belay({"run",
                                 regression("", table("plugin = \"stop_at_checkpoint_step\"\ndirectory = \"run\"\n"
                                                      "last_step = 50")),
                                 "--set", "run.dir=another"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(told(r), HasSubstr("the newest checkpoint is 'DIR/run/model.ckpt-50' "
                                 "(last_step = 50)"));
  EXPECT_THAT(listing(temp / "another"), Contains("model.ckpt-0"));
  EXPECT_THAT(listing(temp / "another"), ::testing::Not(Contains("model.ckpt-50")));
}

TEST_F(HooksTest, SummariesOfTheModelCanBeChosen) {
  const ProcessResult r = belay({"run", regression("", table("plugin = \"summary_saver\"\nsummaries = [\"loss\"]"))});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("in begin: 'loss' is float32, expected string"));
}

}  // namespace
}  // namespace belay::runtime::testing
