// SPDX-License-Identifier: Apache-2.0
// Tests the plugin in processes that the real mpirun starts; they run mpi_ranks.cc.
#include <belay/testing/testing.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

extern "C" const belay_module BELAY_MODULE_UNDER_TEST;

namespace mpi_test {

using namespace belay::testing;
using belay::Tensor;

struct Job {
  int status = -1;
  std::vector<std::string> lines;  // "rank 0: ...", sorted
  std::string output;
};

// Runs mpirun with settings for more processes than processors, also as root.
Job job(int ranks, const std::string& scenario) {
  const std::string command =
      "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
      "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none "
      "OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none "
      // MPI's libraries leak memory at their end. The leak is theirs.
      "ASAN_OPTIONS=detect_leaks=0 timeout -k 5 120 " MPIRUN " -np " +
      std::to_string(ranks) + " " MPI_RANKS " " + scenario + " 2>&1 < /dev/null";
  Job job;
  std::FILE* out = ::popen(command.c_str(), "r");
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof(buffer), out)) > 0;) job.output.append(buffer, n);
  const int status = ::pclose(out);
  job.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  for (std::size_t at = 0; (at = job.output.find("rank ", at)) != std::string::npos;) {
    const std::size_t end = std::min(job.output.find('\n', at), job.output.size());
    if (at == 0 || job.output[at - 1] == '\n') job.lines.push_back(job.output.substr(at, end - at));
    at = end;
  }
  std::sort(job.lines.begin(), job.lines.end());
  return job;
}
std::vector<std::string> of_each(int ranks, const std::string& found) {
  std::vector<std::string> lines;
  for (int r = 0; r < ranks; ++r) lines.push_back("rank " + std::to_string(r) + ": " + found);
  return lines;
}

class Mpi : public testing::Test {
 protected:
  // A rank that breaks a call off ends the job, and mpirun ends, too.
  static void expect_ended(const Job& job) {
    // MPICH 4.2's mpirun may lose the status of a rank that failed, and has 0 then.
    EXPECT_TRUE(job.status != 0 || std::string(MPIRUN).find("mpich") != std::string::npos);
    EXPECT_NE(job.status, 124) << "mpirun had to be ended by the test: " << job.output;
  }
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "MPI's libraries are not built for the thread sanitizer, which takes their locks for none";
#endif
  }
};

TEST_F(Mpi, AProcessByItselfIsAGroupOfOne) {
  const Job found = job(1, "bits");
  EXPECT_EQ(found.status, 0) << found.output;
}

TEST_F(Mpi, EachCallOfTwoThreeAndFourRanks) {
  for (const int ranks : {2, 3, 4}) {
    const Job found = job(ranks, "calls");
    EXPECT_EQ(found.lines, of_each(ranks, "all calls")) << found.output;
    EXPECT_EQ(found.status, 0);
  }
}

TEST_F(Mpi, SumsHaveTheSameBitsOnAllRanksAndInTheNextRun) {
  for (const int ranks : {2, 3, 4}) {
    const Job first = job(ranks, "bits"), second = job(ranks, "bits");
    ASSERT_EQ(first.lines.size(), static_cast<std::size_t>(ranks)) << first.output;
    EXPECT_EQ(first.lines, of_each(ranks, first.lines[0].substr(8)));
    EXPECT_EQ(first.lines, second.lines);
  }
}

TEST_F(Mpi, ARankThatLeavesIsNamed) {
  const Job found = job(2, "leaves");
  EXPECT_EQ(found.lines, (std::vector<std::string>{"rank 0: ABORTED: rank 1 has ended or left", "rank 1: left"}))
      << found.output;
  expect_ended(found);
}

TEST_F(Mpi, ARankThatDiesEndsTheJob) {
  const Job found = job(3, "dies");
  expect_ended(found);
}

TEST_F(Mpi, ARankThatIsStoppedIsNamedAtTheTimeout) {
  const Job found = job(2, "stopped");
  ASSERT_FALSE(found.lines.empty()) << found.output;
  EXPECT_EQ(found.lines[0], "rank 0: ABORTED: rank 1 shows no sign of life for 1 s (cluster.timeout_secs)");
  expect_ended(found);
}

TEST_F(Mpi, ARankThatComputesForLongerThanTheTimeoutIsWaitedFor) {
  const Job found = job(2, "busy");
  EXPECT_EQ(found.lines, of_each(2, "met")) << found.output;
  EXPECT_EQ(found.status, 0);
}

TEST_F(Mpi, AbortWakesARankThatWaits) {
  const Job found = job(2, "aborted");
  ASSERT_FALSE(found.lines.empty()) << found.output;
  EXPECT_EQ(found.lines[0], "rank 0: CANCELLED: the run was stopped while it waited for other ranks");
  expect_ended(found);
}

TEST_F(Mpi, ACallThatHasALimitEndsAtIt) {
  const Job found = job(2, "late");
  ASSERT_FALSE(found.lines.empty()) << found.output;
  EXPECT_EQ(found.lines[0].find("rank 0: ABORTED: a rank did not call within the 0.2"), 0U) << found.lines[0];
  expect_ended(found);
}

TEST_F(Mpi, AProgramHandsInItsOwnCommunicator) {
  const Job found = job(3, "communicator");
  EXPECT_EQ(found.lines, (std::vector<std::string>{"rank 0: is 2", "rank 1: is 1", "rank 2: is 0"})) << found.output;
  EXPECT_EQ(found.status, 0);
}

// This runs in the test's process, which no mpirun has started.
TEST_F(Mpi, ALauncherThatContradictsMpiIsRefusedWithBoth) {
  ClusterDriver cluster(module_under_test(BELAY_MODULE_UNDER_TEST), 1);
  std::string error;
  cluster.run([&](ClusterRank&) {
    ClusterRank other(find_table<belay_cluster_api>(module_under_test(BELAY_MODULE_UNDER_TEST), ""), {}, 1, 2, "");
    error = error_of([&] { other.open(); });
  });
  EXPECT_EQ(error.find("UNAVAILABLE: the launcher has started rank 1 of 2, and "), 0U) << error;
  EXPECT_NE(error.find("knows this process as rank 0 of 1: start it by "), std::string::npos) << error;
}

TEST_F(Mpi, ASecondGenerationIsRefused) {
  ClusterDriver cluster(module_under_test(BELAY_MODULE_UNDER_TEST), 1);
  EXPECT_EQ(
      cluster.run([](ClusterRank& rank) { rank.open(1); })[0].find("UNAVAILABLE: MPI's ranks cannot form a group "),
      0U);
}

}  // namespace mpi_test
