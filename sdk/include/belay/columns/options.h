// SPDX-License-Identifier: Apache-2.0
// The options of columns, as a manifest has them. belay/columns.h lists types and keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/columns/cells.h"
#include "belay/error.h"
#include "belay/nearest.h"
#include "belay/options.h"

namespace belay {
inline namespace v0 {

// One entry of the manifest's table. Empty values mean the defaults above.
struct ColumnOptions {
  std::string name, type, missing, scale, deliver, cycles;
  double fill = 0;              // if missing is "value"
  std::vector<double> buckets;  // limits
  std::int64_t bucket_count = 0, min_count = 1, max_size = 0, hash_buckets = 0;
  bool indicator = false;
  std::vector<std::string> formats, parts;
  Gaps gaps;                      // of this column alone; empty: those of all columns
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

  [[noreturn]] void refuse(const std::string& what) const {
    fail(Code::kInvalidArgument, "[B3044] '" + name_ + "' " + what);
  }
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
  static const std::map<std::string, std::vector<std::string>> all{{"gaps", {"number", "category", "date", "text"}},
                                                                   {"missing", {"number", "category", "date"}},
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
  const auto has = [](const std::string& format, const char* part) { return format.find(part) != format.npos; };
  for (const std::string& format : column.formats) {
    for (std::size_t i = format.find('%'); i != format.npos; i = format.find('%', i + 2))
      if (i + 1 == format.size() || std::string_view("YymbdHIMSp").find(format[i + 1]) == std::string_view::npos)
        key.refuse("has \"" + format +
                   "\"; a format has %Y or %y, %m or %b (a name in English), %d, %H or %I with %p, %M, %S and other "
                   "characters");
    if (!has(format, "%Y") && !has(format, "%y")) key.refuse("has \"" + format + "\", which lacks %Y");
    if (!has(format, "%m") && !has(format, "%b")) key.refuse("has \"" + format + "\", which lacks %m");
    if (!has(format, "%d")) key.refuse("has \"" + format + "\", which lacks %d");
    if (has(format, "%I") != has(format, "%p"))
      key.refuse("has \"" + format + "\"; an hour of 12 has %I and %p (AM or PM), and one of 24 has %H");
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
  if (name == "gaps") column.gaps = key.texts();
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
      const std::string text = key.is_text() ? key.text() : "",
                        meant = dot == path.npos ? "" : did_you_mean(name, names);
      if (!meant.empty() || std::find(column_types().begin(), column_types().end(), text) == column_types().end())
        key.refuse("is unknown" + meant + "; a column has " + detail::ColumnKey::list_of(names));
      name = "type", column = path;  // the column's name has a dot
    }
    // No value of these keys is a type, so a type means that the key is the end of the column's name. `cycles` has one.
    const auto is_type = [](const std::string& text) {
      return std::find(column_types().begin(), column_types().end(), text) != column_types().end();
    };
    if (name != "type" && name != "cycles" && key.is_text() && is_type(key.text())) name = "type", column = path;
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
    fail(Code::kInvalidArgument, "[B3044] '" + option + "." + column.name + "." + key + "' " + what);
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

}  // namespace v0
}  // namespace belay
