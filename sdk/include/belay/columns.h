// SPDX-License-Identifier: Apache-2.0
// Columns of a table with types: words, gaps, dates and text become numbers for a model. What a column fitted on the
// training's rows belongs to the model. All other inputs of the model apply it unchanged.
//
//   std::vector<ColumnOptions> all = parse_columns("columns", options.columns);    // the manifest's table
//   ColumnFit fit(all[0], gaps);
//   for (std::string_view cell : training_cells) fit.add(cell);
//   Column column = fit.finish();
//   column.keep(spec);                                                             // in spec
//   const char* wrong = column.write(cell, out);                                   // column.width() floats
//
// Another input of the model has no ColumnFit: Column::learned(spec, name) returns the training's column. ColumnGuess
// finds a type from cells if the manifest gives none.
//
//   type       options                                        delivers
//   number     missing, scale, buckets, indicator             the number, or a 1 in the place of its bucket
//   category   missing, min_count, max_size, hash_buckets,    a 1 in the place of the word, or its id
//              deliver
//   date       missing, scale, indicator, formats, parts,     parts of the date
//              cycles
//   text       min_count, max_size                            how often each word of the vocabulary occurs
//   id, weight, ignore                                        nothing; the input decides
//
//   missing       number: "median" (default), "mean", a number, or "error"; category: "own" (default) or "error";
//                 date: "median" (default) or "error"
//   scale         "standard": (x - mean) / deviation; "minmax": (x - min) / (max - min); "log": sign(x) ln(1 + |x|);
//                 "none". All measure the training's rows after the gaps are filled. Dates: of year and days
//   buckets       ascending limits, or a number of buckets with equally many rows; limit[i-1] <= x < limit[i] is in
//                 bucket i
//   indicator     true: another number is 1 for a gap and 0 otherwise
//   min_count     fewest rows of a word of the vocabulary
//   max_size      most words, the most frequent first; 0: all
//   hash_buckets  no vocabulary: the id is the word's FNV-1a hash of 64 bits modulo this number
//   deliver       "one_hot", or "ids" for a model with embeddings. Ids: the words from 0, then one for unknown words,
//                 then one for gaps. "one_hot" has these two only if the training's rows had such cells
//   formats       of %Y %m %d %H %M %S and other characters; default: ISO 8601. A time zone is read and not applied
//   parts         of "year", "month", "weekday" (Monday 0), "hour", "days" (since 1970-01-01)
//   cycles        month, weekday and hour as "sine" (sine and cosine of their angle), "words" (one_hot) or "number"
//
// Nothing here keeps a state beyond its objects. A fitted Column may be used by several threads.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <locale>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "belay/detail/parse_options.h"
#include "belay/error.h"
#include "belay/input.h"
#include "belay/nearest.h"
#include "belay/options.h"

