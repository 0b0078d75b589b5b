// SPDX-License-Identifier: Apache-2.0
// Vector loops over Philox streams: random words, and uniform and normal float32 numbers. A number depends on the
// stream and its place alone: not on the range that it is drawn with, on the thread, or on the instruction set.
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

// a + b * z, where z is uniform in [0, 1), normal, or normal within [-2, 2]; at most `last`.
struct RandomNumbers {
  Distribution distribution;
  double a;
  double b;
  float last = std::numeric_limits<float>::infinity();
};

// Words [begin, end) of the stream, begin a multiple of 4: word i is word i % 4 of block i / 4 of philox().
void random_words(const RandomStream& stream, std::int64_t begin, std::int64_t end, std::uint32_t* out,
                  HotLevel level = hot_level());

// Numbers [begin, end); number i is made of block i. The float64 formulas of the C library, rounded to float32 once:
// see box_muller().
void random_floats(const RandomStream& stream, const RandomNumbers& numbers, std::int64_t begin, std::int64_t end,
                   float* out, HotLevel level = hot_level());

// A normal number from two uniform ones in [0, 1).
double box_muller(double u, double v);

}  // namespace belay::runtime
