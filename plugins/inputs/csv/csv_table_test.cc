// SPDX-License-Identifier: Apache-2.0
#include "csv_table.h"

#include <belay/testing/error_of.h>
#include <belay/testing/temporary_folder.h>
#include <gmock/gmock.h>

#include <clocale>

namespace csv_input {
namespace {

using belay::testing::error_of;
using belay::testing::TemporaryFolder;
using CsvFormat = belay::csv::Format;
using ::testing::ElementsAre;

class CsvTable : public ::testing::Test {
 protected:
  // The last column is the label.
  Table parse(const std::string& text, LabelType type = LabelType::kClass, std::vector<std::string> classes = {},
              int threads = 1) {
    const CsvFile file(CsvFormat{folder_.write("x.csv", text), false, ',', 0, {}});
    TableColumns columns{{}, file.columns().size() - 1, type, std::move(classes)};
    for (std::size_t i = 0; i + 1 < file.columns().size(); ++i) columns.features.push_back(i);
    belay::DecodePool pool(threads);
    return parse_table(file, columns, pool);
  }
  TemporaryFolder folder_;
  const std::string path_ = folder_.file("x.csv");
};

TEST_F(CsvTable, ReadsNumbersInEveryNotation) {
  const Table t = parse("1,-2.5,+3,1e2,.5,0\n", LabelType::kFloat);
  EXPECT_THAT(t.features, ElementsAre(1.0F, -2.5F, 3.0F, 100.0F, 0.5F));
  EXPECT_THAT(t.targets, ElementsAre(0));
}

TEST_F(CsvTable, T_122_ANumberNearerToZeroThanAnyDoubleIsZero) {
  const Table t = parse("1e-46,1e-310,1e-400,-1e-400,+1E-99999,0.0e-400,1e-400\n", LabelType::kFloat);
  EXPECT_THAT(t.features, ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(t.targets, ElementsAre(0));
  for (const char* other : {"1e400", "-1e400"})
    EXPECT_EQ(error_of([&] { parse(std::string(other) + ",0\n"); }),
              "DATA_LOSS: [B3038] " + path_ + ":1:1: column \"column_0\" is \"" + other +
                  "\", outside the range of float32; repair the row, or leave the column out of 'features'");
  EXPECT_EQ(error_of([&] { parse("1e-400x,0\n"); }),
            "DATA_LOSS: [B3038] " + path_ +
                ":1:1: column \"column_0\" is \"1e-400x\", not a number; repair the row, or leave the column out of "
                "'features'");
}

TEST_F(CsvTable, TheLocaleDoesNotMatter) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) std::setlocale(LC_ALL, name);
  EXPECT_THAT(parse("1.5,0\n").features, ElementsAre(1.5));
  std::setlocale(LC_ALL, before.c_str());
}

TEST_F(CsvTable, ClassesAreTheNumbersThemselvesIfTheFirstIsOne) {
  EXPECT_THAT(parse("0,2\n0,0\n0,1\n").classes, ElementsAre(2, 0, 1));
}

TEST_F(CsvTable, ClassTextsAreNumberedAsTheyAppearOrByTheList) {
  const std::string text = "0,cat\n0,dog\n0,cat\n0,ant\n";
  EXPECT_THAT(parse(text).classes, ElementsAre(0, 1, 0, 2));
  EXPECT_THAT(parse(text, LabelType::kClass, {"ant", "cat", "dog"}).classes, ElementsAre(1, 2, 1, 0));
  EXPECT_THAT(parse("0,-1\n0,1\n", LabelType::kClass, {"-1", "1"}).classes, ElementsAre(0, 1));
}

TEST_F(CsvTable, RowsThatDoNotFitAreErrorsWithTheirPlace) {
  struct Case {
    std::string text;
    LabelType type;
    std::vector<std::string> classes;
    const char *code, *error;  // the second: after the path
  };
  const std::string long_text(60, 'x');
  const Case cases[] = {
      {"1,2,0\n1,0\n",
       LabelType::kClass,
       {},
       "B3036",
       ":2:4: 2 columns, expected 3; a field that holds ',' must be in double quotes"},
      {"1,2,0\n1,abc,0\n",
       LabelType::kClass,
       {},
       "B3038",
       ":2:3: column \"column_1\" is \"abc\", not a number; repair the row, or leave the column out of 'features'"},
      {"1,,0\n",
       LabelType::kClass,
       {},
       "B3038",
       ":1:3: column \"column_1\" is empty, not a number; repair the row, or leave the column out of 'features'"},
      {"1,2 3,0\n",
       LabelType::kClass,
       {},
       "B3038",
       ":1:3: column \"column_1\" is \"2 3\", not a number; repair the row, or leave the column out of 'features'"},
      {"1,nan,0\n",
       LabelType::kClass,
       {},
       "B3038",
       ":1:3: column \"column_1\" is \"nan\", not a number; repair the row, or leave the column out of 'features'"},
      {"1,1e39,0\n",
       LabelType::kClass,
       {},
       "B3038",
       ":1:3: column \"column_1\" is \"1e39\", outside the range of float32; repair the row, or leave the column out "
       "of "
       "'features'"},
      {"1,2,1e999\n",
       LabelType::kFloat,
       {},
       "B3038",
       ":1:5: column \"column_2\" is \"1e999\", outside the range of float32; repair the row"},
      {long_text + ",2,0\n",
       LabelType::kClass,
       {},
       "B3038",
       ":1:1: column \"column_0\" is \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\", not a number; repair the row, or "
       "leave "
       "the column out of 'features'"},
      {"1,0\n1,cat\n",
       LabelType::kClass,
       {},
       "B3039",
       ":2:3: label \"cat\" is not a whole number from 0 like the first one; list the labels in 'classes'"},
      {"1,0\n1,-1\n",
       LabelType::kClass,
       {},
       "B3039",
       ":2:3: label \"-1\" is not a whole number from 0 like the first one; list the labels in 'classes'"},
      {"1,cat\n1,dgo\n",
       LabelType::kClass,
       {"cat", "dog"},
       "B3039",
       ":2:3: label \"dgo\" is not one of the 2 in 'classes' (did you mean \"dog\"?); repair the row, or list the "
       "label there"},
      {"1,0\n\n1,3\n",
       LabelType::kClass,
       {"0", "1", "2"},
       "B3039",
       ":3:3: label \"3\" is not one of the 3 in 'classes'; repair the row, or list the label there"},
  };
  for (const Case& c : cases)
    for (const int threads : {1, 4})
      EXPECT_EQ(error_of([&] { parse(c.text, c.type, c.classes, threads); }),
                "DATA_LOSS: [" + std::string(c.code) + "] " + path_ + c.error);
  EXPECT_EQ(error_of([&] {
              parse("1,a\n", LabelType::kClass, {"a", "b", "a"});
            }),
            "INVALID_ARGUMENT: [B3020] 'classes' holds \"a\" twice");
}

TEST_F(CsvTable, EachBadCellIsNamedOnALineOfItsOwn) {
  std::string text;
  for (int row = 0; row < 100; ++row) text += row == 23 || row == 71 ? "bad,0\n" : "1,0\n";
  for (const int threads : {1, 2, 7})
    EXPECT_EQ(error_of([&] { parse(text, LabelType::kClass, {}, threads); }),
              "DATA_LOSS: [B3038] " + path_ +
                  ":24:1: column \"column_0\" is \"bad\", not a number; repair the row, or leave the column out of "
                  "'features'\n" +
                  path_ +
                  ":72:1: column \"column_0\" is \"bad\", not a number; repair the row, or leave the column out of "
                  "'features'");
}

TEST_F(CsvTable, T_127_OfManyBadCellsOfAColumnTheFirstIsNamedWithTheirNumber) {
  std::string numbers, labels = "0,0\n";
  for (int row = 0; row < 50; ++row) numbers += "1,Bonn,3,x,5\n", labels += "0,-1\n";
  EXPECT_EQ(error_of([&] { parse(numbers, LabelType::kFloat); }),
            "DATA_LOSS: [B3038] " + path_ +
                ":1:3: column \"column_1\" is \"Bonn\", not a number; repair the row, or leave the column out of "
                "'features'; 50 rows are so\n" +
                path_ +
                ":1:10: column \"column_3\" is \"x\", not a number; repair the row, or leave the column out of "
                "'features'; 50 rows are so\nthe columns that hold numbers alone: features = [\"column_0\", "
                "\"column_2\"]");
  EXPECT_EQ(error_of([&] { parse(labels, LabelType::kClass); }),
            "DATA_LOSS: [B3039] " + path_ +
                ":2:3: label \"-1\" is not a whole number from 0 like the first one; list the labels in 'classes'; 50 "
                "rows are so");
}

TEST_F(CsvTable, T_110_AByteOrderMarkInsideOfAFileIsNamedWithItsLine) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(error_of([&] { parse("1,cat\n2,dog\n3," + mark + "cat\n"); }),
            "DATA_LOSS: [B3039] " + path_ +
                ":3:3: the label has a byte order mark in it, as files have that were joined; remove the mark");
  EXPECT_THAT(error_of([&] { parse("1,cat\n" + mark + "2,dog\n"); }),
              ::testing::StartsWith("DATA_LOSS: [B3038] " + path_ + ":2:1: column \"column_0\" is \"" + mark +
                                    "2\", not a number, since it begins with a byte order mark, as in files that "
                                    "were joined; "));
}

