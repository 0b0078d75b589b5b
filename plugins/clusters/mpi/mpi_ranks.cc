// SPDX-License-Identifier: Apache-2.0
// mpirun starts `mpi_ranks SCENARIO`: each process is a rank and drives its instance of the plugin. It prints its
// result on one line, "rank 0: ...", for mpi_test.
#include <belay/testing/testing.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "library.h"

extern "C" const belay_module BELAY_MODULE_UNDER_TEST;

namespace {

using namespace belay::testing;
using belay::Dims;
using belay::DType;
using belay::Tensor;

const belay_cluster_api* table() {
  return find_table<belay_cluster_api>(module_under_test(BELAY_MODULE_UNDER_TEST), "");
}

void must(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("not so: " + what);
}

std::string calls(ClusterRank& rank) {
  const belay::ClusterPlace place = rank.open();
  const int me = place.rank, n = place.size;
  rank.barrier();
  Tensor from(Dims{3}, {me + 0.5F, 1.F, 2.F});
  rank.broadcast(from, {.peer = 1});
  must(from.data<float>()[0] == 1.5F, "the broadcast of rank 1 arrives");
  Tensor f(me + 1.F), d(me + 1.), i(std::int64_t{me + 1});
  rank.all_reduce(f);
  rank.all_reduce(d);
  rank.all_reduce(i);
  const int sum = n * (n + 1) / 2;
  must(f.data<float>()[0] == static_cast<float>(sum), "the sum of float32");
  must(d.data<double>()[0] == sum, "the sum of float64");
  must(i.data<std::int64_t>()[0] == sum, "the sum of int64");
  Tensor halves(1.F + std::ldexp(1.F, -9));
  rank.all_reduce(halves, {.wire = DType::kBFloat16});
  must(halves.data<float>()[0] == static_cast<float>(n), "elements are rounded to bfloat16 on the way");
  Tensor mine(Dims{2}, {std::int32_t{me}, std::int32_t{-me}}), all(DType::kInt32, {n, 2});
  rank.all_gather(mine, all);
  for (int r = 0; r < n; ++r)
    must(all.data<std::int32_t>()[2 * r] == r && all.data<std::int32_t>()[2 * r + 1] == -r, "each rank's part");
  Tensor none(DType::kFloat32, {0});
  rank.all_reduce(none);
  Tensor passed(std::int64_t{me}), got(std::int64_t{-1});
  std::thread sending([&] { rank.send(passed, {.tag = 7, .peer = (me + 1) % n}); });
  rank.receive(got, {.tag = 7, .peer = (me + n - 1) % n});
  sending.join();
  must(got.data<std::int64_t>()[0] == (me + n - 1) % n, "a message of the rank before");
  const belay::Subgroup half = rank.split(me % 2);
  must(half.rank == me / 2 && half.size == (n + 1 - me % 2) / 2, "groups are in the order of their ranks");
  Tensor first(std::int32_t{me});
  rank.broadcast(first, {.ranks = half.ranks, .peer = 0});
  must(first.data<std::int32_t>()[0] == me % 2, "a call of a group is the group's alone");
  must(rank.split(me == 0 ? -1 : 0).size == (me == 0 ? 0 : n - 1), "a colour below 0 joins none");
  for (int round = 0; round < 20; ++round) {
    Tensor a(std::int64_t{1}), b(std::int64_t{10});
    std::thread other([&] { rank.all_reduce(me == 0 ? a : b, {.tag = me == 0 ? 1U : 2U}); });
    rank.all_reduce(me == 0 ? b : a, {.tag = me == 0 ? 2U : 1U});
    other.join();
    must(a.data<std::int64_t>()[0] == n && b.data<std::int64_t>()[0] == 10 * n, "calls of two tags in any order");
  }
  must(error_of([&] { rank.broadcast(from, {.peer = n}); }).find("there is no rank " + std::to_string(n)) !=
           std::string::npos,
       "a rank that cannot be is refused");
  rank.barrier();
  rank.close();
  return "all calls";
}

std::string bits(ClusterRank& rank) {
  const belay::ClusterPlace place = rank.open();
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const std::int64_t size : {1, 3, 1000, 4097, 300000}) {
    std::minstd_rand random(static_cast<unsigned>(place.rank + 1));
    Tensor sum(DType::kFloat32, {size});
    float* values = sum.data<float>();
    for (std::int64_t i = 0; i < size; ++i) values[i] = static_cast<float>(random()) * 1e-5F;
    rank.all_reduce(sum);
    const auto* bytes = reinterpret_cast<const unsigned char*>(values);
    for (std::size_t i = 0; i < sizeof(float) * static_cast<std::size_t>(size); ++i)
      hash = (hash ^ bytes[i]) * 1099511628211U;
  }
  rank.barrier();
  rank.close();
  return std::to_string(hash);
}

