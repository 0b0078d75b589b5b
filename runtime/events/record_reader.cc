// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/record_reader.h"

#include <fmt/core.h>

#include "belay/error.h"
#include "runtime/events/record_writer.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

template <class T>
T little_endian(const char* bytes) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- != 0;) value = static_cast<T>(value << 8 | static_cast<unsigned char>(bytes[i]));
  return value;
}

[[noreturn]] void damaged(const OpenFile& file, std::uint64_t offset, const char* what, std::uint32_t found,
                          std::uint32_t stored) {
  fail(Code::kDataLoss,
       fmt::format("'{}': the record at byte {} has a {} of masked CRC32C {}, but the stored one is {}",
                   escaped(file.path()), offset, what, crc_text(found), crc_text(stored)));
}

}  // namespace

bool RecordReader::next(std::string& record) {
  const std::uint64_t size = file_.size();
  if (size < offset_ || size - offset_ < kRecordHead + kRecordFoot) return false;
  char head[kRecordHead];
  file_.read_at(offset_, head, sizeof(head));
  const auto length = little_endian<std::uint64_t>(head);
  const auto stored_length_crc = little_endian<std::uint32_t>(head + 8);
  const std::uint32_t length_crc = masked_crc(crc32c(head, 8));
  if (length_crc != stored_length_crc) damaged(file_, offset_, "length", length_crc, stored_length_crc);
  // The length is checked against the file before memory is allocated for it.
  if (length > size - offset_ - kRecordHead - kRecordFoot) return false;
  record.resize(static_cast<std::size_t>(length));
  file_.read_at(offset_ + kRecordHead, record.data(), record.size());
  char foot[kRecordFoot];
  file_.read_at(offset_ + kRecordHead + length, foot, sizeof(foot));
  const std::uint64_t begin = offset_;
  offset_ += kRecordHead + length + kRecordFoot;
  const auto stored_crc = little_endian<std::uint32_t>(foot);
  const std::uint32_t crc = masked_crc(crc32c(record));
  if (crc != stored_crc) damaged(file_, begin, "content", crc, stored_crc);
  return true;
}

}  // namespace belay::runtime
