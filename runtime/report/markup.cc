// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/markup.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <iterator>

#include "belay/tensor_text.h"
#include "runtime/platform/text/fixed_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

void add_html_line(std::string& out, std::string_view line) {
  for (const char c : escaped(line)) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
}

}  // namespace

std::string html(std::string_view text, bool keep_lines) {
  std::string out;
  while (keep_lines) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) break;
    add_html_line(out, text.substr(0, end));
    out += '\n';
    text.remove_prefix(end + 1);
  }
  add_html_line(out, text);
  return out;
}

std::string rounded_number(double number) { return std::isnan(number) ? "NaN" : rounded_text(number, 5); }

std::string grouped_number(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = text[0] == '-' ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string short_count(double count) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  for (; std::abs(count) >= 999.5 && unit + 1 < std::size(kUnits); ++unit) count /= 1000;
  return fixed_text(count, unit == 0 || std::abs(count) >= 99.95 ? 0 : 1) + kUnits[unit];
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0 && seconds < 1e12)) return "?";
  if (seconds < 99.5) return fixed_text(seconds, seconds < 9.95 ? 1 : 0) + " s";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  const std::int64_t hours = whole / 3600, minutes = whole % 3600 / 60;
  if (hours < 48) return std::to_string(hours) + " h " + std::to_string(minutes) + " min";
  return std::to_string(hours / 24) + " d " + std::to_string(hours % 24) + " h";
}

std::string moment_text(double seconds_since_1970) {
  if (!(std::abs(seconds_since_1970) < 1e11)) return "";
  const auto whole = static_cast<std::time_t>(std::floor(seconds_since_1970));
  std::tm parts{};
  char text[40] = "";
  if (::gmtime_r(&whole, &parts) != nullptr) std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

void add_coordinate(std::string& out, double at) {
  char text[32];
  if (std::isnan(at)) at = 0;
  const double tenths = std::round(std::clamp(at, -1e6, 1e6) * 10) / 10;
  out.append(text, std::to_chars(text, text + sizeof(text), tenths).ptr);
}

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= n ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace belay::runtime
