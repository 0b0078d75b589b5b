// SPDX-License-Identifier: Apache-2.0
#include <belay/philox.h>
#include <belay/testing/error_of.h>
#include <belay/testing/input_driver.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "plugins/inputs/input_test.h"

extern "C" const belay_module belay_module_digits;

namespace digits_test {

using belay::testing::error_of;
using belay::testing::InputBatch;
using belay::testing::InputDriver;
using belay::testing::module_under_test;
using belay::testing::OptionValues;
using input_test::expect_laws_of_an_input;
using ::testing::ElementsAre;

const belay_module& module() { return module_under_test(belay_module_digits); }

constexpr std::size_t kPixels = 784;

// Returns the examples of one epoch in order, as strings for comparisons and sets.
std::vector<std::string> examples_of(InputDriver& input) {
  std::vector<std::string> examples;
  for (const InputBatch& batch : input.all_batches()) {
    const auto images = batch.values<float>("image");
    const auto labels = batch.values<std::int64_t>("label");
    for (std::size_t i = 0; i < labels.size(); ++i)
      examples.push_back(std::to_string(labels[i]) +
                         std::string(reinterpret_cast<const char*>(&images[i * kPixels]), kPixels * sizeof(float)));
  }
  return examples;
}
std::vector<std::string> one_epoch(const OptionValues& options, std::int64_t shard = 0, std::int64_t shards = 1,
                                   std::uint64_t seed = 42) {
  InputDriver input(module(), options.with({"epochs", 1}));
  input.open(shard, shards, seed);
  return examples_of(input);
}

TEST(Digits, DeclaresFlatImagesAndLabels) {
  InputDriver input(module());
  const auto& spec = input.spec();
  ASSERT_EQ(spec.size(), 2u);
  EXPECT_EQ(spec[0].name, "image");
  EXPECT_EQ(spec[0].dtype, belay::DType::kFloat32);
  EXPECT_THAT(spec[0].dims, ElementsAre(-1, 784));
  EXPECT_FALSE(spec[0].is_label);
  EXPECT_EQ(spec[1].name, "label");
  EXPECT_EQ(spec[1].dtype, belay::DType::kInt64);
  EXPECT_THAT(spec[1].dims, ElementsAre(-1));
  EXPECT_TRUE(spec[1].is_label);
  EXPECT_THAT(spec[1].class_names, ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"));
}

TEST(Digits, T_107_APredictionDeliversImagesAlone) {
  InputDriver train(module(), {{"epochs", 1}, {"examples", 5}}), predict(module(), {{"epochs", 1}, {"examples", 5}});
  predict.learn(train.schema(), belay::InputUse::kPrediction);
  EXPECT_EQ(predict.difference_from_learned(), "");
  train.open();
  predict.open();
  EXPECT_EQ(predict.spec().size(), 1u);
  EXPECT_EQ(predict.next()->values<float>("image"), train.next()->values<float>("image"));
}

TEST(Digits, TrainHas20000ExamplesAndEval4000) {
  InputDriver train(module(), {}), eval(module(), {{"split", "eval"}});
  train.open();
  eval.open();
  EXPECT_EQ(train.size(), 20000);
  EXPECT_EQ(eval.size(), 4000);
}

TEST(Digits, TrainAndEvalShareNoExample) {
  const auto train = one_epoch({{"examples", 1000}}), eval = one_epoch({{"examples", 1000}, {"split", "eval"}});
  std::set<std::string> all(train.begin(), train.end());
  all.insert(eval.begin(), eval.end());
  EXPECT_EQ(all.size(), 2000u);
}

TEST(Digits, TheDataDependOnDataSeedAndNotOnTheRunsSeed) {
  const OptionValues options = {{"examples", 50}};
  EXPECT_EQ(one_epoch(options, 0, 1, 1), one_epoch(options, 0, 1, 2));
  EXPECT_NE(one_epoch(options), one_epoch(options.with({"data_seed", 1})));
}

TEST(Digits, TheRunsSeedShufflesTheSameExamples) {
  const OptionValues options = {{"examples", 100}, {"shuffle", true}};
  auto first = one_epoch(options, 0, 1, 1), second = one_epoch(options, 0, 1, 2);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
}

TEST(Digits, EveryClassIsAboutATenth) {
  std::vector<int> count(10);
  for (const std::string& example : one_epoch({{"examples", 5000}}))
    ++count[static_cast<std::size_t>(example[0] - '0')];
  for (const int n : count) EXPECT_NEAR(n, 500, 100);
}

// The accuracies in the examples' pages are for exactly these pictures.
TEST(Digits, TheDataSetIsTheOneThatWasPublished) {
  InputDriver input(module(), {{"batch_size", 200}});
  input.open();
  const InputBatch batch = *input.next();
  const auto labels = batch.values<std::int64_t>("label");
  EXPECT_EQ(std::vector<std::int64_t>(labels.begin(), labels.begin() + 10),
            (std::vector<std::int64_t>{8, 3, 7, 6, 8, 2, 6, 0, 8, 0}));
  std::uint64_t hash = 0;
  for (const float value : batch.values<float>("image")) {
    ASSERT_GE(value, 0);
    ASSERT_LE(value, 1);
    hash = belay::mix_key(hash, static_cast<std::uint64_t>(value * 255 + .5f));
  }
  EXPECT_EQ(hash, 11634541400769568527u);
}

TEST(Digits, TheLastBatchOfAnEpochIsShort) {
  InputDriver input(module(), {{"examples", 10}, {"batch_size", 4}, {"epochs", 2}});
  input.open();
  std::vector<std::int64_t> rows;
  for (const InputBatch& batch : input.all_batches()) rows.push_back(batch.rows());
  EXPECT_THAT(rows, ElementsAre(4, 4, 2, 4, 4, 2));
  EXPECT_FALSE(input.next());
}

TEST(Digits, ShardsAreDisjointAndComplete) {
  const auto read = [](const OptionValues& options, std::int64_t shard, std::int64_t shards) {
    return one_epoch(options, shard, shards);
  };
  input_test::expect_shards_disjoint_and_complete(read, {{"examples", 103}, {"shuffle", true}}, 103);
}

TEST(Digits, ThreadsDoNotChangeABit) {
  const OptionValues options = {{"examples", 50}, {"batch_size", 17}, {"shuffle", true}};
  const auto one = one_epoch(options);
  for (const int threads : {2, 3, 8, 64}) EXPECT_EQ(one_epoch(options.with({"decode_threads", threads})), one);
}

TEST(Digits, KeepsTheLawsOfAnInput) {
  for (const bool shuffle : {false, true}) {
    for (const int threads : {1, 3}) {
      InputDriver input(
          belay_module_digits,
          {{"examples", 23}, {"batch_size", 5}, {"epochs", 3}, {"shuffle", shuffle}, {"decode_threads", threads}});
      input.open(1, 2);
      expect_laws_of_an_input(input, 100, 100);
    }
  }
}

TEST(Digits, WrongOptionsAreNamed) {
  struct Case {
    OptionValues options;
    const char* message;
  };
  const Case cases[] = {
      {{{"split", "test"}}, "'split' is \"test\", must be one of: train, eval"},
      {{{"examples", 0}}, "'examples' is 0, must be >= 1"},
      {{{"decode_threads", 65}}, "'decode_threads' is 65, must be <= 64"},
      {{{"batch_size", 0}}, "'batch_size' is 0, must be >= 1"},
      {{{"epochs", -1}}, "'epochs' is -1, must be >= 0"},
      {{{"images", "x"}}, "'images' is not an option of input 'digits'"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(error_of([&] { InputDriver(module(), c.options); }), std::string("INVALID_ARGUMENT: ") + c.message);
}

TEST(Digits, MoreShardsThanExamplesIsAnErrorAtOpen) {
  InputDriver input(module(), {{"examples", 2}});
  EXPECT_EQ(error_of([&] { input.open(2, 3); }),
            "FAILED_PRECONDITION: shard 2 of 3 gets none of the 2 examples; use fewer shards");
}

}  // namespace digits_test
