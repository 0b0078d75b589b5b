// SPDX-License-Identifier: Apache-2.0
#include "belay/example_split.h"

#include <gmock/gmock.h>

#include <set>

namespace {

using belay::split_examples;
using ::testing::ElementsAre;

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

}  // namespace
