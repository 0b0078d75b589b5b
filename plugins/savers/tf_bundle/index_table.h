// SPDX-License-Identifier: Apache-2.0
// The .index file in LevelDB's table format, read and written by LevelDB.
//
//   data blocks | metaindex block | index block | footer of 48 bytes
//
// A checksum follows each block. The parts of the file follow each other without a gap, which is checked here. So no
// changed byte can pass.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tf_bundle {

// Keys and values, in the order of the file.
using Records = std::vector<std::pair<std::string, std::string>>;

// Reads no byte outside `file`, for any lengths in it. DATA_LOSS names the fault and its place.
Records read_table(std::string_view file);

// Uses TensorFlow's settings, so the same records become the same bytes as in TensorFlow. Keys ascend.
std::string write_table(const Records& records);

}  // namespace tf_bundle
