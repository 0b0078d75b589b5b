// SPDX-License-Identifier: Apache-2.0
// The header of a .safetensors file:
//
//   u64 little-endian N | N bytes of JSON | data
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"key": "value"}}
//
// Offsets count from the end of the header and cover the data without a gap. Data are row-major and little-endian.
#pragma once

#include <belay/plugin.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace belay_safetensors {

// The limit of the format. A model with a million tensors has a header of about this length.
inline constexpr std::uint64_t kMaxHeader = 100'000'000;
inline constexpr std::uint64_t kLengthBytes = 8;

struct Entry {
  std::string name;
  belay::DType dtype = belay::DType::kInvalid;  // also if Belay does not have the type
  belay::Dims dims;
  std::uint64_t begin = 0;  // in the data
  std::uint64_t end = 0;
};

// Returns the entries in the order of their data. It checks every rule of the format. DATA_LOSS names the tensor that
// breaks one. `data_size` is the number of bytes after the header in the file.
std::vector<Entry> parse_header(std::string_view json, std::uint64_t data_size);

// A program's texts by key, in the header's key "__metadata__".
using Metadata = std::map<std::string, std::string>;

// Returns the bytes before the data: length and JSON. Spaces pad them so that the data begins at a multiple of 64.
// `entries` are in the order of their data.
std::string format_header(const std::vector<Entry>& entries, const Metadata& metadata);

}  // namespace belay_safetensors
