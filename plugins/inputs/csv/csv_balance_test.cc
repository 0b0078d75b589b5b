// SPDX-License-Identifier: Apache-2.0
#include "csv_balance.h"

#include <gmock/gmock.h>

namespace csv_input {
namespace {

// Returns so many labels of class 0, 1, ...
std::vector<std::int64_t> labels_of(const std::vector<int>& counts) {
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < counts.size(); ++i)
    labels.insert(labels.end(), static_cast<std::size_t>(counts[i]), static_cast<std::int64_t>(i));
  return labels;
}

TEST(CsvBalance, ARareClassIsStatedWithItsShare) {
  EXPECT_EQ(balance_text(labels_of({14, 86}), {"yes", "no"}), "label: 86 % \"no\", 14 % \"yes\" of 100 rows");
  EXPECT_EQ(balance_text(labels_of({997, 3}), {"no", "yes"}), "label: 99.7 % \"no\", 0.3 % \"yes\" of 1000 rows");
  EXPECT_EQ(balance_text(labels_of({90, 10, 0}), {"a", "b", "c"}),
            "label: 90 % \"a\", 10 % \"b\", 0 % \"c\" of 100 rows");
}

TEST(CsvBalance, ClassesOfSimilarSharesAreNot) {
  EXPECT_EQ(balance_text(labels_of({25, 75}), {"yes", "no"}), "");
  EXPECT_EQ(balance_text(labels_of({50, 50, 50}), {"a", "b", "c"}), "");
  EXPECT_EQ(balance_text(labels_of({5}), {"a"}), "");
  EXPECT_EQ(balance_text({}, {"a", "b"}), "");
}

TEST(CsvBalance, OfManyClassesTheFirstAndTheLastAreShown) {
  EXPECT_EQ(balance_text(labels_of({40, 20, 10, 10, 8, 6, 4, 2}), {"a", "b", "c", "d", "e", "f", "g", "h"}),
            "label: 40 % \"a\", 20 % \"b\", 10 % \"c\", 10 % \"d\", 8 % \"e\", ..., 2 % \"h\" of 100 rows");
}

}  // namespace
}  // namespace csv_input
