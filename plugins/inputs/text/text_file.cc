// SPDX-License-Identifier: Apache-2.0
#include "text_file.h"

#include <belay/data_file.h>
#include <belay/error.h>
#include <belay/file_kind.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

namespace text_input {
namespace {

using belay::Code;
using belay::fail;

// Returns the bytes of a character with this first byte; 0: no character has it.
std::size_t length_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;  // a continuation byte, or the start of an overlong form
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

bool allowed(char32_t character, std::size_t length) {
  if (character >= 0xd800 && character < 0xe000) return false;  // these are halves of UTF-16's pairs
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  return character >= kSmallest[length] && character <= 0x10ffff;
}

// Reads the character at `at`, and moves `at` after it. False: there is none.
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

bool all_ascii(const char* bytes, std::int64_t n) {
  unsigned char all = 0;
  for (std::int64_t i = 0; i < n; ++i) all |= static_cast<unsigned char>(bytes[i]);
  return all < 0x80;
}

}  // namespace

TextFiles::TextFiles(std::string_view option, const std::vector<std::string>& paths, Units units) : units_(units) {
  std::vector<std::uint64_t> lengths;
  std::uint64_t total = 0;
  for (const std::string& path : paths) total += lengths.emplace_back(belay::data_file_size(option, path));
  bytes_.reserve(static_cast<std::size_t>(total));
  if (units == Units::kCharacters) {
    marks_.reserve(static_cast<std::size_t>(total) / kBetweenMarks + 1);
    seen_.resize(0x110000);
  }
  for (std::size_t i = 0; i < paths.size(); ++i) append(option, paths[i], lengths[i]);
}

void TextFiles::append(std::string_view option, const std::string& path, std::uint64_t length) {
  const std::string prefix = std::string(option) + ": '" + path + "' ";
  const std::size_t begin = bytes_.size();
  files_.push_back({begin, path});
  bytes_.resize(begin + static_cast<std::size_t>(length));
  std::ifstream file(path, std::ios::binary);
  file.read(bytes_.data() + begin, static_cast<std::streamsize>(length));
  if (!file) fail(Code::kDataLoss, "[B3023] " + prefix + "cannot be read whole");
  if (units_ == Units::kBytes) {
    size_ = static_cast<std::int64_t>(bytes_.size());
    return;
  }
  if (bytes_.compare(begin, 2, "\x1f\x8b") == 0)
    fail(Code::kInvalidArgument, "[B3022] " + prefix + "is compressed; unpack it first (gunzip -k)");
  const std::size_t mark = bytes_.compare(begin, 3, "\xef\xbb\xbf") == 0 ? 3 : 0;
  bytes_.erase(begin, mark);
  index(option, begin, mark);
}

// `left_out` is the number of the file's bytes before `begin`.
void TextFiles::index(std::string_view option, std::size_t begin, std::size_t left_out) {
  std::array<bool, 128> ascii{};
  for (std::size_t at = begin; at < bytes_.size();) {
    if (size_ % kBetweenMarks == 0) {
      marks_.push_back(at);
      // Most characters of most files are ASCII.
      if (bytes_.size() - at >= kBetweenMarks && all_ascii(bytes_.data() + at, kBetweenMarks)) {
        for (std::int64_t i = 0; i < kBetweenMarks; ++i) ascii[static_cast<unsigned char>(bytes_[at++])] = true;
        size_ += kBetweenMarks;
        continue;
      }
    }
    char32_t character = 0;
    if (!decode(bytes_, at, character)) {
      const std::string_view begins = std::string_view(bytes_).substr(begin, 512);
      if (const std::string kind = belay::foreign_text(begins, "text", "write its text in UTF-8", ""); !kind.empty())
        fail(Code::kInvalidArgument, "[B3022] " + std::string(option) + ": '" + files_.back().path + "' " + kind);
      char hex[8];
      std::snprintf(hex, sizeof(hex), "0x%02x", static_cast<unsigned char>(bytes_[at]));
      fail(Code::kInvalidArgument, "[B3032] " + std::string(option) + ": " + place_of_byte(files_.size() - 1, at) +
                                       ": this is no UTF-8: byte " + std::to_string(at - begin + left_out) +
                                       " of the file (" + hex +
                                       ") begins no character; convert it (iconv -t UTF-8), or set units = \"bytes\"");
    }
    seen_[character] = true;
    ++size_;
  }
  for (std::size_t i = 0; i < ascii.size(); ++i)
    if (ascii[i]) seen_[i] = true;
}

const char* TextFiles::find(std::int64_t number) const {
  if (units_ == Units::kBytes) return bytes_.data() + number;
  const char* at = bytes_.data() + marks_[static_cast<std::size_t>(number / kBetweenMarks)];
  for (std::int64_t skip = number % kBetweenMarks; skip > 0; --skip) next(at);
  return at;
}

std::u32string TextFiles::characters() const {
  std::u32string all;
  for (char32_t character = 0; character < seen_.size(); ++character)
    if (seen_[character]) all.push_back(character);
  return all;
}

std::string TextFiles::place_of(char32_t character) const {
  const std::size_t at = bytes_.find(utf8(character));
  std::size_t file = 0;
  while (file + 1 < files_.size() && files_[file + 1].at <= at) ++file;
  return place_of_byte(file, at);
}

std::string TextFiles::place_of_byte(std::size_t file, std::size_t at) const {
  const std::string_view before = std::string_view(bytes_).substr(files_[file].at, at - files_[file].at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  const std::string_view behind = before.substr(before.rfind('\n') + 1);
  const auto column = 1 + std::count_if(behind.begin(), behind.end(), starts_character);
  return files_[file].path + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::optional<char32_t> only_character(std::string_view bytes) {
  std::size_t at = 0;
  char32_t character = 0;
  if (bytes.empty() || !decode(bytes, at, character) || at != bytes.size()) return std::nullopt;
  return character;
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
