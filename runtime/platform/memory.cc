// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace belay::runtime {

void* allocate_aligned(std::size_t bytes) noexcept {
  constexpr std::size_t kAlignment = 64, kHugePage = std::size_t{1} << 21, kLarge = 2 * kHugePage;
  const std::size_t alignment = bytes < kLarge ? kAlignment : kHugePage;
  if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - kHugePage) return nullptr;  // malloc's own limit
  const std::size_t size = bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* block = nullptr;
  if (::posix_memalign(&block, alignment, size) != 0) return nullptr;
  // Advice: where it is not taken the pages are small.
  if (alignment == kHugePage) madvise(block, size / kHugePage * kHugePage, MADV_HUGEPAGE);
  return block;
}

}  // namespace belay::runtime
