// SPDX-License-Identifier: Apache-2.0
// Counts a thread's allocations, to show that a callback makes none. Use the macro once per test program, at namespace
// scope:
//
//   BELAY_COUNT_ALLOCATIONS
//   ...
//   hook.probe_with(allocations);
//   EXPECT_EQ(hook.step().probed, 0u);
//
// It replaces operator new for the whole program, including plugins that it loads. It does not count direct calls of
// malloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace belay {
inline namespace v0 {
namespace testing {

inline std::uint64_t& allocation_count() noexcept {
  static thread_local std::uint64_t count = 0;
  return count;
}
// Number of allocations of this thread, since it began.
inline std::uint64_t allocations() noexcept { return allocation_count(); }

inline void* counted_allocation(std::size_t size, std::size_t alignment) {
  ++allocation_count();
  if (size == 0) size = 1;
  void* p = alignment <= alignof(std::max_align_t)
                ? std::malloc(size)
                : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace testing
}  // namespace v0
}  // namespace belay

// The array forms call these, and so do the other nothrow forms. The address sanitizer has its own nothrow new, which
// does not. They are not inlined: g++ 12 would report a mismatch if it sees only one of a new and a delete.
#define BELAY_ALLOCATION_FUNCTION __attribute__((noinline)) void
#define BELAY_COUNT_ALLOCATIONS                                                                                       \
  BELAY_ALLOCATION_FUNCTION* operator new(std::size_t size) { return ::belay::testing::counted_allocation(size, 1); } \
  BELAY_ALLOCATION_FUNCTION* operator new(std::size_t size, std::align_val_t alignment) {                             \
    return ::belay::testing::counted_allocation(size, static_cast<std::size_t>(alignment));                           \
  }                                                                                                                   \
  BELAY_ALLOCATION_FUNCTION* operator new(std::size_t size, const std::nothrow_t&) noexcept {                         \
    try {                                                                                                             \
      return ::belay::testing::counted_allocation(size, 1);                                                           \
    } catch (const std::bad_alloc&) {                                                                                 \
      return nullptr;                                                                                                 \
    }                                                                                                                 \
  }                                                                                                                   \
  BELAY_ALLOCATION_FUNCTION operator delete(void* p) noexcept { std::free(p); }                                       \
  BELAY_ALLOCATION_FUNCTION operator delete(void* p, std::size_t) noexcept { std::free(p); }                          \
  BELAY_ALLOCATION_FUNCTION operator delete(void* p, std::align_val_t) noexcept { std::free(p); }                     \
  BELAY_ALLOCATION_FUNCTION operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