namespace belay {
inline namespace v0 {

// ---- cells

// Handles a number out of double's range. If it is nearer to 0 than any double, such as 1e-400, it is 0, as in other
// readers. It is a separate function, since few cells need it.
[[gnu::noinline, gnu::cold]] inline std::errc number_out_of_range(std::string_view text, double& value) {
  std::istringstream digits{std::string(text)};
  digits.imbue(std::locale::classic());
  digits >> value;
  return std::fabs(value) < 1 ? std::errc() : std::errc::result_out_of_range;
}

// Parses a whole cell as a number, whatever the locale. A plus sign may be before it.
inline std::errc parse_number(std::string_view text, double& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::errc::invalid_argument;
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

// ---- dates

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

// Reads a date in a format such as "%d.%m.%Y".
inline bool parse_format(std::string_view format, std::string_view text, Moment& m) {
  std::int64_t minute = 0, second = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      if (!take_char(text, format.substr(i, 1))) return false;
      continue;
    }
    const char what = format[++i];
    std::int64_t& value = what == 'Y'   ? m.year
                          : what == 'm' ? m.month
                          : what == 'd' ? m.day
                          : what == 'H' ? m.hour
                          : what == 'M' ? minute
                                        : second;
    if (!take_digits(text, what == 'Y' ? 4 : 1, what == 'Y' ? 4 : 2, value)) return false;
  }
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

// ---- options

// One entry of the manifest's table. Empty values mean the defaults above.
struct ColumnOptions {
  std::string name, type, missing, scale, deliver, cycles;
  double fill = 0;              // if missing is "value"
  std::vector<double> buckets;  // limits
  std::int64_t bucket_count = 0, min_count = 1, max_size = 0, hash_buckets = 0;
  bool indicator = false;
  std::vector<std::string> formats, parts;
  std::vector<std::string> keys;  // as written
};

inline const std::vector<std::string>& column_types() {
  static const std::vector<std::string> all{"number", "category", "date", "text", "id", "weight", "ignore"};
  return all;
}

namespace detail {

// The value of one key of a column, with the checks of its form.
class ColumnKey {
 public:
  ColumnKey(std::string name, const belay_value& value) : name_(std::move(name)), value_(value) {}

  [[noreturn]] void refuse(const std::string& what) const { fail(Code::kInvalidArgument, "'" + name_ + "' " + what); }
  bool is_text() const { return !is_list() && kind() == BELAY_VALUE_TEXT; }
  bool is_number() const { return !is_list() && (kind() == BELAY_VALUE_INT || kind() == BELAY_VALUE_FLOAT); }
  std::string text() const {
    if (!is_text()) refuse("must be a string");
    return std::string(view(static_cast<const belay_str*>(value_.data)[0]));
  }
  std::string one_of(const std::vector<std::string>& choices) const {
    std::string text = is_text() ? this->text() : "";
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
    refuse((is_text() ? "is \"" + text + "\", " : "") + ("must be one of: " + list_of(choices)) +
           (is_text() ? did_you_mean(text, choices) : ""));
  }
  bool boolean() const {
    if (is_list() || kind() != BELAY_VALUE_BOOL) refuse("must be true or false");
    return static_cast<const std::int64_t*>(value_.data)[0] != 0;
  }
  std::int64_t integer(std::int64_t least) const {
    const bool whole = !is_list() && kind() == BELAY_VALUE_INT;
    const std::int64_t value = whole ? static_cast<const std::int64_t*>(value_.data)[0] : 0;
    if (!whole || value < least) refuse("must be an integer, at least " + std::to_string(least));
    return value;
  }
  std::vector<double> numbers() const {
    if (kind() != BELAY_VALUE_INT && kind() != BELAY_VALUE_FLOAT) refuse("must be a number or a list of numbers");
    std::vector<double> all;
    for (std::uint64_t i = 0; i < value_.count; ++i)
      all.push_back(kind() == BELAY_VALUE_FLOAT
                        ? static_cast<const double*>(value_.data)[i]
                        : static_cast<double>(static_cast<const std::int64_t*>(value_.data)[i]));
    return all;
  }
  std::vector<std::string> texts() const {
    if (kind() != BELAY_VALUE_TEXT || value_.count == 0) refuse("must be a list of strings");
    std::vector<std::string> all;
    for (std::uint64_t i = 0; i < value_.count; ++i)
      all.emplace_back(view(static_cast<const belay_str*>(value_.data)[i]));
    return all;
  }
  bool is_list() const { return (value_.type & BELAY_VALUE_LIST) != 0; }

  static std::string list_of(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

 private:
  std::int32_t kind() const { return value_.type & ~BELAY_VALUE_LIST; }
  std::string name_;
  const belay_value& value_;
};

// The types that a key is for.
inline const std::map<std::string, std::vector<std::string>>& types_of_keys() {
  static const std::map<std::string, std::vector<std::string>> all{{"missing", {"number", "category", "date"}},
                                                                   {"scale", {"number", "date"}},
                                                                   {"buckets", {"number"}},
                                                                   {"indicator", {"number", "date"}},
                                                                   {"min_count", {"category", "text"}},
                                                                   {"max_size", {"category", "text"}},
                                                                   {"hash_buckets", {"category"}},
                                                                   {"deliver", {"category"}},
                                                                   {"formats", {"date"}},
                                                                   {"parts", {"date"}},
                                                                   {"cycles", {"date"}}};
  return all;
}

inline void read_buckets(const ColumnKey& key, ColumnOptions& column) {
  if (!key.is_list()) {
    column.bucket_count = key.integer(2);
    return;
  }
  column.buckets = key.numbers();
  for (std::size_t i = 1; i < column.buckets.size(); ++i)
    if (!(column.buckets[i - 1] < column.buckets[i])) key.refuse("must be ascending limits, such as [18, 30, 65]");
}

inline void read_formats(const ColumnKey& key, ColumnOptions& column) {
  column.formats = key.texts();
  for (const std::string& format : column.formats) {
    for (std::size_t i = format.find('%'); i != format.npos; i = format.find('%', i + 2))
      if (i + 1 == format.size() || std::string_view("YmdHMS").find(format[i + 1]) == std::string_view::npos)
        key.refuse("has \"" + format + "\"; a format has %Y, %m, %d, %H, %M, %S and other characters");
    for (const char* part : {"%Y", "%m", "%d"})
      if (format.find(part) == format.npos) key.refuse("has \"" + format + "\", which lacks " + part);
  }
}

// Reads one key of a column.
inline void read_column_key(const std::string& name, const ColumnKey& key, ColumnOptions& column) {
  column.keys.push_back(name);
  if (name == "type") column.type = key.one_of(column_types());
  if (name == "missing" && key.is_number()) column.missing = "value", column.fill = key.numbers()[0];
  if (name == "missing" && !key.is_number()) column.missing = key.one_of({"median", "mean", "error", "own"});
  if (name == "scale") column.scale = key.one_of({"standard", "minmax", "log", "none"});
  if (name == "deliver") column.deliver = key.one_of({"one_hot", "ids"});
  if (name == "cycles") column.cycles = key.one_of({"sine", "words", "number"});
  if (name == "buckets") read_buckets(key, column);
  if (name == "indicator") column.indicator = key.boolean();
  if (name == "min_count") column.min_count = key.integer(1);
  if (name == "max_size") column.max_size = key.integer(1);
  if (name == "hash_buckets") column.hash_buckets = key.integer(1);
  if (name == "formats") read_formats(key, column);
  if (name == "parts") {
    column.parts = key.texts();
    for (const std::string& part : column.parts)
      if (std::string_view(",year,month,weekday,hour,days,").find("," + part + ",") == std::string_view::npos)
        key.refuse("has \"" + part + "\"; the parts are year, month, weekday, hour and days");
  }
}

}  // namespace detail

// Returns the columns of a table of the manifest, in its order. `option` is the option's name. INVALID_ARGUMENT names
// the key. An entry is { type = "number", ... }, or the type alone: "number".
inline std::vector<ColumnOptions> parse_columns(const std::string& option, const Table& table) {
  std::vector<ColumnOptions> columns;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::string path(table.key(i));
    const detail::ColumnKey key(option + "." + path, table.value(i));
    const std::size_t dot = path.rfind('.');
    std::string name = dot == path.npos ? "type" : path.substr(dot + 1), column = path.substr(0, dot);
    if (name != "type" && detail::types_of_keys().count(name) == 0) {
      std::vector<std::string> names{"type"};
      for (const auto& known : detail::types_of_keys()) names.push_back(known.first);
      const std::string text = key.is_text() ? key.text() : "";
      if (std::find(column_types().begin(), column_types().end(), text) == column_types().end())
        key.refuse("is unknown" + did_you_mean(name, names) + "; a column has " + detail::ColumnKey::list_of(names));
      name = "type", column = path;  // the column's name has a dot
    }
    const auto has_name = [&](const ColumnOptions& c) { return c.name == column; };
    auto at = std::find_if(columns.begin(), columns.end(), has_name);
    if (at == columns.end()) {
      columns.emplace_back();
      at = columns.end() - 1;
      at->name = column;
    }
    detail::read_column_key(name, key, *at);
  }
  return columns;
}

// Checks that the keys of a column are for its type, which is set or was guessed. INVALID_ARGUMENT names the key.
inline void check_column_keys(const std::string& option, const ColumnOptions& column) {
  const auto refuse = [&](const std::string& key, const std::string& what) {
    fail(Code::kInvalidArgument, "'" + option + "." + column.name + "." + key + "' " + what);
  };
  for (const std::string& key : column.keys) {
    if (key == "type") continue;
    const std::vector<std::string>& types = detail::types_of_keys().at(key);
    if (std::find(types.begin(), types.end(), column.type) == types.end())
      refuse(key, "does not belong to type = \"" + column.type + "\"; it is for " + detail::ColumnKey::list_of(types));
  }
  const bool own = column.missing == "own", value = column.missing == "value" || column.missing == "mean";
  if (own && column.type != "category") refuse("missing", "is \"own\", which is for a category");
  if (column.type == "category" && !own && !column.missing.empty() && column.missing != "error")
    refuse("missing", "must be one of: own, error, since a category has no mean");
  if (column.type == "date" && value) refuse("missing", "must be one of: median, error, for a date");
  if (column.type == "date" && column.scale == "log") refuse("scale", "must be one of: standard, minmax, none");
  if (column.bucket_count + static_cast<std::int64_t>(column.buckets.size()) > 0 && !column.scale.empty())
    refuse("scale", "has no meaning with buckets");
}

// ---- fitted columns

// A column as it was fitted on the training's rows.
struct Column {
  std::string name, type, missing, scale, deliver, cycles;
  Gaps gaps;
  std::vector<double> fill;             // of a number: what stands for a gap
  std::vector<double> offset, divisor;  // (x - offset) / divisor: of a number, or of each part of a date
  std::vector<double> limits;           // of the buckets
  std::vector<double> hash_buckets;     // none: there is a vocabulary
  std::vector<std::string> words, formats, parts;
  bool indicator = false, has_unknown = false, has_gaps = false;
  Moment moment;  // of a date: what stands for a gap

  bool has_ids() const { return type == "category" && deliver == "ids"; }
  // Returns the names of the numbers that write delivers.
  std::vector<std::string> names() const;
  std::size_t width() const { return names_.size(); }
  // Writes width() numbers. Returns the fault of the cell, or null. The fault continues "is "abc", ".
  const char* write(std::string_view cell, double* out) const;
  // Writes the id of a category's cell. The same.
  const char* id_of(std::string_view cell, std::int64_t& id) const;
  std::int64_t ids() const { return word_count() + 2; }
  // Returns the words by id, those for unknown words and gaps too. Empty: the ids are hashes.
  std::vector<std::string> words_by_id() const;

  // Keeps all of it in the schema, under names that begin with "columns.NAME".
  void keep(InputSpec& spec) const;
  // Returns the training's column. None: the training kept no column of this name.
  static std::optional<Column> learned(const InputSpec& spec, const std::string& name, const Gaps& gaps);
  // Makes what is derived from the members. Call it after a change of them.
  void prepare() {
    index_.clear();
    for (std::size_t i = 0; i < words.size(); ++i) index_.emplace(words[i], i);
    names_ = names();
  }

 private:
  static constexpr const char* kGapFault = "which is a gap, and 'missing' is \"error\"";
  std::int64_t word_count() const {
    return hash_buckets.empty() ? static_cast<std::int64_t>(words.size()) : static_cast<std::int64_t>(hash_buckets[0]);
  }
  double scaled(double x, std::size_t part) const {
    if (scale == "log") return std::copysign(std::log1p(std::fabs(x)), x);
    return scale == "none" ? x : (x - offset[part]) / divisor[part];
  }
  const char* write_number(std::string_view cell, double* out) const;
  const char* write_category(std::string_view cell, double* out) const;
  const char* write_date(std::string_view cell, double* out) const;
  void write_text(std::string_view cell, double* out) const;
  double* write_cycle(std::int64_t value, std::int64_t period, double* out) const;
  std::vector<std::pair<const char*, std::vector<double>*>> value_fields() {
    return {{"fill", &fill},
            {"offset", &offset},
            {"divisor", &divisor},
            {"limits", &limits},
            {"hash_buckets", &hash_buckets}};
  }
  std::vector<std::pair<const char*, std::vector<std::string>*>> word_fields() {
    return {{"words", &words}, {"formats", &formats}, {"parts", &parts}};
  }
  std::vector<std::pair<const char*, std::string*>> settings() {
    return {{"type", &type}, {"missing", &missing}, {"scale", &scale}, {"deliver", &deliver}, {"cycles", &cycles}};
  }
  std::vector<std::pair<const char*, bool*>> flags() {
    return {{"indicator", &indicator}, {"unknown", &has_unknown}, {"gaps", &has_gaps}};
  }

  std::map<std::string, std::size_t, std::less<>> index_;  // of the words
  std::vector<std::string> names_;
};

namespace detail {

inline std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

// Calls f with each word of a text, in lower case. Words are runs of letters and digits; bytes beyond ASCII are
// letters.
template <class F>
void each_word(std::string_view text, const F& f) {
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    const bool upper = c >= 'A' && c <= 'Z', beyond = (static_cast<unsigned char>(c) & 0x80) != 0;
    if (upper || beyond || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word.push_back(upper ? static_cast<char>(c - 'A' + 'a') : c);
    } else if (!word.empty()) {
      f(word);
      word.clear();
    }
  }
}

struct Cycle {
  const char* part;
  std::int64_t period;
};
inline std::int64_t period_of(std::string_view part) {
  for (const Cycle& c : {Cycle{"month", 12}, Cycle{"weekday", 7}, Cycle{"hour", 24}})
    if (part == c.part) return c.period;
  return 0;
}
inline std::int64_t part_of(const Moment& m, std::string_view part) {
  if (part == "year") return m.year;
  if (part == "month") return m.month;
  if (part == "weekday") return m.weekday();
  return part == "hour" ? m.hour : m.days();
}

}  // namespace detail

inline std::vector<std::string> Column::names() const {
  std::vector<std::string> all;
  if (type == "number" && limits.empty()) all.push_back(name);
  for (std::size_t i = 0; i <= limits.size() && !limits.empty(); ++i) {
    const std::string low = i == 0 ? "" : detail::number_text(limits[i - 1]);
    const std::string high = i == limits.size() ? "" : detail::number_text(limits[i]);
    all.push_back(high.empty() ? name + ">=" + low : (low.empty() ? "" : low + "<=") + name + "<" + high);
  }
  if (type == "category" && !has_ids()) {
    for (std::int64_t i = 0; i < word_count(); ++i)
      all.push_back(name + (hash_buckets.empty() ? "=" + words[static_cast<std::size_t>(i)] : "#" + std::to_string(i)));
    if (has_unknown) all.push_back(name + " is unknown");
    if (has_gaps) all.push_back(name + " is missing");
  }
  for (const std::string& part : parts) {
    const std::int64_t period = detail::period_of(part);
    const std::string base = name + " " + part;
    if (period == 0 || cycles == "number") {
      all.push_back(base);
    } else if (cycles == "sine") {
      all.push_back(base + " sine"), all.push_back(base + " cosine");
    } else {
      for (std::int64_t i = 0; i < period; ++i) all.push_back(base + "=" + std::to_string(i + (part == "month")));
    }
  }
  for (std::size_t i = 0; type == "text" && i < words.size(); ++i) all.push_back(name + ":" + words[i]);
  if (indicator) all.push_back(name + " is missing");
  return all;
}

inline const char* Column::write_number(std::string_view cell, double* out) const {
  const bool gap = is_gap(gaps, cell);
  double x = gap && !fill.empty() ? fill[0] : 0;
  if (gap && missing == "error") return kGapFault;
  if (const char* fault = gap ? nullptr : read_number(cell, x)) return fault;
  if (limits.empty()) {
    *out++ = scaled(x, 0);
  } else {
    const auto bucket = std::upper_bound(limits.begin(), limits.end(), x) - limits.begin();
    std::fill_n(out, limits.size() + 1, 0.0);
    out[bucket] = 1;
    out += limits.size() + 1;
  }
  if (indicator) *out = gap ? 1 : 0;
  return nullptr;
}

inline const char* Column::id_of(std::string_view cell, std::int64_t& id) const {
  if (is_gap(gaps, cell)) {
    id = word_count() + 1;
    return missing == "error" ? kGapFault : nullptr;
  }
  if (!hash_buckets.empty()) {
    id = static_cast<std::int64_t>(detail::fnv1a(cell) % static_cast<std::uint64_t>(hash_buckets[0]));
    return nullptr;
  }
  const auto found = index_.find(cell);
  id = found == index_.end() ? word_count() : static_cast<std::int64_t>(found->second);
  return nullptr;
}

inline const char* Column::write_category(std::string_view cell, double* out) const {
  std::int64_t id = 0;
  const char* fault = id_of(cell, id);
  if (fault != nullptr || has_ids()) return fault;
  std::fill_n(out, names_.size(), 0.0);
  const std::int64_t n = word_count();
  if (id < n) out[id] = 1;
  if (id == n && has_unknown) out[n] = 1;
  if (id == n + 1 && has_gaps) out[n + (has_unknown ? 1 : 0)] = 1;
  return nullptr;
}

inline double* Column::write_cycle(std::int64_t value, std::int64_t period, double* out) const {
  if (cycles == "number") {
    *out++ = static_cast<double>(value);
    return out;
  }
  const std::int64_t from_zero = period == 12 ? value - 1 : value;
  if (cycles == "words") {
    std::fill_n(out, period, 0.0);
    out[from_zero] = 1;
    return out + period;
  }
  const double angle = 2 * 3.14159265358979323846 * static_cast<double>(from_zero) / static_cast<double>(period);
  *out++ = std::sin(angle);
  *out++ = std::cos(angle);
  return out;
}

inline const char* Column::write_date(std::string_view cell, double* out) const {
  const bool gap = is_gap(gaps, cell);
  if (gap && missing == "error") return kGapFault;
  Moment m = moment;
  if (!gap && !parse_date(formats, cell, m))
    return formats.empty() ? "not a date such as 2025-01-09 or 2025-01-09T14:00" : "not a date in one of the 'formats'";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t value = detail::part_of(m, parts[i]), period = detail::period_of(parts[i]);
    if (period != 0)
      out = write_cycle(value, period, out);
    else
      *out++ = scaled(static_cast<double>(value), i);
  }
  if (indicator) *out = gap ? 1 : 0;
  return nullptr;
}

