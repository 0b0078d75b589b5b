// SPDX-License-Identifier: Apache-2.0
// Processes that each launcher's variables make ranks of one run.
#include <signal.h>

#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>

#include "tests/e2e/ranks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class RanksLaunched : public Ranks {
 protected:
  using Variables = std::vector<std::string>;

  static Process started(const std::string& manifest, const Variables& variables) {
    return std::make_unique<BelayProcess>(std::vector<std::string>{"run", manifest}, variables);
  }
  static std::string task(const std::string& type, int index) {
    return R"(TF_CONFIG={"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": ")" + type +
           "\", \"index\": " + std::to_string(index) + "}}";
  }
  static std::string with(const char* name, int value) { return std::string(name) + "=" + std::to_string(value); }
};

TEST_F(RanksLaunched, TheVariablesOfEachLauncherAreEnough) {
  const auto of_rank = [](int r) {
    return std::vector<Variables>{
        {with("RANK", r), "WORLD_SIZE=2", with("LOCAL_RANK", r), "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
         "MASTER_PORT=29500", "TORCHELASTIC_RESTART_COUNT=0"},
        {with("OMPI_COMM_WORLD_RANK", r), "OMPI_COMM_WORLD_SIZE=2", with("OMPI_COMM_WORLD_LOCAL_RANK", r)},
        {with("PMI_RANK", r), "PMI_SIZE=2", with("MPI_LOCALRANKID", r)},
        {with("SLURM_PROCID", r), "SLURM_NTASKS=2", with("SLURM_LOCALID", r), "SLURM_STEP_ID=0"},
        {with("JOB_COMPLETION_INDEX", r), "WORLD_SIZE=2"},
        {r == 0 ? task("chief", 0) : task("worker", 0)}};
  };
  const std::vector<Variables> chiefs = of_rank(0), workers = of_rank(1);
  for (std::size_t i = 0; i < chiefs.size(); ++i) {
    const std::string path = manifest({.dir = "run_" + std::to_string(i), .steps = 5});
    const Process chief = started(path, chiefs[i]), worker = started(path, workers[i]);
    const ProcessResult first = chief->wait(), second = worker->wait();
    EXPECT_EQ(first.status, 0) << first.err;
    EXPECT_EQ(second.status, 0) << second.err;
    EXPECT_THAT(first.err, HasSubstr("rank 0 of 2: waits for the other ranks")) << chiefs[i][0];
    EXPECT_THAT(second.err, HasSubstr("rank 1 of 2: waits for rank 0")) << workers[i][0];
  }
}

TEST_F(RanksLaunched, EST_16_OneTaskOfAClusterHasTheHooksAndEventsAMasterToo) {
  const auto of = [](const std::string& type) {
    return R"(TF_CONFIG={"cluster": {"master": ["a:1"], "worker": ["b:1"]}, "task": {"type": ")" + type +
           R"(", "index": 0}})";
  };
  const std::string path = manifest({.dir = "run", .steps = 30});
  const Process master = started(path, {of("master")}), worker = started(path, {of("worker")});
  const ProcessResult first = master->wait(), second = worker->wait();
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(first.err, HasSubstr("progress: step "));
  EXPECT_THAT(second.err, Not(HasSubstr("progress: step ")));
  const std::vector<std::string> files = listing(temp / "run");
  EXPECT_EQ(std::count_if(files.begin(), files.end(), [](const std::string& f) { return f.starts_with("events."); }),
            1);
}

TEST_F(RanksLaunched, ABatchScriptOfSlurmWithoutSrunIsToldSoAtOnce) {
  const ProcessResult r = belay({"run", manifest({.dir = "run"})}, {"SLURM_PROCID=0", "SLURM_NTASKS=2"});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr("SLURM_STEP_ID is not set"));
  EXPECT_THAT(r.err, HasSubstr("help: start all of them: srun belay run "));
  EXPECT_FALSE(std::filesystem::exists(temp / "run"));
}

TEST_F(RanksLaunched, TwoThatContradictEachOtherAreAnErrorThatNamesBoth) {
  const ProcessResult r = belay({"run", manifest({.dir = "run"})},
                                {"RANK=0", "WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=4"});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("two launchers contradict each other: a launcher (RANK, WORLD_SIZE) sets rank 0 of 2, "
                               "Open MPI sets rank 1 of 4; unset the variables of one of them"));
}

TEST_F(RanksLaunched, EachRankHasATraceOfItsOwnInTheRunsDirectory) {
  const std::string path = manifest({.dir = "run", .steps = 5});
  const std::vector<std::string> command = {"run", path, "--trace"};
  const auto rank = [&](const char* number) {
    return std::make_unique<BelayProcess>(command, std::vector<std::string>{number, "WORLD_SIZE=2"});
  };
  const Process worker = rank("RANK=1");
  const Process chief = rank("RANK=0");
  const ProcessResult first = chief->wait(), second = worker->wait();
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(listing(temp / "run"), IsSupersetOf({"trace-1.json", "trace.json"}));
}

