// SPDX-License-Identifier: Apache-2.0
// Memory for tensors. [any thread]
#pragma once

#include <cstddef>

namespace belay::runtime {

// Aligned to 64 bytes at least, elements not set; null where there is none. std::free() takes it back.
//
// The kernel clears each page before a program sees it. Large blocks ask for huge pages, where that takes a fifth of
// the time or less; a system that has none uses small ones.
void* allocate_aligned(std::size_t bytes) noexcept;

}  // namespace belay::runtime
