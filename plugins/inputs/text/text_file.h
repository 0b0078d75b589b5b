// SPDX-License-Identifier: Apache-2.0
// Reads files of text as characters (Unicode's code points) or bytes, by number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace text_input {

enum class Units { kCharacters, kBytes };

// Several files as one text. It stays in memory in the files' encoding: a character takes its bytes in UTF-8. An index
// takes an eighth of a byte more for each.
class TextFiles {
 public:
  TextFiles() = default;
  // Reads all files. Characters must be UTF-8. A byte order mark at the start of a file is left out. Else it throws an
  // Error that names the option, the file and the byte.
  TextFiles(std::string_view option, const std::vector<std::string>& paths, Units units);

  std::int64_t size() const { return size_; }  // characters, or bytes
  // Calls f(character) for `n` characters from number `first` on. A byte is passed as the character of its value.
  template <class F>
  void for_each(std::int64_t first, std::int64_t n, F&& f) const {
    if (n <= 0) return;
    const char* at = find(first);
    for (; n > 0; --n) f(next(at));
  }

  // Returns the characters of the text in ascending order.
  std::u32string characters() const;
  // Returns "path:line:column", in characters, of the first place of this character, which must occur.
  std::string place_of(char32_t character) const;

 private:
  static constexpr std::int64_t kBetweenMarks = 64;

  void append(std::string_view option, const std::string& path, std::uint64_t length);
  std::string place_of_byte(std::size_t file, std::size_t at) const;
  void index(std::string_view option, std::size_t begin, std::size_t left_out);
  const char* find(std::int64_t number) const;
  // Returns the character at `at`, and moves `at` after it.
  char32_t next(const char*& at) const {
    const auto lead = static_cast<unsigned char>(*at++);
    if (units_ == Units::kBytes || lead < 0x80) return lead;
    const int more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    char32_t character = lead & (0x3fu >> more);
    for (int i = 0; i < more; ++i) character = character << 6 | (static_cast<unsigned char>(*at++) & 0x3fu);
    return character;
  }

  Units units_ = Units::kCharacters;
  std::string bytes_;
  std::int64_t size_ = 0;
  std::vector<std::uint64_t> marks_;  // the byte of every kBetweenMarks-th character
  std::vector<bool> seen_;            // by character
  struct Begin {
    std::size_t at;
    std::string path;
  };
  std::vector<Begin> files_;
};

// Encodes one character in UTF-8.
std::string utf8(char32_t character);
// Decodes one character. None: the bytes are not those of exactly one.
std::optional<char32_t> only_character(std::string_view bytes);

}  // namespace text_input
