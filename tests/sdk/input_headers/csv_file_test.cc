// SPDX-License-Identifier: Apache-2.0
#include <belay/csv/file.h>
#include <belay/testing/error_of.h>
#include <belay/testing/temporary_folder.h>
#include <gmock/gmock.h>
#include <unistd.h>
#include <zlib.h>

namespace csv_file_test {

using belay::testing::error_of;
using belay::testing::TemporaryFolder;
using ::testing::ElementsAre;
using CsvFile = belay::csv::File;
using CsvFormat = belay::csv::Format;

constexpr const char* kOpenQuote =
    "a quoted field does not end; close the quote, or double it if it is a part of the text";

class CsvFileTest : public ::testing::Test {
 protected:
  CsvFormat format(const std::string& text) { return {folder_.write("x.csv", text), true, ',', 0, {}}; }
  std::string error_at_open(const CsvFormat& f) {
    return error_of([&] { CsvFile file(f); });
  }
  TemporaryFolder folder_;
  const std::string path_ = folder_.file("x.csv");
};

TEST_F(CsvFileTest, TheFirstRowNamesTheColumns) {
  const CsvFile file(format("width, \"height\" ,kind\r\n1,2,a\r\n3,4,b\r\n"));
  EXPECT_THAT(file.columns(), ElementsAre("width", "height", "kind"));
  EXPECT_EQ(file.rows(), 2);
  EXPECT_THAT(file.fields(1), ElementsAre("3", "4", "b"));
  EXPECT_EQ(file.place(1), path_ + ":3:1");
}

TEST_F(CsvFileTest, AnEmptyLastCellBeforeACarriageReturnIsInItsOwnLine) {
  const CsvFile file(format("a,b\r\n1,2\r\n3,\r\n4,5\r\n"));
  EXPECT_EQ(file.place(1, 1), path_ + ":3:3");
}

TEST_F(CsvFileTest, T_122_AFileWithCarriageReturnsAsLineEndsHasItsHeaderAndRows) {
  const CsvFile file(format("width, \"height\" ,kind\r1.5,2,a\r\"3\",4,\"b\rb\" \r"));
  EXPECT_THAT(file.columns(), ElementsAre("width", "height", "kind"));
  ASSERT_EQ(file.rows(), 2);
  EXPECT_THAT(file.fields(0), ElementsAre("1.5", "2", "a"));
  EXPECT_THAT(file.fields(1), ElementsAre("3", "4", "b\rb"));
  EXPECT_EQ(file.place(1, 1), path_ + ":3:5");
  EXPECT_EQ(error_at_open(format("a,b\r")),
            "FAILED_PRECONDITION: [B3021] path: '" + path_ +
                "' holds a header and no rows; if it has no header, set header = false");
}

TEST_F(CsvFileTest, WithoutAHeaderColumnsAreNumberedOrNamed) {
  CsvFormat f = format("1,2\n3,4\n");
  f.header = false;
  EXPECT_THAT(CsvFile(f).columns(), ElementsAre("column_0", "column_1"));
  EXPECT_EQ(CsvFile(f).rows(), 2);
  f.columns = {"a", "b"};
  EXPECT_THAT(CsvFile(f).columns(), ElementsAre("a", "b"));
  f.columns = {"a", "b", "c"};
  EXPECT_EQ(error_at_open(f),
            "INVALID_ARGUMENT: [B3040] " + path_ + ":1:4: 2 columns, but 'columns' names 3; name each column");
}

TEST_F(CsvFileTest, LinesBeforeTheHeaderCanBeSkipped) {
  CsvFormat f = format("150,4,setosa\n\"a\",b\n1,2\n");
  f.skip_lines = 1;
  const CsvFile file(f);
  EXPECT_THAT(file.columns(), ElementsAre("a", "b"));
  EXPECT_EQ(file.place(0), path_ + ":3:1");
}

TEST_F(CsvFileTest, T_110_ByteOrderMarksAtTheBeginningAreDropped) {
  const std::string mark = "\xef\xbb\xbf";
  for (const std::string& marks : {mark, mark + mark})
    EXPECT_THAT(CsvFile(format(marks + "a,b\n1,2\n")).columns(), ElementsAre("a", "b"));
}

TEST_F(CsvFileTest, WhatOpeningCanSeeIsAnError) {
  struct Case {
    std::string text;
    const char* error;  // @ stands for the path
  };
  const Case cases[] = {
      {"", "FAILED_PRECONDITION: [B3021] path: '@' holds no rows; give a file that has some"},
      {" \n\r\n", "FAILED_PRECONDITION: [B3021] path: '@' holds no rows; give a file that has some"},
      {"a,b\n",
       "FAILED_PRECONDITION: [B3021] path: '@' holds a header and no rows; if it has no header, set header = false"},
      {"\x1f\x8b\x08 more",
       "DATA_LOSS: [B3023] path: '@' is damaged after byte 0 of its content: unknown header flags set; fetch it again"},
      {std::string("a,b\n1,\0\n", 8),
       "INVALID_ARGUMENT: [B3022] path: '@' is no text file: byte 6 is zero; give a CSV file in UTF-8"},
      {"\"a,b\n1,2\n",
       "DATA_LOSS: [B3037] @:1:1: a quoted field does not end; close the quote, or double it if it is a part of the "
       "text; the row takes the lines 1 to 2"},
  };
  for (const Case& c : cases) {
    std::string expected = c.error;
    expected.replace(expected.find('@'), 1, path_);
    EXPECT_EQ(error_at_open(format(c.text)), expected);
  }
  CsvFormat f = format("a,b\n");
  f.skip_lines = 3;
  EXPECT_EQ(error_at_open(f), "FAILED_PRECONDITION: [B3021] path: '" + path_ +
                                  "' holds no rows after the 3 lines that 'skip_lines' skips; give a file "
                                  "that has some");
  f = format("a,b\n1,2\n");
  f.columns = {"a", "b"};
  EXPECT_EQ(error_at_open(f),
            "INVALID_ARGUMENT: [B3020] 'columns' names the columns of a file without a header; leave it out, or set "
            "header = false "
            "and skip_lines");
  f.path = folder_.file("y.csv");
  EXPECT_EQ(error_at_open(f), "NOT_FOUND: [B3046] path: there is no file '" + f.path + "' (did you mean \"x.csv\"?)");
}

TEST_F(CsvFileTest, T_62f_ACompressedFileIsReadAsWhatItHolds) {
  std::string text = "a,b\n";
  for (int i = 0; i < 300'000; ++i) text += std::to_string(i) + ",x\n";  // more than one read takes
  CsvFormat f = format("");
  f.path = folder_.file("x.csv.gz");
  const auto write = [&](const std::string& part, const char* mode) {
    const gzFile out = gzopen(f.path.c_str(), mode);
    ASSERT_EQ(gzwrite(out, part.data(), static_cast<unsigned>(part.size())), static_cast<int>(part.size()));
    ASSERT_EQ(gzclose(out), Z_OK);
  };
  write(text, "wb");
  const CsvFile file(f);
  EXPECT_THAT(file.columns(), ElementsAre("a", "b"));
  ASSERT_EQ(file.rows(), 300'000);
  EXPECT_THAT(file.fields(299'999), ElementsAre("299999", "x"));
  EXPECT_EQ(file.place(1), f.path + ":3:1");
  write("last,y\n", "ab");  // a second gzip file after the first
  EXPECT_THAT(CsvFile(f).fields(300'000), ElementsAre("last", "y"));
}

TEST_F(CsvFileTest, ALargeFileComesBlockByBlock) {
  std::string text = "a,b\n";
  std::vector<std::string> cells;
  for (int i = 0; i < 200'000; ++i)
    text += std::to_string(i) + (i % 1000 == 7 ? ",\"x\ny\"\r\n" : i % 1000 == 8 ? ",\n\n" : ",z\n");
  const CsvFile file(format(text));
  ASSERT_EQ(file.rows(), 200'000);
  std::int64_t row = 0;
  int blocks = 0;
  belay::csv::Fields fields;
  file.each_block([&](const belay::csv::Block& block) {
    EXPECT_EQ(block.first_row(), row);
    for (std::size_t i = 0; i < block.rows(); ++i, ++row) {
      block.fields(i, fields);
      EXPECT_EQ(fields.views[0], std::to_string(row));
      EXPECT_EQ(fields.views[1], row % 1000 == 7 ? "x\ny" : row % 1000 == 8 ? "" : "z");
    }
    ++blocks;
    return true;
  });
  EXPECT_EQ(row, 200'000);
  EXPECT_GT(blocks, 4);
  EXPECT_EQ(file.place(199'999, 1), path_ + ":200401:8");
  std::vector<std::int64_t> seen;
  file.each_row({0, 5, 123'456, 199'999}, [&](const belay::csv::Block&, std::size_t, const belay::csv::Fields& found) {
    seen.push_back(std::stol(std::string(found.views[0])));
  });
  EXPECT_THAT(seen, ElementsAre(0, 5, 123'456, 199'999));
}

TEST_F(CsvFileTest, AFileThatChangesBetweenTwoPassesIsAnError) {
  const CsvFile file(format("a,b\n1,2\n3,4\n"));
  for (const char* other : {"a,b\n1,2\n", "a,b\n1,2\n3,4\n5,6\n", ""}) {
    folder_.write("x.csv", other);
    EXPECT_EQ(
        error_of([&] { file.each_block([](const belay::csv::Block&) { return true; }); }),
        "DATA_LOSS: [B3028] path: '" + path_ + "' has changed while it was read; begin again after it is complete");
  }
}

TEST_F(CsvFileTest, T_62g_AFileThatNoMemoryHoldsIsNamed) {
  const CsvFormat f = format("a,b\n");
  if (truncate(f.path.c_str(), std::int64_t{1} << 40) != 0)
    GTEST_SKIP() << "no sparse file of a terabyte can be made in " << folder_.path();
  EXPECT_EQ(error_at_open(f), "RESOURCE_EXHAUSTED: [B3049] path: '" + path_ +
                                  "' does not fit into the memory: it needs 1099511627776 bytes or more; give a "
                                  "smaller file, or several");
}

TEST_F(CsvFileTest, APlaceIsALineAndACharacter) {
  const CsvFile file(format("a,b\n\u00e4\u00f6 , 2\n\"x\ny\", z\r\n5,\"open\n"));
  EXPECT_EQ(file.place(0, 1), path_ + ":2:6");
  EXPECT_EQ(file.place(1, 1), path_ + ":4:5");
  EXPECT_EQ(error_of([&] { file.fields(2); }), "DATA_LOSS: [B3037] " + path_ + ":5:3: " + kOpenQuote);
  EXPECT_EQ(
      error_of([&] { CsvFile(format("a,b\n1 \r\n")).fields(0); }),
      "DATA_LOSS: [B3036] " + path_ + ":2:2: 1 columns, expected 2; a field that holds ',' must be in double quotes");
}

TEST_F(CsvFileTest, ARowOfOtherLengthIsAnErrorWithItsLine) {
  const CsvFile file(format("a,b\n1,2\n\n1,2,3\n\"x\n"));
  EXPECT_EQ(
      error_of([&] { file.fields(1); }),
      "DATA_LOSS: [B3036] " + path_ + ":4:5: 3 columns, expected 2; a field that holds ',' must be in double quotes");
  EXPECT_EQ(error_of([&] { file.fields(2); }), "DATA_LOSS: [B3037] " + path_ + ":5:1: " + kOpenQuote);
}

TEST_F(CsvFileTest, ARowOfAnOpenQuoteSaysWhichLinesItTakes) {
  const CsvFile open(format("a,b\n1,2\n3,\"4\n5,6\n7,8\n"));
  EXPECT_EQ(open.rows(), 2);
  EXPECT_EQ(error_of([&] { open.fields(1); }),
            "DATA_LOSS: [B3037] " + path_ + ":3:3: " + kOpenQuote + "; the row takes the lines 3 to 5");
  const CsvFile closed(format("a,b\n3,\"4\n5,\"6\"\n7,8\n"));
  EXPECT_EQ(
      error_of([&] { closed.fields(0); }),
      "DATA_LOSS: [B3037] " + path_ +
          ":2:3: a quoted field is followed by more text; double the quotes inside it; the row takes the lines 2 to "
          "3");
}

TEST_F(CsvFileTest, TheFirstRowThatIsNoUtf8IsKnownByItsPlace) {
  EXPECT_EQ(CsvFile(format("a,b\n1,\u00e4\n2,\xe4\n\xe4,1\n")).not_utf8(), path_ + ":3:3");
  EXPECT_EQ(CsvFile(format("a,\xe4\n1,2\n")).not_utf8(), path_ + ":1:3");
  EXPECT_EQ(CsvFile(format("a,b\n1,\u20ac\n")).not_utf8(), "");
}

TEST_F(CsvFileTest, FindsColumnsByNameAndNumber) {
  const CsvFile file(format("width,height,width,2\n1,2,3,4\n"));
  EXPECT_EQ(file.find_column("label", "height"), 1u);
  EXPECT_EQ(file.find_column("label", "0"), 0u);
  EXPECT_EQ(file.find_column("label", "-1"), 3u);
  EXPECT_EQ(file.find_column("label", "-4"), 0u);
  EXPECT_EQ(file.find_column("label", "2"), 3u);  // a name comes before a number
  EXPECT_EQ(error_of([&] { file.find_column("label", "hieght"); }),
            "NOT_FOUND: [B3041] label: '" + path_ +
                "' has no column \"hieght\" (did you mean \"height\"?); it has width, height, width, 2");
  EXPECT_EQ(error_of([&] { file.find_column("features", "4"); }),
            "NOT_FOUND: [B3041] features: '" + path_ + "' has no column \"4\"; it has width, height, width, 2");
  EXPECT_EQ(error_of([&] { file.find_column("features", "-5"); }),
            "NOT_FOUND: [B3041] features: '" + path_ + "' has no column \"-5\"; it has width, height, width, 2");
  EXPECT_EQ(error_of([&] { file.find_column("label", "width"); }),
            "INVALID_ARGUMENT: [B3041] label: several columns of '" + path_ +
                "' are called \"width\"; use the column's number, from 0");
}

}  // namespace csv_file_test
