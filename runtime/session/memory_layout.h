// SPDX-License-Identifier: Apache-2.0
// Places each value of a stage in the stage's arena. Values share memory if their lives do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belay::runtime {

// A value needs `bytes` from step `first`, its write, to step `last`, its last use, both included.
struct Lifetime {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::size_t bytes = 0;
};

struct MemoryLayout {
  std::vector<std::size_t> offsets;  // by value; multiples of 64
  std::size_t bytes = 0;
  std::size_t bound = 0;  // the most bytes in use at one step; no layout can be smaller
};

// Places up to some thousand values one by one. Large and long-lived ones come first, each at the lowest offset free
// over its life. For more values it goes by time with a list of free blocks. So the cost stays n log n.
MemoryLayout lay_out(const std::vector<Lifetime>& values);

}  // namespace belay::runtime
