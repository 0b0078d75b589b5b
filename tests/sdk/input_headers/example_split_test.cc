// SPDX-License-Identifier: Apache-2.0
#include "belay/example_split.h"

#include <belay/testing/error_of.h>
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace example_split_test {

using belay::Part;
using belay::part_of_group;
using belay::rows_of_part;
using belay::split_examples;
using belay::split_rows;
using belay::split_strata;
using belay::split_times;
using belay::SplitOptions;
using belay::testing::error_of;
using ::testing::ElementsAre;

SplitOptions fractions(double eval, double test, std::int64_t seed = 0) {
  SplitOptions options;
  options.eval_fraction = eval, options.test_fraction = test, options.split_seed = seed;
  return options;
}
SplitOptions fold_of(std::int64_t fold, std::int64_t folds, double test = 0) {
  SplitOptions options = fractions(0.2, test);
  options.fold = fold, options.folds = folds;
  return options;
}
std::int64_t count(const std::vector<Part>& parts, Part part) { return std::count(parts.begin(), parts.end(), part); }

TEST(ExampleSplit, TrainAndEvalAreDisjointAndComplete) {
  for (const std::int64_t examples : {1, 2, 5, 10, 150, 1001}) {
    for (const double fraction : {0.0, 0.1, 0.2, 0.5, 1.0}) {
      const auto train = split_examples(examples, "train", fraction, 3);
      const auto eval = split_examples(examples, "eval", fraction, 3);
      EXPECT_EQ(static_cast<std::int64_t>(eval.size()), std::llround(fraction * static_cast<double>(examples)));
      EXPECT_TRUE(std::is_sorted(train.begin(), train.end()) && std::is_sorted(eval.begin(), eval.end()));
      std::set<std::int64_t> all(train.begin(), train.end());
      all.insert(eval.begin(), eval.end());
      EXPECT_EQ(train.size() + eval.size(), all.size());
      EXPECT_EQ(static_cast<std::int64_t>(all.size()), examples);
      EXPECT_EQ(*all.rbegin(), examples - 1);
    }
  }
}

TEST(ExampleSplit, TakesTheOptionsOfAnInput) {
  EXPECT_EQ(split_examples(10, belay::SplitOptions{}), split_examples(10, "all", 0, 0));
  EXPECT_EQ(split_examples(10, belay::SplitOptions{"eval", 0.5, 7}), split_examples(10, "eval", 0.5, 7));
}

TEST(ExampleSplit, TheSeedChooses) {
  EXPECT_EQ(split_examples(100, "eval", 0.2, 1), split_examples(100, "eval", 0.2, 1));
  EXPECT_NE(split_examples(100, "eval", 0.2, 1), split_examples(100, "eval", 0.2, 2));
  EXPECT_THAT(split_examples(3, "all", 0.2, 1), ElementsAre(0, 1, 2));
}

TEST(ExampleSplit, ATestPartIsTakenFromTheTrainingAlone) {
  for (const std::int64_t rows : {1, 7, 40, 999}) {
    const std::vector<Part> two = split_rows(rows, fractions(0.2, 0)), three = split_rows(rows, fractions(0.2, 0.3));
    EXPECT_EQ(rows_of_part(two, "eval"), rows_of_part(three, "eval"));
    EXPECT_EQ(count(three, Part::kTest), std::llround(0.3 * static_cast<double>(rows)));
    EXPECT_EQ(three.size(), static_cast<std::size_t>(rows));
  }
  EXPECT_EQ(count(split_rows(1, fractions(0.5, 0.5)), Part::kTrain), 0);
  EXPECT_EQ(belay::parts_text(split_rows(10, fractions(0.2, 0.3))), "5 train, 2 eval, 3 test");
  EXPECT_EQ(belay::parts_text(split_rows(10, fractions(0.2, 0))), "8 train, 2 eval");
}

TEST(ExampleSplit, EachRowIsInTheEvaluationOfOneFoldAndTheTestIsTheSameInAll) {
  for (const std::int64_t rows : {5, 23, 100}) {
    std::multiset<std::int64_t> seen;
    const std::vector<std::int64_t> test = rows_of_part(split_rows(rows, fold_of(0, 5, 0.1)), "test");
    for (std::int64_t fold = 0; fold < 5; ++fold) {
      const std::vector<Part> parts = split_rows(rows, fold_of(fold, 5, 0.1));
      EXPECT_EQ(rows_of_part(parts, "test"), test);
      EXPECT_LE(std::abs(5 * count(parts, Part::kEval) - (rows - static_cast<std::int64_t>(test.size()))), 5);
      for (const std::int64_t row : rows_of_part(parts, "eval")) seen.insert(row);
    }
    for (const std::int64_t row : test) seen.insert(row);
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(rows));
    EXPECT_EQ(std::set<std::int64_t>(seen.begin(), seen.end()).size(), static_cast<std::size_t>(rows));
  }
}

