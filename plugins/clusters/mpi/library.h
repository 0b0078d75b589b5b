// SPDX-License-Identifier: Apache-2.0
// MPI in this process. The program or make_ready makes it ready, once. If make_ready did, it ends with the process.
// This source fits every MPI, since it calls only functions of the standard 3.1.
#pragma once

#define OMPI_SKIP_MPICXX 1  // no C++ bindings, which left the standard
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string>

namespace belay_mpi {

// Makes MPI ready if it is not. FAILED_PRECONDITION: it has ended already, or the program has made it ready for fewer
// threads than a run has. [main]
void make_ready();

// A call has failed or was broken off. This process does not call MPI any more. SIGTERM ends it at its exit, so that
// the launcher ends the job. [any]
void give_up() noexcept;
bool given_up() noexcept;

// Throws INTERNAL with our words and then MPI's, unless `result` is MPI_SUCCESS. `what`: "MPI_Ibcast".
void check(int result, const char* what);

}  // namespace belay_mpi
