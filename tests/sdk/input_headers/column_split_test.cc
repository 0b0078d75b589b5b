// SPDX-License-Identifier: Apache-2.0
#include <belay/column_split.h>
#include <belay/testing/error_of.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace column_split_test {

using belay::ColumnSplit;
using belay::ColumnSplitOptions;
using belay::Part;
using belay::testing::error_of;
using ::testing::ElementsAre;

ColumnSplitOptions by(const char* what, const char* column = "c") {
  ColumnSplitOptions options;
  options.split_by = what, options.split_column = column, options.eval_fraction = 0.4;
  return options;
}

std::vector<Part> parts_of(const ColumnSplitOptions& options, const std::vector<std::string>& cells,
                           const std::vector<std::string>& formats = {}) {
  ColumnSplit split(options, {"", "NA"}, formats);
  for (const std::string& cell : cells) EXPECT_EQ(split.add(cell), "");
  return split.finish();
}

// Returns the fault of the last cell.
std::string fault_of(const ColumnSplitOptions& options, const std::vector<std::string>& cells) {
  ColumnSplit split(options, {"", "NA"});
  std::string fault;
  for (const std::string& cell : cells) fault = split.add(cell);
  return fault;
}

constexpr Part kTrain = Part::kTrain, kEval = Part::kEval, kTest = Part::kTest;

TEST(ColumnSplit, AColumnOfWordsSaysThePart) {
  EXPECT_THAT(parts_of(by("column"), {"train", "val", "test", "training", "dev"}),
              ElementsAre(kTrain, kEval, kTest, kTrain, kEval));
  static constexpr belay::Str kOnes[] = {"1"}, kTwos[] = {"2", "3"};
  ColumnSplitOptions own = by("column");
  own.train_values = kOnes, own.eval_values = kTwos;
  EXPECT_THAT(parts_of(own, {"3", "1", "2"}), ElementsAre(kEval, kTrain, kEval));
  EXPECT_EQ(fault_of(own, {"1", "4"}),
            "is \"4\", in none of 'train_values', 'eval_values' and 'test_values'; each word belongs into one of them");
  own.train_values = kTwos;
  EXPECT_EQ(fault_of(own, {"2"}),
            "is \"2\", in more than one of 'train_values', 'eval_values' and 'test_values'; each "
            "word belongs into one of them");
}

TEST(ColumnSplit, DatesAndNumbersAreTimes) {
  EXPECT_THAT(parts_of(by("time"), {"2025-03-01", "2024-12-31", "2025-01-09", "2025-01-10T07:00", "2025-01-10T06:59"}),
              ElementsAre(kEval, kTrain, kTrain, kEval, kTrain));
  EXPECT_THAT(parts_of(by("time"), {"1e3", "5", "-2", "70", "800"}), ElementsAre(kEval, kTrain, kTrain, kTrain, kEval));
  EXPECT_THAT(parts_of(by("time"), {"01.02.2025", "02.01.2025", "03.01.2024"}, {"%d.%m.%Y"}),
              ElementsAre(kEval, kTrain, kTrain));
  EXPECT_EQ(fault_of(by("time"), {"2025-03-01", "soon"}), "is \"soon\", not a date as in the first row");
  EXPECT_EQ(fault_of(by("time"), {"7", "2025-03-01"}), "is \"2025-03-01\", not a number as in the first row");
}

TEST(ColumnSplit, AGroupIsInOnePartWhateverTheOrderOfItsRows) {
  std::vector<std::string> cells, turned;
  for (int i = 0; i < 60; ++i) cells.push_back("c" + std::to_string(i % 20));
  turned.assign(cells.rbegin(), cells.rend());
  const std::vector<Part> parts = parts_of(by("groups"), cells), other = parts_of(by("groups"), turned);
  for (std::size_t row = 0; row < cells.size(); ++row) {
    EXPECT_EQ(parts[row], parts[row % 20]);
    EXPECT_EQ(parts[row], other[cells.size() - 1 - row]);
  }
}

TEST(ColumnSplit, ClassesKeepTheirSharesAndAGapIsAClassOfItsOwn) {
  std::vector<std::string> cells;
  for (int i = 0; i < 50; ++i) cells.emplace_back(i % 5 == 0 ? "yes" : i % 5 == 1 ? "" : "no");
  const std::vector<Part> parts = parts_of(by("stratify", ""), cells);
  int yes = 0, gap = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    yes += i % 5 == 0 && parts[i] == kEval;
    gap += i % 5 == 1 && parts[i] == kEval;
  }
  EXPECT_EQ(yes, 4);
  EXPECT_EQ(gap, 4);
}

TEST(ColumnSplit, ARowWithAGapBelongsToNoPart) {
  for (const char* what : {"groups", "time", "column"})
    EXPECT_EQ(fault_of(by(what), {"NA"}), "is a gap, so the row is in no part; fill it in, or remove the row") << what;
}

TEST(ColumnSplit, OptionsThatContradictEachOtherAreNamedWithTheFix) {
  const auto error = [](const ColumnSplitOptions& options) { return error_of([&] { belay::check_split(options); }); };
  EXPECT_EQ(error(by("rows")),
            "INVALID_ARGUMENT: [B3020] 'split_column' is \"c\", and split_by = \"rows\" uses no column; set "
            "'split_by' to stratify, groups, time or column");
  EXPECT_EQ(error(by("groups", "")),
            "INVALID_ARGUMENT: [B3020] split_by = \"groups\" needs a column; set 'split_column'");
  EXPECT_EQ(error(by("stratify", "")), "");
  ColumnSplitOptions every = by("time");
  every.every = 3;
  EXPECT_EQ(error(every),
            "INVALID_ARGUMENT: [B3020] 'every' counts rows, and split_by = \"time\" does not; leave one out");
  ColumnSplitOptions folds = by("time");
  folds.folds = 3;
  EXPECT_EQ(error(folds),
            "INVALID_ARGUMENT: [B3020] 'folds' are chosen by the seed, and split_by = \"time\" is not; leave one out");
  ColumnSplitOptions test = by("column");
  test.test_fraction = 0.1;
  EXPECT_EQ(error(test),
            "INVALID_ARGUMENT: [B3020] split_by = \"column\" has its test part by 'test_values'; leave "
            "'test_fraction' out");
}

}  // namespace column_split_test
