// SPDX-License-Identifier: Apache-2.0
// Several processes show here what takes minutes: the accuracy of one process, with the same rows in a step; one that
// comes late; ranks of Open MPI that are killed again and again.
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/accuracy_fixture.h"
#include "tests/e2e/ranks_fixture.h"

namespace belay::runtime::testing {
namespace {

// As root, and with more ranks than cores. Returns its exit status; its output is in `said`.
int mpirun(int ranks, const std::vector<std::string>& variables, const std::vector<std::string>& arguments,
           std::string* said) {
  std::string command =
      "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
      "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none "
      "OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none "
      "ASAN_OPTIONS=detect_leaks=0 BELAY_PLUGIN_PATH=" +
      tested_plugins() + " ";
  for (const std::string& variable : variables) command += "'" + variable + "' ";
  command += "mpirun.openmpi -np " + std::to_string(ranks) + " " + tested_belay();
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  std::FILE* out = ::popen((command + " < /dev/null").c_str(), "r");
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof(buffer), out)) > 0;) said->append(buffer, n);
  const int status = ::pclose(out);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class AccurateRanks : public Accuracy, public ::testing::WithParamInterface<int> {
 protected:
  static constexpr const char* kExample = BELAY_SOURCE_DIR "/examples/mnist_cnn.toml";
  static constexpr int kRows = 64;  // of a step

  std::vector<std::string> arguments(const std::string& plugin, int ranks = GetParam(),
                                     const std::string& dir = "run") const {
    return {"run",   kExample,
            "--set", "run.dir=\"" + (temp / dir) + "\"",
            "--set", "run.threads=1",
            "--set", "input.train.batch_size=" + std::to_string(kRows / ranks),
            "--set", "cluster.plugin=\"" + plugin + "\""};
  }
  // Each rank ends well, so they had the same variables where they compared them; what the chief prints.
  static std::string by_gloo(const std::vector<std::string>& arguments, int ranks) {
    std::vector<std::unique_ptr<BelayProcess>> all;
    for (int r = 0; r < ranks; ++r) {
      std::vector<std::string> variables = data_variables();
      variables.insert(variables.end(), {"RANK=" + std::to_string(r), "WORLD_SIZE=" + std::to_string(ranks)});
      all.push_back(std::make_unique<BelayProcess>(arguments, variables));
    }
    std::string out;
    for (std::size_t r = 0; r < all.size(); ++r) {
      const ProcessResult result = all[r]->wait();
      EXPECT_EQ(result.status, 0) << "rank " << r << result.err;
      if (r == 0) out = result.out;
    }
    return out;
  }
  static std::string by_open_mpi(const std::vector<std::string>& arguments, int ranks) {
    std::string out;
    EXPECT_EQ(mpirun(ranks, data_variables(), arguments, &out), 0);
    return out;
  }
  static void expect_accuracy(const std::string& out) {
    RecordProperty("accuracy", std::to_string(metric(out, "accuracy")));
    EXPECT_GE(metric(out, "accuracy"), 0.99) << out;
  }
};

TEST_P(AccurateRanks, ByGloo) {
  NEEDS_DATA("mnist/train-images-idx3-ubyte.gz");
  expect_accuracy(by_gloo(arguments("gloo"), GetParam()));
}

TEST_P(AccurateRanks, ByOpenMpi) {
  NEEDS_DATA("mnist/train-images-idx3-ubyte.gz");
  if (sanitized("thread"))
    GTEST_SKIP() << "MPI's libraries are not built for the thread sanitizer, which takes their locks for none";
  expect_accuracy(by_open_mpi(arguments("mpi_openmpi"), GetParam()));
}

