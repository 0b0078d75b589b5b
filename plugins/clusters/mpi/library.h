// SPDX-License-Identifier: Apache-2.0
// MPI in this process: made ready once, by the program or here, and ended at the process's end if it was made ready
// here. One source for every MPI: what is called is of the standard 3.1.
#pragma once

#define OMPI_SKIP_MPICXX 1  // the C++ bindings, which left the standard
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string>

namespace belay_mpi {

// Makes MPI ready where it is not. FAILED_PRECONDITION: it has ended already, or the program has made it ready for
// fewer threads than a run has. [main]
void make_ready();

// A call has failed or was left in the middle: MPI is not called any more by this process, which SIGTERM ends at its
// exit, so that the launcher ends the job. [any]
void give_up() noexcept;
bool given_up() noexcept;

// Throws INTERNAL with MPI's own words behind ours unless `result` is MPI_SUCCESS. `what`: "MPI_Ibcast".
void check(int result, const char* what);

}  // namespace belay_mpi
