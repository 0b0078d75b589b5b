// SPDX-License-Identifier: Apache-2.0
// Text of comma-separated values as in RFC 4180. A record ends with a line feed, and a carriage return before it is
// dropped. It may also end with only a carriage return, as on old Macs. A field in double quotes may hold delimiters,
// line ends and doubled quotes. Spaces and tabs around a field are dropped. Blank lines are no records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace csv_input {

// The mark in UTF-8. A file may begin with marks. Joined files also have them inside.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Record {
  std::size_t begin = 0, end = 0;  // in the text, without the line's end
  std::int64_t line = 1;           // the line of its start, from 1
};

// True if a line ends with the character at `i`.
bool ends_line(std::string_view text, std::size_t i);

// Returns the records after the first `skip_lines` lines. It looks only at quotes and line ends.
std::vector<Record> find_records(std::string_view text, std::int64_t skip_lines, char delimiter);

// The fields of one record. They view the record, or a text in `unquoted` if quotes were doubled in it.
struct Fields {
  std::vector<std::string_view> views;
  std::deque<std::string> unquoted;
};

// Replaces `fields` by those of one record. DATA_LOSS, without the place: a quote does not end, or more text follows
// it.
void split_record(std::string_view record, char delimiter, Fields& fields);
// Returns copies of them.
std::vector<std::string> split_record(std::string_view record, char delimiter);

// Returns the start of a field, in bytes. If there are fewer fields, or an earlier one is broken, it returns that of
// the last one.
std::size_t field_begin(std::string_view record, char delimiter, std::size_t field);

}  // namespace csv_input