inline void Column::write_text(std::string_view cell, double* out) const {
  std::fill_n(out, names_.size(), 0.0);
  if (is_gap(gaps, cell)) return;
  detail::each_word(cell, [&](const std::string& word) {
    if (const auto found = index_.find(word); found != index_.end()) out[found->second] += 1;
  });
}

inline const char* Column::write(std::string_view cell, double* out) const {
  if (type == "number") return write_number(cell, out);
  if (type == "category") return write_category(cell, out);
  if (type == "date") return write_date(cell, out);
  if (type == "text") write_text(cell, out);
  return nullptr;
}

inline std::vector<std::string> Column::words_by_id() const {
  if (!hash_buckets.empty()) return {};
  std::vector<std::string> all = words;
  for (std::string other : {"<unknown>", "<missing>"}) {
    while (index_.count(other) != 0) other = "<" + other + ">";
    all.push_back(other);
  }
  return all;
}

inline void Column::keep(InputSpec& spec) const {
  const std::string prefix = "columns." + name;
  Column fields = *this;
  std::vector<std::string> set;
  for (const auto& [key, value] : fields.settings())
    if (!value->empty()) set.push_back(std::string(key) + "=" + *value);
  for (const auto& [key, value] : fields.flags())
    if (*value) set.push_back(std::string(key) + "=true");
  if (type == "date") set.push_back("fill=" + moment.text());
  spec.keep(prefix + ".settings", set);
  for (const auto& [key, values] : fields.value_fields())
    if (!values->empty()) spec.keep(prefix + "." + key, *values);
  for (const auto& [key, list] : fields.word_fields())
    if (!list->empty()) spec.keep(prefix + "." + key, *list);
}

