// SPDX-License-Identifier: Apache-2.0
// Which process of a run this is, as the program that started it has said in the environment.
//
//   torchrun            RANK, WORLD_SIZE, LOCAL_RANK; by hand, too: RANK=0 WORLD_SIZE=2 belay run M.toml
//   Open MPI's mpirun   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK
//   MPICH's mpirun      PMI_RANK, PMI_SIZE, MPI_LOCALRANKID
//   TF_CONFIG           the chief is rank 0, worker i is rank i + 1; or BELAY_CONFIG
//   an indexed Job      JOB_COMPLETION_INDEX with WORLD_SIZE
//   srun                SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS, SLURM_LOCALID, and SLURM_STEP_ID
//
// Those of several that agree are one. Slurm's are not looked at beside another's: mpirun and torchrun are started by
// it, and its variables then count their parents.
#pragma once

#include <string>

#include "belay/runtime/environment.h"

namespace belay::runtime {

struct LaunchedPlace {
  int rank = -1;         // -1: not said
  int size = -1;         // of processes
  int local_rank = -1;   // among those of this machine; -1: not known
  std::string launcher;  // "Open MPI"; empty: none

  friend bool operator==(const LaunchedPlace&, const LaunchedPlace&) = default;
};

// INVALID_ARGUMENT: a variable that is no number, one of two that belong together, a rank that is not below the size,
// two launchers that contradict each other (with both), a task of TF_CONFIG that trains in no group (ps, evaluator).
LaunchedPlace launched_place(const Environment& environment);

// Whether it was started to evaluate what others train: "evaluator" in TF_CONFIG, or BELAY_CONFIG.
bool launched_to_evaluate(const Environment& environment);

// What several processes do whose manifest has no [cluster], and what makes them one training: "torchrun says rank 0 of
// 2, and the manifest has no [cluster]: ...". Empty: there is one, or what the variables say cannot be.
std::string why_apart(const Environment& environment);

// Why a training of one process is not what the launcher has started: it has started several, or what it says cannot
// be. Empty: it is.
std::string why_not_alone(const Environment& environment);

// Why none of the others will come: a batch script of Slurm has started this process itself, where the variables are
// those of rank 0, but for srun's own. Empty: that is not so.
std::string why_lone(const Environment& environment);

}  // namespace belay::runtime
