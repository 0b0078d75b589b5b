// SPDX-License-Identifier: Apache-2.0
// Text of comma-separated values, as RFC 4180 describes it: records end with a line feed (a carriage return before it
// is dropped) or with a carriage return alone, as on old Macs. A field may be in double quotes and then hold
// delimiters, line ends and doubled quotes. Spaces and tabs around a field are dropped. Blank lines are no records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace csv_input {

// In UTF-8. A file may begin with marks; files that were joined also have them inside.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Record {
  std::size_t begin = 0, end = 0;  // in the text, without the line's end
  std::int64_t line = 1;           // on which it begins, from 1
};

// Whether a line ends with the character at `i`.
bool ends_line(std::string_view text, std::size_t i);

// The records behind the first `skip_lines` lines. Looks at quotes and line ends only.
std::vector<Record> find_records(std::string_view text, std::int64_t skip_lines, char delimiter);

// The fields of one record. Throws INVALID_ARGUMENT, without the place, where a quote does not end or is followed by
// more.
// `expected`: how many there will be, as far as it is known.
std::vector<std::string> split_record(std::string_view record, char delimiter, std::size_t expected = 0);

// Where a field of the record begins, in bytes. Where there are fewer, or one before it is broken, the last that there
// is.
std::size_t field_begin(std::string_view record, char delimiter, std::size_t field);

}  // namespace csv_input
