// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/files/crc32c.h"

#include <immintrin.h>
#include <isa-l/crc.h>

#include <algorithm>

namespace belay::runtime {
namespace {

// ISA-L leaves the upper halves of the vector registers in use. The caller's next code without AVX is slow then. An
// event with an image took 210 ns, and takes 90 ns (Sapphire Rapids).
__attribute__((target("avx"))) void clear_upper_halves() noexcept { _mm256_zeroupper(); }

}  // namespace

std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t before) noexcept {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // the library counts in int
  auto* at = static_cast<unsigned char*>(const_cast<void*>(data));
  std::uint32_t crc = ~before;
  while (size != 0) {
    const std::size_t n = std::min(size, kMost);
    crc = crc32_iscsi(at, static_cast<int>(n), crc);
    at += n;
    size -= n;
  }
  if (__builtin_cpu_supports("avx")) clear_upper_halves();
  return ~crc;
}

std::string crc_text(std::uint32_t crc) {
  std::string text(8, '0');
  for (std::size_t i = 8; i-- != 0; crc >>= 4) text[i] = "0123456789abcdef"[crc & 15];
  return text;
}

std::optional<std::uint32_t> parse_crc(std::string_view text) noexcept {
  if (text.size() != 8) return std::nullopt;
  std::uint32_t crc = 0;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'a' && c <= 'f')) return std::nullopt;
    crc = crc << 4 | static_cast<std::uint32_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return crc;
}

}  // namespace belay::runtime
