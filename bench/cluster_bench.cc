// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a cluster plugin's all-reduce by size, as one rank of a group. bench/clusters.py starts all
// ranks.
//
//   bench_cluster PLUGIN.so DIRECTORY      RANK and WORLD_SIZE give its rank, or MPI's mpirun has started it
//
// Rank 0 prints a line {"bytes": 4, "us": 17.3} for each size. The time is the least of the rounds' means, because
// other programs only add time.
#include <belay/testing/testing.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

namespace {

using namespace belay::testing;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 7;

int number(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? -1 : std::atoi(value);
}

// Returns the microseconds of a call.
double least_of(ClusterRank& rank, std::int64_t elements) {
  belay::Tensor values(belay::DType::kFloat32, {elements});
  const int calls = static_cast<int>(std::clamp<std::int64_t>((std::int64_t{1} << 22) / elements, 4, 500));
  rank.all_reduce(values);
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    rank.barrier();
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < calls; ++i) rank.all_reduce(values);
    least = std::min(least, std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / calls);
  }
  return least;
}

int measure(const char* file, const char* directory) {
  const belay_module& module = open_module(file);
  ClusterRank rank(find_table<belay_cluster_api>(module, ""), {}, number("RANK"), number("WORLD_SIZE"), directory);
  const belay::ClusterPlace place = rank.open();
  for (std::int64_t elements = 1; elements <= (std::int64_t{1} << 20); elements *= 16) {
    const double us = least_of(rank, elements);
    if (place.rank == 0) std::printf("{\"bytes\": %lld, \"us\": %.2f}\n", static_cast<long long>(elements) * 4, us);
  }
  rank.barrier();
  rank.close();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "bench_cluster PLUGIN.so DIRECTORY\n");
    return 2;
  }
  try {
    return measure(argv[1], argv[2]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_cluster: %s\n", e.what());
    return 1;
  }
}
