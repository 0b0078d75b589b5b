// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/record_writer.h"

#include <cstdint>

#include "runtime/platform/files/crc32c.h"

namespace belay::runtime {
namespace {

template <class T>
void put_little_endian(char* to, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace

void frame_record(char* record, std::size_t size) {
  put_little_endian(record, static_cast<std::uint64_t>(size));
  put_little_endian(record + 8, masked_crc(crc32c(record, 8)));
  put_little_endian(record + kRecordHead + size, masked_crc(crc32c(record + kRecordHead, size)));
}

std::size_t record_size(const char* record) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < sizeof(std::uint64_t); ++i)
    size |= static_cast<std::size_t>(static_cast<unsigned char>(record[i])) << (8 * i);
  return kRecordHead + size + kRecordFoot;
}

void append_record(std::string& out, std::string_view data) {
  const std::size_t begin = out.size();
  out.append(kRecordHead, '\0').append(data).append(kRecordFoot, '\0');
  frame_record(out.data() + begin, data.size());
}

}  // namespace belay::runtime
