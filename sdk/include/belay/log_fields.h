// SPDX-License-Identifier: Apache-2.0
// What a line of the log says, once more as fields: for who reads the log with a program.
//
//   belay::LogFields fields;
//   fields.add("loss", 0.25);
//   fields.add("steps_per_sec", 120.5);
//   host().info("loss 0.25, 120.5 steps/s" + fields.text());
//
// `belay run --log-format json` makes members of the line's object of them, beside "time", "level", "source" and
// "message", which they cannot replace. A log for people shows the text alone. A field's name is written as TensorBoard
// and metrics.jsonl have it: lower case, words joined by '_', a unit at the end.
//
// A host that does not know them shows them escaped, behind the text. [any thread], an object for each line
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay {
inline namespace v0 {

namespace detail {

// How the parts of a line cross: TEXT, rows that a log for people shows below it, and one JSON object. ASCII's record
// and unit separator are in no text of a person's.
constexpr char kLogRow = '\x1e';
constexpr char kLogFields = '\x1f';

// "text", with quotes.
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

// All digits that read back to the same number; null where it is not finite, for which JSON has no word.
inline std::string json_number(double v) {
  if (!std::isfinite(v)) return "null";
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), v).ptr);
}

}  // namespace detail

class LogFields {
 public:
  // A name that was added before is there twice: the reader takes the last one.
  void add(std::string_view name, double v) { put(name, detail::json_number(v)); }
  void add(std::string_view name, std::int64_t v) { put(name, std::to_string(v)); }
  void add(std::string_view name, int v) { put(name, std::to_string(v)); }
  void add(std::string_view name, std::string_view v) { put(name, detail::json_text(v)); }
  void add(std::string_view name, const char* v) { put(name, detail::json_text(v)); }
  // `json`: an object or a list, as it is to be in the line.
  void add_json(std::string_view name, std::string_view json) { put(name, json); }

  // What is appended to the line's text; empty without fields.
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
