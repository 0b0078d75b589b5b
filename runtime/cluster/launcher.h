// SPDX-License-Identifier: Apache-2.0
// launched_place() returns which process of a run this is. The program that started it set that in the environment.
//
//   torchrun            RANK, WORLD_SIZE, LOCAL_RANK, TORCHELASTIC_RUN_ID
//   others, or by hand  RANK=0 WORLD_SIZE=2 belay run M.toml, perhaps with LOCAL_RANK
//   Open MPI's mpirun   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK
//   MPICH's mpirun      PMI_RANK, PMI_SIZE, MPI_LOCALRANKID
//   TF_CONFIG           the chief is rank 0, worker i is rank i + 1; or BELAY_CONFIG
//   an indexed Job      JOB_COMPLETION_INDEX with WORLD_SIZE
//   srun                SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS, SLURM_LOCALID, and SLURM_STEP_ID
//
// Variables of several launchers count as one if they agree. Slurm's are ignored if another launcher has set some:
// Slurm starts mpirun and torchrun, and its variables then count these parents.
#pragma once

#include <string>

#include "belay/runtime/environment.h"

namespace belay::runtime {

struct LaunchedPlace {
  int rank = -1;         // -1: not set
  int size = -1;         // the number of processes
  int local_rank = -1;   // among the processes of this machine; -1: not known
  std::string launcher;  // "Open MPI"; empty: none

  friend bool operator==(const LaunchedPlace&, const LaunchedPlace&) = default;
};

// INVALID_ARGUMENT if a variable is not a number, one of a pair is missing, or the rank is not less than the size. It
// is the same if two launchers contradict each other (the error names both), or if a task of TF_CONFIG trains in no
// group (ps, evaluator).
LaunchedPlace launched_place(const Environment& environment);

// Whether this process was started to evaluate a training of others: "evaluator" in TF_CONFIG or BELAY_CONFIG.
bool launched_to_evaluate(const Environment& environment);

// Returns the warning for a launcher's several processes if the manifest has no [cluster]. It names their work, and
// the way to one training. Empty if there is one process, or if the variables are wrong.
std::string why_apart(const Environment& environment);

// Returns why the launcher has not started a training of one process: it started several, or its variables are wrong.
// Empty if there is one process.
std::string why_not_alone(const Environment& environment);

// Returns why no other rank will come: a batch script of Slurm has started this process itself, without srun. Its
// variables are then those of rank 0, except the ones that only srun sets. Empty if that is not so.
std::string why_lone(const Environment& environment);

}  // namespace belay::runtime
