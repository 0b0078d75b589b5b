// SPDX-License-Identifier: Apache-2.0
#include "csv_text.h"

#include <belay/error.h>

namespace csv_input {
namespace {

using belay::Code;
using belay::fail;

bool is_space(char c, char delimiter) { return (c == ' ' || c == '\t' || c == '\r') && c != delimiter; }

bool is_blank(std::string_view record, char delimiter) {
  for (const char c : record)
    if (!is_space(c, delimiter)) return false;
  return true;
}

std::string_view trimmed(std::string_view text, char delimiter) {
  while (!text.empty() && is_space(text.front(), delimiter)) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back(), delimiter)) text.remove_suffix(1);
  return text;
}

// Takes a quoted field and the delimiter after it from the front of `rest`, which begins with the quote. `more` is true
// if there was a delimiter.
std::string_view take_quoted(std::string_view& rest, char delimiter, bool& more, std::deque<std::string>& unquoted) {
  std::string* copy = nullptr;  // of a field with doubled quotes
  std::size_t begin = 1, quote = rest.find('"', begin);
  for (; quote < rest.size() - 1 && rest[quote + 1] == '"'; quote = rest.find('"', begin)) {
    if (copy == nullptr) copy = &unquoted.emplace_back();
    copy->append(rest, begin, quote + 1 - begin);
    begin = quote + 2;
  }
  if (quote == std::string_view::npos) fail(Code::kDataLoss, "a quoted field does not end");
  std::string_view field = rest.substr(begin, quote - begin);
  if (copy != nullptr) field = copy->append(field);
  const std::size_t end = rest.find(delimiter, quote + 1);
  more = end != std::string_view::npos;
  if (!is_blank(rest.substr(quote + 1, more ? end - quote - 1 : end), delimiter))
    fail(Code::kDataLoss, "a quoted field is followed by more text; double the quotes inside it");
  rest.remove_prefix(more ? end + 1 : rest.size());
  return field;
}

void skip_space(std::string_view& rest, char delimiter) {
  while (!rest.empty() && is_space(rest.front(), delimiter)) rest.remove_prefix(1);
}

// Does the same for any field.
std::string_view take_field(std::string_view& rest, char delimiter, bool& more, std::deque<std::string>& unquoted) {
  skip_space(rest, delimiter);
  if (!rest.empty() && rest.front() == '"') return take_quoted(rest, delimiter, more, unquoted);
  const std::size_t end = rest.find(delimiter);
  more = end != std::string_view::npos;
  const std::string_view field = trimmed(rest.substr(0, end), delimiter);
  rest.remove_prefix(more ? end + 1 : rest.size());
  return field;
}

}  // namespace

bool ends_line(std::string_view text, std::size_t i) {
  if (text[i] != '\r') return text[i] == '\n';
  const std::string_view next = text.substr(i + 1, 2);
  return !next.starts_with('\n') && next != "\r\n";  // converting line ends twice gives "\r\r\n"
}

std::vector<Record> find_records(std::string_view text, std::int64_t skip_lines, char delimiter) {
  std::vector<Record> records;
  std::int64_t line = 1;
  Record record{0, 0, line};
  bool quoted = false, field_begins = true;
  const auto finish = [&](std::size_t end) {
    record.end = end;
    if (record.line > skip_lines && !is_blank(text.substr(record.begin, end - record.begin), delimiter))
      records.push_back(record);
    record = {end + 1, 0, line};
    quoted = false, field_begins = true;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // Few characters are below '\r', so one comparison is enough for most.
    if (static_cast<unsigned char>(c) <= '\r' && ends_line(text, i)) {
      ++line;
      if (!quoted) finish(i);
    } else if (quoted) {
      if (c == '"') quoted = false;  // the second of a doubled quote opens the field again
      field_begins = !quoted;
    } else if (c == '"' && field_begins) {
      quoted = record.line > skip_lines;
    } else {
      field_begins = c == delimiter || (field_begins && is_space(c, delimiter));
    }
  }
  finish(text.size());
  return records;
}

void split_record(std::string_view record, char delimiter, Fields& fields) {
  fields.views.clear();
  fields.unquoted.clear();
  std::string_view rest = record;
  for (bool more = true; more;) fields.views.push_back(take_field(rest, delimiter, more, fields.unquoted));
}

std::vector<std::string> split_record(std::string_view record, char delimiter) {
  Fields fields;
  split_record(record, delimiter, fields);
  return {fields.views.begin(), fields.views.end()};
}

std::size_t field_begin(std::string_view record, char delimiter, std::size_t field) {
  std::string_view rest = record;
  std::deque<std::string> unquoted;
  for (bool more = true;; --field) {
    skip_space(rest, delimiter);
    const std::size_t begin = record.size() - rest.size();
    if (field == 0) return begin;
    try {
      take_field(rest, delimiter, more, unquoted);
    } catch (const belay::Error&) {
      return begin;
    }
    if (!more) return begin;
  }
}

}  // namespace csv_input
