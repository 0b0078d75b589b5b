// SPDX-License-Identifier: Apache-2.0
// The file `index` of a checkpoint: what belongs to it, with lengths and checksums. Written by the host, last of all
// files; JSON with one file or tensor per line, so that two can be compared by eye and by diff.
//
//   {
//    "format": 1,
//    "writer": "belay 0.1.0",
//    "saver": {"name":"safetensors","version":"1.0.0"},
//    "graph_hash": "5c0e...",
//    "global_step": 2000,
//    "files": [
//     {"name":"model.safetensors","length":407096,"crc32c":"0e5d3e2a"},
//     {"name":"state","length":512,"crc32c":"89ab01ff"}
//    ],
//    "tensors": [
//     {"name":"hidden/kernel","dtype":"float32","shape":[784,128],"crc32c":"77aa5501"}
//    ],
//    "crc32c": "e3069283"
//   }
//
// The last line's CRC32C is that of every byte before `,\n "crc32c": "`, so a flipped bit anywhere shows. Later formats
// keep "format", "writer" and the last two lines as they are here. [any thread]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/content.h"

namespace belay::runtime {

class JsonFields;

inline constexpr std::int64_t kIndexFormat = 1;
// Beyond them an index is neither read nor written: bytes, and values and keys of its JSON. 300,000 tensors with four
// dimensions and names of 120 bytes have room.
inline constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{64} << 20;
inline constexpr std::size_t kMaxIndexValues = 4'000'000;

struct FileEntry {
  std::string name;
  std::uint64_t length = 0;
  std::uint32_t crc32c = 0;
  bool operator==(const FileEntry&) const = default;
};

struct TensorEntry : TensorInfo {
  std::uint32_t crc32c = 0;  // of its bytes in memory, row-major and little-endian
  bool operator==(const TensorEntry&) const = default;
};

struct CheckpointIndex {
  std::string saver;
  std::string saver_version;
  std::string graph_hash;
  std::int64_t global_step = 0;
  std::vector<FileEntry> files;      // all but the index itself
  std::vector<TensorEntry> tensors;  // in the order saved
  bool operator==(const CheckpointIndex&) const = default;
};

// What the format has no place for (a name that is no UTF-8, too many entries) is INVALID_ARGUMENT or
// RESOURCE_EXHAUSTED.
std::string format_index(const CheckpointIndex& index);

// Before a run trains: RESOURCE_EXHAUSTED, with their number, if no index has room for these variables.
void check_index_holds(const std::vector<TensorInfo>& variables);

// Damage of any kind is DATA_LOSS; the index of a later format is FAILED_PRECONDITION and names the belay that wrote
// it.
CheckpointIndex parse_index(std::string_view text);

// Of an entry that describes a tensor: "dtype" and "shape", of a type that is stored and a size that can be counted;
// and "crc32c". DATA_LOSS names the field.
TensorInfo parse_form(const JsonFields& fields);
std::uint32_t parse_crc(const JsonFields& fields);

}  // namespace belay::runtime
