// SPDX-License-Identifier: Apache-2.0
#include "string_tensor.h"

#include <belay/error.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <limits>

#include "crc32c.h"

namespace tf_bundle {
namespace {

using belay::Code;
using belay::fail;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr std::uint64_t kChecksum = 4;

[[noreturn]] void bad_strings(const std::string& text) { fail(Code::kDataLoss, text); }

std::string number_bytes(std::uint64_t value, std::size_t bytes, bool big_endian) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  if (big_endian) std::reverse(text.begin(), text.end());
  return text;
}

std::uint32_t with_length(std::uint32_t crc, std::uint64_t length, bool big_endian) {
  const bool short_enough = length <= std::numeric_limits<std::uint32_t>::max();
  const std::string bytes = number_bytes(length, short_enough ? 4 : 8, big_endian);
  return crc32c(bytes.data(), bytes.size(), crc);
}

// Reads the lengths and moves `at` to their end.
std::vector<std::uint64_t> read_lengths(std::string_view bytes, std::uint64_t count, std::uint64_t& at) {
  if (count > bytes.size())  // checked before memory is taken for them
    bad_strings("has " + std::to_string(bytes.size()) + " bytes for " + std::to_string(count) + " strings");
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(count));
  for (std::uint64_t& length : lengths) {
    constexpr std::uint64_t kLongest = 10;  // limit of a varint's bytes
    CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()) + at,
                        static_cast<int>(std::min<std::uint64_t>(bytes.size() - at, kLongest)));
    if (!in.ReadVarint64(&length)) bad_strings("has a damaged length of a string at its byte " + std::to_string(at));
    at += static_cast<std::uint64_t>(in.CurrentPosition());
  }
  return lengths;
}

}  // namespace

EncodedStrings encode_strings(const std::vector<std::string_view>& strings) {
  EncodedStrings encoded;
  std::uint32_t crc = 0;
  for (const std::string_view s : strings) {
    std::uint8_t varint[10];
    const std::uint8_t* end = CodedOutputStream::WriteVarint64ToArray(s.size(), varint);
    encoded.bytes.append(reinterpret_cast<const char*>(varint), static_cast<std::size_t>(end - varint));
    crc = with_length(crc, s.size(), false);
  }
  const std::string checksum = number_bytes(masked(crc), kChecksum, false);
  encoded.bytes += checksum;
  crc = crc32c(checksum.data(), checksum.size(), crc);
  for (const std::string_view s : strings) {
    encoded.bytes += s;
    crc = crc32c(s.data(), s.size(), crc);
  }
  encoded.crc = masked(crc);
  return encoded;
}

std::vector<std::string_view> decode_strings(std::string_view bytes, std::uint64_t count, std::uint32_t expected,
                                             bool big_endian) {
  if (count == 0 && bytes.empty()) return {};
  std::uint64_t at = 0, total = 0;
  const std::vector<std::uint64_t> lengths = read_lengths(bytes, count, at);
  std::uint32_t crc = 0;
  for (const std::uint64_t length : lengths) {
    crc = with_length(crc, length, big_endian);
    if (__builtin_add_overflow(total, length, &total) || total > bytes.size())
      bad_strings("has strings that are longer than its " + std::to_string(bytes.size()) + " bytes");
  }
  if (bytes.size() - at < kChecksum || bytes.size() - at - kChecksum != total)
    bad_strings("has " + std::to_string(bytes.size()) + " bytes, its strings need " +
                std::to_string(at + kChecksum + total));
  if (bytes.substr(at, kChecksum) != number_bytes(masked(crc), kChecksum, big_endian))
    bad_strings("has a wrong checksum of its strings' lengths");
  if (masked(crc32c(bytes.data() + at, bytes.size() - at, crc)) != expected) bad_strings("has a wrong checksum");
  at += kChecksum;
  std::vector<std::string_view> strings;
  strings.reserve(lengths.size());
  for (const std::uint64_t length : lengths) {
    strings.push_back(bytes.substr(at, length));
    at += length;
  }
  return strings;
}

}  // namespace tf_bundle
