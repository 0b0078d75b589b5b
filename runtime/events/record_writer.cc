// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/record_writer.h"

#include <cstdint>

#include "runtime/platform/crc32c.h"

namespace belay::runtime {
namespace {

template <class T>
void append_little_endian(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace

void append_record(std::string& out, std::string_view data) {
  const std::size_t begin = out.size();
  append_little_endian(out, static_cast<std::uint64_t>(data.size()));
  append_little_endian(out, masked_crc(crc32c(out.data() + begin, 8)));
  out += data;
  append_little_endian(out, masked_crc(crc32c(data)));
}

}  // namespace belay::runtime
