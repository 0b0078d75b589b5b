// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/threads/floating_point.h"

#include <vector>

#include "runtime/platform/text/text.h"

namespace belay::runtime {

std::string mode_change_text(std::uint32_t vector_before, std::uint32_t vector_after, bool x87_changed) {
#if defined(__x86_64__)
  constexpr std::uint32_t kDenormals = 0x8040, kRounding = 0x6000, kTraps = 0x1f80;
#else
  constexpr std::uint32_t kDenormals = 1u << 24, kRounding = 3u << 22, kTraps = 0x9f00;
#endif
  const std::uint32_t changed = vector_before ^ vector_after;
  std::vector<std::string> parts;
  if ((changed & kDenormals) != 0) parts.emplace_back("flush-to-zero");
  if ((changed & kRounding) != 0) parts.emplace_back("rounding");
  if ((changed & kTraps) != 0) parts.emplace_back("traps");
  if (x87_changed) parts.emplace_back("x87 control word");
  return "the floating-point mode (" + joined(parts) + ")";
}

}  // namespace belay::runtime
