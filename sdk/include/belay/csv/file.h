// SPDX-License-Identifier: Apache-2.0
// A CSV file or several, plain or compressed with gzip: the names of the columns and the rows. It is for those that
// link zlib.
//
//   const csv::File file({path});                       // reads the file once, and counts the rows
//   csv::Fields cells;
//   file.each_block([&](const csv::Block& block) {       // reads it again, about 256 KiB at a time
//     for (std::size_t i = 0; i < block.rows(); ++i) {
//       block.fields(i, cells);                          // DATA_LOSS names file, line and column
//       ... cells.views[column] is a cell of the row block.first_row() + i
//     }
//     return true;                                       // false: no more blocks
//   });
//
// No more than one block is in memory. A row that is longer makes its block longer. Each pass reads the files from
// their beginning, so a compressed file is unpacked in each. DATA_LOSS: a file has changed since the first pass.
#pragma once

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "belay/csv/text.h"
#include "belay/data_file.h"
#include "belay/error.h"
#include "belay/file_kind.h"
#include "belay/gzip_file.h"
#include "belay/nearest.h"

namespace belay {
inline namespace v0 {
namespace csv {

struct Format {
  std::string path;
  bool header = true;
  char delimiter = ',';
  std::int64_t skip_lines = 0;
  std::vector<std::string> columns = {};     // names for a file without a header; empty: column_0, column_1, ...
  std::vector<std::string> more_paths = {};  // files with the same columns, whose rows follow
};

// Returns the files that `paths` names. A pattern with * ? or [ means its files in the order of their names.
// INVALID_ARGUMENT: two of them are one file.
inline std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<ListedFile> files;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string& path = paths[i];
    if (path.find_first_of("*?[") == path.npos || ::access(path.c_str(), F_OK) == 0) {
      files.push_back({path, i});
      continue;
    }
    glob_t found{};
    const int status = ::glob(path.c_str(), GLOB_NOSORT, nullptr, &found);
    std::vector<std::string> names(found.gl_pathv, found.gl_pathv + (status == 0 ? found.gl_pathc : 0));
    ::globfree(&found);
    if (names.empty())
      fail(Code::kNotFound, "[B3045] path: no file fits the pattern '" + path + "'; change the pattern or its folder");
    std::sort(names.begin(), names.end());
    for (std::string& name : names) files.push_back({std::move(name), i});
  }
  if (files.empty()) fail(Code::kInvalidArgument, "[B3020] path: the list is empty; name at least one file");
  refuse_repeated_files("path", paths, files);
  std::vector<std::string> names;
  for (ListedFile& file : files) names.push_back(std::move(file.path));
  return names;
}

// Why a row cannot be taken apart as the columns need it.
struct RowFault {
  std::string code, place, what;  // "B3036", "x.csv:17:4"
  std::size_t fields = 0;         // their number, if it is not that of the columns; 0: a quote is broken
  std::string message() const { return "[" + code + "] " + place + ": " + what; }
};

// Some rows that follow each other in one file.
class Block {
 public:
  std::size_t rows() const { return records_.size(); }
  std::int64_t first_row() const { return first_row_; }  // its number in all files, from 0
  std::int64_t line(std::size_t i) const { return records_[i].line; }
  // Returns the text of a row.
  std::string_view text(std::size_t i) const {
    return std::string_view(text_).substr(records_[i].begin, records_[i].end - records_[i].begin);
  }
  // Splits a row. DATA_LOSS names the place: a quote is broken, or there are not as many fields as columns. Call it
  // from any thread.
  void fields(std::size_t i, Fields& fields) const {
    if (const auto fault = take_fields(i, fields)) fail(Code::kDataLoss, fault->message());
  }
  // Does the same, and returns the fault. None: there is none.
  std::optional<RowFault> take_fields(std::size_t i, Fields& fields) const {
    if (auto broken = split(i, fields)) return broken;
    if (fields.views.size() == columns_) return std::nullopt;
    return RowFault{"B3036", place_of_count(i, columns_),
                    std::to_string(fields.views.size()) + " columns, expected " + std::to_string(columns_) +
                        "; a field that holds '" + delimiter_ + "' must be in double quotes" + lines_taken(i),
                    fields.views.size()};
  }
  // Returns "path:17:4": the line and the column, in characters, of the row's start, or of its field `column`.
  std::string place(std::size_t i, std::size_t column = 0) const {
    return place_of_byte(i, field_begin(text(i), delimiter_, column));
  }

