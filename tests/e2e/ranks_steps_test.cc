// SPDX-License-Identifier: Apache-2.0
// Steps of several processes with batch norm, several batches or rounded gradients, and checkpoints of another number
// of processes.
#include "tests/e2e/ranks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;

class RankSteps : public Ranks {
 protected:
  static std::string with_batch_norm() {
    return "plugin = \"sequential\"\nlayers = [{ type = \"flatten\" }, { type = \"batch_norm\" }, "
           "{ type = \"dense\", units = 16 }, { type = \"batch_norm\" }, { type = \"dense\", units = 10, "
           "activation = \"none\" }]\n";
  }
  // A float32 tensor of a checkpoint; empty: it has none of that name.
  std::vector<float> tensor(const std::string& dir, int step, const std::string& name) const {
    const std::string bytes = weights_of(dir, step);
    std::uint64_t header = 0;
    if (bytes.size() < sizeof(header)) return {};
    std::memcpy(&header, bytes.data(), sizeof(header));
    const std::string names = bytes.substr(8, header), offsets = "\"data_offsets\":[";
    const std::size_t at = names.find("\"" + name + "\":");
    if (at == names.npos) return {};
    std::size_t number = names.find(offsets, at) + offsets.size(), end = 0;
    const std::size_t begin = std::stoul(names.substr(number), &end);
    const std::size_t behind = std::stoul(names.substr(number + end + 1));
    std::vector<float> out((behind - begin) / 4);
    std::memcpy(out.data(), bytes.data() + 8 + header + begin, out.size() * 4);
    return out;
  }
  // The steps of `first` processes and then of `second`, with as many rows in a step.
  void train_in_parts(const std::string& dir, int rows, int first, int second, std::string* said) {
    const auto job = [&](int steps, int ranks) {
      return manifest({.dir = dir, .steps = steps, .batch = rows / ranks, .examples = 97});
    };
    train(job(39, first), first);
    const std::vector<ProcessResult> results = wait_for_all(start_all(job(90, second), second, {"--resume=changed"}));
    for (const ProcessResult& r : results) ASSERT_EQ(r.status, 0) << r.err;
    *said = results[0].err;
  }
};

// The first layer's are the means of the rows, whatever the weights are.
TEST_F(RankSteps, MovingAveragesAreThoseOfTheRowsOfAllRanks) {
  train(manifest({.dir = "two", .steps = 20, .examples = 97, .model = with_batch_norm()}), 2);
  train(manifest({.dir = "one", .steps = 20, .batch = 32, .examples = 97, .model = with_batch_norm()}), 1);
  const std::string name = "batch_norm_1/moving_mean";
  const std::vector<float> two = tensor("two", 20, name), one = tensor("one", 20, name);
  ASSERT_EQ(two.size(), 784U);
  ASSERT_EQ(one.size(), two.size());
  float largest = 0;
  for (std::size_t i = 0; i < one.size(); ++i) largest = std::max(largest, std::abs(one[i] - two[i]));
  EXPECT_LE(largest, 1e-5F);
  EXPECT_GT(*std::max_element(two.begin(), two.end()), 0.01F) << "nothing moved";
}

TEST_F(RankSteps, TwoWithBatchNormHaveTheSameBitsInEachRun) {
  const std::string more = "[checkpoint]\nsave_steps = 25\n";
  train(manifest({.dir = "first", .examples = 97, .model = with_batch_norm(), .more = more}), 2);
  train(manifest({.dir = "second", .steps = 47, .examples = 97, .model = with_batch_norm(), .more = more}), 2);
  train(manifest({.dir = "second", .examples = 97, .model = with_batch_norm(), .more = more}), 2);
  EXPECT_FALSE(weights_of("first", 100).empty());
  EXPECT_EQ(weights_of("first", 100), weights_of("second", 100));
}

