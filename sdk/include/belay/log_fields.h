// SPDX-License-Identifier: Apache-2.0
// The values of a log line as fields, for programs that read the log.
//
//   belay::LogFields fields;
//   fields.add("loss", 0.25);
//   fields.add("steps_per_sec", 120.5);
//   host().info("loss 0.25, 120.5 steps/s" + fields.text());
//
// `belay run --log-format json` adds them as members to the line's object, next to "time", "level", "source" and
// "message". They cannot replace those. A log for people shows the text alone. Write a field's name like TensorBoard
// and metrics.jsonl do: lower case, words joined by '_', a unit at the end.
//
// A host that does not know fields shows them escaped, after the text. Use one object for each line. [any]
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay {
inline namespace v0 {

namespace detail {

// The parts of a line as they cross: the text, rows that a log for people shows below it, and one JSON object. ASCII's
// record and unit separators do not occur in text for people.
constexpr char kLogRow = '\x1e';
constexpr char kLogFields = '\x1f';

// Returns the text as a JSON string, with quotes.
inline std::string json_text(std::string_view text) {
  constexpr const char* kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      ((out += "\\u00") += kHex[c >> 4]) += kHex[c & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

// Returns all digits that read back to the same number. For a NaN or infinity it is null, since JSON has neither.
inline std::string json_number(double v) {
  if (!std::isfinite(v)) return "null";
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), v).ptr);
}

}  // namespace detail

// The fields of one line, in the order in which they were added.
class LogFields {
 public:
  // Adds a field. If a name is added twice, the object has both; readers take the last one.
  void add(std::string_view name, double v) { put(name, detail::json_number(v)); }
  void add(std::string_view name, std::int64_t v) { put(name, std::to_string(v)); }
  void add(std::string_view name, int v) { put(name, std::to_string(v)); }
  void add(std::string_view name, std::string_view v) { put(name, detail::json_text(v)); }
  void add(std::string_view name, const char* v) { put(name, detail::json_text(v)); }
  // Adds a field of JSON: `json` is an object or a list, and is not changed.
  void add_json(std::string_view name, std::string_view json) { put(name, json); }

  // The string to append to the line's text; empty without fields.
  std::string text() const { return members_.empty() ? "" : detail::kLogFields + json(); }
  // The object: {"loss":0.25}
  std::string json() const { return "{" + members_ + "}"; }

 private:
  void put(std::string_view name, std::string_view json) {
    if (!members_.empty()) members_ += ',';
    members_ += detail::json_text(name);
    (members_ += ':') += json;
  }
  std::string members_;
};

}  // namespace v0
}  // namespace belay