inline std::optional<Column> Column::learned(const InputSpec& spec, const std::string& name, const Gaps& gaps) {
  const std::string prefix = "columns." + name;
  const auto set = spec.learned_words(prefix + ".settings");
  if (!set) return std::nullopt;
  Column column;
  column.name = name, column.gaps = gaps;
  for (const std::string& text : *set) {
    const std::size_t equals = std::min(text.find('='), text.size() - 1);
    const std::string key = text.substr(0, equals), value = text.substr(equals + 1);
    for (const auto& [known, field] : column.settings())
      if (key == known) *field = value;
    for (const auto& [known, flag] : column.flags())
      if (key == known) *flag = true;
    if (key == "fill") parse_date({}, value, column.moment);
  }
  for (const auto& [key, values] : column.value_fields())
    if (auto found = spec.learned_values(prefix + "." + key)) *values = std::move(*found);
  for (const auto& [key, list] : column.word_fields())
    if (auto found = spec.learned_words(prefix + "." + key)) *list = std::move(*found);
  column.prepare();
  return column;
}

// ---- fitting

// Fits one column of type number, category, date or text. Give it each cell of the training's rows, then call finish.
// Cells that are wrong are passed over: write reports them.
class ColumnFit {
 public:
  ColumnFit(ColumnOptions options, Gaps gaps) : o_(std::move(options)), gaps_(std::move(gaps)) {
    if (o_.type == "date" && o_.parts.empty()) o_.parts = {"year", "month", "weekday", "days"};
  }

