// SPDX-License-Identifier: Apache-2.0
// One CSV file or several in memory, plain or compressed with gzip: the column names and the places of the rows. The
// constructor scans the files once for line ends and parses the headers. Each row is parsed when it is read.
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
  std::vector<std::string> columns;          // names for a file without a header; empty: column_0, column_1, ...
  std::vector<std::string> more_paths = {};  // files with the same columns, whose rows follow
};

// Returns the files that `paths` names. A pattern with * ? or [ stands for its files in the order of their names.
std::vector<std::string> files_of(const std::vector<std::string>& paths);

class CsvFile {
 public:
  // Fails if a file is missing, is not a text file, or has other columns, or if there are no rows.
  explicit CsvFile(const CsvFormat& format);

  const std::vector<std::string>& columns() const { return columns_; }
  // Returns the same names, made different: the second column "a" is "a (2)".
  const std::vector<std::string>& names() const { return names_; }
  // Returns the column with one of these names; none: there is no such column.
  std::optional<std::size_t> column_of(std::string_view name) const;
  std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }
  // Returns as many fields as there are columns. DATA_LOSS names the place of a row with another number. Call it from
  // any thread.
  std::vector<std::string> fields(std::int64_t row) const;
  void fields(std::int64_t row, Fields& fields) const;
  // Returns the row's number of fields if it differs from the columns'. None: it is equal, or the row cannot be split.
  std::optional<std::size_t> wrong_count(std::int64_t row) const;
  // Fails with the message for a file whose rows all have `count` fields, unlike its header.
  [[noreturn]] void fail_by_header(std::size_t count) const;
  // Fails with the message for a file without a header, whose first row alone has words instead of numbers.
  [[noreturn]] void fail_by_first_row() const;
  // Returns "path:17:4": the line and the column, in characters, of the row's start, or of its field `column`.
  std::string place(std::int64_t row, std::size_t column = 0) const;

  // Lists names for a message: "a, b and 3 more". A name with invisible characters gets quotes.
  static std::string listed(const std::vector<std::string>& names);
  // Returns another way to read the file, for a message about missing columns. Empty: there is none. `numbered`: the
  // wanted columns are those of a file without a header.
  std::string other_reading(bool numbered) const;
  // Returns the end of such a message: "it has a, b", and another way to read the file.
  std::string held(bool numbered = false) const;
  // True for the name of a column without a name.
  static bool is_numbered(std::string_view name) { return name.starts_with(kNumbered); }
  // Returns the column of that name or number. Numbers count from 0; negative ones count from the end. `option` names
  // the option.
  std::size_t find_column(std::string_view option, std::string_view name) const;

 private:
  static constexpr std::string_view kNumbered = "column_";
  struct Part {
    std::string path;
    std::size_t first_row = 0;
  };
  void add_file(const std::string& path);
  void read_text(const std::string& path, std::size_t begin);
  void take_header(std::size_t row);
  void name_columns(const std::vector<std::string>& first, std::size_t row);
  void make_names_different();
  // Returns the place of a byte of the row.
  std::string place_of_byte(std::int64_t row, std::size_t byte) const;
  // Returns the place in a row with another number of fields.
  std::string place_of_count(std::int64_t row, std::size_t expected) const;
  // Returns the place of the fault that split_record found.
  std::string place_of_broken(std::int64_t row) const;
  const std::string& path_of(std::int64_t row) const;
  std::string_view text_of(const Record& record) const {
    return std::string_view(text_).substr(record.begin, record.end - record.begin);
  }

  CsvFormat format_;
  std::string text_;  // of all files
  std::vector<Part> parts_;
  std::vector<Record> rows_;
  std::int64_t header_line_ = 0;  // 0: there is no header
  std::vector<std::string> columns_, names_;
};

}  // namespace csv_input