TEST(ExampleSplit, EveryFifthRowFromTheFourthIsEvaluation) {
  SplitOptions options;
  options.every = 5, options.at = 4, options.split = "eval";
  EXPECT_THAT(split_examples(16, options), ElementsAre(4, 9, 14));
  options.split = "train";
  EXPECT_EQ(split_examples(16, options).size(), 13u);
  options.at = 0, options.split = "eval";
  EXPECT_THAT(split_examples(6, options), ElementsAre(0, 5));
}

TEST(ExampleSplit, EachClassHasItsShareWithinOneRow) {
  const std::map<std::string, std::int64_t> classes = {{"a", 71}, {"b", 13}, {"c", 6}, {"d", 1}, {"e", 300}};
  std::vector<std::string> strata;
  for (std::int64_t i = 0; i < 300; ++i)
    for (const auto& [name, rows] : classes)
      if (i < rows) strata.push_back(name);
  const auto expect_shares = [&](const std::vector<Part>& parts, Part part, double share) {
    ASSERT_EQ(parts.size(), strata.size());
    std::map<std::string, std::int64_t> found;
    for (std::size_t row = 0; row < parts.size(); ++row) found[strata[row]] += parts[row] == part;
    for (const auto& [name, rows] : classes)
      EXPECT_LT(std::abs(static_cast<double>(found[name]) - share * static_cast<double>(rows)), 1) << name << share;
    EXPECT_LT(std::abs(static_cast<double>(count(parts, part)) - share * static_cast<double>(strata.size())), 2);
  };
  for (const std::int64_t seed : {0, 1, 2}) {
    const std::vector<Part> parts = split_strata(strata, fractions(0.2, 0.13, seed));
    expect_shares(parts, Part::kTrain, 0.67);
    expect_shares(parts, Part::kEval, 0.2);
    expect_shares(parts, Part::kTest, 0.13);
  }
  std::multiset<std::int64_t> seen;
  for (std::int64_t fold = 0; fold < 4; ++fold) {
    const std::vector<Part> parts = split_strata(strata, fold_of(fold, 4));
    expect_shares(parts, Part::kEval, 0.25);
    for (const std::int64_t row : rows_of_part(parts, "eval")) seen.insert(row);
  }
  EXPECT_EQ(seen.size(), strata.size());
  EXPECT_EQ(std::set<std::int64_t>(seen.begin(), seen.end()).size(), strata.size());
}

TEST(ExampleSplit, TheOnlyRowOfAClassIsForTheTraining) {
  std::vector<std::string> strata(100, "a");
  for (int i = 0; i < 20; ++i) strata.push_back("lone" + std::to_string(i));
  for (const std::int64_t seed : {0, 1, 2}) {
    const std::vector<Part> parts = split_strata(strata, fractions(0.2, 0.1, seed));
    EXPECT_EQ(std::count(parts.begin() + 100, parts.end(), Part::kTrain), 20);
    EXPECT_EQ(count(parts, Part::kEval), 20);
  }
  std::int64_t evaluated = 0;
  for (std::int64_t fold = 0; fold < 4; ++fold) evaluated += count(split_strata(strata, fold_of(fold, 4)), Part::kEval);
  EXPECT_EQ(evaluated, 120) << "folds evaluate each row once";
}

// Rounding each small class alone would give all of them, or none, an evaluation.
TEST(ExampleSplit, ManySmallClassesHaveTheirShareTogether) {
  std::vector<std::string> strata;
  for (int i = 0; i < 900; ++i) strata.push_back("class" + std::to_string(i / 3));
  const std::vector<Part> parts = split_strata(strata, fractions(0.2, 0.1));
  EXPECT_NEAR(static_cast<double>(count(parts, Part::kEval)), 180, 1);
  EXPECT_NEAR(static_cast<double>(count(parts, Part::kTest)), 90, 1);
}

