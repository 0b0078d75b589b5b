// SPDX-License-Identifier: Apache-2.0
// A fitted column: it turns cells into numbers for the model. It is kept with the model.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/columns/cells.h"
#include "belay/detail/parse_options.h"
#include "belay/error.h"
#include "belay/input.h"

namespace belay {
inline namespace v0 {

// A column as it was fitted on the training's rows.
struct Column {
  std::string name, type, missing, scale, deliver, cycles;
  Gaps gaps;
  std::vector<double> fill;             // of a number: the value of a gap
  std::vector<double> offset, divisor;  // (x - offset) / divisor: of a number, or of each part of a date
  std::vector<double> limits;           // of the buckets
  std::vector<double> hash_buckets;     // none: there is a vocabulary
  std::vector<std::string> words, formats, parts;
  bool indicator = false, has_unknown = false, has_gaps = false;
  bool has_own_gaps = false;  // `gaps` are not those of all columns
  Moment moment;              // of a date: the value of a gap

  bool has_ids() const { return type == "category" && deliver == "ids"; }
  // Returns the names of the numbers that write delivers.
  std::vector<std::string> names() const;
  std::size_t width() const { return names_.size(); }
  // Writes width() numbers. Returns the fault of the cell, or null. The fault continues "is "abc", ".
  const char* write(std::string_view cell, double* out) const;
  // Writes the id of a category's cell. The same.
  const char* id_of(std::string_view cell, std::int64_t& id) const;
  // True for a category's word that is none of the training's words. Those of hashes are all known.
  bool is_unknown(std::string_view cell) const {
    return type == "category" && hash_buckets.empty() && !is_gap(gaps, cell) && index_.find(cell) == index_.end();
  }
  std::int64_t ids() const { return word_count() + 2; }
  // Returns the words by id, those for unknown words and gaps too. Empty: the ids are hashes.
  std::vector<std::string> words_by_id() const;

  // Keeps all of it in the schema, under names that begin with "columns.NAME".
  void keep(InputSpec& spec) const;
  // Returns the training's column. None: the training kept no column of this name. DATA_LOSS: what it kept is damaged.
  // `gaps` are those of columns without their own gaps.
  static std::optional<Column> learned(const InputSpec& spec, const std::string& name, const Gaps& gaps);
  // Makes what is derived from the members. Call it after a change of them.
  void prepare() {
    index_.clear();
    for (std::size_t i = 0; i < words.size(); ++i) index_.emplace(words[i], i);
    names_ = names();
  }

 private:
  // True if the members fit together, so that write can use them.
  bool is_whole() const;
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
  if (has_own_gaps) spec.keep(prefix + ".gaps", gaps);
}

inline bool Column::is_whole() const {
  const auto finite = [](const std::vector<double>& all) {
    return std::all_of(all.begin(), all.end(), [](double x) { return std::isfinite(x); });
  };
  const double most = has_ids() ? 1e9 : 1e7;  // one_hot has a name for each
  const bool scales = type == "number" && limits.empty() && scale != "none" && scale != "log";
  const std::size_t scaled = type == "date" ? parts.size() : scales ? 1 : 0;
  if (offset.size() != divisor.size() || offset.size() < scaled || !finite(offset) || !finite(divisor)) return false;
  if (!finite(fill) || !finite(limits) || !std::is_sorted(limits.begin(), limits.end())) return false;
  if (std::find(divisor.begin(), divisor.end(), 0.0) != divisor.end()) return false;
  for (const double buckets : hash_buckets)
    if (!(buckets >= 1 && buckets <= most)) return false;
  return type == "number" || type == "category" || type == "date" || type == "text";
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
  if (auto own = spec.learned_words(prefix + ".gaps")) column.gaps = std::move(*own), column.has_own_gaps = true;
  if (!column.is_whole())
    fail(Code::kDataLoss, "[B3051] columns: what the training kept of the column \"" + name +
                              "\" is damaged; restore another checkpoint of the model");
  column.prepare();
  return column;
}

}  // namespace v0
}  // namespace belay
