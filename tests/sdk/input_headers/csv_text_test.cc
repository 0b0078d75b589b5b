// SPDX-License-Identifier: Apache-2.0
#include <belay/csv/text.h>
#include <belay/testing/error_of.h>
#include <gmock/gmock.h>

#include <algorithm>

namespace csv_text_test {

using belay::testing::error_of;
using ::testing::ElementsAre;
using namespace belay::csv;  // NOLINT

std::vector<std::string> records_of(std::string_view text, std::int64_t skip_lines = 0) {
  std::vector<std::string> records;
  Scan scan;
  scan.skip_lines = skip_lines;
  for (const Record& r : find_records(text, scan))
    records.push_back(std::to_string(r.line) + ":" + std::string(text.substr(r.begin, r.end - r.begin)));
  return records;
}

TEST(CsvText, RecordsEndWithALineFeedOrTheText) {
  EXPECT_THAT(records_of("a,b\nc,d\n"), ElementsAre("1:a,b", "2:c,d"));
  EXPECT_THAT(records_of("a,b\nc,d"), ElementsAre("1:a,b", "2:c,d"));
  EXPECT_THAT(records_of(""), ElementsAre());
}

TEST(CsvText, BlankLinesAreNoRecordsButCount) {
  EXPECT_THAT(records_of("\n  \na\r\n\r\n\t\nb\n\n"), ElementsAre("3:a\r", "6:b"));
}

TEST(CsvText, T_122_ACarriageReturnAloneEndsALine) {
  EXPECT_THAT(records_of("a,b\rc,d\r\r\"e\rf\",g\rh"), ElementsAre("1:a,b", "2:c,d", "4:\"e\rf\",g", "6:h"));
  EXPECT_THAT(records_of("a\r\nb\rc\nd\r\n"), ElementsAre("1:a\r", "2:b", "3:c", "4:d\r"));
  EXPECT_THAT(records_of("a\r\r\nb\r\r\n"), ElementsAre("1:a\r\r", "2:b\r\r"));
  EXPECT_THAT(records_of("skipped, \"so\ra\rb", 1), ElementsAre("2:a", "3:b"));
}

TEST(CsvText, QuotedFieldsMayHoldLineFeeds) {
  EXPECT_THAT(records_of("\"a\nb\",1\n\"c\"\"\n\",2\nd"), ElementsAre("1:\"a\nb\",1", "3:\"c\"\"\n\",2", "5:d"));
}

TEST(CsvText, AQuoteInsideAFieldIsACharacter) {
  EXPECT_THAT(records_of("5\" pipe,1\n6\" pipe,2\n"), ElementsAre("1:5\" pipe,1", "2:6\" pipe,2"));
}

TEST(CsvText, SkippedLinesAreNotRead) {
  EXPECT_THAT(records_of("\"open\na,b\nc,d\n", 1), ElementsAre("2:a,b", "3:c,d"));
  EXPECT_THAT(records_of("\n\na\n", 2), ElementsAre("3:a"));
  EXPECT_THAT(records_of("a\nb\n", 5), ElementsAre());
}

// Returns what records_of returns, if the text comes by parts of `size` bytes.
std::vector<std::string> records_by_parts(std::string_view text, std::size_t size) {
  std::vector<std::string> records;
  Scan scan;
  std::size_t begin = 0, end = 0;
  do {
    end = std::min(end + size, text.size());
    scan.last = end == text.size();
    const std::string_view part = text.substr(begin, end - begin);
    for (const Record& r : find_records(part, scan))
      records.push_back(std::to_string(r.line) + ":" + std::string(part.substr(r.begin, r.end - r.begin)));
    begin += scan.used;
  } while (!scan.last);
  return records;
}

TEST(CsvText, ATextByPartsHasTheSameRecords) {
  for (const char* text : {"a,b\nc,d\n", "a\r\nb\rc\nd\r\n", "a\r\r\nb\r\r\n\n x\n", "\"a\nb\",1\n\"c\"\"\n\",2\nd",
                           "\n  \na\r\n\r\n\t\nb\n\n", "5\" pipe,1\n6\" pipe,2\n", "a,\"open\nb\n"})
    for (const std::size_t size : {1, 2, 3, 5, 100}) EXPECT_EQ(records_by_parts(text, size), records_of(text)) << text;
}

TEST(CsvText, SplitsFields) {
  struct Case {
    const char* record;
    char delimiter;
    std::vector<std::string> fields;
  };
  const Case cases[] = {
      {"a,b,c", ',', {"a", "b", "c"}},
      {" a ,\tb\r", ',', {"a", "b"}},
      {"", ',', {""}},
      {",", ',', {"", ""}},
      {"a,", ',', {"a", ""}},
      {"\"a,b\" , \"c\"", ',', {"a,b", "c"}},
      {"\"a \"\"b\"\"\",\"\"", ',', {"a \"b\"", ""}},
      {"\" a \",x", ',', {" a ", "x"}},
      {"5\" pipe,1", ',', {"5\" pipe", "1"}},
      {"a;b,c", ';', {"a", "b,c"}},
      {"a\t\tb", '\t', {"a", "", "b"}},
      {"a b", ' ', {"a", "b"}},
  };
  for (const Case& c : cases) EXPECT_EQ(split_record(c.record, c.delimiter), c.fields) << c.record;
}

TEST(CsvText, BrokenQuotesAreErrors) {
  EXPECT_EQ(
      error_of([] { split_record("a,\"b", ','); }),
      "DATA_LOSS: [B3037] a quoted field does not end; close the quote, or double it if it is a part of the text");
  EXPECT_EQ(error_of([] { split_record("\"a\"b,c", ','); }),
            "DATA_LOSS: [B3037] a quoted field is followed by more text; double the quotes inside it");
}

TEST(CsvText, TheFirstByteThatIsNoUtf8IsFound) {
  using belay::csv::first_not_utf8;
  constexpr std::size_t kNone = std::string_view::npos;
  const struct {
    std::string text;
    std::size_t at;
  } cases[] = {
      {"", kNone},
      {"plain text of more than eight bytes", kNone},
      {"\u00e4\u20ac\U0001F600 \u07ff\uffff\U0010FFFF", kNone},
      {"K\xf6ln", 1},
      {"12345678\xfc", 8},
      {"\xc3", 0},  // it ends inside of a character
      {"ab\xe2\x82", 2},
      {"\xc3(", 0},
      {"\x80", 0},
      {"\xc0\xaf", 0},  // too many bytes for the character
      {"\xe0\x80\xaf", 0},
      {"\xf0\x80\x80\xaf", 0},
      {"\xed\xa0\x80", 0},      // half of a pair of UTF-16
      {"\xf4\x90\x80\x80", 0},  // no such character
      {"\xf5\x80\x80\x80", 0},
      {"\xff", 0},
  };
  for (const auto& c : cases) EXPECT_EQ(first_not_utf8(c.text), c.at) << c.text;
}

}  // namespace csv_text_test