 private:
  friend class File;
  friend class BlockReader;
  // Does the same for a row with any number of fields.
  std::optional<RowFault> split(std::size_t i, Fields& fields) const {
    try {
      split_record(text(i), delimiter_, fields);
      return std::nullopt;
    } catch (const Error& e) {
      constexpr std::size_t kCode = 5, kMark = 8;  // "[B3037] "
      const std::string message(e.message());
      return RowFault{message.substr(1, kCode), place(i, std::numeric_limits<std::size_t>::max()),
                      message.substr(kMark) + lines_taken(i), 0};
    }
  }
  // A quote without its end takes lines that are separate rows. Returns a text about them; empty: there are none.
  std::string lines_taken(std::size_t i) const {
    const std::string_view record = text(i);
    const std::size_t last = record.find_last_not_of(" \t\r\n");  // the file's last line end begins no line
    std::int64_t lines = 0;
    for (std::size_t at = 0; last != record.npos && at < last; ++at) lines += ends_line(record, at) ? 1 : 0;
    if (lines == 0) return "";
    return "; the row takes the lines " + std::to_string(line(i)) + " to " + std::to_string(line(i) + lines);
  }
  // Returns the place of the first superfluous field, or of the end of the row.
  std::string place_of_count(std::size_t i, std::size_t expected) const {
    const std::string_view record = text(i);
    if (split_record(record, delimiter_).size() > expected) return place(i, expected);
    const std::size_t last = record.find_last_not_of(" \t\r");
    return place_of_byte(i, last == record.npos ? 0 : last + 1);
  }
  std::string place_of_byte(std::size_t i, std::size_t byte) const {
    std::int64_t line = records_[i].line, column = 1;
    const std::string_view record = text(i);
    for (std::size_t at = 0; at < std::min(byte, record.size()); ++at) {
      const bool starts_character = (static_cast<unsigned char>(record[at]) & 0xc0) != 0x80;
      const bool ends = ends_line(record, at);
      column = ends ? 1 : column + (starts_character ? 1 : 0);
      line += ends ? 1 : 0;
    }
    return path_ + ":" + std::to_string(line) + ":" + std::to_string(column);
  }

  std::string path_, text_;
  std::vector<Record> records_;
  std::int64_t first_row_ = 0;
  std::size_t columns_ = 0;
  char delimiter_ = ',';
};

// Reads one file block by block.
class BlockReader {
 public:
  // RESOURCE_EXHAUSTED: the file is larger than the machine's memory, or another error of GzipFile.
  BlockReader(const Format& format, const std::string& path) : file_("path", path), path_(path) {
    in_memory("path", path, file_.file_bytes(), [] {});
    scan_.delimiter = format.delimiter;
    scan_.skip_lines = format.skip_lines;
    scan_.last = false;
  }

  // Replaces the block by the next one, which may have no rows. False: the file has ended.
  bool next(Block& block) {
    if (scan_.last) return false;
    block.path_ = path_, block.delimiter_ = scan_.delimiter;
    std::string& text = block.text_;
    text.swap(rest_);
    begin_ += scan_.used;
    scan_.used = 0;
    in_memory("path", path_, text.size(), [&] {
      // The part grows by half for an unfinished row, so that a long row is not scanned often.
      while (scan_.used == 0 && !scan_.last) {
        fill(text, text.size() + std::max<std::size_t>(kBytes, text.size() / 2));
        block.records_ = find_records(text, scan_);
      }
      rest_.assign(text, scan_.used);
    });
    return true;
  }

 private:
  static constexpr std::size_t kBytes = 1 << 18;

  // Reads up to `size` bytes of text. Marks at the beginning of the file are dropped.
  void fill(std::string& text, std::size_t size) {
    const std::size_t had = text.size();
    text.resize(size);
    text.resize(had + file_.read(&text[had], size - had));
    scan_.last = text.size() < size;
    if (begin_ == 0 && had == 0)
      while (text.compare(0, kByteOrderMark.size(), kByteOrderMark) == 0)
        text.erase(0, kByteOrderMark.size()), begin_ += kByteOrderMark.size();
    refuse_zero(text, had);
  }

