// SPDX-License-Identifier: Apache-2.0
#include "zip_writer.h"

#include <isa-l/crc.h>

#include <algorithm>

#include "npz_format.h"

namespace npz_saver {
namespace {

constexpr std::uint64_t kLong = 0xffffffff;  // in a field of 32 bits: the zip64 part has the value
constexpr std::uint64_t kVersion = 20, kLongVersion = 45;
constexpr std::uint64_t kUtf8 = 0x800;
constexpr std::uint64_t kFirstDay = 0x21;  // 1980-01-01, the earliest possible date

// A sequence of little-endian fields.
class Fields {
 public:
  Fields& u16(std::uint64_t v) { return put(v, 2); }
  Fields& u32(std::uint64_t v) { return put(v, 4); }
  Fields& u64(std::uint64_t v) { return put(v, 8); }
  Fields& short_or_long(std::uint64_t v) { return u32(std::min(v, kLong)); }
  Fields& text(std::string_view t) {
    bytes += t;
    return *this;
  }
  std::string bytes;

 private:
  Fields& put(std::uint64_t v, int n) {
    for (int i = 0; i < n; ++i) bytes += static_cast<char>(v >> (8 * i));
    return *this;
  }
};

// Returns the zip64 part: the values that do not fit a field of 32 bits.
std::string zip64_part(std::initializer_list<std::uint64_t> values) {
  Fields longs;
  for (const std::uint64_t v : values)
    if (v >= kLong) longs.u64(v);
  if (longs.bytes.empty()) return "";
  return Fields().u16(1).u16(longs.bytes.size()).text(longs.bytes).bytes;
}

}  // namespace

void ZipWriter::write(std::string_view bytes) {
  file_.write(bytes.data(), bytes.size());
  at_ += bytes.size();
}

void ZipWriter::add(std::string_view name, std::string_view head, const void* data, std::uint64_t size) {
  const std::uint64_t begin = at_, total = head.size() + size;
  std::uint32_t crc = crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(head.data()), head.size());
  if (size != 0) crc = crc32_gzip_refl(crc, static_cast<const unsigned char*>(data), size);
  const std::string local_part = zip64_part({total, total});
  const std::string central_part = zip64_part({total, total, begin});
  const auto common = [&](const std::string& part) {
    return Fields()
        .u16(part.empty() ? kVersion : kLongVersion)
        .u16(is_ascii(name) ? 0 : kUtf8)
        .u16(0)  // stored
        .u16(0)
        .u16(kFirstDay)
        .u32(crc)
        .short_or_long(total)
        .short_or_long(total)
        .u16(name.size())
        .u16(part.size())
        .bytes;
  };
  write(Fields().u32(0x04034b50).text(common(local_part)).text(name).text(local_part).bytes);
  write(head);
  file_.write(data, size);
  at_ += size;
  constexpr std::uint64_t kUnix = 3 << 8, kPlainFile = std::uint64_t{0100644} << 16;
  directory_ += Fields()
                    .u32(0x02014b50)
                    .u16(kUnix | kLongVersion)
                    .text(common(central_part))
                    .u16(0)  // comment
                    .u16(0)  // disk
                    .u16(0)
                    .u32(kPlainFile)
                    .short_or_long(begin)
                    .text(name)
                    .text(central_part)
                    .bytes;
  ++entries_;
}

void ZipWriter::finish() {
  const std::uint64_t begin = at_, size = directory_.size();
  write(directory_);
  constexpr std::uint64_t kMany = 0xffff;
  if (entries_ >= kMany || begin >= kLong || size >= kLong) {
    const std::uint64_t end = at_;
    write(Fields()
              .u32(0x06064b50)
              .u64(44)
              .u16(kLongVersion)
              .u16(kLongVersion)
              .u32(0)
              .u32(0)
              .u64(entries_)
              .u64(entries_)
              .u64(size)
              .u64(begin)
              .u32(0x07064b50)
              .u32(0)
              .u64(end)
              .u32(1)
              .bytes);
  }
  const std::uint64_t count = std::min(entries_, kMany);
  write(Fields()
            .u32(0x06054b50)
            .u16(0)
            .u16(0)
            .u16(count)
            .u16(count)
            .short_or_long(size)
            .short_or_long(begin)
            .u16(0)
            .bytes);
}

}  // namespace npz_saver
