// SPDX-License-Identifier: Apache-2.0
// Several processes of the real program that train one model over gloo.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/ranks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;

struct Seen {
  double loss, accuracy;
};
// By step, as the chief's metrics.jsonl has it.
std::map<int, Seen> seen_by_hooks(const std::string& directory) {
  std::map<int, Seen> all;
  std::istringstream lines(contents(directory + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto values = nlohmann::json::parse(line);
    if (!values.contains("event")) all[values.at("step")] = {values.at("loss"), values.at("accuracy")};
  }
  return all;
}

TEST_F(Ranks, PROSE_22B_TwoTrainWhatOneProcessTrainsWithTheSameRowsInAStep) {
  const std::string two = manifest({.dir = "two"});
  train(two, 2);
  train(manifest({.dir = "one", .batch = 32}), 1);
  expect_near("one", "two", 100, 1e-4F);  // sums in another order, after 100 steps
  // Hooks see values of all ranks: loss and accuracy of 2 x 16 rows are those of the 32.
  const std::map<int, Seen> of_one = seen_by_hooks(temp / "one"), of_two = seen_by_hooks(temp / "two");
  for (const int step : {1, 100}) ASSERT_TRUE(of_one.contains(step) && of_two.contains(step)) << step;
  for (const auto& [step, seen] : of_two) {
    const auto found = of_one.find(step);
    if (found == of_one.end()) continue;  // a fast run logs fewer of its steps
    EXPECT_NEAR(seen.loss, found->second.loss, 1e-5) << "step " << step;
    EXPECT_NEAR(seen.accuracy, found->second.accuracy, 1e-6) << "step " << step;
  }
}

TEST_F(Ranks, TwoTrainAConvolutionalNetworkAsOneProcessDoes) {
  const std::string cnn = "plugin = \"cnn\"\nimage = [28, 28]\ndropout = 0.0\nfilters = [4, 8]\ndense = [16]\n";
  train(manifest({.dir = "two", .steps = 30, .model = cnn}), 2);
  train(manifest({.dir = "one", .steps = 30, .batch = 32, .model = cnn}), 1);
  expect_near("one", "two", 30, 1e-4F);
}

TEST_F(Ranks, TwoHaveTheSameBitsInEachRun) {
  train(manifest({.dir = "first"}), 2);
  train(manifest({.dir = "second"}), 2);
  EXPECT_FALSE(weights_of("first", 100).empty());
  EXPECT_EQ(weights_of("first", 100), weights_of("second", 100));
}

// 2 x 16 x 3 + 1 examples: one rank has a fourth batch, of one row, and the other takes part with none.
TEST_F(Ranks, AllMakeAsManyStepsWhereTheExamplesDoNotDivide) {
  train(manifest({.dir = "run", .steps = 1000, .examples = 2 * 16 * 3 + 1, .input = "epochs = 5\n"}), 2);
  EXPECT_FALSE(weights_of("run", 20).empty()) << "5 epochs of 4 steps";
  EXPECT_EQ(listing(temp / "run/model.ckpt-21").size(), 0U);
  train(manifest({.dir = "one", .steps = 1000, .batch = 32, .examples = 2 * 16 * 3 + 1, .input = "epochs = 5\n"}), 1);
  expect_near("one", "run", 20, 1e-4F);
}

// Behind step 39 one of them has a row left in the epoch, and the other none.
TEST_F(Ranks, ACheckpointOfTwoIsGoneOnWithExactly) {
  train(manifest({.dir = "whole", .steps = 90, .examples = 97}), 2);
  train(manifest({.dir = "parts", .steps = 39, .examples = 97}), 2);
  train(manifest({.dir = "parts", .steps = 90, .examples = 97}), 2);
  EXPECT_FALSE(weights_of("whole", 90).empty());
  EXPECT_EQ(weights_of("parts", 90), weights_of("whole", 90));
}

// BELAY_RANK_KILLS: how often; 50 in the long test.
TEST_F(Ranks, AJobWhoseRanksAreKilledAndThatIsStartedAgainEndsWithTheSameBits) {
  const std::string saves = "[checkpoint]\nsave_steps = 20\n";
  train(manifest({.dir = "whole", .steps = 400, .examples = 97, .more = saves}), 2);
  const std::string path = manifest({.dir = "killed", .steps = 400, .examples = 97, .more = saves});
  const char* given = std::getenv("BELAY_RANK_KILLS");
  std::mt19937 random(19);
  for (int i = given == nullptr ? 3 : std::atoi(given); i > 0; --i) {
    const std::vector<Process> all = start_all(path, 2);
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<>(0, 600'000)(random)));
    all[std::uniform_int_distribution<std::size_t>(0, 1)(random)]->kill(SIGKILL);
    for (const Process& p : all) p->kill(SIGTERM);  // for one that still waits for the others to come
    for (const ProcessResult& r : wait_for_all(all))
      EXPECT_TRUE(r.status == 0 || r.status == 1 || r.signal == SIGKILL || r.signal == SIGTERM) << r.status << r.err;
  }
  train(path, 2);
  EXPECT_FALSE(weights_of("whole", 400).empty());
  EXPECT_EQ(weights_of("killed", 400), weights_of("whole", 400));
}

TEST_F(Ranks, USER_17_AStopOfOneStopsAllAtTheSameStepAndIsSaved) {
  for (const int stopped : {0, 1}) {
    const std::string dir = "stopped_" + std::to_string(stopped);
    const std::vector<Process> all = start_all(endless(dir), 2);
    for (const Process& p : all) ASSERT_TRUE(p->wait_for("training")) << p->wait().err;
    all[static_cast<std::size_t>(stopped)]->kill(SIGTERM);
    const std::vector<ProcessResult> results = wait_for_all(all);
    for (int r = 0; r < 2; ++r) {
      const ProcessResult& result = results[static_cast<std::size_t>(r)];
      EXPECT_EQ(result.status, r == stopped ? 128 + SIGTERM : 0) << result.err;
    }
    EXPECT_THAT(contents(temp / (dir + "/checkpoint")), HasSubstr("model.ckpt-"));
  }
}

TEST_F(Ranks, ARankThatIsKilledEndsTheOthersWithItsName) {
  for (const int killed : {0, 1}) {
    const std::vector<Process> all = start_all(endless("killed_" + std::to_string(killed)), 3);
    for (const Process& p : all) ASSERT_TRUE(p->wait_for("training")) << p->wait().err;
    all[static_cast<std::size_t>(killed)]->kill(SIGKILL);
    const std::vector<ProcessResult> results = wait_for_all(all);
    for (int r = 0; r < 3; ++r) {
      const ProcessResult& result = results[static_cast<std::size_t>(r)];
      if (r == killed) continue;
      EXPECT_EQ(result.status, 1) << result.err;
      EXPECT_THAT(result.err, HasSubstr("rank " + std::to_string(killed) + " has ended or left"));
    }
  }
}

TEST_F(Ranks, TheSecondJobInADirectoryIsRefused) {
  const std::string path = endless("run");
  const std::vector<Process> first = start_all(path, 2);
  for (const Process& p : first) ASSERT_TRUE(p->wait_for("training")) << p->wait().err;
  for (const ProcessResult& r : wait_for_all(start_all(path, 2))) EXPECT_EQ(r.status, 6) << r.err;
  first[0]->kill(SIGTERM);
  const std::vector<ProcessResult> results = wait_for_all(first);
  EXPECT_EQ(results[0].status, 128 + SIGTERM) << results[0].err;
  EXPECT_EQ(results[1].status, 0) << results[1].err;
}

TEST_F(Ranks, AWorkerThatComesBeforeTheChiefMeetsItThoughAKilledRunLeftItsName) {
  const std::string path = endless("run");
  const std::vector<Process> first = start_all(path, 2);
  for (const Process& p : first) ASSERT_TRUE(p->wait_for("training")) << p->wait().err;
  for (const Process& p : first) p->kill(SIGKILL);
  wait_for_all(first);
  const std::string again = endless("run", 60);
  const Process worker = start(again, 1, 2);
  ASSERT_TRUE(worker->wait_for("waits for rank 0"));
  const Process chief = start(again, 0, 2);
  EXPECT_EQ(chief->wait().status, 0);
  EXPECT_EQ(worker->wait().status, 0);
}

TEST_F(Ranks, WhatIsNotThereYetIsRefusedByItsName) {
  const std::vector<std::string> two{"RANK=0", "WORLD_SIZE=2"};
  const ProcessResult no_dir = belay({"run", manifest({.dir = "b"}), "--set", "run.dir="}, two);
  EXPECT_EQ(no_dir.status, 2);
  EXPECT_THAT(no_dir.err, HasSubstr("several processes need a run directory"));
}

}  // namespace
}  // namespace belay::runtime::testing
