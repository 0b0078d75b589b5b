// SPDX-License-Identifier: Apache-2.0
// mpi_program MANIFEST, started by mpirun: a program with its own main, whose last two processes train together, the
// last one as the chief; the others do something unrelated. Prints a line for each of the two, "process 2 of 3: rank 0,
// status 0 at step 100".
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <belay/runtime/run.h>
#include <mpi.h>

#include <cstdio>
#include <string>

namespace {

int train(const std::string& manifest, int process, int processes, MPI_Comm ranks) {
  belay::ProcessPlace place;
  MPI_Comm_rank(ranks, &place.rank);
  MPI_Comm_size(ranks, &place.size);
  const std::string number = std::to_string(MPI_Comm_c2f(ranks));
  belay::ManifestRun run(
      manifest,
      {.sets = {"cluster.communicator=" + number}, .plugin_path = {BELAY_BINARY_DIR "/plugins"}, .place = place});
  const belay::RunReport report = run.run();
  std::printf("process %d of %d: rank %d, status %d at step %lld %s\n", process, processes, place.rank,
              static_cast<int>(report.status), static_cast<long long>(report.global_step), report.error.c_str());
  return static_cast<int>(report.status);
}

}  // namespace

int main(int, char** argv) {
  int threads = 0, process = 0, processes = 0, status = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads);
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  // One of them has a communicator more than the other, so the numbers of those that they hand in differ.
  MPI_Comm another = MPI_COMM_NULL, ranks = MPI_COMM_NULL;
  if (process == processes - 1) MPI_Comm_dup(MPI_COMM_SELF, &another);
  MPI_Comm_split(MPI_COMM_WORLD, process >= processes - 2 ? 0 : MPI_UNDEFINED, -process, &ranks);
  if (ranks != MPI_COMM_NULL) {
    status = train(argv[1], process, processes, ranks);
    MPI_Comm_free(&ranks);
  }
  if (another != MPI_COMM_NULL) MPI_Comm_free(&another);
  MPI_Finalize();
  return status;
}
