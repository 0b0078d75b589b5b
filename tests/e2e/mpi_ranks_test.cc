// SPDX-License-Identifier: Apache-2.0
// Several processes of the real program that the real mpirun starts.
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/ranks_fixture.h"
#include "tests/e2e/sparse_table.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Mpi {
  const char* plugin;
  const char* mpirun;
  const char* program;  // with its own main
};
constexpr Mpi kMpis[] = {{"mpi_openmpi", "mpirun.openmpi", BELAY_BINARY_DIR "/bin/mpi_program_openmpi"},
                         {"mpi_mpich", "mpirun.mpich", BELAY_BINARY_DIR "/bin/mpi_program_mpich"}};

class MpiRanks : public RunTest {
 protected:
  void SetUp() override {
    if (sanitized("thread"))
      GTEST_SKIP() << "MPI's libraries are not built for the thread sanitizer, which takes their locks for none";
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
  // Returns its exit status; its output is in `said`. As root, and with more ranks than cores.
  static int run(const Mpi& mpi, int ranks, const std::string& manifest, std::string* said = nullptr) {
    return launch(mpi, ranks, tested_belay() + " run " + manifest, said);
  }
  static int launch(const Mpi& mpi, int ranks, const std::string& program, std::string* said) {
    return shell("timeout -k 5 300 " + std::string(mpi.mpirun) + " -np " + std::to_string(ranks) + " " + program, said);
  }
  static int shell(const std::string& line, std::string* said = nullptr) {
    const std::string command =
        "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
        "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none "
        "OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none "
        "ASAN_OPTIONS=detect_leaks=0 BELAY_PLUGIN_PATH=" +
        tested_plugins() + " " + line + " 2>&1 < /dev/null";
    std::string output;
    std::FILE* out = ::popen(command.c_str(), "r");
    char buffer[4096];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof(buffer), out)) > 0;) output.append(buffer, n);
    const int status = ::pclose(out);
    if (said != nullptr) *said = output;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string weights_of(const std::string& dir, int step) const { return weights(temp / dir, step); }
  std::vector<std::string> checkpoints(const std::string& dir) const {
    std::vector<std::string> all = listing(temp / dir);
    std::erase_if(all, [](const std::string& name) { return !name.starts_with("model.ckpt-"); });
    return all;
  }
  // No process of this test is left, a rank least of all. MPICH's own helpers end a moment after its mpirun.
  void expect_no_process() const {
    std::vector<std::string> left;
    for (int looks = 0; looks < 100; ++looks) {
      left = commands_with(temp.path());
      if (left.empty()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    FAIL() << left.size() << " are left: " << left[0];
  }
  // MPICH 4.2's mpirun may lose the status of a rank that failed. It is then 0, and there is no message.
  static bool may_lose_status(const Mpi& mpi) { return mpi.plugin == std::string("mpi_mpich"); }
  // mpirun's message on why the job ended comes after all that a rank has logged.
  static void expect_mpiruns_message_last(const std::string& said) {
    const std::regex message(
        "(mpirun[.a-z]*|prterun) noticed that process rank|APPLICATION TERMINATED WITH THE EXIT STRING"),
        line("[0-9] (info|warning|error) ");
    const auto last = [&](const std::regex& what) {
      std::ptrdiff_t at = -1;
      for (auto m = std::sregex_iterator(said.begin(), said.end(), what); m != std::sregex_iterator(); ++m)
        at = m->position();
      return at;
    };
    EXPECT_GT(last(message), last(line)) << said;
  }
  // As examples/kubernetes/mpijob.yaml starts it: its script, and mpirun's arguments with two ranks.
  struct Launch {
    std::string script;
    std::string arguments;
  };
  static Launch launch_of_example() {
    std::istringstream yaml(contents(BELAY_SOURCE_DIR "/examples/kubernetes/mpijob.yaml"));
    Launch launch;
    bool args = false, script = false;
    for (std::string line; std::getline(yaml, line);) {
      const std::string text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
      if (text == "args:") {
        args = true;
      } else if (args && text == "- |") {
        script = true;
      } else if (args && text.starts_with("- ")) {
        const std::string argument = text.substr(2);
        if (argument == "belay") break;
        if (!script || argument != "mpirun") launch.arguments += " " + (argument == "\"4\"" ? "2" : argument);
        if (argument == "mpirun") script = false;
      } else if (script) {
        launch.script += text + "\n";
      }
    }
    return launch;
  }
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

TEST_F(MpiRanks, RowsOfSparseGradientsTrainTheWeightsOfTheDenseForm) {
  for (const Mpi& mpi : kMpis)
    for (const std::string name : {"sgd", "adagrad"}) {
      const std::string dir = std::string(mpi.plugin) + "_" + name;
      SCOPED_TRACE(dir);
      std::string sparse, dense;
      ASSERT_EQ(run(mpi, 2,
                    sparse_manifest(temp.path(),
                                    {.dir = dir, .optimizer = "name = \"" + name + "\"\n", .cluster = mpi.plugin}),
                    &sparse),
                0)
          << sparse;
      ASSERT_EQ(run(mpi, 2,
                    sparse_manifest(
                        temp.path(),
                        {.dir = "dense_" + dir, .optimizer = "name = \"dense_" + name + "\"\n", .cluster = mpi.plugin}),
                    &dense),
                0)
          << dense;
      EXPECT_THAT(sparse, Not(HasSubstr(" is dense, since ")));
      EXPECT_THAT(dense, HasSubstr(" is dense, since the optimizer takes no sparse gradients"));
      EXPECT_GT(values_in(temp / dir, 40).size(), 200U);
      EXPECT_EQ(values_in(temp / dir, 40), values_in(temp / ("dense_" + dir), 40));
    }
}

// The last two of three processes train, in the opposite order, by a communicator of theirs.
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
    for (;; ++starts) {
      const auto begun = std::chrono::steady_clock::now();
      const int status = run(mpi, 2, path, &said);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
      expect_no_process();
      if (std::filesystem::exists(std::string(temp / ("killed_" + name + "/finished"))) || starts == 10) break;
      ASSERT_NE(status, 124) << "mpirun had to be ended: " << said;
      EXPECT_LT(took.count(), 30) << "it was the timeout of 60 s, not mpirun, that ended it";
      if (status != 0 || !may_lose_status(mpi)) expect_mpiruns_message_last(said);
    }
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
    EXPECT_TRUE(status != 0 || may_lose_status(mpi)) << said;
    EXPECT_NE(status, 124) << "mpirun had to be ended: " << said;
    EXPECT_THAT(said, HasSubstr("rank 1 shows no sign of life for 2 s (cluster.timeout_secs)"));
    expect_no_process();
  }
}