// The same rows in each step, no dropout, and steps that are small enough for rounding to stay small. With larger steps
// a pool's maximum that changes by the last bit has grown after 100 steps. One process with 63 rows a step is 1.6e-5
// and 3e-4 away. The ranks compare their variables at step 100.
TEST_P(AccurateRanks, HaveTheWeightsOfOneProcessBehindAHundredSteps) {
  NEEDS_DATA("mnist/train-images-idx3-ubyte.gz");
  const auto given = [&](const std::string& plugin, int ranks, const std::string& dir) {
    std::vector<std::string> all = arguments(plugin, ranks, dir);
    for (const char* set :
         {"run.max_steps=100", "model.dropout=0.0", "optimizer.name=\"sgd\"", "optimizer.learning_rate=0.001"})
      all.insert(all.end(), {"--set", set});
    return all;
  };
  const double loss = metric(by_gloo(given("gloo", 1, "one"), 1), "loss");
  const std::vector<float> one = values_in(temp / "one", 100);
  ASSERT_GT(one.size(), 3'000'000U);
  std::vector<std::string> plugins{"gloo"};
  if (!sanitized("thread")) plugins.emplace_back("mpi_openmpi");
  for (const std::string& plugin : plugins) {
    const auto train = [&](const std::string& dir) {
      const std::vector<std::string> arguments = given(plugin, GetParam(), dir);
      return plugin == "gloo" ? by_gloo(arguments, GetParam()) : by_open_mpi(arguments, GetParam());
    };
    EXPECT_NEAR(metric(train(plugin), "loss"), loss, 1e-4) << plugin;
    train(plugin + "_again");
    const std::vector<float> ranks = values_in(temp / plugin, 100);
    EXPECT_TRUE(ranks == values_in(temp / (plugin + "_again"), 100)) << plugin << ": other bits in another run";
    ASSERT_EQ(ranks.size(), one.size());
    double largest = 0, apart = 0, all = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
      const double difference = std::abs(static_cast<double>(ranks[i]) - static_cast<double>(one[i]));
      largest = std::max(largest, difference);
      apart += difference * difference;
      all += static_cast<double>(one[i]) * static_cast<double>(one[i]);
    }
    RecordProperty(plugin, std::to_string(std::sqrt(apart / all) * 1e6) + " millionths, " +
                               std::to_string(largest * 1e6) + " the largest");
    EXPECT_LE(std::sqrt(apart / all), 3e-6) << plugin;
    EXPECT_LE(largest, 1e-4) << plugin;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, AccurateRanks, ::testing::Values(2, 4));

using LateRanks = Ranks;

TEST_F(LateRanks, OneThatComesTenSecondsLateIsWaitedForWhicheverItIs) {
  train(manifest({.dir = "whole"}), 2);
  for (const int late : {0, 1}) {
    const std::string dir = "late_" + std::to_string(late), path = manifest({.dir = dir});
    const Process first = start(path, 1 - late, 2);
    std::this_thread::sleep_for(std::chrono::seconds(10));
    const Process second = start(path, late, 2);
    EXPECT_EQ(first->wait().status, 0) << late;
    EXPECT_EQ(second->wait().status, 0) << late;
    EXPECT_FALSE(weights_of(dir, 100).empty());
    EXPECT_EQ(weights_of(dir, 100), weights_of("whole", 100));
  }
}

// Each start loses a rank at a different step, the chief in a third of them; BELAY_RANK_KILLS: how often.
TEST_F(Ranks, AJobOfOpenMpiWhoseRanksAreKilledAndThatIsStartedAgainEndsWithTheSameBits) {
  if (sanitized("thread"))
    GTEST_SKIP() << "MPI's libraries are not built for the thread sanitizer, which takes their locks for none";
  constexpr int kSteps = 1000;
  const auto job = [&](const std::string& dir) {
    const std::string more =
        "[checkpoint]\nsave_steps = 10\n[session]\nhooks_on_all_ranks = [\"ranked\"]\n[[hooks]]\n"
        "plugin = \"ranked\"\ncallback = \"none\"\n";
    const std::string path = manifest({.dir = dir, .steps = kSteps, .examples = 97, .more = more});
    return std::vector<std::string>{"run", path, "--set", "cluster.plugin=\"mpi_openmpi\""};
  };
  std::string said;
  ASSERT_EQ(mpirun(3, {}, job("whole"), &said), 0) << said;
  const char* given = std::getenv("BELAY_RANK_KILLS");
  std::mt19937 random(19);
  for (int round = 0, rounds = given == nullptr ? 3 : std::atoi(given); round < rounds; ++round) {
    const int killed = round % 3, call = std::uniform_int_distribution<>(1, 20)(random);
    const std::string dies = "RANKED_DIES=" + std::to_string(killed) + ":" + std::to_string(call);
    EXPECT_NE(mpirun(3, {dies}, job("killed"), &said), 0) << "round " << round << ", " << dies;
  }
  ASSERT_EQ(mpirun(3, {}, job("killed"), &said), 0) << said;
  EXPECT_FALSE(weights_of("whole", kSteps).empty());
  EXPECT_EQ(weights_of("killed", kSteps), weights_of("whole", kSteps));
}

}  // namespace
}  // namespace belay::runtime::testing
