// SPDX-License-Identifier: Apache-2.0
// Memory for tensors. [any thread]
#pragma once

#include <cstddef>

namespace belay::runtime {

// Returns memory aligned to at least 64 bytes, elements not set; null: there is none. std::free() frees it.
//
// The kernel clears each page before a program sees it. Large blocks ask for huge pages, which take a fifth of the time
// or less. A system without them uses small ones.
void* allocate_aligned(std::size_t bytes) noexcept;

// True if this process may map this many bytes more. Another thread may take them at any time.
bool has_address_space(std::size_t bytes) noexcept;

// Works like memcpy, for blocks without a reader soon: `to` is written past the caches. A line in a cache is read
// before it is written. That is half as much traffic again, and it pushes out the caller's data. memcpy goes past the
// caches only for blocks larger than most of the last one. That is hundreds of MiB if many cores share it. Small blocks
// use memcpy. Other threads see the copy like any other write.
void copy_past_caches(void* to, const void* from, std::size_t bytes) noexcept;

}  // namespace belay::runtime