TEST_F(RanksLaunched, SeveralWithoutAClusterAreToldThatTheyTrainApart) {
  const std::string path = regression("", "", 1000000);
  const std::string apart =
      "a launcher (RANK, WORLD_SIZE) sets rank 0 of 2, and the manifest has no [cluster]: each process trains its own "
      "model; for one model of all write plugin = \"gloo\" below [cluster]";
  const Process first = started(path, {"RANK=0", "WORLD_SIZE=2"});
  ASSERT_TRUE(first->wait_for("training")) << first->wait().err;
  const ProcessResult second = belay({"run", path}, {"RANK=1", "WORLD_SIZE=2"});
  EXPECT_EQ(second.status, 6);
  EXPECT_THAT(second.err, HasSubstr("give this one another run.dir; " + replaced(apart, "rank 0", "rank 1")));
  first->kill(SIGTERM);
  EXPECT_THAT(first->wait().err, HasSubstr("warning " + apart));
  const ProcessResult checked = belay({"check", path}, {"RANK=0", "WORLD_SIZE=2"});
  EXPECT_EQ(checked.status, 0);
  EXPECT_THAT(checked.err, HasSubstr(apart));
  EXPECT_THAT(belay({"check", path}, {"RANK=0", "WORLD_SIZE=1"}).err, Not(HasSubstr("[cluster]")));
}

TEST_F(RanksLaunched, TheClusterOfThreadsIsRefusedAtOnce) {
  const std::string path = manifest({.dir = "run"});
  write_file(path, replaced(contents(path), "\"gloo\"", "\"local\""));
  for (const char* command : {"check", "run"}) {
    const ProcessResult r = belay({command, path}, {"RANK=0", "WORLD_SIZE=2"});
    EXPECT_EQ(r.status, 2) << command;
    EXPECT_THAT(r.err, AllOf(HasSubstr("cluster \"local\" joins threads of one program, and a launcher (RANK, "
                                       "WORLD_SIZE) has started 2 processes"),
                             HasSubstr("name a plugin that joins processes, for instance plugin = \"gloo\"")));
  }
}

// /proc shows the sockets of a process, and their addresses.
TEST_F(RanksLaunched, TheyAreBoundToLoopbackAloneWhereNoInterfaceIsNamed) {
  const std::vector<Process> all = start_all(endless("run"), 2);
  for (const Process& p : all) ASSERT_TRUE(p->wait_for("training")) << p->wait().err;
  for (const Process& p : all) {
    const std::string proc = "/proc/" + std::to_string(p->pid());
    std::set<std::string> sockets;
    for (const auto& entry : std::filesystem::directory_iterator(proc + "/fd")) {
      std::error_code gone;
      const std::string to = std::filesystem::read_symlink(entry, gone).string();
      if (to.starts_with("socket:[")) sockets.insert(to.substr(8, to.size() - 9));
    }
    int bound = 0;
    for (const char* table : {"/net/tcp", "/net/tcp6"}) {
      std::istringstream lines(contents(proc + table));
      for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::vector<std::string> f{std::istream_iterator<std::string>(fields), {}};
        if (f.size() < 10 || !sockets.contains(f[9])) continue;
        ++bound;
        EXPECT_TRUE(f[1].starts_with("0100007F:")) << line;  // 127.0.0.1
      }
    }
    EXPECT_GT(bound, 0);
  }
  all[0]->kill(SIGTERM);
  wait_for_all(all);
}

// It is no rank, and evaluates what the others save until the last of them.
TEST_F(RanksLaunched, AnEvaluatorIsNoRankAndEndsWhenTheTrainingHas) {
  const std::string path = endless("run", 60);
  write_file(path, contents(path) + "[input.eval]\nplugin = \"numbers\"\nexamples = 160\nepochs = 1\n" +
                       "[checkpoint]\nsave_steps = 20\n[eval]\ntimeout_secs = 300\n");
  const Process evaluator = started(path, {task("evaluator", 0)});
  ASSERT_TRUE(evaluator->wait_for("waiting for the checkpoints of ")) << evaluator->wait().err;
  const Process chief = started(path, {task("chief", 0)}), worker = started(path, {task("worker", 0)});
  const ProcessResult trained = chief->wait(), other = worker->wait(), evaluated = evaluator->wait();
  EXPECT_EQ(trained.status, 0) << trained.err;
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_THAT(evaluated.err, Not(HasSubstr("rank ")));
  EXPECT_THAT(evaluated.out, AllOf(HasSubstr("eval at step 60 on 160 examples: loss = ")));
}

}  // namespace
}  // namespace belay::runtime::testing