TEST_F(CsvTable, T_102_AnEmptyLabelIsNoClassUnlessItIsListed) {
  const std::string is_empty =
      ": the label is empty; repair or remove the row, or list \"\" in 'classes' if it is a class";
  EXPECT_EQ(error_of([&] { parse("1,cat\n2,\n3,dog\n"); }), "DATA_LOSS: [B3039] " + path_ + ":2:3" + is_empty);
  EXPECT_EQ(error_of([&] { parse("1,\n2,0\n3,1\n"); }), "DATA_LOSS: [B3039] " + path_ + ":1:3" + is_empty);
  EXPECT_THAT(parse("1,cat\n2,\n", LabelType::kClass, {"", "cat"}).classes, ElementsAre(1, 0));
}

TEST_F(CsvTable, ALabelThatIsAGapIsNoClassUnlessItIsListed) {
  const auto read = [&](const std::string& text, std::vector<std::string> classes, bool learned) {
    const CsvFile file(CsvFormat{folder_.write("x.csv", text), false});
    TableColumns columns{{0}, 1, LabelType::kClass, std::move(classes), learned};
    columns.gaps = {"", "NA"};
    belay::DecodePool pool(1);
    return parse_table(file, columns, pool);
  };
  const std::string is_gap = "DATA_LOSS: [B3039] " + path_ +
                             ":2:3: the label is \"NA\", which means a missing value; repair or remove the row";
  const std::string listed = ", or list \"NA\" in 'classes' if it is a class";
  EXPECT_EQ(error_of([&] { read("1,cat\n2,NA\n", {}, false); }), is_gap + listed);
  EXPECT_EQ(error_of([&] { read("1,0\n2,NA\n", {}, false); }), is_gap + listed);
  EXPECT_EQ(error_of([&] { read("1,cat\n2,NA\n", {"cat"}, false); }), is_gap + listed);
  EXPECT_EQ(error_of([&] { read("1,cat\n2,NA\n", {"cat", "dog"}, true); }), is_gap);
  EXPECT_THAT(read("1,cat\n2,NA\n", {"NA", "cat"}, false).classes, ElementsAre(1, 0));
}

