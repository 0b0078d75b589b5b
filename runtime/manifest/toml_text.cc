// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/toml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string element_text(bool value) { return value ? "true" : "false"; }
std::string element_text(std::int64_t value) { return std::to_string(value); }
std::string element_text(double value) { return toml_number(value); }
std::string element_text(const std::string& value) { return toml_string(value); }
std::string element_text(std::monostate) { return "[]"; }
template <class T>
std::string element_text(const std::vector<T>& values) {
  std::string out = "[";
  for (const T& value : values) out += (out.size() == 1 ? "" : ", ") + element_text(value);
  return out + "]";
}

}  // namespace

std::string toml_number(double number) {
  if (std::isnan(number)) return "nan";
  std::string text = fmt::format("{}", number);
  if (std::isfinite(number) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Utf8Char c = first_char(text);
    if (!c.valid) {
      out += "\\ufffd";
    } else if (c.value == '"' || c.value == '\\') {
      out += '\\';
      out += text[0];
    } else if (c.value == '\n') {
      out += "\\n";
    } else if (c.value == '\t') {
      out += "\\t";
    } else if (is_control(c.value)) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c.value));
    } else {
      out += text.substr(0, c.size);
    }
    text.remove_prefix(c.size);
  }
  return out + "\"";
}

std::string toml_value(const OptionValue& value) {
  return std::visit([](const auto& v) { return element_text(v); }, value);
}

std::string toml_key(std::string_view part) {
  const bool bare = !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return bare ? std::string(part) : toml_string(part);
}

}  // namespace belay::runtime
