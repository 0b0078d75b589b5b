// SPDX-License-Identifier: Apache-2.0
// Strings for messages: escaping, and how wide a string is on a terminal. [any thread]
// The nearest known name is in belay/nearest.h.
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

// Characters that a terminal obeys instead of showing them, newlines among them, or that turn the writing direction.
bool is_control(char32_t c);

// Control characters and bytes that are no UTF-8 as \n, \x1b, \u202e, \xff ...; the rest unchanged, the backslash too.
std::string escaped(std::string_view text);

// 'the string, escaped'
std::string single_quoted(std::string_view text);
// "the string as it is"
std::string double_quoted(std::string_view text);

// Columns that `text` takes on a terminal: two for a wide character, none for a combining one, else one.
std::size_t display_width(std::string_view text);

// As much of the start of `text` as fits into `columns`, whole characters.
std::string_view cut_to_width(std::string_view text, std::size_t columns);

// "90", "90s", "15m", "2h", "1h30m", "1d12h" in seconds; a number without a unit is seconds. Not positive: it is none.
double parse_duration(std::string_view text) noexcept;

// "a, b, c"
std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");

}  // namespace belay::runtime
