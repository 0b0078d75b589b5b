// SPDX-License-Identifier: Apache-2.0
// Strings for messages: escaping, and a string's width on a terminal. [any thread] belay/nearest.h finds the nearest
// known name.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "belay/nearest.h"  // nearest, did_you_mean

namespace belay::runtime {

// The first character of a string that is not empty. Bytes that are no UTF-8 come one by one, with valid = false.
struct Utf8Char {
  char32_t value = 0;
  std::size_t size = 1;  // bytes
  bool valid = true;
};
Utf8Char first_char(std::string_view text);

std::size_t char_count(std::string_view text);

// True for characters that a terminal obeys instead of showing them, including newlines. Also true for those that turn
// the writing direction.
bool is_control(char32_t c);

// Writes control characters and bytes that are no UTF-8 as \n, \x1b, \u202e, \xff ... The rest is unchanged, the
// backslash too.
std::string escaped(std::string_view text);

// Returns 'the string, escaped'.
std::string single_quoted(std::string_view text);
// Returns "the unchanged string".
std::string double_quoted(std::string_view text);

// Returns the columns of `text` on a terminal: two for a wide character, none for a combining one, else one.
std::size_t display_width(std::string_view text);

// Returns the start of `text` that fits into `columns`, in whole characters.
std::string_view cut_to_width(std::string_view text, std::size_t columns);

// Returns the seconds of "90", "90s", "15m", "2h", "1h30m", "1d12h". A number without a unit is seconds. Not positive:
// the text is no duration.
double parse_duration(std::string_view text) noexcept;

// Returns "a, b, c".
std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");

}  // namespace belay::runtime