TEST_F(CsvTable, ALabelThatFloat32CannotHoldIsNotedWithItsRow) {
  const Table t = parse("1,16777216\n1,16777217\n1,0.1\n1,1733000000.25\n1,-20000001\n", LabelType::kFloat);
  ASSERT_TRUE(t.changed_label.has_value());
  EXPECT_EQ(t.changed_label->row, 1);
  EXPECT_EQ(t.changed_label->is, 16777217);
  EXPECT_EQ(t.changed_label->becomes, 16777216);
  EXPECT_EQ(t.changed_labels, 3);
  EXPECT_FALSE(parse("1,16777216\n1,3.14159\n1,123456789012345680000\n", LabelType::kFloat).changed_label.has_value());
}

TEST_F(CsvTable, FaultsOfSeveralKindsHaveTheirCodes) {
  EXPECT_EQ(error_of([&] { parse("1,2,0\nx,2,0\n1,0\n", LabelType::kFloat); }),
            "DATA_LOSS: [B3038] " + path_ +
                ":2:1: column \"column_0\" is \"x\", not a number; repair the row, or leave the column out of "
                "'features'\n" +
                path_ + ":3:4: [B3036] 2 columns, expected 3; a field that holds ',' must be in double quotes");
}

TEST_F(CsvTable, OfManyKindsOfBadCellsTheFirstTwentyAreNamed) {
  std::string labels = "0,0\n";
  for (int row = 0; row < 50; ++row) labels += "0,-" + std::to_string(row + 1) + "\n";
  const std::string said = error_of([&] { parse(labels, LabelType::kClass); });
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 20) << said;
  EXPECT_LT(said.size(), 4096u);
  EXPECT_TRUE(said.ends_with("\nthere are more; these are the first 20")) << said;
}

