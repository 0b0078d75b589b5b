// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/text/text.h"

#include <locale.h>
#include <wchar.h>

#include <boost/locale/utf.hpp>
#include <charconv>
#include <cstdio>

namespace belay::runtime {
namespace {

namespace utf = boost::locale::utf;

double unit_seconds(char unit) noexcept {
  switch (unit) {
    case 's': return 1;
    case 'm': return 60;
    case 'h': return 3600;
    case 'd': return 86400;
    default: return 0;
  }
}

std::string escape(char32_t c) {
  switch (c) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
  }
  char text[8];
  std::snprintf(text, sizeof(text), c < 0x80 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(c));
  return text;
}

// While it lives, the calling thread's character classes are Unicode's. The process stays in the "C" locale, where
// wcwidth knows only ASCII.
class UnicodeLocale {
 public:
  UnicodeLocale() : previous_(unicode() == nullptr ? nullptr : uselocale(unicode())) {}
  ~UnicodeLocale() {
    if (previous_ != nullptr) uselocale(previous_);
  }
  UnicodeLocale(const UnicodeLocale&) = delete;
  UnicodeLocale& operator=(const UnicodeLocale&) = delete;

  std::size_t width(char32_t c) const {
    if (c < 0x80 || previous_ == nullptr) return 1;
    const int columns = wcwidth(static_cast<wchar_t>(c));
    return columns < 0 ? 1 : static_cast<std::size_t>(columns);
  }

 private:
  static locale_t unicode() {
    static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return locale;
  }

  locale_t previous_;
};

}  // namespace

Utf8Char first_char(std::string_view text) {
  const char* at = text.data();
  const utf::code_point c = utf::utf_traits<char>::decode(at, text.data() + text.size());
  if (c == utf::illegal || c == utf::incomplete) return {static_cast<unsigned char>(text[0]), 1, false};
  return {static_cast<char32_t>(c), static_cast<std::size_t>(at - text.data()), true};
}

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

std::size_t char_count(std::string_view text) {
  std::size_t n = 0;
  for (; !text.empty(); ++n) text.remove_prefix(first_char(text).size);
  return n;
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = first_char(text);
    if (!c.valid) {
      char byte[8];
      std::snprintf(byte, sizeof(byte), "\\x%02x", static_cast<unsigned>(c.value));
      out += byte;
    } else if (is_control(c.value)) {
      out += escape(c.value);
    } else {
      out += text.substr(0, c.size);
    }
    text.remove_prefix(c.size);
  }
  return out;
}

namespace {

std::string between(std::string_view mark, std::string_view text) {
  return std::string(mark).append(text).append(mark);
}

}  // namespace

std::string single_quoted(std::string_view text) { return between("'", escaped(text)); }
std::string double_quoted(std::string_view text) { return between("\"", text); }

std::string_view cut_to_width(std::string_view text, std::size_t columns) {
  const UnicodeLocale locale;
  std::size_t used = 0, end = 0;
  while (end < text.size()) {
    const Utf8Char c = first_char(text.substr(end));
    used += c.valid ? locale.width(c.value) : 1;
    if (used > columns) break;
    end += c.size;
  }
  return text.substr(0, end);
}

std::size_t display_width(std::string_view text) {
  const UnicodeLocale locale;
  std::size_t columns = 0;
  while (!text.empty()) {
    const Utf8Char c = first_char(text);
    columns += c.valid ? locale.width(c.value) : 1;
    text.remove_prefix(c.size);
  }
  return columns;
}

double parse_duration(std::string_view text) noexcept {
  constexpr double kMost = 10 * 365.25 * 86400;
  double seconds = 0;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || !(number >= 0)) return 0;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const double unit = text.empty() ? 1 : unit_seconds(text[0]);
    if (unit == 0) return 0;
    seconds += number * unit;
    if (!text.empty()) text.remove_prefix(1);
  }
  return seconds <= kMost ? seconds : 0;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) out += separator;
    out += part;
  }
  return out;
}

}  // namespace belay::runtime