// As Kubernetes ends a pod, with Open MPI: the script of the example is before mpirun. MPICH's needs none.
TEST_F(MpiRanks, SigtermToTheLauncherSavesOnceAndLeavesNoProcess) {
  const Launch example = launch_of_example();
  ASSERT_THAT(example.script, HasSubstr("mpirun \"$@\" &"));
  ASSERT_THAT(example.arguments, HasSubstr(" -np 2 "));
  std::filesystem::create_directory(std::string(temp / "bin"));
  std::filesystem::create_symlink("/usr/bin/mpirun.openmpi", std::string(temp / "bin/mpirun"));
  write_file(temp / "launch.sh", example.script);
  for (const Mpi& mpi : kMpis) {
    const std::string name = mpi.plugin;
    std::string path = manifest(name, name), said;
    write_file(path, replaced(replaced(contents(path), "max_steps = 100", "max_steps = 100000000"), "save_steps = 10",
                              "save_steps = 100000000"));
    const std::string launcher = name == "mpi_openmpi" ? "PATH=" + (temp / "bin") + ":$PATH\nexec bash -c \"$(cat " +
                                                             (temp / "launch.sh") + ")\" mpirun" + example.arguments
                                                       : std::string("exec mpirun.mpich -np 2");
    const std::string log = temp / (name + ".log");
    write_file(temp / "job.sh", launcher + " " + tested_belay() + " run " + path + "\n");
    const int status = shell("timeout -k 5 120 bash -c 'bash " + (temp / "job.sh") + " > " + log + " 2>&1" +
                             " & job=$!; until grep -q \"progress: step\" " + log +
                             "; do sleep 0.1; kill -0 $job || exit 99; done; kill -TERM $job; wait $job'");
    said = contents(log);
    EXPECT_NE(status, 99) << said;
    EXPECT_NE(status, 124) << said;  // MPICH's is 0 now and then, though its ranks have died of the signal
    expect_no_process();
    const std::vector<std::string> saved = checkpoints(name);
    EXPECT_EQ(saved.size(), 2U) << "that of the start, and one of the signal: " << said;
    EXPECT_THAT(saved, Not(::testing::Contains(HasSubstr(".tmp"))));
    EXPECT_FALSE(std::filesystem::exists(std::string(temp / (name + "/finished"))));
  }
}

TEST_F(MpiRanks, GoingOnWithoutALostRankIsRefusedByCheck) {
  for (const Mpi& mpi : kMpis) {
    const ProcessResult r = belay({"check", manifest(mpi.plugin, mpi.plugin, "on_lost_rank = \"continue\"\n")});
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_THAT(r.err,
                HasSubstr("the ranks of \"" + std::string(mpi.plugin) + "\" form no other group if one is lost"));
  }
}

}  // namespace
}  // namespace belay::runtime::testing
