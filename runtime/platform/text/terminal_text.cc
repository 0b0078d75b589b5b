// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/text/terminal_text.h"

#include <cstdio>

#include "runtime/platform/text/text.h"

namespace belay::runtime {

std::string shown_json(const std::string& json) {
  const auto obeyed = [](char32_t c) { return c != '\n' && is_control(c); };
  std::string out;
  std::string_view rest = json;
  while (!rest.empty()) {
    const Utf8Char c = first_char(rest);
    char text[16];
    if (c.valid && obeyed(c.value)) {
      std::snprintf(text, sizeof(text), "\\u%04x", static_cast<unsigned>(c.value));
      out += text;
    } else {
      out += rest.substr(0, c.size);
    }
    rest.remove_prefix(c.size);
  }
  return out;
}

void append_csv_cell(std::string& out, std::string_view text) {
  const bool quoted = text.empty() || text.find_first_of(",\"\r\n") != text.npos;
  if (quoted) out += '"';
  while (!text.empty()) {
    const Utf8Char c = first_char(text);
    const bool line_end = c.value == '\n' || c.value == '\r';  // RFC 4180 puts them in quotes
    if (c.value == '"' && c.valid) out += '"';
    if (c.valid && is_control(c.value) && c.value != '\t' && !line_end) {
      out += escaped(text.substr(0, c.size));
    } else {
      out += text.substr(0, c.size);
    }
    text.remove_prefix(c.size);
  }
  if (quoted) out += '"';
}

}  // namespace belay::runtime
