// SPDX-License-Identifier: Apache-2.0
#include "csv_file.h"

#include <belay/data_file.h>
#include <belay/error.h>
#include <belay/file_kind.h>
#include <belay/gzip_file.h>
#include <belay/nearest.h>

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace csv_input {
namespace {

using belay::Code;
using belay::fail;

bool holds_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string shown_name(const std::string& name) {
  const bool is_plain =
      !name.empty() && name.front() != ' ' && name.back() != ' ' && name.find(',') == std::string::npos;
  return is_plain ? name : '"' + name + '"';
}

}  // namespace

std::string CsvFile::listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i == 0 ? "" : ", ") + shown_name(names[i]);
  return names.size() <= kShown ? text : text + " and " + std::to_string(names.size() - kShown) + " more";
}

std::string CsvFile::held(bool numbered) const {
  const std::string other = other_reading(numbered);
  return "it has " + listed(columns_) + (other.empty() ? "" : "; " + other);
}

std::string CsvFile::other_reading(bool numbered) const {
  for (const char delimiter : {';', '\t', '|', ','})
    if (columns_.size() == 1 && columns_[0].find(delimiter) != std::string::npos)
      return "delimiter = \"" + (delimiter == '\t' ? std::string("\\t") : std::string(1, delimiter)) +
             "\" takes its first row apart";
  if (!format_.header)
    return numbered || !format_.columns.empty() ? "" : "'columns' names those of a file without a header";
  const auto numbers = std::count_if(columns_.begin(), columns_.end(), holds_number);
  if (2 * numbers > static_cast<std::ptrdiff_t>(columns_.size()))
    return std::string("if its first row is no header, set header = false") +
           (numbered ? "" : ", and name its columns in 'columns'");
  if (!numbered) return "";
  return "the training's file had no header: header = false, skip_lines = " + std::to_string(header_line_) +
         " takes the columns of this one by their places";
}

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (path.find_first_of("*?[") == path.npos || ::access(path.c_str(), F_OK) == 0) {
      files.push_back(path);
      continue;
    }
    glob_t found{};
    const int status = ::glob(path.c_str(), GLOB_NOSORT, nullptr, &found);
    std::vector<std::string> names(found.gl_pathv, found.gl_pathv + (status == 0 ? found.gl_pathc : 0));
    ::globfree(&found);
    if (names.empty()) fail(Code::kNotFound, "path: no file fits the pattern '" + path + "'");
    std::sort(names.begin(), names.end());
    files.insert(files.end(), names.begin(), names.end());
  }
  if (files.empty()) fail(Code::kInvalidArgument, "path: the list is empty; name at least one file");
  return files;
}

CsvFile::CsvFile(const CsvFormat& format) : format_(format) {
  add_file(format_.path);
  for (const std::string& path : format_.more_paths) add_file(path);
  make_names_different();
  if (rows_.empty())
    fail(Code::kFailedPrecondition,
         "path: '" + format_.path + "' holds a header and no rows; if it has no header, " + "set header = false");
}

void CsvFile::add_file(const std::string& path) {
  const std::size_t begin = text_.size(), row = rows_.size();
  read_text(path, begin);
  parts_.push_back({path, row});
  for (Record record : find_records(std::string_view(text_).substr(begin), format_.skip_lines, format_.delimiter)) {
    record.begin += begin, record.end += begin;
    rows_.push_back(record);
  }
  const std::string skipped =
      format_.skip_lines == 0 ? ""
                              : " behind the " + std::to_string(format_.skip_lines) + " lines that 'skip_lines' skips";
  if (rows_.size() == row) fail(Code::kFailedPrecondition, "path: '" + path + "' holds no rows" + skipped);
  take_header(row);
}