TEST_F(CsvTable, T_127_AHeaderThatDoesNotFitIsSaidOnceWithTheWayOut) {
  const auto read = [&](const std::string& text, bool header) {
    const CsvFile file(CsvFormat{folder_.write("x.csv", text), header, ',', 0, {}});
    belay::DecodePool pool(1);
    return parse_table(file, {{0, 1}, std::nullopt, LabelType::kClass, {}}, pool);
  };
  EXPECT_EQ(error_of([&] { read("a,b\n1,2,3\n4,5,6\n", true); }),
            "DATA_LOSS: [B3040] " + path_ +
                ":1:1: the header names 2 columns, and all 2 rows have 3 fields: repair the header, or pass over it "
                "with header = false, skip_lines = 1, and name the columns in 'columns'");
  EXPECT_EQ(
      error_of([&] { read("a,b\n1,2\n3,4\n", false); }),
      "DATA_LOSS: [B3040] " + path_ +
          ":1:1: the first row has words, and all others have numbers: it seems to be a header; set header = true");
}

TEST_F(CsvTable, ScalesAreMeasuredOnTheGivenRowsAndHoldForAll) {
  const CsvFile file(CsvFormat{folder_.write("x.csv", "1,5\n3,5\n9,6\n"), false});
  TableColumns columns{{0, 1}, std::nullopt};
  columns.scales = measure(file, columns.features, {0, 1});
  belay::DecodePool pool(1);
  EXPECT_THAT(parse_table(file, columns, pool).features, ElementsAre(-1, 0, 1, 0, 7, 1));
}

TEST_F(CsvTable, OnlyTheRowsOfThePartAreKeptAndAllAreRead) {
  const CsvFile file(CsvFormat{folder_.write("x.csv", "1,a\n3,b\n9,c\n4,b\n"), false});
  const TableColumns columns{{0}, 1};
  belay::DecodePool pool(1);
  const std::vector<std::int64_t> kept{1, 3};
  const Table t = parse_table(file, columns, pool, &kept);
  EXPECT_THAT(t.features, ElementsAre(3, 4));
  EXPECT_THAT(t.classes, ElementsAre(1, 1));
  EXPECT_THAT(t.class_names, ElementsAre("a", "b", "c"));
  const CsvFile damaged(CsvFormat{folder_.write("x.csv", "1,a\n3,b\nx,c\n4,b\n"), false});
  EXPECT_THAT(error_of([&] { parse_table(damaged, columns, pool, &kept); }),
              ::testing::StartsWith("DATA_LOSS: [B3038] " + path_ + ":3:1: column"));
}

}  // namespace
}  // namespace csv_input
