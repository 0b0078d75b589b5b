// SPDX-License-Identifier: Apache-2.0
// The parts of a file's rows, through the whole input.
#include <belay/testing/error_of.h>
#include <belay/testing/input_driver.h>
#include <belay/testing/temporary_folder.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plugins/inputs/input_test.h"

extern "C" const belay_module belay_module_csv;

namespace csv_split_test {

using belay::InputUse;
using belay::testing::error_of;
using belay::testing::InputDriver;
using belay::testing::module_under_test;
using belay::testing::OptionValues;
using belay::testing::TemporaryFolder;
using input_test::error_at_open;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Names = std::vector<std::string>;

const belay_module& split_module() { return module_under_test(belay_module_csv); }

class CsvSplit : public ::testing::Test {
 protected:
  // Returns `rows` visits of 12 customers. The number of a row is its feature "n". One in five has left.
  static std::string visits(int begin, int rows) {
    std::string text = "n,customer,day,part,left\n";
    for (int i = begin; i < begin + rows; ++i) {
      const std::string day = std::to_string(10 + i % 17);
      text += std::to_string(i) + ",k" + std::to_string(i * 7 % 12) + "," + day + ".01.2025," +
              (i % 4 == 0   ? "test"
               : i % 4 == 1 ? "val"
                            : "train") +
              "," + (i % 5 == 0 ? "yes" : "no") + "\n";
    }
    return text;
  }
  OptionValues options(int rows = 60) {
    return {{"path", folder_.write("visits.csv", visits(0, rows))}, {"label", "left"}, {"features", Names{"n"}}};
  }
  static std::vector<float> rows_of(const OptionValues& options, const char* split, std::int64_t shard = 0,
                                    std::int64_t shards = 1) {
    return input_test::first_elements<float>(split_module(), "features", options.with({"split", split}), shard, shards);
  }
  // Checks that each row is in exactly one part. Returns the rows of eval and test.
  static std::set<float> expect_parts(const OptionValues& options, std::size_t rows) {
    std::multiset<float> all;
    for (const char* split : {"train", "eval", "test"}) {
      if (split == std::string("test") && error_at_open(split_module(), options.with({"split", split})) != "") continue;
      const std::vector<float> part = rows_of(options, split);
      all.insert(part.begin(), part.end());
      std::multiset<float> of_shards;
      for (int shard = 0; shard < 2; ++shard)
        for (const float row : rows_of(options, split, shard, 2)) of_shards.insert(row);
      EXPECT_EQ(of_shards, std::multiset<float>(part.begin(), part.end())) << split;
    }
    EXPECT_EQ(all.size(), rows);
    EXPECT_EQ(std::set<float>(all.begin(), all.end()).size(), rows);
    const std::vector<float> eval = rows_of(options, "eval");
    return {eval.begin(), eval.end()};
  }
  TemporaryFolder folder_;
};

TEST_F(CsvSplit, EachRowIsInOnePartWhateverTheShards) {
  const OptionValues all = options();
  expect_parts(all.with({"test_fraction", 0.2}), 60);
  expect_parts(all.with({"split_by", "stratify"}).with({"test_fraction", 0.2}), 60);
  expect_parts(all.with({"split_by", "groups"}).with({"split_column", "customer"}).with({"eval_fraction", 0.4}), 60);
  expect_parts(all.with({"split_by", "column"}).with({"split_column", "part"}), 60);
  expect_parts(all.with({"folds", 5}).with({"fold", 2}), 60);
  EXPECT_EQ(expect_parts(all.with({"every", 20}).with({"at", 19}), 60), (std::set<float>{19, 39, 59}));
}

TEST_F(CsvSplit, TheLabelsClassesKeepTheirShares) {
  const OptionValues by = options().with({"split_by", "stratify"}).with({"eval_fraction", 0.25});
  for (const std::int64_t seed : {0, 1, 2}) {
    const std::vector<float> eval = rows_of(by.with({"split_seed", seed}), "eval");
    EXPECT_EQ(std::count_if(eval.begin(), eval.end(), [](float n) { return static_cast<int>(n) % 5 == 0; }), 3);
    EXPECT_EQ(eval.size(), 15u);
  }
}

TEST_F(CsvSplit, ACustomersRowsStayTogetherInOneFileOrInSeveral) {
  const OptionValues by =
      options().with({"split_by", "groups"}).with({"split_column", "customer"}).with({"eval_fraction", 0.4});
  const std::vector<float> eval = rows_of(by, "eval");
  std::map<int, int> rows;
  for (const float n : eval) ++rows[static_cast<int>(n) * 7 % 12];
  EXPECT_GT(rows.size(), 1u);
  EXPECT_LT(rows.size(), 12u);
  for (const auto& [customer, count] : rows) EXPECT_EQ(count, 5) << customer;
  const OptionValues several =
      by.with({"path", Names{folder_.write("b.csv", visits(40, 20)), folder_.write("a.csv", visits(0, 40))}});
  std::vector<float> of_several = rows_of(several, "eval");
  std::sort(of_several.begin(), of_several.end());
  EXPECT_EQ(of_several, eval);
}

TEST_F(CsvSplit, TheLastDaysAreEvaluationInTheTrainingsFormatOfDates) {
  const OptionValues file = {{"path", folder_.write("days.csv", visits(0, 34))},
                             {"label", "left"},
                             {"split_by", "time"},
                             {"split_column", "day"}};
  InputDriver train(split_module(), file.with({"split", "train"})
                                        .with({"columns.day.type", "date"})
                                        .with({"columns.day.formats", Names{"%d.%m.%Y"}}));
  train.open();
  EXPECT_EQ(train.size(), 26);
  EXPECT_TRUE(train.host().has_logged("info: split: by the times of \"day\": rows 26 train, 8 eval"));
  InputDriver eval(split_module(), file.with({"split", "eval"}));
  eval.learn(train.schema(), InputUse::kEvaluation);
  eval.open();
  EXPECT_EQ(eval.difference_from_learned(), "");
  EXPECT_EQ(eval.size(), 8);
}

TEST_F(CsvSplit, GroupsAndPartsAreNoFeaturesUnlessTheyAreNamed) {
  const OptionValues by = OptionValues{{"path", folder_.write("all.csv", visits(0, 40))},
                                       {"label", "left"},
                                       {"split", "train"},
                                       {"split_by", "column"},
                                       {"split_column", "part"}};
  const auto has_part = [](const Names& columns) {
    return std::any_of(columns.begin(), columns.end(), [](const auto& c) { return c.rfind("part", 0) == 0; });
  };
  InputDriver train(split_module(), by), named(split_module(), by.with({"columns.part", "category"}));
  train.open();
  named.open();
  EXPECT_FALSE(has_part(train.schema().tensors[0].columns));
  EXPECT_TRUE(has_part(named.schema().tensors[0].columns));
  InputDriver fresh(split_module(), {{"path", folder_.write("fresh.csv", "n,customer,day\n1,k3,11.01.2025\n")}});
  fresh.learn(train.schema(), InputUse::kPrediction);
  fresh.open();
  EXPECT_EQ(fresh.size(), 1) << "a new row needs no part";
}

TEST_F(CsvSplit, WhatIsFittedIsThatOfTheTrainPartAlone) {
  const OptionValues by = OptionValues{{"path", folder_.write("scaled.csv", "n,label\n1,a\n2,b\n3,a\n100,b\n")},
                                       {"every", 4},
                                       {"at", 3},
                                       {"standardize", true}};
  InputDriver train(split_module(), by.with({"split", "train"}));
  train.open();
  EXPECT_THAT(train.schema().values.at("standardize.mean"), ElementsAre(2));
}

TEST_F(CsvSplit, WrongOptionsAndCellsAreNamedWithTheirPlace) {
  const OptionValues train = options(4).with({"split", "train"});
  const std::string path = folder_.file("visits.csv");
  struct Case {
    OptionValues options;
    std::string error;
  };
  const Case cases[] = {
      {train.with({"split_by", "groups"}),
       "INVALID_ARGUMENT: [B3020] split_by = \"groups\" needs a column; set 'split_column'"},
      {train.with({"split_by", "groups"}).with({"split_column", "custmer"}),
       "NOT_FOUND: [B3041] split_column: '" + path +
           "' has no column \"custmer\" (did you mean \"customer\"?); it has n, customer, day, part, left"},
      {train.with({"split_by", "groups"}).with({"split_column", "left"}),
       "INVALID_ARGUMENT: [B3020] split_column: \"left\" is the label's column, which is no column of groups; name "
       "another one"},
      {train.with({"split_by", "stratify"}).with({"label", ""}),
       "INVALID_ARGUMENT: [B3020] split_column: the file has no label by whose classes the rows are split; name a "
       "column"},
      {train.with({"split_by", "stratify"}).with({"label", "n"}).with({"label_type", "float"}),
       "INVALID_ARGUMENT: [B3020] split_by = \"stratify\" needs classes, and the label is a number; set "
       "'split_column'"},
      {train.with({"split_by", "time"}).with({"split_column", "day"}),
       "INVALID_ARGUMENT: [B3053] " + path +
           ":2:6: column \"day\" of the split is \"10.01.2025\", neither a number nor a date of ISO 8601; an entry { "
           "type = \"date\", formats = [...] } in "
           "'columns' reads other dates"},
      {train.with({"split_by", "column"}).with({"split_column", "customer"}),
       "INVALID_ARGUMENT: [B3053] " + path +
           ":2:3: column \"customer\" of the split is \"k0\", in none of 'train_values', 'eval_values' and "
           "'test_values'; each word belongs into one of them"},
      {train.with({"split", "test"}), "FAILED_PRECONDITION: [B3027] split: '" + path +
                                          "' has 4 rows and none of them is for \"test\"; set 'test_fraction'"},
      {train.with({"split", "eval"}).with({"folds", 9}).with({"fold", 0}),
       "FAILED_PRECONDITION: [B3027] split: '" + path + "' has 4 rows and none of them is for \"eval\"; lower 'folds'"},
      {train.with({"split", "eval"}).with({"every", 9}).with({"at", 8}),
       "FAILED_PRECONDITION: [B3027] split: '" + path +
           "' has 4 rows and none of them is for \"eval\"; change 'every' or 'at'"},
  };
  for (const Case& c : cases) EXPECT_EQ(error_at_open(split_module(), c.options), c.error);
}

}  // namespace csv_split_test
