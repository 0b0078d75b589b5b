// SPDX-License-Identifier: Apache-2.0
// Several processes sum these in a step, in buckets.
#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "tests/e2e/ranks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Each value alone.
const std::vector<std::string> kMany{"--set", "cluster.bucket_mib=0.000001"};

class RankBuckets : public Ranks {
 protected:
  static std::string cnn() {
    return "plugin = \"cnn\"\nimage = [28, 28]\ndropout = 0.0\nfilters = [4, 8]\ndense = [16]\n";
  }
  // Two ranks of which one is not there: the cluster is the test's.
  std::string pretended(const Job& job, const std::string& options = "") const {
    const std::string path = manifest(job), gloo = "plugin = \"gloo\"\n";
    std::string text = contents(path);
    text.replace(text.find(gloo), gloo.size(), "plugin = \"pretend\"\n" + options);
    write_file(path, text);
    return path;
  }
  static ProcessResult run_pretended(const std::string& path, const std::vector<std::string>& more = {}) {
    return start(path, 0, 2, more)->wait();
  }
};

TEST_F(RankBuckets, ManyTrainTheSameBitsAsOne) {
  train(manifest({.dir = "one", .steps = 60, .model = cnn()}), 2);
  train(manifest({.dir = "many", .steps = 60, .model = cnn()}), 2, kMany);
  EXPECT_FALSE(weights_of("one", 60).empty());
  EXPECT_EQ(weights_of("many", 60), weights_of("one", 60));
}

TEST_F(RankBuckets, ManyOfThreeRanksTrainTheSameBitsAgainAndWhatOneProcessTrains) {
  const auto job = [](const std::string& dir, int batch) { return Job{.dir = dir, .batch = batch, .examples = 97}; };
  train(manifest(job("first", 16)), 3, kMany);
  train(manifest(job("second", 16)), 3, kMany);
  train(manifest(job("one", 48)), 1);
  EXPECT_FALSE(weights_of("first", 100).empty());
  EXPECT_EQ(weights_of("second", 100), weights_of("first", 100));
  expect_near("one", "first", 100, 1e-4F);
}

TEST_F(RankBuckets, ManyTrainWithRoundedGradientsAndSeveralBatches) {
  const std::vector<std::string> rounded{"--set", "cluster.wire=bf16", "--set", "cluster.bucket_mib=0.01"};
  const auto job = [](const std::string& dir) {
    return Job{.dir = dir, .steps = 40, .batch = 8, .examples = 97, .optimizer = "accumulate = 3\n"};
  };
  train(manifest(job("first")), 2, rounded);
  train(manifest(job("second")), 2, rounded);
  train(manifest(job("whole")), 2, kMany);
  EXPECT_EQ(weights_of("second", 40), weights_of("first", 40));
  expect_near("whole", "first", 40, 0.02F);
}

// The order of a sum of three ranks may be another one.
TEST_F(RankBuckets, OthersAreAnotherTraining) {
  const std::string path = manifest({.dir = "run", .steps = 5});
  train(path, 2);
  const ProcessResult other = belay({"run", path, "--set", "run.max_steps=9", kMany[0], kMany[1]});
  EXPECT_EQ(other.status, 2) << other.err;
  EXPECT_THAT(other.err, HasSubstr("cluster.bucket_mib"));
}

TEST_F(RankBuckets, AnErrorOfOneEndsTheStepWithThePeersNameAndTheStepHasNotHappened) {
  const std::string saves = "[checkpoint]\nsave_steps = 10\n";
  const auto job = [&](const std::string& dir) { return Job{.dir = dir, .steps = 40, .model = cnn(), .more = saves}; };
  ASSERT_EQ(run_pretended(pretended(job("whole")), kMany).status, 0);
  // The 24th step: each has 10, the loss, the accuracy and 8 gradients.
  const ProcessResult failed = run_pretended(pretended(job("parts"), "fails_at = 237\n"), kMany);
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(failed.err, AllOf(HasSubstr("rank 1 has ended or left"), HasSubstr("all_reduce")));
  EXPECT_FALSE(weights_of("parts", 20).empty());
  EXPECT_EQ(listing(temp / "parts/model.ckpt-30").size(), 0U);
  ASSERT_EQ(run_pretended(pretended(job("parts")), kMany).status, 0);
  EXPECT_EQ(weights_of("parts", 40), weights_of("whole", 40));
}

// A bucket is sent from its BeginBucket on, and MeanOverRanks ends after the last of them.
TEST_F(RankBuckets, ATraceShowsEachBucketBesideTheOperations) {
  const std::string path = pretended({.dir = "run", .steps = 10, .model = cnn()}, "call_us = 300\n");
  ASSERT_EQ(run_pretended(path, {"--trace", kMany[0], kMany[1]}).status, 0);
  const std::string trace = contents(temp / "run/trace.json");
  EXPECT_THAT(trace, HasSubstr("\"tid\":3,\"args\":{\"name\":\"exchange with other ranks\"}"));
  // Begin and end of each slice of that name, in microseconds.
  const auto slices = [&](const std::string& name) {
    std::vector<std::pair<double, double>> found;
    const std::regex slice("\"name\":\"" + name + "\",\"pid\":0,\"tid\":[0-9],\"ts\":([0-9.]+),\"dur\":([0-9.]+)");
    for (auto it = std::sregex_iterator(trace.begin(), trace.end(), slice); it != std::sregex_iterator(); ++it)
      found.emplace_back(std::stod((*it)[1]), std::stod((*it)[1]) + std::stod((*it)[2]));
    return found;
  };
  const auto first = slices("bucket 0"), last = slices("bucket 9");
  auto begun = slices("BeginBucket over_ranks/bucket_0"), waits = slices("MeanOverRanks over_ranks");
  ASSERT_EQ(first.size(), 9U) << "the first step has none";
  ASSERT_EQ(last.size(), first.size());
  EXPECT_TRUE(slices("bucket 10").empty());
  ASSERT_EQ(begun.size(), 10U);
  ASSERT_EQ(waits.size(), 10U);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_GE(first[i].first, begun[i + 1].first);
    EXPECT_LE(first[i].second, last[i].first) << "one after the other";
    EXPECT_LE(last[i].second, waits[i + 1].second);
  }
}

}  // namespace
}  // namespace belay::runtime::testing