void CsvFile::read_text(const std::string& path, std::size_t begin) {
  const std::string prefix = "path: '" + path + "' ";
  belay::GzipFile file("path", path);
  belay::in_memory("path", path, file.file_bytes(), [&] {
    // A small file is read at once. No part is larger than 1 MiB.
    const auto bytes = static_cast<std::size_t>(file.file_bytes());
    const std::size_t part = std::clamp<std::size_t>(bytes + 1, 1 << 12, 1 << 20);
    if (!file.compressed()) text_.reserve(begin + bytes + part);
    for (std::size_t got = part; got == part;) {
      const std::size_t size = text_.size();
      text_.resize(size + part);
      got = file.read(text_.data() + size, part);
      text_.resize(size + got);
    }
  });
  const std::string_view text = std::string_view(text_).substr(begin);
  const std::size_t zero = text.find('\0');
  if (zero != std::string::npos)
    fail(Code::kInvalidArgument, prefix + belay::foreign_text(text, "CSV file", "write its columns as text, in UTF-8",
                                                              "is no text file: byte " + std::to_string(zero) +
                                                                  " is zero; give a CSV file in UTF-8"));
  if (const std::string page = belay::foreign_text(text, "CSV file", "", ""); text.substr(0, 1) == "<" && !page.empty())
    fail(Code::kInvalidArgument, prefix + page);
  while (text_.compare(begin, kByteOrderMark.size(), kByteOrderMark) == 0) text_.erase(begin, kByteOrderMark.size());
}

// Takes the names of the columns from the first row of a file. Later files must have the same.
void CsvFile::take_header(std::size_t row) {
  const auto number = static_cast<std::int64_t>(row);
  std::vector<std::string> first;
  try {
    first = split_record(text_of(rows_[row]), format_.delimiter);
  } catch (const belay::Error& e) {
    fail(e.code(), place_of_broken(number) + ": " + e.what());
  }
  if (row == 0 && columns_.empty()) name_columns(first, row);
  if (!format_.header) return;
  for (std::size_t i = 0; i < std::min(first.size(), columns_.size()); ++i)
    if (first[i] != columns_[i])
      fail(Code::kInvalidArgument, place(number, i) + ": the column is \"" + first[i] + "\", and in '" + format_.path +
                                       "' it is \"" + columns_[i] +
                                       "\"; files of one 'path' have the same columns in the same order");
  if (first.size() != columns_.size())
    fail(Code::kInvalidArgument, place_of_count(number, columns_.size()) + ": the header names " +
                                     std::to_string(first.size()) + " columns, that of '" + format_.path + "' " +
                                     std::to_string(columns_.size()));
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(row));
}

void CsvFile::name_columns(const std::vector<std::string>& first, std::size_t row) {
  if (format_.header) {
    if (!format_.columns.empty())
      fail(Code::kInvalidArgument,
           "'columns' names the columns of a file without a header; leave it out, or set header = "
           "false and skip_lines");
    columns_ = first;
    header_line_ = rows_[row].line;
  } else if (format_.columns.empty()) {
    for (std::size_t i = 0; i < first.size(); ++i) columns_.push_back(std::string(kNumbered) + std::to_string(i));
  } else if (format_.columns.size() == first.size()) {
    columns_ = format_.columns;
  } else {
    fail(Code::kInvalidArgument, place_of_count(0, format_.columns.size()) + ": " + std::to_string(first.size()) +
                                     " columns, but 'columns' names " + std::to_string(format_.columns.size()));
  }
}

void CsvFile::make_names_different() {
  std::unordered_set<std::string> taken(columns_.begin(), columns_.end());
  std::unordered_map<std::string, int> seen;
  for (const std::string& column : columns_) {
    int& count = seen[column];
    std::string name = column;
    if (++count > 1)
      while (!taken.insert(name = column + " (" + std::to_string(count) + ")").second) ++count;
    names_.push_back(std::move(name));
  }
}

std::vector<std::string> CsvFile::fields(std::int64_t row) const {
  Fields found;
  fields(row, found);
  return {found.views.begin(), found.views.end()};
}

void CsvFile::fields(std::int64_t row, Fields& fields) const {
  try {
    split_record(text_of(rows_[static_cast<std::size_t>(row)]), format_.delimiter, fields);
  } catch (const belay::Error& e) {
    fail(e.code(), place_of_broken(row) + ": " + e.what());
  }
  if (fields.views.size() != columns_.size())
    fail(Code::kDataLoss, place_of_count(row, columns_.size()) + ": " + std::to_string(fields.views.size()) +
                              " columns, expected " + std::to_string(columns_.size()) + "; a field that holds '" +
                              format_.delimiter + "' must be in double quotes");
}

