// A file of text as numbers: its characters (Unicode's code points) or its bytes.
#pragma once

#include <string>
#include <string_view>

namespace text_input {

enum class Units { kCharacters, kBytes };

// The whole file. Characters must be UTF-8; a byte order mark at the start is left out. Else an Error that names the
// option, the file and the byte.
std::u32string read_text(std::string_view option, const std::string& path, Units units);

// One character in UTF-8.
std::string utf8(char32_t character);

}  // namespace text_input
