#include "text_file.h"

#include <belay/data_file.h>
#include <belay/error.h>

#include <cstdio>
#include <fstream>

namespace text_input {
namespace {

using belay::Code;
using belay::fail;

// Bytes of the character that begins with this one; 0: none does.
std::size_t length_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;  // goes on with another, or would be longer than needed
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

bool allowed(char32_t character, std::size_t length) {
  if (character >= 0xd800 && character < 0xe000) return false;  // halves of UTF-16's pairs
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  return character >= kSmallest[length] && character <= 0x10ffff;
}

// The character at `at`, and moves behind it. False where there is none.
bool decode(std::string_view bytes, std::size_t& at, char32_t& character) {
  const auto lead = static_cast<unsigned char>(bytes[at]);
  const std::size_t length = length_of(lead);
  if (length == 0 || length > bytes.size() - at) return false;
  character = length == 1 ? lead : lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(bytes[at + i]);
    if ((next & 0xc0) != 0x80) return false;
    character = character << 6 | (next & 0x3f);
  }
  if (!allowed(character, length)) return false;
  at += length;
  return true;
}

std::string read_bytes(std::string_view option, const std::string& path) {
  std::string bytes(static_cast<std::size_t>(belay::data_file_size(option, path)), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) fail(Code::kDataLoss, std::string(option) + ": '" + path + "' cannot be read whole");
  return bytes;
}

}  // namespace

std::u32string read_text(std::string_view option, const std::string& path, Units units) {
  const std::string bytes = read_bytes(option, path);
  std::u32string text;
  text.reserve(bytes.size());
  if (units == Units::kBytes) {
    for (const char byte : bytes) text.push_back(static_cast<unsigned char>(byte));
    return text;
  }
  const std::string prefix = std::string(option) + ": '" + path + "' ";
  if (bytes.compare(0, 2, "\x1f\x8b") == 0)
    fail(Code::kInvalidArgument, prefix + "is compressed; unpack it first (gunzip -k)");
  std::size_t at = bytes.compare(0, 3, "\xef\xbb\xbf") == 0 ? 3 : 0;
  while (at < bytes.size()) {
    char32_t character = 0;
    if (!decode(bytes, at, character)) {
      char hex[8];
      std::snprintf(hex, sizeof(hex), "0x%02x", static_cast<unsigned char>(bytes[at]));
      fail(Code::kInvalidArgument, prefix + "is no UTF-8: byte " + std::to_string(at) + " (" + hex +
                                       ") begins no character; convert it (iconv -t UTF-8), or set units = \"bytes\"");
    }
    text.push_back(character);
  }
  return text;
}

std::string utf8(char32_t character) {
  const auto byte = [](char32_t bits) { return static_cast<char>(static_cast<unsigned char>(bits)); };
  const auto tail = [&](int shift) { return byte(0x80 | (character >> shift & 0x3f)); };
  if (character < 0x80) return {byte(character)};
  if (character < 0x800) return {byte(0xc0 | character >> 6), tail(0)};
  if (character < 0x10000) return {byte(0xe0 | character >> 12), tail(6), tail(0)};
  return {byte(0xf0 | character >> 18), tail(12), tail(6), tail(0)};
}

}  // namespace text_input
