// SPDX-License-Identifier: Apache-2.0
#include "runtime/reduce/delta_debugging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int> first(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}
bool holds(const std::vector<int>& list, int x) { return std::find(list.begin(), list.end(), x) != list.end(); }

TEST(DeltaDebugging, FindsTheElementsThatAreNeededTogether) {
  const auto happens = [](const std::vector<int>& kept) { return holds(kept, 3) && holds(kept, 77); };
  EXPECT_THAT(needed_elements<int>(first(100), happens), ElementsAre(3, 77));
}

TEST(DeltaDebugging, NothingIsNeededWhereItHappensAnyway) {
  EXPECT_THAT(needed_elements<int>(first(9), [](const std::vector<int>&) { return true; }), IsEmpty());
  EXPECT_THAT(needed_elements<int>({}, [](const std::vector<int>&) { return false; }), IsEmpty());
}

TEST(DeltaDebugging, AllAreKeptWhereEachIsNeeded) {
  EXPECT_EQ(needed_elements<int>(first(7), [](const std::vector<int>& kept) { return kept.size() == 7; }), first(7));
}

TEST(DeltaDebugging, NoElementOfTheResultCanBeLeftOut) {
  std::minstd_rand random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> needed;
    for (int i = 0; i < 40; ++i)
      if (random() % 8 == 0) needed.push_back(i);
    const auto happens = [&](const std::vector<int>& kept) {
      return std::includes(kept.begin(), kept.end(), needed.begin(), needed.end());
    };
    EXPECT_EQ(needed_elements<int>(first(40), happens), needed);
  }
}

TEST(DeltaDebugging, AsksFarFewerTimesThanThereAreParts) {
  int asked = 0;
  needed_elements<int>(first(1024), [&](const std::vector<int>& kept) {
    ++asked;
    return holds(kept, 700);
  });
  EXPECT_LT(asked, 60);
}

}  // namespace
}  // namespace belay::runtime
