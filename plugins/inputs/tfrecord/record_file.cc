// SPDX-License-Identifier: Apache-2.0
#include "record_file.h"

#include <belay/error.h>
#include <belay/file_kind.h>
#include <isa-l/crc.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

namespace tfrecord_input {
namespace {

using belay::Code;
using belay::fail;

// A record has its length, a checksum of the length, the data, and a checksum of the data.
constexpr std::uint64_t kHeader = 12, kFooter = 4;

template <class T>
T little_endian(const char* bytes) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) value = static_cast<T>(value << 8 | static_cast<unsigned char>(bytes[i]));
  return value;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  while (!bytes.empty()) {  // the library takes an int
    const std::string_view part = bytes.substr(0, std::size_t{1} << 30);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(part.data()));
    crc = crc32_iscsi(data, static_cast<int>(part.size()), crc);
    bytes.remove_prefix(part.size());
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

// Returns the length in a record's header; none: its checksum is wrong.
std::optional<std::uint64_t> record_length(std::string_view header) {
  if (masked_crc32c(header.substr(0, 8)) != little_endian<std::uint32_t>(header.data() + 8)) return std::nullopt;
  return little_endian<std::uint64_t>(header.data());
}

// A plain file may also begin with gzip's two bytes, since they are a possible length.
bool is_gzip(std::string_view bytes) {
  const bool plain = bytes.size() >= kHeader && record_length(bytes.substr(0, kHeader)).has_value();
  return !plain && bytes.substr(0, 2) == "\x1f\x8b";
}

// Inflates one gzip file after the other; the format allows several.
std::string unpack(std::string_view option, const std::string& path, std::string_view packed) {
  const std::string prefix = std::string(option) + ": '" + path + "' ";
  z_stream stream{};
  constexpr int kGzipOnly = 15 + 16;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK)
    fail(Code::kResourceExhausted, "[B3035] " + prefix + "cannot be unpacked: no memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, &inflateEnd);
  std::string out;
  std::string buffer(1 << 16, '\0');
  while (!packed.empty()) {
    const std::size_t given = std::min<std::size_t>(packed.size(), 1 << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(given);
    int result = Z_OK;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      result = inflate(&stream, Z_NO_FLUSH);
      out.append(buffer.data(), buffer.size() - stream.avail_out);
    } while (result == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0));
    packed.remove_prefix(given - stream.avail_in);
    const bool cut = packed.empty() && result != Z_STREAM_END;
    if (cut || (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR))
      fail(Code::kDataLoss, "[B3023] " + prefix + "is damaged after byte " + std::to_string(out.size()) +
                                " of its content: " + (cut || stream.msg == nullptr ? "it was cut short" : stream.msg) +
                                "; fetch it again");
    if (result == Z_STREAM_END) inflateReset(&stream);
  }
  return out;
}

}  // namespace

RecordFile::RecordFile(std::string_view option, const std::string& path) : path_(path), file_(option, path) {
  const std::string prefix = std::string(option) + ": '" + path + "' ";
  if (is_gzip(file_.bytes())) {
    unpacked_ = unpack(option, path, file_.bytes());
    file_ = belay::MappedFile();
  }
  const std::string_view bytes = this->bytes();
  if (bytes.empty()) fail(Code::kFailedPrecondition, "[B3021] " + prefix + "holds no records");
  if (bytes.size() < kHeader || !record_length(bytes.substr(0, kHeader)))
    fail(Code::kInvalidArgument,
         "[B3022] " + prefix +
             belay::foreign_text(bytes, "TFRecord file", "write its examples with tf.io.TFRecordWriter",
                                 "is no TFRecord file, plain or gzip: it does not begin with a length and its "
                                 "checksum"));
  find_records();
}

void RecordFile::find_records() {
  const std::string_view bytes = this->bytes();
  std::uint64_t at = 0;
  while (at < bytes.size()) {
    const std::uint64_t left = bytes.size() - at;
    const auto number = static_cast<std::int64_t>(begins_.size());
    const auto ends_inside = [&] {
      fail(Code::kDataLoss, "[B3023] " + place(number) + " is cut short: the file ends in it; fetch it again");
    };
    if (left < kHeader) ends_inside();
    const auto length = record_length(bytes.substr(at, kHeader));
    if (!length)
      fail(Code::kDataLoss,
           "[B3023] " + place(number) + " is damaged: the checksum of its length is wrong; fetch the file again");
    if (left - kHeader < kFooter || *length > left - kHeader - kFooter) ends_inside();
    begins_.push_back(at);
    at += kHeader + *length + kFooter;
  }
}

std::string_view RecordFile::record(std::int64_t number) const {
  const std::uint64_t at = begins_[static_cast<std::size_t>(number)];
  const auto length = little_endian<std::uint64_t>(bytes().data() + at);
  const std::string_view record = bytes().substr(at + kHeader, length);
  if (masked_crc32c(record) != little_endian<std::uint32_t>(record.data() + length))
    fail(Code::kDataLoss, "[B3023] " + place(number) + " is damaged: its checksum is wrong; fetch the file again");
  return record;
}

std::string RecordFile::place(std::int64_t number) const { return "'" + path_ + "' record " + std::to_string(number); }

}  // namespace tfrecord_input