  void add(std::string_view cell) {
    if (is_gap(gaps_, cell)) {
      ++gap_count_;
    } else if (o_.type == "number") {
      double x = 0;
      if (read_number(cell, x) == nullptr) numbers_.push_back(x);
    } else if (o_.type == "date") {
      Moment m;
      if (parse_date(o_.formats, cell, m)) moments_.push_back(m);
    } else if (o_.type == "category" && o_.hash_buckets == 0) {
      count(std::string(cell));
    } else if (o_.type == "text") {
      std::set<std::string> words;
      detail::each_word(cell, [&](const std::string& word) { words.insert(word); });
      for (const std::string& word : words) count(word);
    }
  }

  Column finish() {
    Column c;
    c.name = o_.name, c.type = o_.type, c.gaps = gaps_;
    c.missing = !o_.missing.empty() ? o_.missing : o_.type == "category" ? "own" : o_.type == "text" ? "" : "median";
    if (o_.type == "number") fit_number(c);
    if (o_.type == "date") fit_date(c);
    if (o_.type == "category" || o_.type == "text") fit_words(c);
    c.prepare();
    return c;
  }

 private:
  void count(const std::string& word) { ++counts_[word]; }

  // Returns the value at `share` of the sorted numbers, between two of them by their distance, as numpy's quantile.
  static double quantile(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const std::size_t high = std::min(low + 1, sorted.size() - 1);
    return sorted[low] + (sorted[high] - sorted[low]) * (place - static_cast<double>(low));
  }

