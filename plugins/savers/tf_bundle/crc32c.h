// SPDX-License-Identifier: Apache-2.0
// The checksum in the files of TensorFlow and LevelDB.
#pragma once

#include <isa-l/crc.h>

#include <algorithm>
#include <cstdint>

namespace tf_bundle {

// Continues the checksum `crc` of earlier bytes with these bytes. crc32c("123456789", 9) is 0xe3069283.
inline std::uint32_t crc32c(const void* data, std::uint64_t size, std::uint32_t crc = 0) {
  // The library takes an int and a pointer without const, but changes nothing.
  auto* at = const_cast<unsigned char*>(static_cast<const unsigned char*>(data));
  while (size > 0) {
    const auto part = static_cast<int>(std::min<std::uint64_t>(size, std::uint64_t{1} << 30));
    crc = ~crc32_iscsi(at, part, ~crc);
    at += part;
    size -= static_cast<std::uint64_t>(part);
  }
  return crc;
}

// The stored form. With it a checksum over bytes that contain a checksum is no special case.
constexpr std::uint32_t masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8; }

}  // namespace tf_bundle
