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

// Whether this process may map so many bytes more. Another thread may take them at any time.
bool has_address_space(std::size_t bytes) noexcept;

// As memcpy, for blocks that nobody reads soon: `to` is written past the caches. A line that goes through them is read
// before it is written, half as much traffic again, and pushes out what the caller works with. memcpy goes past them
// only with blocks that are larger than most of the last one, hundreds of MiB where many cores share it. Small blocks
// are copied by memcpy. What is copied is seen by other threads like any other write.
void copy_past_caches(void* to, const void* from, std::size_t bytes) noexcept;

}  // namespace belay::runtime
