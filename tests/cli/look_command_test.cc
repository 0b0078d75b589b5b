// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/tables/look_command.h"

#include <gmock/gmock.h>

#include <functional>
#include <sstream>

#include "belay/testing/temporary_folder.h"

namespace belay::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class LookCommandTest : public ::testing::Test {
 protected:
  std::string look(const std::string& text, const std::string& label = "", TableFiles files = {}) {
    if (files.paths.empty()) files.paths = {folder_.write("x.csv", text)};
    std::ostringstream out, err;
    status_ = look_command(files, label, out, err);
    return out.str() + err.str();
  }
  // Returns a table of n rows of one column x.
  static std::string column(int n, const std::function<std::string(int)>& cell) {
    std::string text = "x\n";
    for (int i = 0; i < n; ++i) text += cell(i) + "\n";
    return text;
  }

  testing::TemporaryFolder folder_;
  const std::string path_ = folder_.file("x.csv");
  int status_ = -1;
};

TEST_F(LookCommandTest, EachColumnHasItsTypeGapsAndValues) {
  const std::string said =
      look("age,city,since\n30,Bonn,2025-01-09\n41.5,Ulm,2020-12-31\nNA,Bonn,\n30,Bonn,2021-01-01\n");
  EXPECT_THAT(said, StartsWith(path_ + ": 4 rows, 3 columns\n"));
  EXPECT_THAT(said, HasSubstr("  age     number    1     2          30 to 41.5\n"));
  EXPECT_THAT(said, HasSubstr("  city    category  0     2          \"Bonn\" (3), \"Ulm\" (1)\n"));
  EXPECT_THAT(said, HasSubstr("  since   date      1     3          2020-12-31 to 2025-01-09\n"));
  EXPECT_THAT(said, HasSubstr("nothing is odd\n"));
  EXPECT_EQ(status_, 0);
}