  void refuse_zero(const std::string& text, std::size_t from) const {
    const std::string prefix = "[B3022] path: '" + path_ + "' ";
    const std::size_t zero = text.find('\0', from);
    const bool is_utf16 = begin_ == 0 && (text.substr(0, 2) == "\xFF\xFE" || text.substr(0, 2) == "\xFE\xFF");
    const std::string is_zero =
        is_utf16 ? "is text in UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW"
                 : "is no text file: byte " + std::to_string(begin_ + zero) + " is zero; give a CSV file in UTF-8";
    const bool begins = begin_ <= kByteOrderMark.size() && from == 0;
    if (zero != text.npos)
      fail(
          Code::kInvalidArgument,
          prefix + (begins ? foreign_text(text, "CSV file", "write its columns as text, in UTF-8", is_zero) : is_zero));
    if (!begins || text.substr(0, 1) != "<") return;
    const std::string page = foreign_text(text, "CSV file", "", "");
    if (!page.empty()) fail(Code::kInvalidArgument, prefix + page);
  }

  GzipFile file_;
  std::string path_, rest_;
  std::uint64_t begin_ = 0;
  Scan scan_;
};

class File {
 public:
  // Reads all files once. It fails if a file is missing, is not a text file, or has other columns, or if there are no
  // rows.
  explicit File(const Format& format) : format_(format) {
    add_file(format_.path);
    for (const std::string& path : format_.more_paths) add_file(path);
    make_names_different();
    if (rows_ == 0)
      fail(Code::kFailedPrecondition,
           "[B3021] path: '" + format_.path + "' holds a header and no rows; if it has no header, set header = false");
  }

  const std::vector<std::string>& columns() const { return columns_; }
  // Returns the same names, made different: the second column "a" is "a (2)".
  const std::vector<std::string>& names() const { return names_; }
  // Returns the column with one of these names; none: there is no such column.
  std::optional<std::size_t> column_of(std::string_view name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names_.begin());
  }
  std::int64_t rows() const { return rows_; }
  // Returns the place of the first byte of a row that begins no character of UTF-8, "x.csv:17:4". Empty: there is none.
  const std::string& not_utf8() const { return not_utf8_; }

  // Calls f(block) for the blocks in order, until f returns false.
  template <class F>
  void each_block(const F& f) const {
    std::size_t number = 0;
    for (const std::string& path : paths()) {
      BlockReader reader(format_, path);
      Block block;
      block.columns_ = columns_.size();
      for (bool begun = false; reader.next(block); ++number) {
        if (!begun && format_.header && !block.records_.empty())
          block.records_.erase(block.records_.begin()), begun = true;
        const bool known = number < blocks_.size() && blocks_[number].rows == block.rows();
        if (!known || blocks_[number].path != path) fail_changed(path);
        block.first_row_ = blocks_[number].first_row;
        if (!f(static_cast<const Block&>(block))) return;
      }
    }
    if (number != blocks_.size()) fail_changed(format_.path);
  }

  // Calls f(block, place in the block, cells) for each row of `rows`, which ascend.
  template <class F>
  void each_row(const std::vector<std::int64_t>& rows, const F& f) const {
    auto row = rows.begin();
    Fields cells;
    each_block([&](const Block& block) {
      const std::int64_t end = block.first_row() + static_cast<std::int64_t>(block.rows());
      for (; row != rows.end() && *row < end; ++row) {
        const auto i = static_cast<std::size_t>(*row - block.first_row());
        block.fields(i, cells);
        f(block, i, static_cast<const Fields&>(cells));
      }
      return row != rows.end();
    });
  }

  // Returns a place as Block::place does. It reads the file up to the row, so it is for messages.
  std::string place(std::int64_t row, std::size_t column = 0) const {
    std::string place;
    with_row(row, [&](const Block& block, std::size_t i) { place = block.place(i, column); });
    return place;
  }
  // Returns the cells of one row. It reads the file up to the row.
  std::vector<std::string> fields(std::int64_t row) const {
    Fields found;
    std::vector<std::string> cells;
    with_row(row, [&](const Block& block, std::size_t i) {
      block.fields(i, found);
      cells.assign(found.views.begin(), found.views.end());
    });
    return cells;
  }

