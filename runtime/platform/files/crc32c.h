// SPDX-License-Identifier: Apache-2.0
// Computes CRC32C (Castagnoli) with ISA-L. [any thread]
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::runtime {

// Returns the CRC of `size` bytes; size may be any number. `before` is the result for earlier bytes, so that pieces
// chain.
std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t before = 0) noexcept;
inline std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0) noexcept {
  return crc32c(bytes.data(), bytes.size(), before);
}

// Returns the form in record files. A CRC over bytes that include their CRC would find little.
constexpr std::uint32_t masked_crc(std::uint32_t crc) noexcept { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

// Formats eight lower-case hexadecimal digits. parse_crc accepts only these.
std::string crc_text(std::uint32_t crc);
std::optional<std::uint32_t> parse_crc(std::string_view text) noexcept;

}  // namespace belay::runtime
