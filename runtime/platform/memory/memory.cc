// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/memory/memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

// A sanitizer sees memcpy, but not these stores.
#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BELAY_STREAMING_STORES 1
#include <emmintrin.h>
#else
#define BELAY_STREAMING_STORES 0
#endif

namespace belay::runtime {

void* allocate_aligned(std::size_t bytes) noexcept {
  constexpr std::size_t kAlignment = 64, kHugePage = std::size_t{1} << 21, kLarge = 2 * kHugePage;
  const std::size_t alignment = bytes < kLarge ? kAlignment : kHugePage;
  if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - kHugePage) return nullptr;  // malloc's limit
  const std::size_t size = bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* block = nullptr;
  if (::posix_memalign(&block, alignment, size) != 0) return nullptr;
  // It is an advice: if the kernel does not follow it, the pages are small.
  if (alignment == kHugePage) madvise(block, size / kHugePage * kHugePage, MADV_HUGEPAGE);
  return block;
}

bool has_address_space(std::size_t bytes) noexcept {
  void* there = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (there == MAP_FAILED) return false;
  ::munmap(there, bytes);
  return true;
}

#if BELAY_STREAMING_STORES

namespace {

constexpr std::size_t kLine = 64, kPage = 4096;
constexpr std::size_t kLeast = std::size_t{256} << 10;

// `to` is aligned to a line.
void stream_line(char* to, const char* from) noexcept {
  const auto* source = static_cast<const __m128i*>(static_cast<const void*>(from));
  auto* target = static_cast<__m128i*>(static_cast<void*>(to));
  const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
  const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
}

// Copies whole groups of kPages pages, whose lines take turns. Returns the number of bytes. `to` is aligned to a line.
template <std::size_t kPages>
std::size_t stream_pages(char* to, const char* from, std::size_t bytes) noexcept {
  std::size_t done = 0;
  for (; bytes - done >= kPages * kPage; done += kPages * kPage)
    for (std::size_t line = 0; line < kPage; line += kLine)
      for (std::size_t page = 0; page < kPages; ++page)
        stream_line(to + done + page * kPage + line, from + done + page * kPage + line);
  return done;
}

}  // namespace

void copy_past_caches(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes < kLeast) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return;
  }
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  const std::size_t begin = (kLine - reinterpret_cast<std::uintptr_t>(target) % kLine) % kLine;
  std::memcpy(target, source, begin);
  // Four pages in turns let as many prefetchers of Intel's processors work. AMD's take five times as
  // long for them as for one.
  const bool in_turns = __builtin_cpu_is("intel") != 0;
  const auto stream = in_turns ? stream_pages<4> : stream_pages<1>;
  const std::size_t done = begin + stream(target + begin, source + begin, bytes - begin);
  std::memcpy(target + done, source + done, bytes - done);
  _mm_sfence();  // no other instruction orders these stores
}

#else

void copy_past_caches(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

#endif

}  // namespace belay::runtime
