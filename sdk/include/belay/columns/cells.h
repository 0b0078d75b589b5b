// SPDX-License-Identifier: Apache-2.0
// Cells of a table: numbers, gaps and dates. All functions work on any thread.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <vector>

#include "belay/options.h"

namespace belay {
inline namespace v0 {

// Handles a number out of double's range. If it is nearer to 0 than any double, such as 1e-400, it is 0, as in other
// readers. It is a separate function, since few cells need it.
[[gnu::noinline, gnu::cold]] inline std::errc number_out_of_range(std::string_view text, double& value) {
  std::istringstream digits{std::string(text)};
  digits.imbue(std::locale::classic());
  digits >> value;
  return std::fabs(value) < 1 ? std::errc() : std::errc::result_out_of_range;
}

inline std::errc parse_number(std::string_view text, double& value);

// Parses what is no number because of blanks around it, which a quoted cell may have. Few cells need it, too.
[[gnu::noinline, gnu::cold]] inline std::errc number_in_blanks(std::string_view text, double& value) {
  const std::size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  if (begin == text.npos || end + 1 - begin == text.size()) return std::errc::invalid_argument;
  return parse_number(text.substr(begin, end + 1 - begin), value);
}

// Parses a whole cell as a number, whatever the locale. A plus sign may be before it.
inline std::errc parse_number(std::string_view text, double& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return number_in_blanks(text, value);
  return error == std::errc::result_out_of_range ? number_out_of_range(text, value) : error;
}

// Parses a number that float32 can hold. Returns the fault, or null. NaN is one.
inline const char* read_number(std::string_view text, double& value) {
  const std::errc error = parse_number(text, value);
  if (error == std::errc::invalid_argument || std::isnan(value)) return "not a number";
  const bool outside = std::fabs(value) > static_cast<double>(std::numeric_limits<float>::max());
  return error != std::errc() || outside ? "outside the range of float32" : nullptr;
}

// The usual spellings of a gap.
inline constexpr Str kGaps[] = {"", "NA", "N/A", "null", "?"};

using Gaps = std::vector<std::string>;
inline bool is_gap(const Gaps& gaps, std::string_view cell) {
  return std::find(gaps.begin(), gaps.end(), cell) != gaps.end();
}

// A day and hour as a column of dates has it.
struct Moment {
  std::int64_t year = 1970, month = 1, day = 1, hour = 0;

  static bool is_leap(std::int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }
  static std::int64_t days_of_month(std::int64_t year, std::int64_t month) {
    if (month == 2) return is_leap(year) ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
  }
  // Days since 1970-01-01.
  std::int64_t days() const {
    const std::int64_t before = year - 1;
    std::int64_t n = 365 * before + before / 4 - before / 100 + before / 400 - 719162 + day - 1;
    for (std::int64_t m = 1; m < month; ++m) n += days_of_month(year, m);
    return n;
  }
  // From 0, a Monday.
  std::int64_t weekday() const { return ((days() + 3) % 7 + 7) % 7; }
  std::string text() const {
    char buffer[96];
    std::snprintf(buffer, sizeof(buffer), "%04d-%02d-%02dT%02d", static_cast<int>(year), static_cast<int>(month),
                  static_cast<int>(day), static_cast<int>(hour));
    return buffer;
  }
  friend bool operator<(const Moment& a, const Moment& b) {
    return std::tie(a.year, a.month, a.day, a.hour) < std::tie(b.year, b.month, b.day, b.hour);
  }
};

namespace detail {

// Takes at most `most` digits from the front of `text`, at least `least`.
inline bool take_digits(std::string_view& text, std::size_t least, std::size_t most, std::int64_t& value) {
  std::size_t n = 0;
  value = 0;
  for (; n < most && n < text.size() && text[n] >= '0' && text[n] <= '9'; ++n) value = 10 * value + (text[n] - '0');
  text.remove_prefix(n);
  return n >= least;
}

inline bool is_moment(const Moment& m, std::int64_t minute, std::int64_t second) {
  return m.year >= 1 && m.month >= 1 && m.month <= 12 && m.day >= 1 &&
         m.day <= Moment::days_of_month(m.year, m.month) && m.hour <= 23 && minute <= 59 && second <= 60;
}

// Takes "Z", "+01:00", "-0130" or nothing, up to the end.
inline bool take_zone(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return true;
  std::int64_t hours = 0, minutes = 0;
  if (text[0] != '+' && text[0] != '-') return false;
  text.remove_prefix(1);
  if (!take_digits(text, 2, 2, hours) || hours > 14) return false;
  if (!text.empty() && text[0] == ':') text.remove_prefix(1);
  return text.empty() || (take_digits(text, 2, 2, minutes) && minutes <= 59 && text.empty());
}

inline bool take_char(std::string_view& text, std::string_view any) {
  if (text.empty() || any.find(text[0]) == any.npos) return false;
  text.remove_prefix(1);
  return true;
}

// Reads "2025-01-09", "2025-01-09T14:00", "2025-01-09 14:00:05.25Z" and the form that Moment::text writes.
inline bool parse_iso(std::string_view text, Moment& m) {
  std::int64_t minute = 0, second = 0, fraction = 0;
  if (!take_digits(text, 4, 4, m.year) || !take_char(text, "-") || !take_digits(text, 2, 2, m.month) ||
      !take_char(text, "-") || !take_digits(text, 2, 2, m.day))
    return false;
  if (!text.empty() && (!take_char(text, "T ") || !take_digits(text, 2, 2, m.hour))) return false;
  if (take_char(text, ":") && !take_digits(text, 2, 2, minute)) return false;
  if (take_char(text, ":") && !take_digits(text, 2, 2, second)) return false;
  if (take_char(text, ".") && !take_digits(text, 1, 9, fraction)) return false;
  return take_zone(text) && is_moment(m, minute, second);
}

// Takes a name of a month in English from the front of `text`, in any case: "September", "Sept" or "Sep".
inline bool take_month(std::string_view& text, std::int64_t& month) {
  static constexpr std::string_view kNames[] = {"january", "february", "march",     "april",   "may",      "june",
                                                "july",    "august",   "september", "october", "november", "december"};
  const auto shared = [&](std::string_view name) {
    std::size_t n = 0;
    while (n < text.size() && n < name.size() && (text[n] | 0x20) == name[n]) ++n;
    return n;
  };
  for (month = 1; month <= 12; ++month) {
    const std::string_view name = kNames[month - 1];
    const std::size_t n = shared(name);
    if (n < 3) continue;
    text.remove_prefix(n == name.size() || name.substr(0, n) == "sept" ? n : 3);
    return true;
  }
  return false;
}

// Takes "AM" or "PM" in any case.
inline bool take_half_day(std::string_view& text, bool& afternoon) {
  if (text.size() < 2 || (text[1] | 0x20) != 'm' || ((text[0] | 0x20) != 'a' && (text[0] | 0x20) != 'p')) return false;
  afternoon = (text[0] | 0x20) == 'p';
  text.remove_prefix(2);
  return true;
}

// Reads a date in a format such as "%d.%m.%Y". As in POSIX, %y is 69 to 99 for 1969 to 1999, and 00 to 68 for 2000 to
// 2068; %b is a month's name, long or short; %I is an hour from 1 to 12, and %p says which half of the day.
inline bool parse_format(std::string_view format, std::string_view text, Moment& m) {
  std::int64_t minute = 0, second = 0, of_twelve = -1;
  bool afternoon = false;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      if (!take_char(text, format.substr(i, 1))) return false;
      continue;
    }
    const char what = format[++i];
    if (what == 'b' || what == 'p') {
      if (!(what == 'b' ? take_month(text, m.month) : take_half_day(text, afternoon))) return false;
      continue;
    }
    std::int64_t& value = what == 'Y'   ? m.year
                          : what == 'y' ? m.year
                          : what == 'm' ? m.month
                          : what == 'd' ? m.day
                          : what == 'H' ? m.hour
                          : what == 'I' ? of_twelve
                          : what == 'M' ? minute
                                        : second;
    // Without a character between two numbers, as in "%Y%m%d", each has all of its digits.
    const bool touches = (i + 1 < format.size() && format[i + 1] == '%') || (i >= 3 && format[i - 3] == '%');
    const std::size_t most = what == 'Y' ? 4 : 2, least = what == 'Y' || what == 'y' || touches ? most : 1;
    if (!take_digits(text, least, most, value)) return false;
    if (what == 'y') value += value < 69 ? 2000 : 1900;
    if (what == 'I' && (value < 1 || value > 12)) return false;
  }
  if (of_twelve != -1) m.hour = of_twelve % 12 + (afternoon ? 12 : 0);
  return text.empty() && is_moment(m, minute, second);
}

}  // namespace detail

// Reads a date in the first format that fits; without formats in ISO 8601. False: it is none.
inline bool parse_date(const std::vector<std::string>& formats, std::string_view text, Moment& moment) {
  if (formats.empty()) return detail::parse_iso(text, moment = Moment());
  for (const std::string& format : formats)
    if (detail::parse_format(format, text, moment = Moment())) return true;
  return false;
}

}  // namespace v0
}  // namespace belay
