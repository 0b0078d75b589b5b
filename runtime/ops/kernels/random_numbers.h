// SPDX-License-Identifier: Apache-2.0
// Vector loops over Philox streams: random words, and uniform and normal float32 numbers. A number depends only on the
// stream and its index. The range of the call, the thread and the instruction set do not matter.
#pragma once

#include <cstdint>
#include <limits>

#include "runtime/ops/kernels/hot.h"

namespace belay::runtime {

struct RandomStream {
  std::uint64_t key;
  std::uint64_t step;
};

enum class Distribution { kUniform, kNormal, kTruncatedNormal };

// The numbers are a + b * z, at most `last`. z is uniform in [0, 1), normal, or normal within [-2, 2].
struct RandomNumbers {
  Distribution distribution;
  double a;
  double b;
  float last = std::numeric_limits<float>::infinity();
};

// Writes words [begin, end) of the stream to `out`; begin is a multiple of 4. Word i is word i % 4 of block i / 4 of
// philox().
void random_words(const RandomStream& stream, std::int64_t begin, std::int64_t end, std::uint32_t* out,
                  HotLevel level = hot_level());

// Writes numbers [begin, end) to `out`; number i is made of block i. They are the C library's float64 formulas, rounded
// once to float32: see box_muller().
void random_floats(const RandomStream& stream, const RandomNumbers& numbers, std::int64_t begin, std::int64_t end,
                   float* out, HotLevel level = hot_level());

// Makes a normal number from two uniform ones in [0, 1).
double box_muller(double u, double v);

}  // namespace belay::runtime