  // Fails with the message for a file whose rows all have `count` fields, unlike its header.
  [[noreturn]] void fail_by_header(std::size_t count) const {
    const std::string all = rows() == 1 ? "the only row has " : "all " + std::to_string(rows()) + " rows have ";
    if (header_line_ == 0)
      fail(Code::kDataLoss, "[B3040] " + place(0) + ": " + all + std::to_string(count) +
                                " fields, and 'columns' names " + std::to_string(columns_.size()) +
                                "; name each column");
    fail(Code::kDataLoss, "[B3040] " + format_.path + ":" + std::to_string(header_line_) + ":1: the header names " +
                              std::to_string(columns_.size()) + " columns, and " + all + std::to_string(count) +
                              " fields: repair the header, or pass over it with header = false, skip_lines = " +
                              std::to_string(first_line_ - 1) + ", and name the columns in 'columns'");
  }
  // Fails with the message for a file whose first row alone has words instead of numbers.
  [[noreturn]] void fail_by_first_row() const {
    const std::string fix = header_line_ == 0 ? ": it seems to be a header; set header = true"
                                              : "; if it has units, or is a second header, remove it";
    fail(Code::kDataLoss, "[B3040] " + place(0) + ": the first row has words, and all others have numbers" + fix);
  }

  // Lists names for a message: "a, b and 3 more". A name with invisible characters gets quotes.
  static std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 20;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i == 0 ? "" : ", ") + shown(names[i]);
    return names.size() <= kShown ? text : text + " and " + std::to_string(names.size() - kShown) + " more";
  }
  // Returns another way to read the file, for a message about missing columns. Empty: there is none. `numbered`: the
  // wanted columns are those of a file without a header.
  std::string other_reading(bool numbered) const {
    if (!first_row_is_not_header().empty()) return first_row_is_not_header() + ": skip_lines = 1 passes over it";
    for (const char delimiter : {';', '\t', '|', ','})
      if (columns_.size() == 1 && columns_[0].find(delimiter) != std::string::npos)
        return "delimiter = " + quoted(delimiter) + " takes its first row apart";
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
  // Returns what the first row is if it is no header: a comment, or Excel's line about the delimiter. Empty: it may be
  // one.
  std::string first_row_is_not_header() const {
    if (!format_.header || columns_.empty()) return "";
    if (columns_[0].substr(0, 4) == "sep=") return "its first row is Excel's line about the delimiter";
    return columns_[0].substr(0, 1) == "#" ? "its first row seems to be a comment" : "";
  }
  // Returns the end of such a message: "it has a, b", and another way to read the file.
  std::string held(bool numbered = false) const {
    const std::string other = other_reading(numbered);
    return "it has " + listed(columns_) + (other.empty() ? "" : "; " + other);
  }
  // True for the name of a column without a name.
  static bool is_numbered(std::string_view name) { return name.substr(0, kNumbered.size()) == kNumbered; }
  // Returns the column of that name or number. Numbers count from 0; negative ones count from the end. `option` names
  // the option.
  std::size_t find_column(std::string_view option, std::string_view name) const {
    const auto found = std::find(columns_.begin(), columns_.end(), name);
    if (found != columns_.end()) {
      if (std::find(found + 1, columns_.end(), name) != columns_.end())
        fail(Code::kInvalidArgument, "[B3041] " + std::string(option) + ": several columns of '" + format_.path +
                                         "' are called \"" + std::string(name) + "\"; use the column's number, from 0");
      return static_cast<std::size_t>(found - columns_.begin());
    }
    if (const auto column = column_of(name)) return *column;
    const auto size = static_cast<std::int64_t>(columns_.size());
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool is_number = error == std::errc() && end == name.data() + name.size();
    if (is_number && number >= -size && number < size)
      return static_cast<std::size_t>(number < 0 ? number + size : number);
    fail(Code::kNotFound, "[B3041] " + std::string(option) + ": '" + format_.path + "' has no column \"" +
                              std::string(name) + "\"" + did_you_mean(name, columns_) + "; " + held());
  }

 private:
  static constexpr std::string_view kNumbered = "column_";
  struct Place {
    std::string path;
    std::int64_t first_row = 0;
    std::size_t rows = 0;
  };

  static std::string quoted(char delimiter) {
    return '"' + (delimiter == '\t' ? std::string("\\t") : std::string(1, delimiter)) + '"';
  }
  static bool holds_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }
  static std::string shown(const std::string& name) {
    const bool is_plain =
        !name.empty() && name.front() != ' ' && name.back() != ' ' && name.find(',') == std::string::npos;
    return is_plain ? name : '"' + name + '"';
  }
  [[noreturn]] static void fail_changed(const std::string& path) {
    fail(Code::kDataLoss,
         "[B3028] path: '" + path + "' has changed while it was read; begin again after it is complete");
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> all{format_.path};
    all.insert(all.end(), format_.more_paths.begin(), format_.more_paths.end());
    return all;
  }

  // Calls f(block, place in the block) for one row.
  template <class F>
  void with_row(std::int64_t row, const F& f) const {
    each_block([&](const Block& block) {
      const std::int64_t i = row - block.first_row();
      if (i < 0 || i >= static_cast<std::int64_t>(block.rows())) return true;
      f(block, static_cast<std::size_t>(i));
      return false;
    });
  }

  void add_file(const std::string& path) {
    BlockReader reader(format_, path);
    Block block;
    bool begun = false;
    while (reader.next(block)) {
      if (not_utf8_.empty()) find_not_utf8(block);
      if (!begun && !block.records_.empty()) take_header(block), begun = true;
      if (rows_ == 0 && !block.records_.empty()) first_line_ = block.line(0);
      blocks_.push_back({path, rows_, block.rows()});
      rows_ += static_cast<std::int64_t>(block.rows());
    }
    const std::string skipped =
        format_.skip_lines == 0 ? ""
                                : " after the " + std::to_string(format_.skip_lines) + " lines that 'skip_lines' skips";
    if (!begun)
      fail(Code::kFailedPrecondition,
           "[B3021] path: '" + path + "' holds no rows" + skipped + "; give a file that has some");
  }

  // Notes the place of the first byte that is no UTF-8. Most blocks have none, so a look at the whole block is enough.
  void find_not_utf8(const Block& block) {
    if (block.records_.empty() ||
        first_not_utf8(std::string_view(block.text_).substr(0, block.records_.back().end)) == std::string_view::npos)
      return;
    for (std::size_t i = 0; i < block.rows() && not_utf8_.empty(); ++i)
      if (const std::size_t byte = first_not_utf8(block.text(i)); byte != std::string_view::npos)
        not_utf8_ = block.place_of_byte(i, byte);
  }

  // Takes the names of the columns from the first row of a file. Later files must have the same.
  void take_header(Block& block) {
    Fields first;
    if (const auto broken = block.split(0, first)) {
      std::string fix;
      for (const char other : {';', '\t', '|', ','})
        if (other != format_.delimiter && block.text(0).find(std::string("\"") + other + '"') != std::string::npos)
          fix = ", or set delimiter = " + quoted(other);
      fail(Code::kDataLoss, broken->message() + fix);
    }
    const std::vector<std::string_view>& names = first.views;
    if (columns_.empty()) name_columns(block, {names.begin(), names.end()});
    if (!format_.header) return;
    for (std::size_t i = 0; i < std::min(names.size(), columns_.size()); ++i)
      if (names[i] != columns_[i])
        fail(Code::kInvalidArgument, "[B3040] " + block.place(0, i) + ": the column is \"" + std::string(names[i]) +
                                         "\", and in '" + format_.path + "' it is \"" + columns_[i] +
                                         "\"; files of one 'path' have the same columns in the same order");
    if (names.size() != columns_.size())
      fail(Code::kInvalidArgument, "[B3040] " + block.place_of_count(0, columns_.size()) + ": the header names " +
                                       std::to_string(names.size()) + " columns, and that of '" + format_.path +
                                       "' names " + std::to_string(columns_.size()) +
                                       "; files of one 'path' have the same columns in the same order");
    block.records_.erase(block.records_.begin());
  }

  void name_columns(const Block& block, const std::vector<std::string>& first) {
    if (format_.header) {
      if (!format_.columns.empty())
        fail(Code::kInvalidArgument,
             "[B3020] 'columns' names the columns of a file without a header; leave it out, or set header = "
             "false and skip_lines");
      columns_ = first;
      header_line_ = block.line(0);
    } else if (format_.columns.empty()) {
      for (std::size_t i = 0; i < first.size(); ++i) columns_.push_back(std::string(kNumbered) + std::to_string(i));
    } else if (format_.columns.size() == first.size()) {
      columns_ = format_.columns;
    } else {
      fail(Code::kInvalidArgument, "[B3040] " + block.place_of_count(0, format_.columns.size()) + ": " +
                                       std::to_string(first.size()) + " columns, but 'columns' names " +
                                       std::to_string(format_.columns.size()) + "; name each column");
    }
  }

  void make_names_different() {
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

  Format format_;
  std::vector<Place> blocks_;
  std::int64_t rows_ = 0;
  std::int64_t header_line_ = 0;  // 0: there is no header
  std::int64_t first_line_ = 1;   // of the first row
  std::vector<std::string> columns_, names_;
  std::string not_utf8_;
};

}  // namespace csv
}  // namespace v0
}  // namespace belay
