// SPDX-License-Identifier: Apache-2.0
// Several processes of the real program that train one model over gloo.
#include <signal.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Ranks : public RunTest {
 protected:
  struct Job {
    std::string dir;
    int steps = 100;
    int batch = 16;  // of one rank
    int examples = 1000;
    std::string input = "shuffle = true\n";
    std::string model = "plugin = \"mlp\"\nhidden = [16]\n";
    std::string more = {};
  };
  std::string manifest(const Job& job) const {
    const std::string path = temp / (job.dir + ".toml");
    write_file(path, "[run]\ndir = \"" + job.dir + "\"\nmax_steps = " + std::to_string(job.steps) +
                         "\nthreads = 1\n[input.train]\nplugin = \"digits\"\nexamples = " +
                         std::to_string(job.examples) + "\nbatch_size = " + std::to_string(job.batch) + "\n" +
                         job.input + "[model]\n" + job.model + "[optimizer]\nname = \"momentum\"\n" +
                         "learning_rate = 0.05\nclip_norm = 1.0\n[cluster]\nplugin = \"gloo\"\n" + job.more);
    return path;
  }
  // One that goes on until it is stopped, a few hundred steps in a second.
  std::string endless(const std::string& dir, int steps = 100000) const {
    const std::string path = temp / (dir + ".toml");
    write_file(path, "[run]\ndir = \"" + dir + "\"\nmax_steps = " + std::to_string(steps) +
                         "\nthreads = 1\n[input.train]\nplugin = \"numbers\"\ndelay_secs = 0.002\n[model]\n" +
                         "plugin = \"linear\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 0.01\n" +
                         "[cluster]\nplugin = \"gloo\"\n");
    return path;
  }
  void expect_near(const std::string& dir, const std::string& other, int step, float bound) const {
    const std::vector<float> a = values(dir, step), b = values(other, step);
    ASSERT_EQ(a.size(), b.size());
    ASSERT_GT(a.size(), 100U);
    float largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    EXPECT_LE(largest, bound);
    RecordProperty("largest_difference", std::to_string(largest));
  }
  using Process = std::unique_ptr<BelayProcess>;
  static Process start(const std::string& manifest, int rank, int size, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{"run", manifest};
    args.insert(args.end(), more.begin(), more.end());
    return std::make_unique<BelayProcess>(
        args, std::vector<std::string>{"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(size)});
  }
  static std::vector<Process> start_all(const std::string& manifest, int size) {
    std::vector<Process> all;
    for (int r = 0; r < size; ++r) all.push_back(start(manifest, r, size));
    return all;
  }
  static std::vector<ProcessResult> wait_for_all(const std::vector<Process>& all) {
    std::vector<ProcessResult> results;
    for (const Process& p : all) results.push_back(p->wait());
    return results;
  }
  static void train(const std::string& manifest, int size) {
    for (const ProcessResult& r : wait_for_all(start_all(manifest, size))) ASSERT_EQ(r.status, 0) << r.err;
  }
  std::string weights_of(const std::string& dir, int step) const { return weights(temp / dir, step); }
  // The elements of a checkpoint, as float32.
  std::vector<float> values(const std::string& dir, int step) const {
    const std::string bytes = weights_of(dir, step);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof(header));
    std::vector<float> out((bytes.size() - 8 - header) / 4);
    std::memcpy(out.data(), bytes.data() + 8 + header, out.size() * 4);
    return out;
  }
};

TEST_F(Ranks, TwoTrainWhatOneProcessTrainsWithTheSameRowsInAStep) {
  const std::string two = manifest({.dir = "two"});
  train(two, 2);
  train(manifest({.dir = "one", .batch = 32}), 1);
  expect_near("one", "two", 100, 1e-4F);  // sums in another order, behind 100 steps
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

TEST_F(Ranks, ACheckpointOfTwoIsRefusedByOneAndByThree) {
  const std::string path = manifest({.dir = "run", .steps = 5});
  train(path, 2);
  const std::string longer = manifest({.dir = "run", .steps = 9});
  const ProcessResult one = belay({"run", longer});
  EXPECT_NE(one.status, 0);
  EXPECT_THAT(one.err, HasSubstr("the checkpoint is of a run of several processes"));
  const std::vector<ProcessResult> three = wait_for_all(start_all(longer, 3));
  EXPECT_THAT(three[0].err, HasSubstr("the checkpoint is of a run of 2 processes, and this one has 3"));
  for (const ProcessResult& r : three) EXPECT_EQ(r.status, 1) << r.err;
}

TEST_F(Ranks, AStopOfOneStopsAllAtTheSameStepAndIsSaved) {
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

TEST_F(Ranks, AVariableThatAHookOfTheChiefWritesIsNamedOnBoth) {
  const std::string path =
      manifest({.dir = "run", .steps = 150, .more = "[[hooks]]\nplugin = \"meddler\"\nevery_n_steps = 90\n"});
  for (const ProcessResult& r : wait_for_all(start_all(path, 2))) {
    EXPECT_EQ(r.status, 1) << r.err;
    EXPECT_THAT(r.err, AllOf(HasSubstr("the variable '"), HasSubstr("is another one on rank 1 than on rank 0")));
  }
}

TEST_F(Ranks, AnotherManifestOnARankIsRefused) {
  const std::string path = manifest({.dir = "run"});
  const Process chief = start(path, 0, 2);
  const Process worker = start(path, 1, 2, {"--set", "optimizer.learning_rate=0.5"});
  for (const ProcessResult& r : {chief->wait(), worker->wait()}) {
    EXPECT_NE(r.status, 0);
    EXPECT_THAT(r.err, HasSubstr("rank 1 has another manifest than rank 0"));
  }
}

TEST_F(Ranks, WhatIsNotThereYetIsRefusedByItsName) {
  const std::vector<std::string> two{"RANK=0", "WORLD_SIZE=2"};
  const ProcessResult accumulate = belay({"run", manifest({.dir = "a"}), "--set", "optimizer.accumulate=2"}, two);
  EXPECT_EQ(accumulate.status, 2);
  EXPECT_THAT(accumulate.err, HasSubstr("optimizer.accumulate is for one process yet, and this is one of 2"));
  const ProcessResult no_dir = belay({"run", manifest({.dir = "b"}), "--set", "run.dir="}, two);
  EXPECT_EQ(no_dir.status, 2);
  EXPECT_THAT(no_dir.err, HasSubstr("several processes meet in the run's directory"));
}

}  // namespace
}  // namespace belay::runtime::testing
