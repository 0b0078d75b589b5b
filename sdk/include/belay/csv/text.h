// SPDX-License-Identifier: Apache-2.0
// Text of comma-separated values as in RFC 4180. A record ends with a line feed, and a carriage return before it is
// dropped. It may also end with only a carriage return, as on old Macs. A field in double quotes may hold delimiters,
// line ends and doubled quotes. Spaces and tabs around a field are dropped. Blank lines are no records.
//
//   csv::Scan scan;
//   for (const csv::Record& record : csv::find_records(text, scan)) {
//     csv::split_record(text.substr(record.begin, record.end - record.begin), ',', fields);
//     ... fields.views[0] is the first cell
//   }
//
// belay/csv/file.h reads files with it. All functions work on any thread and keep no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "belay/error.h"

namespace belay {
inline namespace v0 {
namespace csv {

// The mark in UTF-8. A file may begin with marks. Joined files also have them inside.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Record {
  std::size_t begin = 0, end = 0;  // in the text, without the line's end
  std::int64_t line = 1;           // the line of its start, from 1
};

// The fields of one record. They view the record, or a text in `unquoted` if quotes were doubled in it.
struct Fields {
  std::vector<std::string_view> views;
  std::deque<std::string> unquoted;
};

// How a text is taken by parts. Each part begins where a record begins.
struct Scan {
  char delimiter = ',';
  std::int64_t skip_lines = 0;  // lines of the text without records
  bool last = true;             // the text ends with this part; false: a record without its end is left
  std::int64_t line = 1;        // the line of the part's beginning; find_records sets it for the next part
  std::size_t used = 0;         // find_records sets it: bytes of this part that are done
};

// Returns the place of the first byte that begins no character of UTF-8; npos: the text is whole.
inline std::size_t first_not_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  for (std::size_t at = 0; at < text.size();) {
    if (std::uint64_t word = 0; text.size() - at >= kWord) {
      std::memcpy(&word, text.data() + at, kWord);
      if ((word & 0x8080808080808080u) == 0) {
        at += kWord;
        continue;
      }
    }
    const unsigned char first = byte(at);
    const std::size_t more = first < 0x80 ? 0 : first < 0xc2 ? 4 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (first > 0xf4 || more > 3 || text.size() - at <= more) return at;
    for (std::size_t i = 1; i <= more; ++i)
      if ((byte(at + i) & 0xc0) != 0x80) return at;
    // Characters with too many bytes, halves of pairs of UTF-16, and numbers that are too large.
    const unsigned char second = more == 0 ? 0 : byte(at + 1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second > 0x8f))
      return at;
    at += more + 1;
  }
  return std::string_view::npos;
}

namespace detail {

inline bool is_space(char c, char delimiter) { return (c == ' ' || c == '\t' || c == '\r') && c != delimiter; }

inline bool is_blank(std::string_view text, char delimiter) {
  for (const char c : text)
    if (!is_space(c, delimiter)) return false;
  return true;
}

inline std::string_view trimmed(std::string_view text, char delimiter) {
  while (!text.empty() && is_space(text.front(), delimiter)) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back(), delimiter)) text.remove_suffix(1);
  return text;
}

// Takes a quoted field and the delimiter after it from the front of `rest`, which begins with the quote. `more` is true
// if there was a delimiter.
inline std::string_view take_quoted(std::string_view& rest, char delimiter, bool& more,
                                    std::deque<std::string>& unquoted) {
  std::string* copy = nullptr;  // of a field with doubled quotes
  std::size_t begin = 1, quote = rest.find('"', begin);
  for (; quote < rest.size() - 1 && rest[quote + 1] == '"'; quote = rest.find('"', begin)) {
    if (copy == nullptr) copy = &unquoted.emplace_back();
    copy->append(rest, begin, quote + 1 - begin);
    begin = quote + 2;
  }
  if (quote == std::string_view::npos)
    fail(Code::kDataLoss,
         "[B3037] a quoted field does not end; close the quote, or double it if it is a part of the text");
  std::string_view field = rest.substr(begin, quote - begin);
  if (copy != nullptr) field = copy->append(field);
  const std::size_t end = rest.find(delimiter, quote + 1);
  more = end != std::string_view::npos;
  if (!is_blank(rest.substr(quote + 1, more ? end - quote - 1 : end), delimiter))
    fail(Code::kDataLoss, "[B3037] a quoted field is followed by more text; double the quotes inside it");
  rest.remove_prefix(more ? end + 1 : rest.size());
  return field;
}

inline void skip_space(std::string_view& rest, char delimiter) {
  while (!rest.empty() && is_space(rest.front(), delimiter)) rest.remove_prefix(1);
}

