// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/launcher.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <vector>

#include "belay/error.h"
#include "belay/runtime/run_config.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr int kMostRanks = 1'000'000;

struct Variables {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;  // null: the launcher has none
  bool needs_both;         // the rank alone is a mistake, and no variable of another program
};
// Scripts and schedulers set the first ones, too. torchrun also sets kOfTorchrun.
constexpr Variables kVariables[] = {
    {"a launcher (RANK, WORLD_SIZE)", "RANK", "WORLD_SIZE", "LOCAL_RANK", true},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", true},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", true},
    {"an indexed Job", "JOB_COMPLETION_INDEX", "WORLD_SIZE", nullptr, false},
};
constexpr const char* kOfTorchrun = "TORCHELASTIC_RUN_ID";
// A step may have fewer tasks than its job. The interactive step of salloc has one.
constexpr Variables kSlurmStep = {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", false};
constexpr Variables kSlurm = {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", false};

std::optional<int> number_of(const Environment& environment, const char* name) {
  const std::optional<std::string> text = name == nullptr ? std::nullopt : environment(name);
  if (!text || text->empty()) return std::nullopt;
  int number = -1;
  const char* last = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), last, number);
  if (error != std::errc() || end != last || number < 0 || number > kMostRanks)
    fail(Code::kInvalidArgument,
         fmt::format("[B5100] {} is \"{}\"; a launcher sets it to a number", name, escaped(*text)));
  return number;
}

void check(const LaunchedPlace& place, const char* rank, const char* size) {
  if (place.rank >= place.size)
    fail(Code::kInvalidArgument,
         fmt::format("[B5100] {} = {} is not below {} = {}", rank, place.rank, size, place.size));
}

std::optional<LaunchedPlace> place_of(const Environment& environment, const Variables& variables) {
  const std::optional<int> rank = number_of(environment, variables.rank);
  const std::optional<int> size = number_of(environment, variables.size);
  if (!rank || !size) {
    if (rank && variables.needs_both)
      fail(Code::kInvalidArgument, fmt::format("[B5100] {} is set and {} is not: a process of a group needs both",
                                               variables.rank, variables.size));
    return std::nullopt;
  }
  LaunchedPlace place{*rank, *size, number_of(environment, variables.local_rank).value_or(-1), variables.launcher};
  check(place, variables.rank, variables.size);
  if (&variables == kVariables && environment(kOfTorchrun)) place.launcher = "torchrun";
  return place;
}

std::optional<LaunchedPlace> place_in_tf_config(const Environment& environment) {
  const RunConfig::Task task = task_of(environment);
  if (task.cluster.empty() && task.type != "evaluator") return std::nullopt;
  if (task.type == "evaluator" || task.type == "ps")
    fail(Code::kInvalidArgument,
         fmt::format("[B5100] {}: a task \"{}\" is no rank of a training; {}", task.variable, task.type,
                     task.type == "ps" ? "there are no parameter servers, train with workers alone"
                                       : "run it with run.mode = \"continuous_eval\""));
  LaunchedPlace place;
  place.rank = task.is_chief ? 0 : static_cast<int>(task.index) + 1;
  place.size = static_cast<int>(task.workers);
  place.launcher = task.variable;
  return place;
}

std::string text_of(const LaunchedPlace& place) {
  return fmt::format("{} sets rank {} of {}", place.launcher, place.rank, place.size);
}

}  // namespace

LaunchedPlace launched_place(const Environment& environment) {
  std::vector<LaunchedPlace> found;
  for (const Variables& variables : kVariables)
    if (const auto place = place_of(environment, variables)) found.push_back(*place);
  if (const auto place = place_in_tf_config(environment)) found.push_back(*place);
  for (const Variables& variables : {kSlurmStep, kSlurm})
    if (const auto place = found.empty() ? place_of(environment, variables) : std::nullopt) found.push_back(*place);
  if (found.empty()) {
    if (const std::optional<std::string> size = environment("WORLD_SIZE"); size && *size != "1" && !size->empty())
      fail(Code::kInvalidArgument, "[B5100] WORLD_SIZE is set and RANK is not: a process of a group needs both");
    return {};
  }
  LaunchedPlace place = found.front();
  for (const LaunchedPlace& other : found) {
    if (other.rank != place.rank || other.size != place.size)
      fail(Code::kInvalidArgument, "[B5100] two launchers contradict each other: " + text_of(place) + ", " +
                                       text_of(other) + "; unset the variables of one of them");
    if (place.local_rank < 0) place.local_rank = other.local_rank;
  }
  return place;
}

bool launched_to_evaluate(const Environment& environment) {
  try {
    return task_of(environment).type == "evaluator";
  } catch (const Error&) {
    return false;  // the function that uses the task reports the mistake
  }
}

std::string why_apart(const Environment& environment) {
  LaunchedPlace place;
  try {
    place = launched_place(environment);
  } catch (const Error&) {
  }
  if (place.size <= 1) return "";
  const std::string plugin = place.launcher == "Open MPI" ? "mpi_openmpi"
                             : place.launcher == "MPICH"  ? "mpi_mpich"
                                                          : "gloo";
  return text_of(place) +
         ", and the manifest has no [cluster]: each process trains its own model; for one model of all write "
         "plugin = \"" +
         plugin + "\" below [cluster]";
}

std::string why_lone(const Environment& environment) {
  const LaunchedPlace place = launched_place(environment);
  if (place.launcher != kSlurm.launcher || place.size <= 1 || environment("SLURM_STEP_ID")) return "";
  return fmt::format(
      "Slurm has {} tasks for this job, and its batch script has started this one process itself: SLURM_STEP_ID is not "
      "set",
      place.size);
}

std::string why_not_alone(const Environment& environment) {
  try {
    const LaunchedPlace place = launched_place(environment);
    if (place.size <= 1) return "";
    return fmt::format("{} has started {} processes, which this version does not train together", place.launcher,
                       place.size);
  } catch (const Error& e) {
    return e.what();
  }
}

}  // namespace belay::runtime
