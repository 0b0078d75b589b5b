// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a counter-based
// generator. The same key and counter make the same numbers, in any order and on any thread. So a stream has no state
// to save: a resumed run draws the same numbers.
//
//   const std::uint64_t key = mix_key(seed, stream_id("augmentation"));
//   PhiloxSequence random(key, example);                       // its own numbers for each example, in any order
//   const bool mirrored = random.uniform() < 0.5;
//   const std::uint64_t left = random.below(5);                // 0 ... 4
//
//   for (std::int64_t i = begin; i < end; ++i)                 // in OpRun::parallel: the counter is the element
//     y[i] = uniform_float(philox(run.seed(), i, run.counter())[0]);
//
// The host's random operations and the first-party inputs use it: key = seed and name, counter = step or example. Do
// not use it for secrets. All functions work on any thread.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace belay {
inline namespace v0 {

// The result for one counter: 128 bits.
using PhiloxBlock = std::array<std::uint32_t, 4>;

// Returns four random words for one counter of 128 bits, in two halves. Two counters that differ in any bit have
// independent words. So use one half for the element and the other for the stream.
inline PhiloxBlock philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high) noexcept {
  constexpr std::uint64_t kM0 = 0xD2511F53u, kM1 = 0xCD9E8D57u;
  constexpr std::uint32_t kW0 = 0x9E3779B9u, kW1 = 0xBB67AE85u;
  auto c0 = static_cast<std::uint32_t>(counter_low), c1 = static_cast<std::uint32_t>(counter_low >> 32);
  auto c2 = static_cast<std::uint32_t>(counter_high), c3 = static_cast<std::uint32_t>(counter_high >> 32);
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kM0 * c0, p1 = kM1 * c2;
    const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const std::uint32_t n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(p1);
    c3 = static_cast<std::uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += kW0;
    k1 += kW1;
  }
  return {c0, c1, c2, c3};
}

// 64-bit FNV-1a: a name as part of a key. It is the same on every machine and in every version.
constexpr std::uint64_t stream_id(std::string_view name) noexcept {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

// Mixes two 64-bit numbers into a key (the finalizer of splitmix64 over their combination). It is not symmetric:
// mix_key(a, b) differs from mix_key(b, a). For three numbers use mix_key(mix_key(a, b), c).
constexpr std::uint64_t mix_key(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t z = a + 0x9e3779b97f4a7c15u * (b + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Converts a word to [0, 1), 24 bits: the multiples of 2^-24, never 1.
inline float uniform_float(std::uint32_t word) noexcept { return static_cast<float>(word >> 8) * 0x1p-24f; }
// Converts two words to [0, 1), 53 bits: the multiples of 2^-53.
inline double uniform_double(std::uint32_t high, std::uint32_t low) noexcept {
  const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32) | low;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// A sequence of numbers from one key and one counter half. It counts with 64 bits, so it does not repeat. A copy
// continues at the same place; one object is for one thread. It is cheap to make. Make one for each example, with the
// example's number as stream: then noise does not depend on threads and batches.
class PhiloxSequence {
 public:
  // `stream` distinguishes sequences of one key, such as an epoch or an example.
  PhiloxSequence(std::uint64_t key, std::uint64_t stream) noexcept : key_(key), stream_(stream) {}
  // The next 32 random bits; one in four calls computes a block.
  std::uint32_t next() noexcept {
    if (used_ == 4) {
      block_ = philox(key_, counter_++, stream_);
      used_ = 0;
    }
    return block_[used_++];
  }
  // A number in [0, n), n at least 1, without bias (rejection). It takes two words, seldom more.
  std::uint64_t below(std::uint64_t n) noexcept {
    for (;;) {
      const std::uint64_t v = (static_cast<std::uint64_t>(next()) << 32) | next();
      // The limit is at least 2^64 - n, so the second division is seldom needed.
      if (v < std::uint64_t{0} - n || v < ~std::uint64_t{0} - ~std::uint64_t{0} % n) return v % n;
    }
  }
  // A number in [0, 1), from two words.
  double uniform() noexcept {
    const std::uint32_t high = next();
    return uniform_double(high, next());
  }
  // A standard normal number (Box-Muller, the cosine branch): from two uniform numbers, so always four words. 1 -
  // uniform() is never 0, whose logarithm would be infinite.
  double normal() noexcept {
    const double u = 1 - uniform();
    return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * uniform());
  }

 private:
  std::uint64_t key_;
  std::uint64_t stream_;
  std::uint64_t counter_ = 0;
  PhiloxBlock block_{};
  int used_ = 4;
};

}  // namespace v0
}  // namespace belay