TEST(ExampleSplit, AGroupsPartFollowsFromItsValueAndTheSeed) {
  int eval = 0, test = 0, moved = 0;
  std::vector<int> of_fold(5);
  for (int i = 0; i < 4000; ++i) {
    const std::string group = "customer " + std::to_string(i);
    const Part part = part_of_group(group, fractions(0.2, 0.1));
    eval += part == Part::kEval, test += part == Part::kTest;
    moved += part != part_of_group(group, fractions(0.2, 0.1, 1));
    int folds = 0;
    for (int fold = 0; fold < 5; ++fold)
      if (part_of_group(group, fold_of(fold, 5)) == Part::kEval) ++folds, ++of_fold[static_cast<std::size_t>(fold)];
    EXPECT_EQ(folds, 1) << group;
  }
  EXPECT_NEAR(eval, 800, 100);
  EXPECT_NEAR(test, 400, 80);
  EXPECT_GT(moved, 1000);
  for (const int groups : of_fold) EXPECT_NEAR(groups, 800, 100);
  // It is the same in every version and on every machine.
  EXPECT_EQ(part_of_group("a", fractions(1, 0)), Part::kEval);
  EXPECT_EQ(part_of_group("a", fractions(0, 0)), Part::kTrain);
  EXPECT_EQ(part_of_group("a", fractions(0, 1)), Part::kTest);
}

TEST(ExampleSplit, TheLastTimesAreEvaluationAndThenTestAndEqualOnesStayTogether) {
  const std::vector<double> times = {9, 1, 8, 2, 7, 3, 6, 4, 5, 10};
  EXPECT_THAT(rows_of_part(split_times(times, fractions(0.2, 0)), "eval"), ElementsAre(0, 9));
  const std::vector<Part> three = split_times(times, fractions(0.2, 0.1));
  EXPECT_THAT(rows_of_part(three, "eval"), ElementsAre(0, 2));
  EXPECT_THAT(rows_of_part(three, "test"), ElementsAre(9));
  // The cut after eight rows would divide the fours.
  const std::vector<double> equal = {1, 1, 1, 2, 2, 2, 4, 4, 4, 4};
  EXPECT_THAT(rows_of_part(split_times(equal, fractions(0.2, 0)), "eval"), ElementsAre(6, 7, 8, 9));
  EXPECT_EQ(count(split_times({1, 1, 1, 1, 2}, fractions(0.8, 0)), Part::kTrain), 4);
  EXPECT_EQ(count(split_times({1, 2, 2, 2, 2}, fractions(0.2, 0)), Part::kTrain), 1);
  EXPECT_EQ(count(split_times({3, 3, 3}, fractions(0.5, 0)), Part::kTrain), 3);
}

TEST(ExampleSplit, OptionsThatContradictEachOtherAreNamedWithTheFix) {
  const auto error = [](const SplitOptions& options) { return error_of([&] { belay::check_split(options); }); };
  SplitOptions every;
  every.every = 5, every.at = 5;
  EXPECT_EQ(error(every), "INVALID_ARGUMENT: [B3020] 'at' is 5, must be below 'every', which is 5");
  every.at = 4;
  EXPECT_EQ(error(every), "");
  every.test_fraction = 0.1;
  EXPECT_EQ(error(every), "INVALID_ARGUMENT: [B3020] 'every' has no test part; leave 'test_fraction' out");
  every.test_fraction = 0, every.folds = 3;
  EXPECT_EQ(error(every),
            "INVALID_ARGUMENT: [B3020] 'every' and 'folds' both choose the examples of eval; leave one out");
  SplitOptions at;
  at.at = 2;
  EXPECT_EQ(error(at), "INVALID_ARGUMENT: [B3020] 'at' is 2, and 'every' is not set; set 'every'");
  EXPECT_EQ(error(fold_of(5, 5)), "INVALID_ARGUMENT: [B3020] 'fold' is 5, and 'folds' is 5; folds count from 0 to 4");
  EXPECT_EQ(error(fold_of(1, 0)), "INVALID_ARGUMENT: [B3020] 'fold' is 1, and there are no folds; set 'folds'");
  EXPECT_EQ(error(fold_of(0, 1)), "INVALID_ARGUMENT: [B3020] 'folds' is 1, must be 2 or more, or 0 for none");
  EXPECT_EQ(
      error(fractions(0.6, 0.5)),
      "INVALID_ARGUMENT: [B3020] 'eval_fraction' and 'test_fraction' are more than 1 together; lower one of them");
  EXPECT_EQ(error(fractions(0.6, 0.4)), "");
}

}  // namespace example_split_test
