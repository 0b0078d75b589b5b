// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/meant_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "belay/nearest.h"
#include "runtime/manifest/other_names.h"
#include "runtime/manifest/toml_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr double kWhole = 1e15;  // up to this a whole number is also one in TOML

// Returns the number if it is all of the text, also in other forms than TOML's.
std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || rest != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

bool is_whole(double number) { return number == std::floor(number) && std::fabs(number) < kWhole; }

std::string number_text(double number) {
  return is_whole(number) ? std::to_string(static_cast<long long>(number)) : toml_number(number);
}

// Returns the number of "20k", "1.5M" and "20%".
std::optional<double> with_suffix(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const std::optional<double> number = number_of(text.substr(0, text.size() - 1));
  if (!number) return std::nullopt;
  switch (text.back()) {
    case 'k':
    case 'K': return *number * 1000;
    case 'M': return *number * 1000000;
    case '%': return *number / 100;
    default: return std::nullopt;
  }
}

}  // namespace

const char* boolean_of(std::string_view word) {
  for (const char* yes : {"yes", "on", "true"})
    if (equal_but_for_case(word, yes)) return "true";
  for (const char* no : {"no", "off", "false"})
    if (equal_but_for_case(word, no)) return "false";
  return nullptr;
}

std::string help_for_text(WantedValue wanted, const std::string& key, const std::string& text) {
  if (text.find("${") != text.npos) return "${NAME} is replaced in paths only";
  const std::string write = key + " = ";
  if (wanted == WantedValue::kBoolean) {
    const char* boolean = boolean_of(text);
    return boolean == nullptr ? "" : "write it without quotes: " + write + boolean;
  }
  const auto fits = [&](double number) { return wanted == WantedValue::kNumber || is_whole(number); };
  if (const std::optional<double> number = number_of(text); number && fits(*number))
    return "write it without quotes: " + write + number_text(*number);
  const double seconds = key.ends_with("_secs") ? parse_duration(text) : 0;
  if (seconds > 0) return "write it in seconds: " + write + number_text(seconds);
  if (const std::optional<double> number = with_suffix(text); number && fits(*number))
    return "write it out: " + write + number_text(*number);
  return "";
}

std::string help_for_number(WantedValue wanted, const std::string& key, double number) {
  if (wanted == WantedValue::kInteger && is_whole(number))
    return "write it without a fraction: " + key + " = " + number_text(number);
  if (wanted == WantedValue::kBoolean && (number == 0 || number == 1))
    return "write " + key + " = " + (number == 0 ? "false" : "true");
  return "";
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& words) {
  if (std::string other = word_for_other("value", word, words); !other.empty()) return other;
  if (std::string near = nearest(word, words); !near.empty()) return near;
  constexpr std::size_t kShortest = 3;
  for (const std::string& w : words)
    if (std::min(w.size(), word.size()) >= kShortest && (w.starts_with(word) || word.starts_with(w))) return w;
  return "";
}

}  // namespace belay::runtime
