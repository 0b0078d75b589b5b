// SPDX-License-Identifier: Apache-2.0
// A CSV file in memory, plain or compressed with gzip: its column names and where its rows are. Making one scans the
// file once for line ends and parses the header; rows are parsed when they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "csv_text.h"

namespace csv_input {

struct CsvFormat {
  std::string path;
  bool header = true;
  char delimiter = ',';
  std::int64_t skip_lines = 0;
  std::vector<std::string> columns;  // names where there is no header; empty: column_0, column_1, ...
};

class CsvFile {
 public:
  // Fails if the file is missing, is not a text file, or has no rows.
  explicit CsvFile(const CsvFormat& format);

  const std::vector<std::string>& columns() const { return columns_; }
  // The same, all different: the second column that is called "a" is "a (2)".
  const std::vector<std::string>& names() const { return names_; }
  // The column of one of these names; none: there is no such column.
  std::optional<std::size_t> column_of(std::string_view name) const;
  std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }
  // As many fields as there are columns, else DATA_LOSS with the place. Any thread.
  std::vector<std::string> fields(std::int64_t row) const;
  // How many fields the row has, if they are not as many as the columns; none also where it cannot be split.
  std::optional<std::size_t> wrong_count(std::int64_t row) const;
  // The message for a file whose rows all have `count` fields while the header names another number.
  [[noreturn]] void fail_by_header(std::size_t count) const;
  // The message for a file without a header. Its first row alone has words in the place of numbers.
  [[noreturn]] void fail_by_first_row() const;
  // "path:17:4", the line and the column, in characters, at which the row or its field `column` begins.
  std::string place(std::int64_t row, std::size_t column = 0) const;

  // Names for a message: "a, b and 3 more". One that would not be seen as it is has quotes.
  static std::string listed(const std::vector<std::string>& names);
  // How the file may be meant instead, for a message about columns that are not there; empty: it is not known.
  // `numbered`: the wanted columns are those of a file without a header.
  std::string other_reading(bool numbered) const;
  // The end of such a message: "it has a, b", and how it may be meant.
  std::string held(bool numbered = false) const;
  // Whether it is the name of a column that has none.
  static bool is_numbered(std::string_view name) { return name.starts_with(kNumbered); }
  // The column of that name, or of that number: from 0, or from the end where negative. `option` named it.
  std::size_t find_column(std::string_view option, std::string_view name) const;

 private:
  static constexpr std::string_view kNumbered = "column_";
  void read_text();
  void name_columns();
  void make_names_different();
  // Of a byte of the row.
  std::string place_of_byte(std::int64_t row, std::size_t byte) const;
  // Of a row that has not as many fields.
  std::string place_of_count(std::int64_t row, std::size_t expected) const;
  // Of what split_record found wrong.
  std::string place_of_broken(std::int64_t row) const;
  std::string_view text_of(const Record& record) const {
    return std::string_view(text_).substr(record.begin, record.end - record.begin);
  }

  CsvFormat format_;
  std::string text_;
  std::vector<Record> rows_;
  std::int64_t header_line_ = 0;  // 0: there is no header
  std::vector<std::string> columns_, names_;
};

}  // namespace csv_input
