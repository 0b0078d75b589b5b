// SPDX-License-Identifier: Apache-2.0
// The header of a .safetensors file:
//
//   u64 little-endian N | N bytes of JSON | data
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"key": "value"}}
//
// Offsets count from the end of the header and tile the data without a hole. Row-major, little-endian.
#pragma once

#include <belay/plugin.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace belay_safetensors {

// What the format allows; the longest header of a model with a million tensors is about as long.
inline constexpr std::uint64_t kMaxHeader = 100'000'000;
inline constexpr std::uint64_t kLengthBytes = 8;

struct Entry {
  std::string name;
  belay::DType dtype = belay::DType::kInvalid;  // so too where it is of a type that belay does not have
  belay::Dims dims;
  std::uint64_t begin = 0;  // in the data
  std::uint64_t end = 0;
};

// Entries in the order of their data. Every rule of the format is checked, none is taken on trust: a header that breaks
// one is DATA_LOSS and names the tensor. `data_size` is what follows the header in the file.
std::vector<Entry> parse_header(std::string_view json, std::uint64_t data_size);

// What a program writes beside the tensors: texts by key, the key "__metadata__" of the header.
using Metadata = std::map<std::string, std::string>;

// The bytes before the data: length and JSON, padded with spaces so that the data begins at a multiple of 64. `entries`
// are in the order of their data.
std::string format_header(const std::vector<Entry>& entries, const Metadata& metadata);

}  // namespace belay_safetensors