std::string leaves(ClusterRank& rank) {
  const belay::ClusterPlace place = rank.open();
  if (place.rank == 1) {
    rank.close();
    return "left";
  }
  return error_of([&] { rank.barrier(); });
}

std::string dies(ClusterRank& rank) {
  const belay::ClusterPlace place = rank.open();
  if (place.rank == 1) ::raise(SIGKILL);
  return error_of([&] { rank.barrier(); });
}

pid_t to_kill = 0;  // killed after the line is printed, since the launcher then ends the job

std::string stopped(ClusterRank& rank) {
  rank.timeout(1);
  const belay::ClusterPlace place = rank.open();
  Tensor pid(std::int64_t{::getpid()});
  rank.broadcast(pid, {.peer = 1});
  if (place.rank == 1) ::raise(SIGSTOP);
  const std::string error = error_of([&] { rank.barrier(); });
  to_kill = static_cast<pid_t>(pid.data<std::int64_t>()[0]);
  return error;
}

std::string busy(ClusterRank& rank) {
  rank.timeout(1);
  const belay::ClusterPlace place = rank.open();
  if (place.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  rank.barrier();
  rank.close();
  return "met";
}

std::string aborted(ClusterRank& rank) {
  const belay::ClusterPlace place = rank.open();
  std::string error;
  if (place.rank == 0) {
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      rank.abort();
    });
    error = error_of([&] { rank.barrier(); });
    other.join();
  }
  return error;
}

std::string late(ClusterRank& rank) {
  const belay::ClusterPlace place = rank.open();
  if (place.rank == 0) return error_of([&] { rank.barrier({.timeout_secs = 0.2}); });
  return "does not call";
}

// The program makes a communicator with the ranks in the opposite order.
std::string communicator() {
  int threads = 0, rank = 0, size = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm turned;
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &turned);
  std::string found;
  {
    int turned_rank = 0;
    MPI_Comm_rank(turned, &turned_rank);
    ClusterRank other(table(), {{"communicator", std::int64_t{MPI_Comm_c2f(turned)}}}, (turned_rank + 1) % size, size,
                      "");
    const std::string refused = error_of([&] { other.open(); });
    must(refused.find("which is rank " + std::to_string(turned_rank) + " of " + std::to_string(size) +
                      " in the communicator that it has handed in") != std::string::npos,
         "a place that is not the communicator's is refused");
    ClusterRank cluster(table(), {{"communicator", std::int64_t{MPI_Comm_c2f(turned)}}}, turned_rank, size, "");
    const belay::ClusterPlace place = cluster.open();
    Tensor sum(std::int64_t{place.rank});
    cluster.all_reduce(sum);
    must(sum.data<std::int64_t>()[0] == size * (size - 1) / 2, "the sum over the program's communicator");
    cluster.barrier();
    cluster.close();
    found = "is " + std::to_string(place.rank);
  }
  MPI_Finalize();
  return found;
}

}  // namespace

int main(int, char** argv) {
  const std::string name = argv[1];
  const char* said = std::getenv("OMPI_COMM_WORLD_RANK");
  if (said == nullptr) said = std::getenv("PMI_RANK");
  std::string found;
  try {
    if (name == "communicator") {
      found = communicator();
    } else {
      ClusterRank rank(table(), {}, -1, -1, "");
      const struct {
        const char* name;
        std::string (*run)(ClusterRank&);
      } scenarios[] = {{"calls", calls},     {"bits", bits}, {"leaves", leaves}, {"dies", dies},
                       {"stopped", stopped}, {"busy", busy}, {"late", late},     {"aborted", aborted}};
      for (const auto& s : scenarios)
        if (name == s.name) found = s.run(rank);
    }
  } catch (const std::exception& e) {
    found = e.what();
  }
  std::cout << "rank " + std::string(said == nullptr ? "?" : said) + ": " + found + "\n" << std::flush;
  if (to_kill > 0) ::kill(to_kill, SIGKILL);
  return 0;
}
