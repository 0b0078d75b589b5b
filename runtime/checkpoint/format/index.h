// SPDX-License-Identifier: Apache-2.0
// The file `index` of a checkpoint: its parts with lengths and checksums. The host writes it last of all files. It is
// JSON with one file or tensor per line. So two can be compared by eye and by diff.
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
// keep "format", "writer" and the last two lines. [any thread]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/format/content.h"

namespace belay::runtime {

class JsonFields;

inline constexpr std::int64_t kIndexFormat = 1;
// An index above these limits is neither read nor written: its bytes, and the values and keys of its JSON. They have
// room for 300,000 tensors with four dimensions and names of 120 bytes.
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

// INVALID_ARGUMENT or RESOURCE_EXHAUSTED: the format has no place for the content (a name that is no UTF-8, too many
// entries).
std::string format_index(const CheckpointIndex& index);

// Call it before a run trains. RESOURCE_EXHAUSTED has their number: no index has room for these variables.
void check_index_holds(const std::vector<TensorInfo>& variables);

// DATA_LOSS: it is damaged in any way. FAILED_PRECONDITION names the belay that wrote it: it has a later format.
CheckpointIndex parse_index(std::string_view text);

// Reads an entry that describes a tensor: "dtype" and "shape", of a stored type and a countable size; and "crc32c".
// DATA_LOSS names the field.
TensorInfo parse_form(const JsonFields& fields);
std::uint32_t parse_crc(const JsonFields& fields);

}  // namespace belay::runtime
