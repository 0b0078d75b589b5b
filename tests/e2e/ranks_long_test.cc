// SPDX-License-Identifier: Apache-2.0
// What several processes are to show that takes minutes: the accuracy of one process, with the same rows in a step; one
// that comes late; ranks of Open MPI that are killed again and again.
#include <sys/wait.h>

#include <chrono>
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

// As root, and with more ranks than cores. Its exit status; what it says is in `said`.
int mpirun(int ranks, const std::vector<std::string>& variables, const std::vector<std::string>& arguments,
           std::string* said) {
  std::string command =
      "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
      "OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none "
      "ASAN_OPTIONS=detect_leaks=0 BELAY_PLUGIN_PATH=" BELAY_BINARY_DIR "/plugins:" BELAY_BINARY_DIR
      "/tests/e2e/plugins ";
  for (const std::string& variable : variables) command += "'" + variable + "' ";
  command += "mpirun.openmpi -np " + std::to_string(ranks) + " " BELAY_BINARY_DIR "/bin/belay";
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

  std::vector<std::string> arguments(const std::string& plugin) const {
    return {"run",   kExample,
            "--set", "run.dir=\"" + (temp / "run") + "\"",
            "--set", "run.threads=1",
            "--set", "input.train.batch_size=" + std::to_string(kRows / GetParam()),
            "--set", "cluster.plugin=\"" + plugin + "\""};
  }
  static void expect_accuracy(const std::string& out) {
    RecordProperty("accuracy", std::to_string(metric(out, "accuracy")));
    EXPECT_GE(metric(out, "accuracy"), 0.99) << out;
  }
};

TEST_P(AccurateRanks, ByGloo) {
  NEEDS_DATA("mnist/train-images-idx3-ubyte.gz");
  std::vector<std::unique_ptr<BelayProcess>> all;
  for (int r = 0; r < GetParam(); ++r) {
    std::vector<std::string> variables = data_variables();
    variables.insert(variables.end(), {"RANK=" + std::to_string(r), "WORLD_SIZE=" + std::to_string(GetParam())});
    all.push_back(std::make_unique<BelayProcess>(arguments("gloo"), variables));
  }
  std::string out;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const ProcessResult result = all[r]->wait();
    EXPECT_EQ(result.status, 0) << "rank " << r << result.err;
    if (r == 0) out = result.out;
  }
  expect_accuracy(out);
}

TEST_P(AccurateRanks, ByOpenMpi) {
  NEEDS_DATA("mnist/train-images-idx3-ubyte.gz");
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "MPI's libraries are not built for the thread sanitizer, which takes their locks for none";
#endif
  std::string out;
  EXPECT_EQ(mpirun(GetParam(), data_variables(), arguments("mpi_openmpi"), &out), 0);
  expect_accuracy(out);
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

// Each start loses a rank at a step of its own, the chief in a third of them; BELAY_RANK_KILLS: how often.
TEST_F(Ranks, AJobOfOpenMpiWhoseRanksAreKilledAndThatIsStartedAgainEndsWithTheSameBits) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "MPI's libraries are not built for the thread sanitizer, which takes their locks for none";
#endif
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