std::optional<std::size_t> CsvFile::wrong_count(std::int64_t row) const {
  try {
    const std::size_t count = split_record(text_of(rows_[static_cast<std::size_t>(row)]), format_.delimiter).size();
    return count == columns_.size() ? std::nullopt : std::optional(count);
  } catch (const belay::Error&) {
    return std::nullopt;
  }
}

void CsvFile::fail_by_header(std::size_t count) const {
  const std::string all = rows() == 1 ? "the only row has " : "all " + std::to_string(rows()) + " rows have ";
  if (header_line_ == 0)
    fail(Code::kDataLoss, place(0) + ": " + all + std::to_string(count) + " fields, and 'columns' names " +
                              std::to_string(columns_.size()));
  fail(Code::kDataLoss, format_.path + ":" + std::to_string(header_line_) + ":1: the header names " +
                            std::to_string(columns_.size()) + " columns, and " + all + std::to_string(count) +
                            " fields: repair the header, or pass over it with header = false, skip_lines = " +
                            std::to_string(rows_[0].line - 1) + ", and name the columns in 'columns'");
}

void CsvFile::fail_by_first_row() const {
  fail(Code::kDataLoss, place(0) +
                            ": the first row has no numbers where all others have them: it seems to be a "
                            "header; set header = true");
}

std::string CsvFile::place(std::int64_t row, std::size_t column) const {
  const std::string_view record = text_of(rows_[static_cast<std::size_t>(row)]);
  return place_of_byte(row, field_begin(record, format_.delimiter, column));
}

std::string CsvFile::place_of_broken(std::int64_t row) const {
  return place(row, std::numeric_limits<std::size_t>::max());
}

// Returns the place of the first superfluous field, or of the end of the row.
std::string CsvFile::place_of_count(std::int64_t row, std::size_t expected) const {
  const std::string_view record = text_of(rows_[static_cast<std::size_t>(row)]);
  if (split_record(record, format_.delimiter).size() > expected) return place(row, expected);
  const std::size_t last = record.find_last_not_of(" \t\r");
  return place_of_byte(row, last == std::string_view::npos ? 0 : last + 1);
}

std::string CsvFile::place_of_byte(std::int64_t row, std::size_t byte) const {
  const Record& record = rows_[static_cast<std::size_t>(row)];
  std::int64_t line = record.line, column = 1;
  const std::string_view text = text_of(record);
  for (std::size_t i = 0; i < std::min(byte, text.size()); ++i) {
    const bool starts_character = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    const bool ends = ends_line(text, i);
    column = ends ? 1 : column + (starts_character ? 1 : 0);
    line += ends ? 1 : 0;
  }
  return path_of(row) + ":" + std::to_string(line) + ":" + std::to_string(column);
}

const std::string& CsvFile::path_of(std::int64_t row) const {
  std::size_t part = parts_.size() - 1;
  while (part != 0 && parts_[part].first_row > static_cast<std::size_t>(row)) --part;
  return parts_[part].path;
}

std::optional<std::size_t> CsvFile::column_of(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - names_.begin()));
}

std::size_t CsvFile::find_column(std::string_view option, std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found != columns_.end()) {
    if (std::find(found + 1, columns_.end(), name) != columns_.end())
      fail(Code::kInvalidArgument, std::string(option) + ": several columns of '" + format_.path + "' are called \"" +
                                       std::string(name) + "\"; use the column's number, from 0");
    return static_cast<std::size_t>(found - columns_.begin());
  }
  if (const auto column = column_of(name)) return *column;
  const auto size = static_cast<std::int64_t>(columns_.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  if (is_number && number >= -size && number < size)
    return static_cast<std::size_t>(number < 0 ? number + size : number);
  fail(Code::kNotFound, std::string(option) + ": '" + format_.path + "' has no column \"" + std::string(name) + "\"" +
                            belay::did_you_mean(name, columns_) + "; " + held());
}

}  // namespace csv_input