// 97 examples: the step of an epoch's last row takes the other batches from the next epoch, on both ranks.
TEST_F(RankSteps, AStepOfSeveralBatchesIsThatOfOneProcess) {
  const std::string three = "accumulate = 3\n";
  train(manifest({.dir = "two", .steps = 40, .batch = 8, .examples = 97, .optimizer = three}), 2);
  train(manifest({.dir = "one", .steps = 40, .batch = 16, .examples = 97, .optimizer = three}), 1);
  expect_near("one", "two", 40, 1e-4F);
  train(manifest({.dir = "parts", .steps = 17, .batch = 8, .examples = 97, .optimizer = three}), 2);
  train(manifest({.dir = "parts", .steps = 40, .batch = 8, .examples = 97, .optimizer = three}), 2);
  EXPECT_EQ(weights_of("parts", 40), weights_of("two", 40));
}

TEST_F(RankSteps, AStepOfSeveralBatchesWithBatchNormTrains) {
  const Job job{.dir = "run", .steps = 20, .batch = 8, .model = with_batch_norm(), .optimizer = "accumulate = 2\n"};
  train(manifest(job), 2);
  EXPECT_EQ(tensor("run", 20, "batch_norm_1/moving_mean").size(), 784U);
}

// The sums are of rounded gradients, in the same order on all ranks, which compare their weights at the end.
TEST_F(RankSteps, GradientsThatAreRoundedOnTheWayTrainNearlyTheSameAndTheSameBitsAgain) {
  const std::vector<std::string> bf16{"--set", "cluster.wire=bf16"};
  train(manifest({.dir = "whole", .steps = 100}), 2);
  train(manifest({.dir = "first", .steps = 100}), 2, bf16);
  train(manifest({.dir = "second", .steps = 60}), 2, bf16);
  train(manifest({.dir = "second", .steps = 100}), 2, bf16);
  expect_near("whole", "first", 100, 0.02F);
  EXPECT_NE(weights_of("whole", 100), weights_of("first", 100));
  EXPECT_EQ(weights_of("first", 100), weights_of("second", 100));
  const ProcessResult other = belay({"run", manifest({.dir = "first", .steps = 120})});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("cluster.wire"));
}

// Behind step 39 an epoch has one row left.
TEST_F(RankSteps, ACheckpointOfAnotherNumberOfProcessesIsGoneOnWithBehindTheSameExamples) {
  struct Case {
    int rows, first, second;
    const char* said;
  };
  for (const Case& c : {Case{32, 2, 1, "of 2 processes, and 1 process continues"},
                        Case{32, 1, 2, "of 1 process, and 2 processes continue"},
                        Case{48, 2, 3, "of 2 processes, and 3 processes continue"}}) {
    const std::string name = std::to_string(c.first) + "_" + std::to_string(c.second);
    std::string said;
    train_in_parts("parts_" + name, c.rows, c.first, c.second, &said);
    EXPECT_THAT(said, HasSubstr(c.said));
    EXPECT_THAT(said, HasSubstr("the input continues after the first " + std::to_string(c.rows == 32 ? 96 : 0) +
                                " examples of epoch " + std::to_string(c.rows == 32 ? 9 : 13)));
    train(manifest({.dir = "one_" + name, .steps = 90, .batch = c.rows, .examples = 97}), 1);
    expect_near("one_" + name, "parts_" + name, 90, 1e-4F);
  }
}

TEST_F(RankSteps, WithExactACheckpointOfAnotherNumberOfProcessesIsRefused) {
  const std::string path = manifest({.dir = "run", .steps = 5});
  train(path, 2);
  const ProcessResult refused = belay({"run", path, "--exact", "--set", "run.max_steps=9"});
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("--exact: model.ckpt-5 was written by a run of 2 processes, and this one has 1"));
  train(manifest({.dir = "run", .steps = 9}), 2, {"--exact"});
}

// 2 ranks with 2 batches of 16 each.
TEST_F(RankSteps, ExamplesPerSecondAreThoseOfAllRanks) {
  const std::string path = manifest({.dir = "run", .steps = 60, .optimizer = "accumulate = 2\n"});
  train(path, 2, {"--set", "session.log_step_count_steps=10"});
  const std::string lines = contents(temp / "run/metrics.jsonl");
  std::smatch found;
  ASSERT_TRUE(
      std::regex_search(lines, found, std::regex(R"("steps_per_sec":([0-9.e+]+),"examples_per_sec":([0-9.e+]+))")))
      << lines;
  EXPECT_NEAR(std::stod(found[2]) / std::stod(found[1]), 64, 1);
}

}  // namespace
}  // namespace belay::runtime::testing