  // Measures offset and divisor of the values, of which `fills` more are `fill`.
  void measure(const std::vector<double>& values, double fill, std::int64_t fills, Column& c) const {
    const auto n = static_cast<double>(values.size()) + static_cast<double>(fills), filled = static_cast<double>(fills);
    double offset = 0, divisor = 1;
    if (n > 0 && c.scale == "standard") {
      double sum = filled * fill, squares = 0;
      for (const double v : values) sum += v;
      offset = sum / n;
      for (const double v : values) squares += (v - offset) * (v - offset);
      squares += filled * (fill - offset) * (fill - offset);
      divisor = squares > 0 ? std::sqrt(squares / n) : 1;
    } else if (n > 0 && c.scale == "minmax") {
      double low = values.empty() ? fill : values[0], high = low;
      for (const double v : values) low = std::min(low, v), high = std::max(high, v);
      if (fills > 0) low = std::min(low, fill), high = std::max(high, fill);
      offset = low, divisor = high > low ? high - low : 1;
    }
    c.offset.push_back(offset), c.divisor.push_back(divisor);
  }

  void fit_number(Column& c) {
    std::vector<double> sorted = numbers_;
    std::sort(sorted.begin(), sorted.end());
    double fill = o_.fill;
    if (c.missing == "median" && !sorted.empty()) {
      const std::size_t middle = sorted.size() / 2;
      fill = sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    } else if (c.missing == "mean" && !sorted.empty()) {
      double sum = 0;
      for (const double v : numbers_) sum += v;
      fill = sum / static_cast<double>(numbers_.size());
    }
    c.scale = o_.scale.empty() ? "none" : o_.scale;
    if (c.missing != "error") c.fill = {fill};
    c.indicator = o_.indicator;
    c.limits = o_.buckets;
    for (std::int64_t i = 1; i < o_.bucket_count && !sorted.empty(); ++i) {
      const double limit = quantile(sorted, static_cast<double>(i) / static_cast<double>(o_.bucket_count));
      if (c.limits.empty() || limit > c.limits.back()) c.limits.push_back(limit);
    }
    if (c.scale == "standard" || c.scale == "minmax") measure(numbers_, fill, c.fill.empty() ? 0 : gap_count_, c);
  }

