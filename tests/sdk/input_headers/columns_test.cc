// SPDX-License-Identifier: Apache-2.0
#include <belay/columns.h>
#include <belay/testing/error_of.h>
#include <gmock/gmock.h>

#include <cmath>

namespace columns_test {

using belay::Column;
using belay::ColumnFit;
using belay::ColumnGuess;
using belay::ColumnOptions;
using belay::Gaps;
using belay::Moment;
using belay::testing::error_of;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointwise;

const Gaps kUsual{"", "NA", "N/A", "null", "?"};

Column fitted(const ColumnOptions& options, const std::vector<std::string>& cells) {
  ColumnFit fit(options, kUsual);
  for (const std::string& cell : cells) fit.add(cell);
  return fit.finish();
}

ColumnOptions typed(const char* type) {
  ColumnOptions options;
  options.name = "x", options.type = type;
  return options;
}

// Returns the numbers of a cell; -999: the cell is wrong.
std::vector<double> written(const Column& column, std::string_view cell) {
  std::vector<double> out(column.width());
  return column.write(cell, out.data()) == nullptr ? out : std::vector<double>{-999};
}

TEST(Columns, NumbersFillTheirGapsAndAreScaledByTheTrainingsRows) {
  struct Case {
    const char *missing, *scale;
    double of_gap, of_ten;
  };
  // The cells are 1, 2, 4, 9 and a gap.
  const Case cases[] = {
      {"median", "none", 3, 10},
      {"mean", "none", 4, 10},
      {"value", "none", 7, 10},
      {"median", "standard", (3 - 3.8) / std::sqrt(7.76), (10 - 3.8) / std::sqrt(7.76)},
      {"mean", "standard", 0, 6 / std::sqrt(7.6)},
      {"median", "minmax", 0.25, 1.125},
      {"value", "log", std::log(8), std::log(11)},
  };
  for (const Case& c : cases) {
    ColumnOptions options = typed("number");
    options.missing = c.missing, options.scale = c.scale, options.fill = 7;
    const Column column = fitted(options, {"9", "1", "NA", "2", "4"});
    EXPECT_THAT(written(column, "?"), ElementsAre(DoubleNear(c.of_gap, 1e-12))) << c.missing << c.scale;
    EXPECT_THAT(written(column, "1e1"), ElementsAre(DoubleNear(c.of_ten, 1e-12))) << c.missing << c.scale;
  }
}

TEST(Columns, ALogarithmKeepsTheSign) {
  ColumnOptions options = typed("number");
  options.scale = "log";
  EXPECT_THAT(written(fitted(options, {"1"}), "-1"), ElementsAre(-std::log(2)));
}

TEST(Columns, AnIndicatorIsOneForAGap) {
  ColumnOptions options = typed("number");
  options.indicator = true;
  const Column column = fitted(options, {"1", "3"});
  EXPECT_THAT(column.names(), ElementsAre("x", "x is missing"));
  EXPECT_THAT(written(column, "NA"), ElementsAre(2, 1));
  EXPECT_THAT(written(column, "5"), ElementsAre(5, 0));
}

TEST(Columns, BucketsBeginAtTheirLimits) {
  ColumnOptions options = typed("number");
  options.buckets = {18, 30.5};
  const Column column = fitted(options, {"1"});
  EXPECT_THAT(column.names(), ElementsAre("x<18", "18<=x<30.5", "x>=30.5"));
  EXPECT_THAT(written(column, "17.9"), ElementsAre(1, 0, 0));
  EXPECT_THAT(written(column, "18"), ElementsAre(0, 1, 0));
  EXPECT_THAT(written(column, "99"), ElementsAre(0, 0, 1));
  ColumnOptions counted = typed("number");
  counted.bucket_count = 4;
  EXPECT_THAT(fitted(counted, {"4", "1", "3", "2"}).limits, ElementsAre(1.75, 2.5, 3.25));
  EXPECT_THAT(fitted(counted, {"1", "1", "1", "5"}).limits, ElementsAre(1, 2));
}

TEST(Columns, CellsThatAreNoNumbersHaveAFault) {
  ColumnOptions options = typed("number");
  options.missing = "error";
  const Column column = fitted(options, {"1"});
  double out = 0;
  EXPECT_STREQ(column.write("abc", &out), "not a number");
  EXPECT_STREQ(column.write("nan", &out), "not a number");
  EXPECT_STREQ(column.write("1e39", &out), "outside the range of float32");
  EXPECT_STREQ(column.write("NA", &out), "which is a gap, and 'missing' is \"error\"");
}

TEST(Columns, WordsAreNumberedByFrequencyAndThenByName) {
  const Column column = fitted(typed("category"), {"b", "a", "c", "b", "NA"});
  EXPECT_THAT(column.names(), ElementsAre("x=b", "x=a", "x=c", "x is missing"));
  EXPECT_THAT(written(column, "a"), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(written(column, ""), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(written(column, "other"), ElementsAre(0, 0, 0, 0));
}

TEST(Columns, RareWordsAndThoseBeyondTheSizeAreUnknown) {
  ColumnOptions options = typed("category");
  options.min_count = 2;
  Column column = fitted(options, {"b", "a", "b", "a", "b", "c"});
  EXPECT_THAT(column.names(), ElementsAre("x=b", "x=a", "x is unknown"));
  EXPECT_THAT(written(column, "c"), ElementsAre(0, 0, 1));
  options.max_size = 1;
  column = fitted(options, {"b", "a", "b", "a", "b", "c"});
  EXPECT_THAT(column.names(), ElementsAre("x=b", "x is unknown"));
}

TEST(Columns, IdsHaveOneForUnknownWordsAndOneForGaps) {
  ColumnOptions options = typed("category");
  options.deliver = "ids";
  Column column = fitted(options, {"b", "a", "b"});
  EXPECT_THAT(column.names(), IsEmpty());
  EXPECT_THAT(column.words_by_id(), ElementsAre("b", "a", "<unknown>", "<missing>"));
  std::int64_t id = -1;
  for (const auto& [cell, expected] : {std::pair{"b", 0}, {"a", 1}, {"z", 2}, {"NA", 3}}) {
    EXPECT_EQ(column.id_of(cell, id), nullptr);
    EXPECT_EQ(id, expected) << cell;
  }
  options.hash_buckets = 10;
  column = fitted(options, {"b"});
  EXPECT_EQ(column.ids(), 12);
  column.id_of("a", id);
  EXPECT_EQ(id, static_cast<std::int64_t>(0xaf63dc4c8601ec8cu % 10));  // FNV-1a's published value of "a"
  column.id_of("", id);
  EXPECT_EQ(id, 11);
}

TEST(Columns, DatesAreReadInIso) {
  struct Case {
    const char* text;
    const char* moment;  // empty: it is none
  };
  const Case cases[] = {{"2025-01-09", "2025-01-09T00"},
                        {"2025-01-09T14:30", "2025-01-09T14"},
                        {"2025-01-09 14:30:05.25Z", "2025-01-09T14"},
                        {"2025-01-09T14:30+01:00", "2025-01-09T14"},
                        {"2024-02-29", "2024-02-29T00"},
                        {"0001-01-01", "0001-01-01T00"},
                        {"2025-02-29", ""},
                        {"1900-02-29", ""},
                        {"0000-01-01", ""},
                        {"2025-13-01", ""},
                        {"2025-1-9", ""},
                        {"2025-01-09T24:00", ""},
                        {"2025-01-09x", ""},
                        {"2025-01-09 ", ""},
                        {"20250109", ""}};
  for (const Case& c : cases) {
    Moment moment;
    const bool is_date = belay::parse_date({}, c.text, moment);
    EXPECT_EQ(is_date ? moment.text() : "", c.moment) << c.text;
  }
}

TEST(Columns, AYearOfTwoDigitsIsFrom1969To2068) {
  Moment m;
  for (const auto& [text, year] :
       {std::pair("1.2.69", 1969), std::pair("1.2.99", 1999), std::pair("1.2.00", 2000), std::pair("1.2.68", 2068)}) {
    ASSERT_TRUE(belay::parse_date({"%d.%m.%y"}, text, m)) << text;
    EXPECT_EQ(m.year, year) << text;
  }
  EXPECT_FALSE(belay::parse_date({"%d.%m.%y"}, "1.2.2020", m));
}

TEST(Columns, AMonthMayBeANameAndAnHourOneOfTwelve) {
  struct Case {
    const char *format, *text, *moment;
  };
  const Case cases[] = {{"%d-%b-%Y", "13-Sep-2021", "2021-09-13T00"},
                        {"%d-%b-%Y", "3-MAY-2021", "2021-05-03T00"},
                        {"%b %d, %Y", "September 3, 2021", "2021-09-03T00"},
                        {"%d %b %Y", "3 sept 2021", "2021-09-03T00"},
                        {"%b %d, %Y %I:%M %p", "Jun 3, 2021 12:05 AM", "2021-06-03T00"},
                        {"%b %d, %Y %I:%M %p", "Jul 3, 2021 12:05 pm", "2021-07-03T12"},
                        {"%m/%d/%Y %I:%M:%S %p", "1/31/2024 11:59:59 PM", "2024-01-31T23"},
                        {"%d-%b-%Y", "13-Okt-2021", ""},
                        {"%d-%b-%Y", "31-Feb-2021", ""},
                        {"%d-%b-%Y", "13-Septem-2021", ""},
                        {"%d-%b-%Y", "13-Ma-2021", ""},
                        {"%m/%d/%Y %I:%M %p", "1/31/2024 13:00 PM", ""},
                        {"%m/%d/%Y %I:%M %p", "1/31/2024 0:00 AM", ""},
                        {"%m/%d/%Y %I:%M %p", "1/31/2024 1:00", ""},
                        {"%m/%d/%Y %I:%M %p", "1/31/2024 1:00 XM", ""}};
  for (const Case& c : cases) {
    Moment moment;
    const bool is_date = belay::parse_date({c.format}, c.text, moment);
    EXPECT_EQ(is_date ? moment.text() : "", c.moment) << c.text;
  }
}

TEST(Columns, NumbersThatTouchHaveAllOfTheirDigits) {
  Moment m;
  ASSERT_TRUE(belay::parse_date({"%Y%m%d"}, "20210304", m));
  EXPECT_EQ(m.text(), "2021-03-04T00");
  EXPECT_FALSE(belay::parse_date({"%Y%m%d"}, "2021034", m));
  EXPECT_FALSE(belay::parse_date({"%Y%m%d"}, "202134", m));
  EXPECT_TRUE(belay::parse_date({"%d.%m.%Y %H:%M"}, "4.3.2021 5:07", m));
}

TEST(Columns, DatesAreReadInTheFirstFormatThatFits) {
  Moment moment;
  EXPECT_TRUE(belay::parse_date({"%d.%m.%Y", "%m/%d/%Y %H:%M:%S"}, "9.1.2025", moment));
  EXPECT_EQ(moment.text(), "2025-01-09T00");
  EXPECT_TRUE(belay::parse_date({"%d.%m.%Y", "%m/%d/%Y %H:%M:%S"}, "1/9/2025 23:59:58", moment));
  EXPECT_EQ(moment.text(), "2025-01-09T23");
  EXPECT_FALSE(belay::parse_date({"%d.%m.%Y"}, "2025-01-09", moment));
}

TEST(Columns, DaysAndWeekdaysAreThoseOfTheCalendar) {
  const auto days = [](std::int64_t year, std::int64_t month, std::int64_t day) {
    return Moment{year, month, day, 0}.days();
  };
  EXPECT_EQ(days(1970, 1, 1), 0);
  EXPECT_EQ(days(2000, 3, 1), 11017);
  EXPECT_EQ(days(1969, 12, 31), -1);
  EXPECT_EQ(days(1, 1, 1), -719162);
  EXPECT_EQ((Moment{2025, 1, 9, 0}.weekday()), 3);  // a Thursday
  EXPECT_EQ((Moment{1, 1, 1, 0}.weekday()), 0);
}

TEST(Columns, PartsOfADateAreNumbersWordsOrAnglesOfACircle) {
  ColumnOptions options = typed("date");
  options.parts = {"year", "month", "weekday", "hour", "days"}, options.scale = "none";
  Column column = fitted(options, {"2025-01-09", "2025-04-07T06:00"});
  EXPECT_THAT(column.names(), ElementsAre("x year", "x month sine", "x month cosine", "x weekday sine",
                                          "x weekday cosine", "x hour sine", "x hour cosine", "x days"));
  EXPECT_THAT(written(column, "2025-04-07T06:00"),
              Pointwise(DoubleNear(1e-12), std::vector<double>{2025, 1, 0, 0, 1, 1, 0, 20185}));
  EXPECT_THAT(written(column, ""), Pointwise(DoubleNear(1e-12), written(column, "2025-01-09")));
  options.cycles = "number";
  EXPECT_THAT(written(fitted(options, {"2025-01-09"}), "2025-12-14T23:00"), ElementsAre(2025, 12, 6, 23, 20436));
  options.cycles = "words", options.parts = {"weekday"};
  column = fitted(options, {"2025-01-09"});
  EXPECT_EQ(column.names()[6], "x weekday=6");
  EXPECT_THAT(written(column, "2025-12-14"), ElementsAre(0, 0, 0, 0, 0, 0, 1));
}

TEST(Columns, YearAndDaysAreScaled) {
  ColumnOptions options = typed("date");
  options.parts = {"days"};
  const Column column = fitted(options, {"1970-01-01", "1970-01-03"});
  EXPECT_THAT(written(column, "1970-01-04"), ElementsAre(2));
}

TEST(Columns, GapsOfAColumnAreInPlaceOfThoseOfAll) {
  ColumnOptions options = typed("category");
  options.gaps = {"none"};
  const Column column = fitted(options, {"NA", "none", "NA"});
  EXPECT_THAT(column.names(), ElementsAre("x=NA", "x is missing"));
  EXPECT_THAT(written(column, "none"), ElementsAre(0, 1));
  EXPECT_THAT(written(column, "NA"), ElementsAre(1, 0));
  belay::ColumnFit gaps(options, kUsual), more(typed("number"), kUsual);
  gaps.add("none"), more.add("NA"), more.add("1");
  EXPECT_TRUE(gaps.only_gaps());
  EXPECT_FALSE(more.only_gaps());
}

TEST(Columns, TextIsABagOfItsWords) {
  ColumnOptions options = typed("text");
  options.min_count = 2;
  const Column column = fitted(options, {"The dog, the cat", "a DOG", "the b\xc3\xa4r", "NA"});
  EXPECT_THAT(column.names(), ElementsAre("x:dog", "x:the"));
  EXPECT_THAT(written(column, "the the dog!"), ElementsAre(1, 2));
  EXPECT_THAT(written(column, ""), ElementsAre(0, 0));
}

std::string guessed(const std::vector<std::string>& cells) {
  ColumnGuess guess(kUsual);
  for (const std::string& cell : cells) guess.add(cell);
  return guess.text();
}

TEST(Columns, TypesAreGuessedFromCells) {
  EXPECT_EQ(guessed({"1", "2.5", "-3e4"}), "number");
  EXPECT_EQ(guessed({"1", "NA", "x"}), "number, 1 gap");
  EXPECT_EQ(guessed({"2025-01-09", "2025-01-10", "", "?"}), "date, 2 gaps");
  EXPECT_EQ(guessed({"a", "b", "a", "1"}), "category, 2 different cells of words in 4 rows");
  EXPECT_EQ(guessed({"", "NA"}), "ignore, 2 gaps");
  std::vector<std::string> names, texts;
  for (char c = 'a'; c <= 'z'; ++c) names.push_back(std::string(3, c)), texts.push_back(std::string("see the ") + c);
  EXPECT_EQ(guessed(names), "ignore, 26 different cells of words in 26 rows");
  EXPECT_EQ(guessed(texts), "text, 26 different cells of words in 26 rows");
  std::vector<std::string> times;
  for (int i = 10; i < 40; ++i) times.push_back("09/13/2021 03:" + std::to_string(i));
  EXPECT_EQ(guessed(times), "ignore, 30 different cells of words in 30 rows") << "no words with letters";
}

TEST(Columns, AMarkThatKeepsACellFromBeingANumberIsFound) {
  const std::pair<const char*, std::vector<const char*>> cases[] = {
      {"a comma", {"3,5", "-1.234,50", "1,000", "+2,5"}},
      {"a blank", {"14 675", "1 234 567", "1\u00a0234", "1\u202f234.5", "12 345,6"}},
      {"an apostrophe", {"14'675", "1\u2019234.50"}},
      {"a sign", {"$5.20", "1.000 \u20ac", "12 %", "-$15.50", "$1,200", "\u00a3 7"}},
      {"parentheses", {"(5.20)", "(1,234)", "($7)"}}};
  for (const auto& [mark, cells] : cases)
    for (const char* cell : cells) EXPECT_STREQ(belay::mark_in_number(cell), mark) << cell;
  for (const char* cell : {"", "5", "1.5e3", "-", "a", "%", "$", "()", "(a)", "((5))", "030 123 456", "12 34", "1'23",
                           "5 kg", "12:30", "1,", ",5", "nan%", "2025-01-09"})
    EXPECT_EQ(belay::mark_in_number(cell), nullptr) << cell;
}

TEST(Columns, DatesOfOtherFormatsAreFoundWithTheirTimes) {
  const auto formats = [](std::string_view cell) {
    std::vector<std::string> found;
    belay::each_other_date(cell, [&](std::size_t i) { found.push_back(belay::other_dates()[i]); });
    return found;
  };
  EXPECT_THAT(formats("31.12.2020"), ElementsAre("%d.%m.%Y"));
  EXPECT_THAT(formats("09/13/2021 03:15"), ElementsAre("%m/%d/%Y %H:%M"));
  EXPECT_THAT(formats("2020/11/01 04:50:59"), ElementsAre("%Y/%m/%d %H:%M:%S"));
  EXPECT_THAT(formats("15.04.21"), ElementsAre("%d.%m.%y"));
  EXPECT_THAT(formats("9/13/21"), ElementsAre("%m/%d/%y"));
  EXPECT_THAT(formats("5/6/2021"), ElementsAre("%m/%d/%Y", "%d/%m/%Y"));
  EXPECT_THAT(formats("9/13/2021 3:15PM"), ElementsAre("%m/%d/%Y %I:%M%p"));
  EXPECT_THAT(formats("13-Sep-21"), ElementsAre("%d-%b-%y"));
  EXPECT_THAT(formats("13 September 2021"), ElementsAre("%d %b %Y"));
  EXPECT_THAT(formats("Sep 13, 2021 3:15 PM"), ElementsAre("%b %d, %Y %I:%M %p"));
  EXPECT_THAT(formats("9/13/2021 3:15:00 PM"), ElementsAre("%m/%d/%Y %I:%M:%S %p"));
  for (const char* cell : {"March", "may", "Mayfield 3", "3 Mayfield 2021", "1.2.10", "4.0.1", "31.02.2020", "12.5",
                           "1-2", "x", "12.11.2020 25:00"})
    EXPECT_THAT(formats(cell), IsEmpty()) << cell;
}

TEST(Columns, NumbersThatEndNamesOfColumnsMayBeTheFirstRow) {
  using Names = std::vector<std::string>;
  for (const Names& row : {Names{"29", "Private", "91286", "HS", "14", "N", "c", "White"}, Names{"0.5", "red", "1"}})
    EXPECT_EQ(belay::name_like_value(row), row[0]);
  for (const Names& names : {Names{"2019", "2020", "2021"}, Names{"a", "b", "c", "400", "420", "450", "d"},
                             Names{"x", "1", "y", "0", "z"}, Names{"a", "b"}})
    EXPECT_EQ(belay::name_like_value(names), "");
}

TEST(Columns, ABlankAroundAQuotedNumberIsNoPartOfIt) {
  const Column number = fitted(typed("number"), {"1", "2"});
  EXPECT_THAT(written(number, "  73.5 "), ElementsAre(73.5));
  EXPECT_THAT(written(number, "7 3"), ElementsAre(-999));
  EXPECT_THAT(written(number, "  "), ElementsAre(-999));
}

TEST(Columns, ColumnsOfEqualNumbersAreDividedBy1) {
  ColumnOptions options = typed("number");
  options.scale = "standard", options.missing = "mean";
  EXPECT_THAT(fitted(options, std::vector<std::string>(1000, "0.1")).divisor, ElementsAre(1));
  std::vector<std::string> cells(1000, "0.19");
  cells[7] = "NA";
  EXPECT_THAT(fitted(options, cells).divisor, ElementsAre(1));
  cells[8] = "0.1900001";
  EXPECT_LT(fitted(options, cells).divisor[0], 1e-8) << "that number is another one";
}

}  // namespace columns_test
