// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/plain_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace belay::runtime {
namespace {

constexpr std::array<bool, 256> tag_characters() {
  std::array<bool, 256> is{};
  for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-"))
    is[static_cast<unsigned char>(c)] = true;
  return is;
}
constexpr std::array<bool, 256> kIsTagCharacter = tag_characters();

// A field's key is its number with its wire type. It has one byte for numbers below 16.
enum WireType : unsigned { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };
constexpr unsigned field_key(unsigned number, WireType type) { return number << 3 | type; }

// Takes fields from the front of a message. After a fault, good() is false and at_end() true.
class Fields final {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}
  bool at_end() const { return bytes_.empty(); }
  bool good() const { return good_; }
  bool fail() {
    bytes_ = {};
    return good_ = false;
  }
  // Returns 0 if the key has more than one byte.
  unsigned key() {
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte < 0x80 ? byte : 0;
  }
  std::uint64_t varint(std::size_t most = 9) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < std::min(bytes_.size(), most); ++i) {
      const auto byte = static_cast<unsigned char>(bytes_[i]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        bytes_.remove_prefix(i + 1);
        return value;
      }
    }
    fail();  // cut off, or negative: not plain
    return 0;
  }
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) fail();
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view length_delimited() {
    const std::uint64_t size = varint(4);  // below 256 MiB
    return take(static_cast<std::size_t>(size));
  }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

// Checks min, max, num, sum, sum_squares, and the packed bucket_limit and bucket.
bool is_histogram(std::string_view bytes) {
  Fields fields(bytes);
  while (!fields.at_end()) {
    const unsigned k = fields.key();
    if (k >= field_key(1, kFixed64) && k <= field_key(5, kFixed64) && k % 8 == kFixed64) {
      fields.take(sizeof(double));
    } else if (k == field_key(6, kLengthDelimited) || k == field_key(7, kLengthDelimited)) {
      if (fields.length_delimited().size() % sizeof(double) != 0) return false;
    } else {
      return false;
    }
  }
  return fields.good();
}

// Checks height, width, colorspace and the encoded image.
bool is_image(std::string_view bytes) {
  Fields fields(bytes);
  while (!fields.at_end()) {
    const unsigned k = fields.key();
    if (k == field_key(1, kVarint) || k == field_key(2, kVarint) || k == field_key(3, kVarint)) {
      fields.varint();
    } else if (k == field_key(4, kLengthDelimited)) {
      fields.length_delimited();
    } else {
      return false;
    }
  }
  return fields.good();
}

bool is_finite_float(std::string_view bytes) {
  std::uint32_t bits = 0;
  if (bytes.size() != sizeof(bits)) return false;
  for (std::size_t i = 0; i < sizeof(bits); ++i)
    bits |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return std::isfinite(value);
}

bool is_plain_value(std::string_view bytes) {
  Fields fields(bytes);
  while (!fields.at_end()) {
    switch (fields.key()) {
      case field_key(1, kLengthDelimited):
        if (!is_clean_tag(fields.length_delimited())) return false;
        break;
      case field_key(2, kFixed32):
        if (!is_finite_float(fields.take(sizeof(float)))) return false;
        break;
      case field_key(4, kLengthDelimited):
        if (!is_image(fields.length_delimited())) return false;
        break;
      case field_key(5, kLengthDelimited):
        if (!is_histogram(fields.length_delimited())) return false;
        break;
      default: return false;
    }
  }
  return fields.good();
}

}  // namespace

bool is_tag_character(char c) noexcept { return kIsTagCharacter[static_cast<unsigned char>(c)]; }

bool is_clean_tag(std::string_view tag) noexcept {
  return !tag.starts_with('/') && std::all_of(tag.begin(), tag.end(), is_tag_character);
}

bool is_plain_summary(std::string_view bytes) noexcept {
  Fields fields(bytes);
  while (!fields.at_end())
    if (fields.key() != field_key(1, kLengthDelimited) || !is_plain_value(fields.length_delimited())) return false;
  return fields.good();
}

}  // namespace belay::runtime
