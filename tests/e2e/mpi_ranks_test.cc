// SPDX-License-Identifier: Apache-2.0
// Several processes of the real program that the real mpirun starts.
#include <sys/wait.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Mpi {
  const char* plugin;
  const char* mpirun;
  const char* program;  // with a main of its own
};
constexpr Mpi kMpis[] = {{"mpi_openmpi", "mpirun.openmpi", BELAY_BINARY_DIR "/bin/mpi_program_ompi-c"},
                         {"mpi_mpich", "mpirun.mpich", BELAY_BINARY_DIR "/bin/mpi_program_mpich"}};

class MpiRanks : public RunTest {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "MPI's libraries are not built for the thread sanitizer, which takes their locks for none";
#endif
  }
  std::string manifest(const std::string& dir, const std::string& plugin, const std::string& more = "") const {
    const std::string path = temp / (dir + ".toml");
    write_file(path, "[run]\ndir = \"" + dir +
                         "\"\nmax_steps = 100\nthreads = 1\n[input.train]\nplugin = \"digits\"\nexamples = 1000\n"
                         "batch_size = 16\nshuffle = true\n[model]\nplugin = \"mlp\"\nhidden = [16]\n"
                         "[optimizer]\nname = \"momentum\"\nlearning_rate = 0.05\n[checkpoint]\nsave_steps = 10\n"
                         "[cluster]\nplugin = \"" +
                         plugin + "\"\n" + more);
    return path;
  }
  // Its exit status; what it says is in `said`. As root, and with more ranks than cores.
  static int run(const Mpi& mpi, int ranks, const std::string& manifest, std::string* said = nullptr) {
    return launch(mpi, ranks, BELAY_BINARY_DIR "/bin/belay run " + manifest, said);
  }
  static int launch(const Mpi& mpi, int ranks, const std::string& program, std::string* said) {
    const std::string command =
        "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
        "OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none "
        "ASAN_OPTIONS=detect_leaks=0 BELAY_PLUGIN_PATH=" BELAY_BINARY_DIR "/plugins:" BELAY_BINARY_DIR
        "/tests/e2e/plugins timeout -k 5 300 " +
        std::string(mpi.mpirun) + " -np " + std::to_string(ranks) + " " + program + " 2>&1 < /dev/null";
    std::string output;
    std::FILE* out = ::popen(command.c_str(), "r");
    char buffer[4096];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof(buffer), out)) > 0;) output.append(buffer, n);
    const int status = ::pclose(out);
    if (said != nullptr) *said = output;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string weights_of(const std::string& dir, int step) const { return weights(temp / dir, step); }
};

TEST_F(MpiRanks, TwoTrainTheSameBitsByEachMpiAndByGloo) {
  for (const Mpi& mpi : kMpis) {
    std::string said;
    ASSERT_EQ(run(mpi, 2, manifest(mpi.plugin, mpi.plugin), &said), 0) << said;
    EXPECT_THAT(said, HasSubstr("training begins with the weights of rank 0"));
  }
  const std::string gloo = manifest("gloo", "gloo");
  BelayProcess chief({"run", gloo}, {"RANK=0", "WORLD_SIZE=2"}), worker({"run", gloo}, {"RANK=1", "WORLD_SIZE=2"});
  ASSERT_EQ(chief.wait().status, 0);
  ASSERT_EQ(worker.wait().status, 0);
  const std::string weights = weights_of("gloo", 100);
  EXPECT_FALSE(weights.empty());
  for (const Mpi& mpi : kMpis) EXPECT_EQ(weights_of(mpi.plugin, 100), weights) << mpi.plugin;
}

// Of three processes the last two train, in the opposite order, by a communicator of theirs.
TEST_F(MpiRanks, AProgramTrainsInSomeOfItsProcessesInAnOrderOfItsOwn) {
  const std::string gloo = manifest("gloo", "gloo");
  BelayProcess chief({"run", gloo}, {"RANK=0", "WORLD_SIZE=2"}), worker({"run", gloo}, {"RANK=1", "WORLD_SIZE=2"});
  ASSERT_EQ(chief.wait().status, 0);
  ASSERT_EQ(worker.wait().status, 0);
  for (const Mpi& mpi : kMpis) {
    const std::string path = manifest(mpi.plugin, mpi.plugin);
    std::string said;
    ASSERT_EQ(launch(mpi, 3, std::string(mpi.program) + " " + path, &said), 0) << said;
    EXPECT_THAT(said, HasSubstr("process 2 of 3: rank 0, status 0 at step 100"));
    EXPECT_THAT(said, HasSubstr("process 1 of 3: rank 1, status 0 at step 100"));
    EXPECT_THAT(said, Not(HasSubstr("process 0 of 3")));
    EXPECT_EQ(weights_of(mpi.plugin, 100), weights_of("gloo", 100)) << mpi.plugin;
  }
}

// The chief's hook ends its process (SIGKILL) at its 37th call in each start.
TEST_F(MpiRanks, ARankThatIsKilledEndsTheJobAndTheSameCommandGoesOn) {
  for (const Mpi& mpi : kMpis) {
    const std::string name = mpi.plugin;
    ASSERT_EQ(run(mpi, 2, manifest("whole_" + name, name)), 0);
    const std::string path =
        manifest("killed_" + name, name, "[[hooks]]\nplugin = \"trouble\"\ndies_in = \"after_run\"\ndies_at = 37\n");
    std::string said;
    int starts = 1;
    for (int status; (status = run(mpi, 2, path, &said)) != 0 && starts < 10; ++starts)
      ASSERT_NE(status, 124) << "mpirun had to be ended: " << said;
    EXPECT_GE(starts, 3) << said;
    EXPECT_LT(starts, 10) << said;
    EXPECT_FALSE(weights_of("whole_" + name, 100).empty());
    EXPECT_EQ(weights_of("killed_" + name, 100), weights_of("whole_" + name, 100));
  }
}

// The worker's hook stops its process (SIGSTOP) in step 20.
TEST_F(MpiRanks, ARankThatIsStoppedIsNamedAtTheTimeoutAndEndsTheJob) {
  for (const Mpi& mpi : kMpis) {
    const std::string path = manifest(std::string("frozen_") + mpi.plugin, mpi.plugin,
                                      "timeout_secs = 2\n[session]\nhooks_on_all_ranks = [\"ranked\"]\n[[hooks]]\n"
                                      "plugin = \"ranked\"\nstop_rank = 1\nstop_step = 20\nfreezes = true\n");
    std::string said;
    const int status = run(mpi, 2, path, &said);
    EXPECT_NE(status, 0) << said;
    EXPECT_NE(status, 124) << "mpirun had to be ended: " << said;
    EXPECT_THAT(said, HasSubstr("rank 1 shows no sign of life for 2 s (cluster.timeout_secs)"));
  }
}

}  // namespace
}  // namespace belay::runtime::testing
