// SPDX-License-Identifier: Apache-2.0
// A loop over rows of a large table asks the memory for later rows before it needs them. So the cache misses overlap.
#pragma once

#include <algorithm>
#include <cstdint>

namespace belay::runtime {

inline constexpr std::int64_t kRowsAhead = 8;

// Asks for the first lines of a row. The processor fetches the rest of a long row by itself.
inline void prefetch_row(const void* row, std::int64_t bytes) noexcept {
  constexpr std::int64_t kLine = 64, kMost = 8 * kLine;
  for (std::int64_t at = 0; at < std::min(bytes, kMost); at += kLine)
    __builtin_prefetch(static_cast<const char*>(row) + at);
}

}  // namespace belay::runtime