TEST_F(LookCommandTest, WhatIsOddIsNamed) {
  struct Case {
    std::string table, said;
  };
  const auto word = [](int i) { return "w" + std::to_string(i * 7919 % 1000); };
  const Case cases[] = {
      {column(30, [](int) { return "7"; }), "x: it is constant: each cell is \"7\"\n"},
      {column(30, [](int) { return "NA"; }), "x: all cells are gaps, so it is not used\n"},
      {column(30, [](int i) { return i == 4 ? "1" : "NA"; }), "x: only 1 row has no gap\n"},
      {column(30, word), "x: it is like an id: each row has another cell"},
      {column(30, [](int i) { return std::to_string(100 + i); }), "x: it is like an id: each row has another cell"},
      {column(30, [](int i) { return i % 3 == 0   ? "\"Yes \""
                                     : i % 3 == 1 ? "yes"
                                                  : "no"; }),
       "x: one word is spelt in 2 ways: \"Yes \" (10 rows) and \"yes\" (10 rows)\n"},
      {column(30, [](int i) { return i % 2 == 0 ? "3/4/2021" : "11/12/2021"; }),
       "type = \"date\" with formats = [\"%m/%d/%Y\"] reads them, and so does \"%d/%m/%Y\", as another day\n"},
      {column(30, [](int i) { return i == 7 ? "many" : std::to_string(i % 9); }),
       "x: 1 row has no number, such as \"many\" (" + path_ + ":9:1); repair the cell, or add the word to 'gaps'\n"},
      {column(30, [](int i) { return i % 2 == 0 ? "2025-01-09" : "09.01.2025"; }),
       "x: it has dates of ISO 8601 and dates such as \"09.01.2025\" (" + path_ +
           ":3:1); type = \"date\" with formats = [\"%d.%m.%Y\", \"%Y-%m-%d\"] reads them\n"},
      {column(30, [](int i) { return i < 20 ? "09.01.2025" : "31.12.2024"; }),
       "x: its cells are dates such as \"09.01.2025\""},
      {column(30, [](int i) { return i % 3 == 0   ? "none"
                                     : i % 3 == 1 ? "a"
                                                  : "b"; }),
       "x: \"none\" in 10 rows may mean a gap; add it to 'gaps' if it does\n"},
      {column(30, [](int i) { return "\"" + std::to_string(i % 5) + ",5\""; }),
       "x: its cells are numbers with a comma, such as \"0,5\" (" + path_ +
           ":2:1), and are words here; write a decimal point, and nothing between thousands\n"},
      {column(30, [](int i) { return i % 2 == 0 ? "$" + std::to_string(i) : std::to_string(i % 4) + ".5 €"; }),
       "x: its cells are numbers with a sign, such as \"$0\" (" + path_ +
           ":2:1), and are words here; write digits and a decimal point alone\n"},
      {column(30, [](int i) { return i == 4 ? "01067" : std::to_string(10'000 + i % 9); }),
       "x: 1 row has leading zeros, such as \"01067\" (" + path_ +
           ":6:1), which a number loses; type = \"category\" keeps codes as they are\n"},
      {column(30, [](int i) { return i % 10 == 9 ? std::string("ab") : "w" + std::to_string(i); }),
       "x: it is not used, since most rows have another cell, such as \"w0\" (" + path_ +
           ":2:1); type = \"category\" or \"text\" in 'columns' uses it\n"},
      {column(30, [](int i) { return i % 3 == 1 ? "K\xf6ln" : "Bonn"; }),
       "x: 10 rows are no UTF-8, such as \"K\\xf6ln\" (" + path_ +
           ":3:1); convert the file: iconv -f LATIN1 -t UTF-8 FILE > NEW\n"},
      {"a,b\n1,2\n3,\"4\n5,6\n7,8\n",
       "1 row cannot be read, and is left out here. The first: " + path_ +
           ":3:3: a quoted field does not end; close the quote, or double it if it is a part of the text; the row "
           "takes the lines 3 to 5\n"},
      {"a,b\n1,2\n3\n4,5\n6,7,8\n",
       "2 rows cannot be read, and are left out here. The first: " + path_ + ":3:2: 1 columns, expected 2"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(look(c.table), HasSubstr(c.said));
    EXPECT_EQ(status_, 0);
  }
}

TEST_F(LookCommandTest, AHeaderThatSeemsToBeARowIsNamed) {
  EXPECT_THAT(
      look("0.5,red,1\n0.7,blue,0\n"),
      HasSubstr("  the header has numbers as names of columns, such as \"0.5\"; if it is the first row of the data, "
                "give --no-header\n"));
  for (const char* good : {"2019,2020,2021\n1,2,3\n", "a,7,b\n1,2,3\n", "0,1,kind\n1,2,3\n", "7\n1\n"})
    EXPECT_THAT(look(good), Not(HasSubstr("the header has"))) << good;
}

TEST_F(LookCommandTest, AColumnThatIsOrDecidesTheLabelIsNamed) {
  std::string table = "copy,part,other,y\n";
  for (int i = 0; i < 40; ++i)
    table += std::string(i % 2 ? "yes" : "no") + "," + std::to_string(i % 4) + "," + std::to_string(i % 3) + "," +
             (i % 2 ? "yes" : "no") + "\n";
  const std::string said = look(table, "y");
  EXPECT_THAT(said, HasSubstr("copy: it is equal to the label \"y\""));
  EXPECT_THAT(said, HasSubstr("part: each of its values has one value of the label \"y\""));
  EXPECT_THAT(said, Not(HasSubstr("other: ")));
  EXPECT_THAT(said, HasSubstr("--label y\n"));
  EXPECT_THAT(look("a,y\n1,p\n2,NA\n3,q\n", "y"),
              HasSubstr("y: it is the label, and 1 row has none, such as " + path_ +
                        ":3:3; a training refuses these rows: repair or remove them\n"));
  EXPECT_THAT(look(table, "z"), HasSubstr("error[B3041]: --label: '" + path_ + "' has no column \"z\""));
  EXPECT_EQ(status_, 2);
}

TEST_F(LookCommandTest, SeveralFilesAndPatternsAreOneTableAndTheDelimiterIsFound) {
  folder_.write("part-1.csv", "a;b\n1;x\n2;y\n");
  folder_.write("part-2.csv", "a;b\n3;x\n");
  const std::string said = look("", "", {{folder_.file("part-*.csv")}});
  EXPECT_THAT(said, HasSubstr(": 3 rows, 2 columns, delimiter = \";\"\n"));
  EXPECT_THAT(said, HasSubstr("  a       number    0     3          1 to 3\n"));
  EXPECT_THAT(look("", "", {{folder_.file("none.csv")}}), StartsWith("error[B3046]: path: there is no file"));
  EXPECT_EQ(status_, 2);
}

TEST_F(LookCommandTest, AQuotedHeaderHidesNoDelimiterAndAFirstRowThatIsNoneIsNamed) {
  EXPECT_THAT(look("\"a b\";\"c\"\n1;x\n2;y\n"), HasSubstr(": 2 rows, 2 columns, delimiter = \";\"\n"));
  EXPECT_THAT(look("\"a\nb\",\"c\n1,x\n"), HasSubstr("error[B3037]"));
  EXPECT_THAT(look("sep=;\na;b\n1;x\n"), HasSubstr("is Excel's line about the delimiter; give --skip-lines 1\n"));
  EXPECT_THAT(look("# of 2025\na,b\n1,x\n"), HasSubstr("seems to be a comment; give --skip-lines 1\n"));
  TableFiles skips{{folder_.write("s.csv", "sep=;\na;b\n1;x\n")}};
  skips.skip_lines = 1;
  EXPECT_THAT(look("", "", skips), HasSubstr(": 1 row, 2 columns, delimiter = \";\"\n"));
}

TEST_F(LookCommandTest, ALabelWithLeadingZerosAndDatesThatAreNumbersAreOdd) {
  EXPECT_THAT(look("x,y\n1,01\n2,1\n3,00\n", "y"), HasSubstr("y: it has leading zeros, as in \"00\", which the "));
  const std::string said = look(column(30, [](int i) { return "202501" + std::to_string(10 + i % 20); }));
  EXPECT_THAT(said, HasSubstr("  x       date"));
  EXPECT_THAT(said, HasSubstr("type = \"date\" with formats = [\"%Y%m%d\"] reads them\n"));
  const std::string times =
      look(column(30, [](int i) { return "0" + std::to_string(1 + i % 9) + "/30/2024 01:" + std::to_string(10 + i); }));
  EXPECT_THAT(times, HasSubstr("formats = [\"%m/%d/%Y %H:%M\"] reads them\n"));
  EXPECT_THAT(times, Not(HasSubstr("like an id")));
}

TEST_F(LookCommandTest, AFileWithSemicolonsAndDecimalCommasIsOdd) {
  const std::string said = look("size;price\n1;3,5\n2;4,25\n3;1.000,5\n");
  EXPECT_THAT(said, HasSubstr("price: its cells are numbers with a comma, such as \"3,5\" (" + path_ + ":2:3)"));
  EXPECT_THAT(said, Not(HasSubstr("size: ")));
}

// A column keeps a limited number of different cells. Numbers must not take the places of words.
TEST_F(LookCommandTest, AWordAfterManyDifferentNumbersIsFound) {
  const std::string said =
      look(column(120'000, [](int i) { return i == 110'000 ? "many" : std::to_string(i) + ".5"; }));
  EXPECT_THAT(said, HasSubstr("x: 1 row has no number, such as \"many\" (" + path_ + ":110002:1)"));
}

}  // namespace
}  // namespace belay::runtime
