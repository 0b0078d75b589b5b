// SPDX-License-Identifier: Apache-2.0
// Compares the digest of a state (belay/state_digest.h) with reading the same memory once, by turns on one thread:
// `bench_digest [MIB [ROUNDS]]`. It prints the best round of each, because other programs only make rounds slower.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "belay/state_digest.h"

namespace {

// Reads every word once into sixteen sums that do not wait for each other, so it is as fast as memory.
std::uint64_t read_all(const std::uint64_t* words, std::size_t n) {
  constexpr std::size_t kSums = 16;
  std::uint64_t sums[kSums] = {};
  for (std::size_t i = 0; i + kSums <= n; i += kSums)
    for (std::size_t j = 0; j < kSums; ++j) sums[j] ^= words[i + j];
  std::uint64_t all = 0;
  for (const std::uint64_t s : sums) all ^= s;
  return all;
}

// Returns the processor time, so that the share of other programs does not count.
double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class F>
double seconds_of(const F& f) {
  const double begin = processor_seconds();
  f();
  return processor_seconds() - begin;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t mib = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  const std::size_t words = (mib << 20) / sizeof(std::uint64_t);
  std::vector<std::uint64_t> memory(words);
  std::uint64_t state = 1;
  for (std::uint64_t& word : memory) word = state = state * 6364136223846793005u + 1442695040888963407u;
  const belay::Dims dims{static_cast<std::int64_t>(words * 2)};
  belay_tensor raw{};
  raw.dtype = static_cast<std::int32_t>(belay::DType::kFloat32);
  raw.rank = 1;
  raw.dims = dims.data();
  raw.data = memory.data();
  const belay::TensorView tensor(raw);
  double read = 1e9, digest = 1e9;
  std::uint64_t kept = 0;
  for (int round = 0; round < rounds; ++round) {
    read = std::min(read, seconds_of([&] { kept ^= read_all(memory.data(), words); }));
    digest = std::min(digest, seconds_of([&] {
                        belay::StateDigest d;
                        d.add("w", tensor);
                        kept += d.text().size();
                      }));
  }
  const double gib = static_cast<double>(mib) / 1024;
  std::printf("read %.2f GiB/s, digest %.2f GiB/s, digest to read %.3f (%llu)\n", gib / read, gib / digest,
              digest / read, static_cast<unsigned long long>(kept % 10));
  return 0;
}
