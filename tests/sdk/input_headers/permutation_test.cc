// SPDX-License-Identifier: Apache-2.0
#include <belay/permutation.h>
#include <belay/testing/allocations.h>
#include <gmock/gmock.h>

#include <set>
#include <vector>

BELAY_COUNT_ALLOCATIONS

namespace {

using belay::Permutation;
using ::testing::ElementsAre;

std::vector<std::int64_t> order_of(std::uint64_t seed, std::int64_t size, std::int64_t epoch) {
  Permutation p(seed, size);
  p.use_epoch(epoch);
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < size; ++i) order.push_back(p[i]);
  return order;
}

TEST(Permutation, HoldsEveryNumberOnce) {
  for (const std::int64_t size : {1, 2, 3, 10, 1000}) {
    const auto order = order_of(5, size, 3);
    std::set<std::int64_t> numbers(order.begin(), order.end());
    EXPECT_EQ(static_cast<std::int64_t>(numbers.size()), size);
    EXPECT_EQ(*numbers.rbegin(), size - 1);
  }
  EXPECT_TRUE(order_of(5, 0, 3).empty());
}

TEST(Permutation, DependsOnSeedEpochAndSize) {
  const auto order = order_of(1, 50, 0);
  EXPECT_EQ(order_of(1, 50, 0), order);
  EXPECT_NE(order_of(2, 50, 0), order);
  EXPECT_NE(order_of(1, 50, 1), order);
}

TEST(Permutation, AnEpochNeedsNoHistory) {
  Permutation p(9, 20);
  for (const std::int64_t epoch : std::vector<std::int64_t>{0, 5, 2, 1000000000000, 5}) {
    p.use_epoch(epoch);
    for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(p[i], order_of(9, 20, epoch)[static_cast<std::size_t>(i)]);
  }
}

// Checkpoints hold positions in these orders, so they may not change.
TEST(Permutation, TheOrderIsFixedForEver) {
  EXPECT_THAT(order_of(42, 10, 0), ElementsAre(5, 3, 8, 1, 6, 2, 9, 7, 4, 0));
  EXPECT_THAT(order_of(42, 10, 1), ElementsAre(4, 1, 8, 9, 0, 2, 5, 7, 6, 3));
}

TEST(Permutation, EveryPlaceIsEquallyLikely) {
  constexpr std::int64_t kSize = 8, kEpochs = 16000;
  std::vector<int> count(kSize * kSize);
  Permutation p(3, kSize);
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    p.use_epoch(epoch);
    for (std::int64_t i = 0; i < kSize; ++i) ++count[static_cast<std::size_t>(i * kSize + p[i])];
  }
  double chi_squared = 0;
  const double expected = static_cast<double>(kEpochs) / kSize;
  for (const int n : count) chi_squared += (n - expected) * (n - expected) / expected;
  EXPECT_LT(chi_squared, 85.4);  // 49 degrees of freedom: exceeded once in a thousand seeds
}

TEST(Permutation, AllocatesInTheFirstEpochOnly) {
  Permutation p(1, 1000);
  p.use_epoch(0);
  const auto before = belay::testing::allocations();
  for (int epoch = 1; epoch < 10; ++epoch) p.use_epoch(epoch);
  EXPECT_EQ(belay::testing::allocations() - before, 0u);
}

}  // namespace
