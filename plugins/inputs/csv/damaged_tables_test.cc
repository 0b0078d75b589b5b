// SPDX-License-Identifier: Apache-2.0
// More than 300 damaged tables: each is refused with its place, or is read as inputs.md states.
#include <belay/testing/error_of.h>
#include <belay/testing/input_driver.h>
#include <belay/testing/temporary_folder.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "plugins/inputs/gzip_test.h"

extern "C" const belay_module belay_module_csv;

namespace damaged_tables_test {

using belay::testing::error_of;
using belay::testing::InputDriver;
using belay::testing::module_under_test;
using belay::testing::OptionValues;
using belay::testing::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kRows = 40;
enum Column { kA, kB, kWord, kDay, kLabel, kColumns };

// A table of numbers, words, dates and a label of which one cell, row or byte can be damaged.
class DamagedTables : public ::testing::Test {
 protected:
  using Cells = std::vector<std::string>;

  void SetUp() override {
    for (int i = 0; i < kRows; ++i)
      rows_.push_back({std::to_string(i), std::to_string(0.5 * i), i % 3 == 0 ? "blue" : "red",
                       "2025-01-" + std::to_string(10 + i % 20), i % 2 == 0 ? "yes" : "no"});
  }
  static std::string line_of(const Cells& cells) {
    std::string line;
    for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + cell;
    return line;
  }
  std::string text(const std::string& end = "\n") const {
    std::string all = "a,b,word,day,y" + end;
    for (const Cells& row : rows_) all += line_of(row) + end;
    return all;
  }
  // Returns the place of a cell: ":LINE:COLUMN: ".
  std::string place(int row, int column) const {
    std::size_t begin = 1;
    for (int i = 0; i < column; ++i)
      begin += rows_[static_cast<std::size_t>(row)][static_cast<std::size_t>(i)].size() + 1;
    return ":" + std::to_string(row + 2) + ":" + std::to_string(begin) + ": ";
  }
  std::string& cell(int row, int column) {
    return rows_[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
  }
  std::string error(const std::string& table, const OptionValues& options = {}) {
    ++tables_;
    OptionValues all = options.with({"path", folder_.write("x.csv", table)});
    return error_of([&] {
      InputDriver input(module_under_test(belay_module_csv), all);
      input.open();
      input.next();
    });
  }
  // Expects that the table is read, with so many numbers in a row.
  void expect_read(const std::string& table, std::int64_t width, const OptionValues& options = {}) {
    ++tables_;
    InputDriver input(module_under_test(belay_module_csv), options.with({"path", folder_.write("x.csv", table)}));
    input.open();
    EXPECT_EQ(input.size(), kRows);
    EXPECT_EQ(input.spec()[0].dims[1], width);
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.file("x.csv");
  std::vector<Cells> rows_;
  int tables_ = 0;
};

constexpr std::int64_t kWidth = 2 + 2 + 6;  // numbers; two words; year, days, month and weekday as sine and cosine

TEST_F(DamagedTables, ACellThatIsWrongIsNamedWithItsPlaceInEachRow) {
  const struct {
    Column column;
    std::string cell, what;
  } faults[] = {
      {kA, "abc", "\"abc\", not a number"},
      {kA, "0x1F", "\"0x1F\", not a number"},
      {kA, "1e999", "\"1e999\", outside the range of float32"},
      {kB, "1e39", "\"1e39\", outside the range of float32"},
      {kB, "inf", "\"inf\", outside the range of float32"},
      {kB, "nan", "\"nan\", not a number"},
      {kA, std::string(5000, '9'), "outside the range of float32"},
      {kA, "\"1,5\"", "\"1,5\", not a number"},
      {kA, "1 000", "\"1 000\", not a number"},
      {kA, "--1", "\"--1\", not a number"},
      {kA,
       "\xEF\xBB\xBF"
       "1",
       "not a number"},
      {kDay, "0000-01-01", "\"0000-01-01\", not a date"},
      {kDay, "2025-02-30", "\"2025-02-30\", not a date"},
      {kDay, "01/09/2025", "\"01/09/2025\", not a date"},
      {kDay, "2025-13-01", "\"2025-13-01\", not a date"},
      {kLabel, "", "the label is empty"},
      {kLabel, "\xEF\xBB\xBFyes", "byte order mark"},
      {kB, "\"5", "a quoted field does not end"},
      {kB, "\"5\"x", "a quoted field is followed by more text"},
      {kWord, "\"re\"d", "a quoted field is followed by more text"},
      {kDay, "\"", "a quoted field does not end"},
  };
  for (const auto& fault : faults)
    for (const int row : {0, 1, 2, 7, 11, 18, 19, 20, 25, 31, 37, 38, 39}) {
      const std::string before = cell(row, fault.column);
      cell(row, fault.column) = fault.cell;
      const std::string said = error(text());
      EXPECT_THAT(said, StartsWith("DATA_LOSS: ")) << fault.cell.substr(0, 20) << " in row " << row;
      EXPECT_THAT(said, HasSubstr(path_ + place(row, fault.column)));
      EXPECT_THAT(said, HasSubstr(fault.what));
      cell(row, fault.column) = before;
    }
  EXPECT_GE(tables_, 250);
}

TEST_F(DamagedTables, ARowWithMoreOrFewerCellsIsNamedWithItsPlace) {
  for (const int row : {0, 1, 9, 20, 38, 39}) {
    const Cells before = rows_[static_cast<std::size_t>(row)];
    rows_[static_cast<std::size_t>(row)].emplace_back("more");
    // The first line of the message begins with its code.
    const std::string code = row == 0 ? "" : "[B3036] ";
    EXPECT_THAT(error(text()), HasSubstr(path_ + place(row, kColumns) + code + "6 columns, expected 5"));
    rows_[static_cast<std::size_t>(row)] = {"1", "2"};
    EXPECT_THAT(error(text()),
                HasSubstr(path_ + ":" + std::to_string(row + 2) + ":4: " + code + "2 columns, expected 5"));
    rows_[static_cast<std::size_t>(row)] = before;
  }
}

TEST_F(DamagedTables, AFileThatIsNoTextIsRefusedWithTheByte) {
  for (std::size_t at = 0; at < text().size(); at += 61) {
    std::string table = text();
    table[at] = '\0';
    EXPECT_EQ(error(table), "INVALID_ARGUMENT: [B3022] path: '" + path_ + "' is no text file: byte " +
                                std::to_string(at) + " is zero; give a CSV file in UTF-8");
  }
  for (const bool little : {true, false}) {
    std::string wide = little ? "\xFF\xFE" : "\xFE\xFF";
    for (const char c : text()) wide += little ? std::string{c, '\0'} : std::string{'\0', c};
    EXPECT_EQ(error(wide), "INVALID_ARGUMENT: [B3022] path: '" + path_ +
                               "' is text in UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW");
  }
}

TEST_F(DamagedTables, ACompressedFileThatIsCutShortIsRefused) {
  const std::string whole = input_test::gzipped(text());
  for (std::size_t size = 12; size < whole.size(); size += 23)
    EXPECT_THAT(error(whole.substr(0, size)), HasSubstr("'" + path_ + "' is damaged after byte "));
  expect_read(whole, kWidth);
}

TEST_F(DamagedTables, WhatIsUnusualAndNotWrongIsRead) {
  expect_read(text(), kWidth);
  for (const char* end : {"\r\n", "\r", "\n\n", "\r\r\n", " \n"}) expect_read(text(end), kWidth);
  expect_read("\xEF\xBB\xBF" + text(), kWidth);
  expect_read("\xEF\xBB\xBF\xEF\xBB\xBF" + text(), kWidth);
  expect_read(text().substr(0, text().size() - 1), kWidth);
  cell(3, kWord) = "re\"d";
  expect_read(text(), kWidth + 1);
  cell(3, kWord) = "\"re\"\"d, \nor blue\"";
  expect_read(text(), kWidth + 1);
  cell(3, kWord) = "K\xF6ln";  // Latin-1
  expect_read(text(), kWidth + 1);
  cell(3, kWord) = "NA";
  expect_read(text(), kWidth + 1);
  cell(3, kA) = "?";
  cell(4, kB) = "+1e-400";
  cell(5, kDay) = "";
  expect_read(text(), kWidth + 1);
}

TEST_F(DamagedTables, HeadersThatAreEmptyOrEqualAreRead) {
  std::string rows = text();
  rows = rows.substr(rows.find('\n'));
  expect_read("a,,word,,y" + rows, kWidth);
  expect_read("a,a,a,a,y" + rows, kWidth);
  expect_read(",,,," + rows, kWidth);
  EXPECT_THAT(error("a,b,word,day,y\n"),
              StartsWith("FAILED_PRECONDITION: [B3021] path: '" + path_ + "' holds a header and no"));
  EXPECT_THAT(error("\n\n \n"), StartsWith("FAILED_PRECONDITION: [B3021] path: '" + path_ + "' holds no rows"));
  EXPECT_THAT(error("a,b,word,day\n" + rows), HasSubstr(path_ + ":1:1: the header names 4 columns, and all 40 rows"));
}

TEST_F(DamagedTables, AWordAfterManyThousandNumbersIsNamedWithItsLine) {
  std::string table = "a,y\n";
  for (int i = 0; i < 120'000; ++i)
    table += i == 110'000 ? "word,1\n" : std::to_string(i) + "," + std::to_string(i % 2) + "\n";
  EXPECT_THAT(error(table), HasSubstr(path_ + ":110002:1: column \"a\" is \"word\", not a number"));
}

TEST_F(DamagedTables, AVeryLongLineIsReadOrNamed) {
  const std::string long_word(20'000'000, 'x');
  EXPECT_THAT(error("a,y\n1,0\n" + long_word + ",1\n2,0\n"), HasSubstr(path_ + ":3:1: column \"a\" is \"xxxx"));
  EXPECT_THAT(error("a,y\n1,0\n\"" + long_word), HasSubstr(path_ + ":3:1: a quoted field does not end"));
}

TEST_F(DamagedTables, AMillionColumnsAreReadAndManyAreNamed) {
  const auto table = [](int columns, const std::string& more) {
    std::string header = "y", row = "1";
    for (int i = 0; i < columns; ++i) header += ",c" + std::to_string(i), row += ",2";
    return header + "\n" + row + "\n" + row + more + "\n";
  };
  InputDriver input(module_under_test(belay_module_csv),
                    {{"path", folder_.write("x.csv", table(1'000'000, ""))}, {"label", "y"}});
  EXPECT_EQ(input.spec()[0].dims[1], 1'000'000);
  EXPECT_THAT(error(table(10'000, ",3"), {{"label", "y"}}),
              HasSubstr(path_ + ":3:20003: 10002 columns, expected 10001"));
}

}  // namespace damaged_tables_test
