// SPDX-License-Identifier: Apache-2.0
// Converts float32 to and from the two dtypes of 16 bits, which are stored as std::uint16_t. It rounds to the nearest,
// ties to even. Infinities and NaN stay.
#pragma once

#include <bit>
#include <cstdint>

namespace belay::runtime {

[[gnu::always_inline]] inline std::uint16_t bfloat16_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  const std::uint32_t quiet = bits | 0x00400000;  // rounding could turn a NaN into infinity
  return static_cast<std::uint16_t>((x != x ? quiet : rounded) >> 16);
}
[[gnu::always_inline]] inline float from_bfloat16_bits(std::uint16_t x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16);
}

[[gnu::always_inline]] inline std::uint16_t float16_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  constexpr std::uint32_t kOverflow = 0x477ff000;  // 65520: this and more becomes infinity
  constexpr std::uint32_t kSmallest = 0x38800000;  // 2^-14, the smallest normal number
  // For smaller numbers, adding 0.5 leaves the multiple of 2^-24 in the low bits. The processor has rounded it.
  const auto tiny = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  const std::uint32_t normal = (magnitude - 0x38000000 + 0x0fff + ((magnitude >> 13) & 1)) >> 13;
  std::uint32_t half = magnitude < kSmallest ? tiny : normal;
  half = magnitude >= kOverflow ? 0x7c00 : half;
  half = magnitude > 0x7f800000 ? 0x7e00 : half;
  return static_cast<std::uint16_t>(sign | half);
}
[[gnu::always_inline]] inline float from_float16_bits(std::uint16_t x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x & 0x8000) << 16, magnitude = x & 0x7fff;
  const float tiny = static_cast<float>(magnitude) * 0x1p-24f;
  const std::uint32_t normal = (magnitude << 13) + (magnitude >= 0x7c00 ? 0x70000000 : 0x38000000);
  return std::bit_cast<float>((magnitude < 0x0400 ? std::bit_cast<std::uint32_t>(tiny) : normal) | sign);
}

}  // namespace belay::runtime
