// SPDX-License-Identifier: Apache-2.0
// A tensor of strings in a data file:
//
//   varint64 length of each | masked checksum of the lengths | the bytes of each
//
// Checksums are over the lengths as 32-bit numbers (64-bit if one is longer), not over the varints. The entry's
// checksum continues over the stored checksum and the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tf_bundle {

struct EncodedStrings {
  std::string bytes;
  std::uint32_t crc = 0;  // masked
};
EncodedStrings encode_strings(const std::vector<std::string_view>& strings);

// Returns `count` views of `bytes`. DATA_LOSS names the fault, for a message that begins with the tensor's name. `crc`
// is the entry's.
std::vector<std::string_view> decode_strings(std::string_view bytes, std::uint64_t count, std::uint32_t crc,
                                             bool big_endian);

}  // namespace tf_bundle