  void fit_date(Column& c) {
    c.formats = o_.formats, c.parts = o_.parts, c.indicator = o_.indicator;
    c.scale = o_.scale.empty() ? "standard" : o_.scale;
    c.cycles = o_.cycles.empty() ? "sine" : o_.cycles;
    std::vector<Moment> sorted = moments_;
    std::sort(sorted.begin(), sorted.end());
    if (!sorted.empty()) c.moment = sorted[(sorted.size() - 1) / 2];
    for (const std::string& part : c.parts) {
      std::vector<double> values;
      if (detail::period_of(part) != 0) {
        c.offset.push_back(0), c.divisor.push_back(1);
        continue;
      }
      for (const Moment& m : moments_) values.push_back(static_cast<double>(detail::part_of(m, part)));
      measure(values, static_cast<double>(detail::part_of(c.moment, part)), c.missing == "error" ? 0 : gap_count_, c);
    }
  }

  void fit_words(Column& c) {
    std::vector<std::pair<std::int64_t, std::string>> all;
    for (const auto& [word, n] : counts_)
      if (n >= o_.min_count) all.emplace_back(-n, word);
    std::sort(all.begin(), all.end());
    const std::int64_t most = o_.max_size != 0 ? o_.max_size : o_.type == "text" ? kTextWords : 0;
    if (most != 0 && all.size() > static_cast<std::size_t>(most)) all.resize(static_cast<std::size_t>(most));
    for (const auto& entry : all) c.words.push_back(entry.second);
    if (o_.hash_buckets != 0) c.hash_buckets = {static_cast<double>(o_.hash_buckets)};
    if (o_.type != "category") return;
    c.has_unknown = all.size() < counts_.size();
    c.has_gaps = gap_count_ != 0;
    c.deliver = o_.deliver.empty() ? "one_hot" : o_.deliver;
  }

