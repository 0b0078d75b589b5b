// SPDX-License-Identifier: Apache-2.0
// The modes train_and_evaluate and continuous_eval through the real program.
#include <filesystem>

#include "tests/e2e/two_processes.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(TwoProcesses, AnEvaluatorAndATrainerThatAreKilledAtRandomEndAsThoseThatAreNot) { expect_the_same_end(3, 4); }

TEST_F(TwoProcesses, AnEvaluatorOfAFinishedRunEvaluatesItsLastCheckpointAndEnds) {
  const ProcessResult trained = belay(training(manifest("run")));
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_THAT(listing(run_dir()), Contains("finished"));
  const ProcessResult r = belay(evaluation(temp / "run.toml"));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, trained.out);
  EXPECT_THAT(r.err, HasSubstr("the evaluation of checkpoints ends: step 60 has come to run.max_steps"));
}

TEST_F(TwoProcesses, WithoutMaxStepsTheEndOfTheRunIsTheEnd) {
  const std::string path = manifest("run");
  ASSERT_EQ(belay(training(path)).status, 0);
  std::vector<std::string> arguments = evaluation(path);
  arguments.insert(arguments.end(), {"--set", "run.max_steps=1000"});
  const ProcessResult r = belay(arguments);
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the evaluation of checkpoints ends: the training there has come to its end"));
}

TEST_F(TwoProcesses, ARunThatASignalEndsIsNotFinished) {
  const std::string path = manifest("run");
  BelayProcess run({"run", path, "--set", "run.max_steps=100000"});
  ASSERT_TRUE(run.wait_for("saved "));
  run.kill(SIGTERM);
  EXPECT_EQ(run.wait().signal, SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(run_dir() + "/finished"));
}

TEST_F(TwoProcesses, WithoutACheckpointTheTimeoutIsAnErrorOfTheUsage) {
  std::vector<std::string> arguments = evaluation(manifest("none"));
  arguments.insert(arguments.end(), {"--set", "eval.timeout_secs=0"});
  const ProcessResult r = belay(arguments);
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr("no checkpoint was evaluated: there was no new one in "));
  EXPECT_THAT(r.err, HasSubstr("within eval.timeout_secs = 0"));
  EXPECT_THAT(r.out, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(temp / "none"));
}

TEST_F(TwoProcesses, ASignalEndsAnEvaluatorThatWaits) {
  BelayProcess evaluator(evaluation(manifest("none")));
  ASSERT_TRUE(evaluator.wait_for("waiting for the checkpoints of "));
  evaluator.kill(SIGTERM);
  EXPECT_EQ(evaluator.wait().signal, SIGTERM);
}

TEST_F(TwoProcesses, TrainAndEvaluateEvaluatesBehindEachCheckpoint) {
  const ProcessResult r = belay({"run", manifest("run"), "--set", "run.mode=train_and_evaluate"});
  ASSERT_EQ(r.status, 0) << r.err;
  for (const char* step : {"10", "20", "30", "40", "50", "60"})
    EXPECT_EQ(lines_with(r.err, "step " + std::string(step) + ": loss = ").size(), 1u) << step << "\n" << r.err;
  EXPECT_EQ(last_line(r.out).rfind("eval at step 60 on 160 examples: loss = ", 0), 0u);
}

}  // namespace
}  // namespace belay::runtime::testing
