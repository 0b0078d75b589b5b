// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/text/shell_word.h"

#include "runtime/platform/text/text.h"

namespace belay::runtime {

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return std::string(text);
  const bool controls = escaped(text) != text;
  std::string quoted;
  for (const char c : text) {
    if (controls && (c == '\\' || c == '\'')) quoted += '\\';
    quoted += !controls && c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return (controls ? "$'" : "'") + (controls ? escaped(quoted) : quoted) + "'";
}

}  // namespace belay::runtime