  static constexpr std::int64_t kTextWords = 1000;  // of a text without max_size
  ColumnOptions o_;
  Gaps gaps_;
  std::int64_t gap_count_ = 0;
  std::vector<double> numbers_;
  std::vector<Moment> moments_;
  std::map<std::string, std::int64_t> counts_;  // rows of each word
};

// ---- guessing a type

// Guesses the type of a column from the training's cells. A column is of numbers or dates if at least half of its cells
// are; the others are errors then. Other columns are categories. Two kinds are not: a cell that is different in almost
// all rows is text if it has three words, or else something like an id, which is ignored.
class ColumnGuess {
 public:
  explicit ColumnGuess(Gaps gaps) : gaps_(std::move(gaps)) {}

  void add(std::string_view cell) {
    ++rows_;
    double number = 0;
    Moment moment;
    if (is_gap(gaps_, cell)) {
      ++gap_count_;
    } else if (read_number(cell, number) == nullptr) {
      ++numbers_;
    } else if (parse_date({}, cell, moment)) {
      ++dates_;
    } else {
      detail::each_word(cell, [&](const std::string&) { ++words_; });
      if (different_.size() < kCounted) different_.insert(std::string(cell));
      ++others_;
    }
  }

  std::string type() const {
    const std::int64_t cells = rows_ - gap_count_;
    if (cells == 0) return "ignore";
    if (2 * numbers_ >= cells) return "number";
    if (2 * dates_ >= cells) return "date";
    const bool many = others_ >= kFewRows && 2 * static_cast<std::int64_t>(different_.size()) > others_;
    return !many ? "category" : words_ >= 3 * others_ ? "text" : "ignore";
  }

  // Returns "category, 12 different words in 100 rows, 3 gaps" for the log.
  std::string text() const {
    const std::string type = this->type();
    std::string text = type;
    if (!different_.empty() && (type == "category" || type == "ignore" || type == "text"))
      text += ", " + std::to_string(different_.size()) + (different_.size() == kCounted ? " or more" : "") +
              " different cells of words in " + std::to_string(rows_) + " rows";
    return text + (gap_count_ == 0 ? "" : ", " + std::to_string(gap_count_) + (gap_count_ == 1 ? " gap" : " gaps"));
  }

 private:
  static constexpr std::size_t kCounted = 100'000;
  static constexpr std::int64_t kFewRows = 20;
  Gaps gaps_;
  std::int64_t rows_ = 0, gap_count_ = 0, numbers_ = 0, dates_ = 0, others_ = 0, words_ = 0;
  std::set<std::string, std::less<>> different_;
};

}  // namespace v0
}  // namespace belay
