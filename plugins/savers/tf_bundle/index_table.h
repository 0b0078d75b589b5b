// SPDX-License-Identifier: Apache-2.0
// The .index file: LevelDB's table format, read and written by LevelDB.
//
//   data blocks | metaindex block | index block | footer of 48 bytes
//
// Each block has a checksum behind it. The file's parts follow each other without a gap, which is checked here, so
// there is no byte whose change would pass.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tf_bundle {

// Key and value, in the order of the file.
using Records = std::vector<std::pair<std::string, std::string>>;

// Reads no byte outside `file`, whatever its own lengths say. DATA_LOSS with what is wrong and where.
Records read_table(std::string_view file);

// With TensorFlow's settings, so that the same records are the same bytes as TensorFlow writes. Keys ascend.
std::string write_table(const Records& records);

}  // namespace tf_bundle
