// SPDX-License-Identifier: Apache-2.0
// The framing of record files. They are little-endian and have only records, one after the other:
//
//   u64 length | u32 masked CRC32C of the length | data | u32 masked CRC32C of the data
//
// [any thread]
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace belay::runtime {

inline constexpr std::size_t kRecordHead = 12, kRecordFoot = 4;

// Writes the frame around `size` bytes of data, which begin kRecordHead after `record`.
void frame_record(char* record, std::size_t size);

// Returns the size of the framed record that begins here, with its frame.
std::size_t record_size(const char* record);

// Appends one framed record to `out`.
void append_record(std::string& out, std::string_view data);

}  // namespace belay::runtime
