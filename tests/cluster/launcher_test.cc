// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/launcher.h"

#include <gtest/gtest.h>

#include <map>

#include "belay/testing/error_of.h"

namespace belay::runtime {
namespace {

using belay::testing::error_of;
using Variables = std::map<std::string, std::string>;

LaunchedPlace place(const Variables& variables) {
  return launched_place([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}
std::string error(const Variables& variables) {
  return error_of([&] { place(variables); });
}
LaunchedPlace expected(int rank, int size, int local_rank, const std::string& launcher) {
  return {rank, size, local_rank, launcher};
}

constexpr const char* kByHand = "a launcher (RANK, WORLD_SIZE)";
constexpr const char* kWorker1 =
    R"({"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": 1}})";

TEST(Launcher, EachLaunchersVariablesAreRead) {
  EXPECT_EQ(place({}), LaunchedPlace{});
  EXPECT_EQ(place({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), expected(0, 2, -1, kByHand));
  EXPECT_EQ(place({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}}), expected(5, 8, 1, kByHand));
  EXPECT_EQ(place({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"TORCHELASTIC_RUN_ID", "none"}}),
            expected(5, 8, 1, "torchrun"));
  EXPECT_EQ(place({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}),
            expected(3, 4, 1, "Open MPI"));
  EXPECT_EQ(place({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}}), expected(1, 2, 1, "MPICH"));
  EXPECT_EQ(place({{"SLURM_PROCID", "6"}, {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "2"}, {"SLURM_STEP_ID", "0"}}),
            expected(6, 16, 2, "Slurm"));
  EXPECT_EQ(place({{"JOB_COMPLETION_INDEX", "1"}, {"WORLD_SIZE", "3"}}), expected(1, 3, -1, "an indexed Job"));
  EXPECT_EQ(place({{"TF_CONFIG", kWorker1}}), expected(2, 3, -1, "TF_CONFIG"));
}

TEST(Launcher, TheChiefOfTfConfigIsRank0) {
  const std::string chief =
      R"({"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": "chief", "index": 0}})";
  EXPECT_EQ(place({{"TF_CONFIG", chief}}), expected(0, 2, -1, "TF_CONFIG"));
  EXPECT_EQ(place({{"TF_CONFIG", "{}"}}), LaunchedPlace{});
}

TEST(Launcher, ATaskThatIsNoRankIsRefused) {
  EXPECT_EQ(error({{"TF_CONFIG", R"({"cluster": {"chief": ["a:1"], "ps": ["b:1"], "worker": ["c:1"]},
                                     "task": {"type": "ps", "index": 0}})"}}),
            "INVALID_ARGUMENT: [B5100] TF_CONFIG: a task \"ps\" is no rank of a training; there are no parameter "
            "servers, train "
            "with workers alone");
  EXPECT_EQ(
      error({{"TF_CONFIG", R"({"cluster": {"chief": ["a:1"], "worker": ["c:1"]},
                                     "task": {"type": "evaluator", "index": 0}})"}}),
      "INVALID_ARGUMENT: [B5100] TF_CONFIG: a task \"evaluator\" is no rank of a training; run it with run.mode = "
      "\"continuous_eval\"");
}

TEST(Launcher, AnEvaluatorIsStartedToEvaluate) {
  const auto evaluates = [](const std::string& config) {
    return launched_to_evaluate(
        [&](const std::string& name) { return name == "TF_CONFIG" ? std::optional(config) : std::nullopt; });
  };
  const std::string cluster = R"({"cluster": {"chief": ["a:1"]}, "task": {"index": 0, "type": )";
  EXPECT_TRUE(evaluates(cluster + "\"evaluator\"}}"));
  EXPECT_FALSE(evaluates(cluster + "\"chief\"}}"));
  EXPECT_FALSE(evaluates("{}"));
  EXPECT_FALSE(evaluates("no JSON"));
}

TEST(Launcher, TwoThatContradictEachOtherAreBothNamed) {
  EXPECT_EQ(error({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}),
            "INVALID_ARGUMENT: [B5100] two launchers contradict each other: a launcher (RANK, WORLD_SIZE) sets rank 1 "
            "of 2, Open MPI sets rank 0 of "
            "2; unset the variables of one of them");
  EXPECT_EQ(error({{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"TF_CONFIG", kWorker1}}),
            "INVALID_ARGUMENT: [B5100] two launchers contradict each other: MPICH sets rank 2 of 4, TF_CONFIG sets "
            "rank 2 of 3; unset the variables of one of them");
}

TEST(Launcher, TwoThatAgreeAreOne) {
  EXPECT_EQ(place({{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"TF_CONFIG", kWorker1}}), expected(2, 3, -1, kByHand));
  EXPECT_EQ(place({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}}),
            expected(1, 2, 1, kByHand));
}

// mpirun and torchrun run inside an allocation, whose variables count what Slurm started.
TEST(Launcher, SlurmsVariablesYieldToThoseOfALauncherInsideIt) {
  EXPECT_EQ(
      place(
          {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}}),
      expected(3, 4, -1, "Open MPI"));
  EXPECT_EQ(place({{"SLURM_NTASKS", "4"}}), LaunchedPlace{});  // in the shell of salloc
}

TEST(Launcher, T_119_AStepOfSlurmSaysItsOwnNumberOfTasks) {
  const Variables interactive = {{"SLURM_PROCID", "0"},
                                 {"SLURM_NTASKS", "4"},
                                 {"SLURM_LOCALID", "0"},
                                 {"SLURM_STEP_ID", "4294967290"},
                                 {"SLURM_STEP_NUM_TASKS", "1"}};
  EXPECT_EQ(place(interactive), expected(0, 1, 0, "Slurm"));
  Variables part = interactive;
  part["SLURM_PROCID"] = "1", part["SLURM_LOCALID"] = "1", part["SLURM_STEP_ID"] = "0";
  part["SLURM_STEP_NUM_TASKS"] = "2";
  EXPECT_EQ(place(part), expected(1, 2, 1, "Slurm"));
}

TEST(Launcher, HalfOfAPlaceIsRefused) {
  EXPECT_EQ(error({{"RANK", "0"}}),
            "INVALID_ARGUMENT: [B5100] RANK is set and WORLD_SIZE is not: a process of a group needs both");
  EXPECT_EQ(error({{"WORLD_SIZE", "2"}}),
            "INVALID_ARGUMENT: [B5100] WORLD_SIZE is set and RANK is not: a process of a group needs both");
  EXPECT_EQ(place({{"JOB_COMPLETION_INDEX", "1"}}), LaunchedPlace{});  // of a job that is no group
}

TEST(Launcher, OneProcessIsAloneAndSeveralAreNot) {
  const auto why = [](const Variables& variables) {
    return why_not_alone([&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  EXPECT_EQ(why({}), "");
  EXPECT_EQ(why({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}), "");
  EXPECT_EQ(why({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "a launcher (RANK, WORLD_SIZE) has started 2 processes, which this version does not train together");
  EXPECT_EQ(why({{"RANK", "0"}}), "[B5100] RANK is set and WORLD_SIZE is not: a process of a group needs both");
}

TEST(Launcher, AProcessThatABatchScriptOfSlurmHasStartedItselfIsLone) {
  const auto why = [](const Variables& variables) {
    return why_lone([&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  Variables script = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "0"}};
  EXPECT_EQ(
      why(script),
      "Slurm has 2 tasks for this job, and its batch script has started this one process itself: SLURM_STEP_ID is "
      "not set");
  EXPECT_EQ(why({}), "");
  EXPECT_EQ(why({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}), "");
  Variables by_torchrun = script, by_srun = script;
  by_torchrun.insert({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(why(by_torchrun), "");
  by_srun.insert({"SLURM_STEP_ID", "0"});
  EXPECT_EQ(why(by_srun), "");
}

TEST(Launcher, SeveralThatNothingJoinsAreToldWhatWould) {
  const auto why = [](const Variables& variables) {
    return why_apart([&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  EXPECT_EQ(why({}), "");
  EXPECT_EQ(why({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(why({{"RANK", "0"}}), "") << "what cannot be may be another program's";
  EXPECT_EQ(why({{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_ID", "0"}}),
            "Slurm sets rank 3 of 4, and the manifest has no [cluster]: each process trains its own model; for "
            "one model of all write plugin = \"gloo\" below [cluster]");
  const std::string by_open_mpi = why({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  EXPECT_NE(by_open_mpi.find("plugin = \"mpi_openmpi\""), std::string::npos) << by_open_mpi;
  const std::string by_mpich = why({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  EXPECT_NE(by_mpich.find("plugin = \"mpi_mpich\""), std::string::npos) << by_mpich;
}

TEST(Launcher, WhatCannotBeIsRefused) {
  EXPECT_EQ(error({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
            "INVALID_ARGUMENT: [B5100] RANK = 2 is not below WORLD_SIZE = 2");
  for (const char* text : {"-1", "x", "1x", "99999999999"})
    EXPECT_EQ(error({{"RANK", text}, {"WORLD_SIZE", "2"}}),
              "INVALID_ARGUMENT: [B5100] RANK is \"" + std::string(text) + "\"; a launcher sets it to a number");
}

}  // namespace
}  // namespace belay::runtime
