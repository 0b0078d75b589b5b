// SPDX-License-Identifier: Apache-2.0
// Runs whose gradients are rows with ids: the embeddings of the categories of a table, by one and by two processes.
#include <signal.h>

#include "tests/e2e/ranks_fixture.h"
#include "tests/e2e/sparse_table.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SparseRuns : public Ranks {
 protected:
  using Run = SparseRun;
  std::string table(const Run& run) const { return sparse_manifest(temp.path(), run); }
  // Starts them, kills all with SIGKILL in the middle, and starts them again until they end.
  void kill_and_resume(const Run& run, int processes) {
    const std::string path = table(run);
    const std::vector<Process> killed = start_all(path, processes);
    ASSERT_TRUE(killed[0]->wait_for("/model.ckpt-40\n")) << killed[0]->wait().err;
    for (const Process& p : killed) p->kill(SIGKILL);
    for (const ProcessResult& r : wait_for_all(killed)) ASSERT_EQ(r.signal, SIGKILL) << "it ended too early\n" << r.err;
    train(path, processes);
  }
};

TEST_F(SparseRuns, SgdAndAdagradEndWithTheWeightsOfTheDenseForm) {
  for (const int processes : {1, 2})
    for (const std::string name : {"sgd", "adagrad"})
      for (const std::string more : {"", "accumulate = 3\n"}) {
        const std::string dir = name + std::to_string(processes) + (more.empty() ? "" : "_of_3");
        SCOPED_TRACE(dir);
        const std::vector<ProcessResult> sparse =
            wait_for_all(start_all(table({.dir = dir, .optimizer = "name = \"" + name + "\"\n" + more}), processes));
        for (const ProcessResult& r : sparse) {
          ASSERT_EQ(r.status, 0) << r.err;
          EXPECT_THAT(r.err, Not(HasSubstr(" is dense, since "))) << r.err;
        }
        const std::vector<ProcessResult> dense = wait_for_all(start_all(
            table({.dir = "dense_" + dir, .optimizer = "name = \"dense_" + name + "\"\n" + more}), processes));
        for (const ProcessResult& r : dense) ASSERT_EQ(r.status, 0) << r.err;
        EXPECT_THAT(dense[0].err, HasSubstr(" is dense, since the optimizer takes no sparse gradients"));
        EXPECT_GT(values(dir, 40).size(), 200U);
        EXPECT_EQ(values(dir, 40), values("dense_" + dir, 40));
      }
}

// The norm of the rows has other roundings than that of the dense form.
TEST_F(SparseRuns, TwoProcessesClipLikeOne) {
  const std::string clipped = "name = \"adagrad\"\nclip_norm = 0.5\n";
  train(table({.dir = "two", .optimizer = clipped}), 2);
  train(table({.dir = "one", .optimizer = clipped, .batch = 32}), 1);
  expect_near("one", "two", 40, 1e-4F);
}

TEST_F(SparseRuns, ThreeProcessesHaveTheSameBitsInEachRun) {
  train(table({.dir = "first", .optimizer = "name = \"momentum\"\n", .batch = 8}), 3);
  train(table({.dir = "second", .optimizer = "name = \"momentum\"\n", .steps = 17, .batch = 8}), 3);
  train(table({.dir = "second", .optimizer = "name = \"momentum\"\n", .batch = 8}), 3);
  EXPECT_FALSE(weights_of("first", 40).empty());
  EXPECT_EQ(weights_of("first", 40), weights_of("second", 40));
}

TEST_F(SparseRuns, ARunThatIsKilledEndsWithTheWeightsOfOneThatWasNot) {
  constexpr int kSteps = 2000;
  struct Case {
    std::string dir, optimizer;
    int processes;
  };
  for (const Case& c : {Case{"sgd", "name = \"sgd\"\n", 1}, Case{"momentum", "name = \"momentum\"\n", 1},
                        Case{"adagrad", "name = \"adagrad\"\n", 1}, Case{"ftrl", "name = \"ftrl\"\n", 1},
                        Case{"lazy", "name = \"adam\"\nlazy = true\n", 1}, Case{"two", "name = \"sgd\"\n", 2}}) {
    SCOPED_TRACE(c.dir);
    const std::string saves = "[checkpoint]\nsave_steps = 20\n";
    const Run whole{.dir = "whole_" + c.dir, .optimizer = c.optimizer, .steps = kSteps, .more = saves},
        killed{.dir = "killed_" + c.dir, .optimizer = c.optimizer, .steps = kSteps, .more = saves};
    train(table(whole), c.processes);
    kill_and_resume(killed, c.processes);
    if (HasFatalFailure()) return;
    EXPECT_FALSE(weights_of(whole.dir, kSteps).empty());
    EXPECT_EQ(weights_of(killed.dir, kSteps), weights_of(whole.dir, kSteps));
  }
}

// The checkpoint of step 0 has no position that an input has reached.
TEST_F(SparseRuns, AReplayOfTwoProcessesIsRefusedFromTheFirstStepOn) {
  train(table({.dir = "run", .optimizer = "name = \"sgd\"\n", .steps = 5, .more = "[checkpoint]\nsave_steps = 2\n"}),
        2);
  for (const char* step : {"1", "5"}) {
    const ProcessResult r =
        belay({"replay", temp / "run", "--step", step, "--out", temp / ("replay" + std::string(step))});
    EXPECT_NE(r.status, 0);
    EXPECT_THAT(r.err, HasSubstr("the checkpoint is of a run of 2 processes"));
  }
}

}  // namespace
}  // namespace belay::runtime::testing