// Does the same for any field.
inline std::string_view take_field(std::string_view& rest, char delimiter, bool& more,
                                   std::deque<std::string>& unquoted) {
  skip_space(rest, delimiter);
  if (!rest.empty() && rest.front() == '"') return take_quoted(rest, delimiter, more, unquoted);
  std::size_t end = 0;  // fields are short, so a loop finds their end faster than memchr
  while (end < rest.size() && rest[end] != delimiter) ++end;
  more = end < rest.size();
  const std::string_view field = trimmed(rest.substr(0, end), delimiter);
  rest.remove_prefix(more ? end + 1 : rest.size());
  return field;
}

}  // namespace detail

// True if a line ends with the character at `i`.
inline bool ends_line(std::string_view text, std::size_t i) {
  if (text[i] != '\r') return text[i] == '\n';
  const std::string_view next = text.substr(i + 1, 2);
  return next.substr(0, 1) != "\n" && next != "\r\n";  // converting line ends twice makes "\r\r\n"
}

namespace detail {

// The records of a part in which each line feed ends a record, since it has neither quotes nor carriage returns.
inline std::vector<Record> find_plain_records(std::string_view text, Scan& scan) {
  std::vector<Record> records;
  for (scan.used = 0; scan.used < text.size(); ++scan.line) {
    const std::size_t found = text.find('\n', scan.used), end = found == text.npos ? text.size() : found;
    if (found == text.npos && !scan.last) break;
    if (scan.line > scan.skip_lines && !is_blank(text.substr(scan.used, end - scan.used), scan.delimiter))
      records.push_back({scan.used, end, scan.line});
    scan.used = found == text.npos ? end : end + 1;
  }
  return records;
}

}  // namespace detail

// Returns the records of a part of a text. It looks only at quotes and line ends.
inline std::vector<Record> find_records(std::string_view text, Scan& scan) {
  if (text.find('"') == text.npos && text.find('\r') == text.npos) return detail::find_plain_records(text, scan);
  std::vector<Record> records;
  std::int64_t line = scan.line;
  Record record{0, 0, line};
  bool quoted = false, field_begins = true;
  const auto finish = [&](std::size_t end) {
    record.end = end;
    if (record.line > scan.skip_lines &&
        !detail::is_blank(text.substr(record.begin, end - record.begin), scan.delimiter))
      records.push_back(record);
    record = {end + 1, 0, line};
    quoted = false, field_begins = true;
  };
  constexpr std::size_t kAhead = 2;  // ends_line looks at two more characters
  const std::size_t size = scan.last ? text.size() : text.size() < kAhead ? 0 : text.size() - kAhead;
  for (std::size_t i = 0; i < size; ++i) {
    const char c = text[i];
    // Few characters are below '\r', so one comparison is enough for most.
    if (static_cast<unsigned char>(c) <= '\r' && ends_line(text, i)) {
      ++line;
      if (!quoted) finish(i);
    } else if (quoted) {
      if (c == '"') quoted = false;  // the second of a doubled quote opens the field again
      field_begins = !quoted;
    } else if (c == '"' && field_begins) {
      quoted = record.line > scan.skip_lines;
    } else {
      field_begins = c == scan.delimiter || (field_begins && detail::is_space(c, scan.delimiter));
    }
  }
  scan.used = scan.last ? text.size() : record.begin;
  scan.line = scan.last ? line : record.line;
  if (scan.last) finish(text.size());
  return records;
}

// Replaces `fields` by those of one record. DATA_LOSS with B3037, without the place: a quote does not end, or more text
// follows it.
inline void split_record(std::string_view record, char delimiter, Fields& fields) {
  fields.views.clear();
  fields.unquoted.clear();
  std::string_view rest = record;
  for (bool more = true; more;) fields.views.push_back(detail::take_field(rest, delimiter, more, fields.unquoted));
}

// Returns copies of them.
inline std::vector<std::string> split_record(std::string_view record, char delimiter) {
  Fields fields;
  split_record(record, delimiter, fields);
  return {fields.views.begin(), fields.views.end()};
}

// Returns the start of a field, in bytes. If there are fewer fields, or an earlier one is broken, it returns that of
// the last one.
inline std::size_t field_begin(std::string_view record, char delimiter, std::size_t field) {
  while (!record.empty() && record.back() == '\r') record.remove_suffix(1);  // it belongs to the line's end
  std::string_view rest = record;
  std::deque<std::string> unquoted;
  for (bool more = true;; --field) {
    detail::skip_space(rest, delimiter);
    const std::size_t begin = record.size() - rest.size();
    if (field == 0) return begin;
    try {
      detail::take_field(rest, delimiter, more, unquoted);
    } catch (const Error&) {
      return begin;
    }
    if (!more) return begin;
  }
}

}  // namespace csv
}  // namespace v0
}  // namespace belay
