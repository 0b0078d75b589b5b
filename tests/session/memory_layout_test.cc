// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/memory_layout.h"

#include <gtest/gtest.h>

#include "belay/philox.h"

namespace belay::runtime {
namespace {

std::vector<Lifetime> random_lives(std::uint64_t seed, std::size_t n) {
  PhiloxSequence random(seed, 1);
  std::vector<Lifetime> lives;
  for (std::size_t i = 0; i < n; ++i) {
    const auto first = static_cast<std::uint32_t>(random.below(n));
    lives.push_back({first, first + static_cast<std::uint32_t>(random.below(10)), random.below(5000)});
  }
  return lives;
}

void expect_no_overlap(const std::vector<Lifetime>& lives, const MemoryLayout& layout) {
  for (std::size_t a = 0; a < lives.size(); ++a) {
    ASSERT_EQ(layout.offsets[a] % 64, 0u);
    ASSERT_LE(layout.offsets[a] + lives[a].bytes, layout.bytes);
    for (std::size_t b = 0; b < a; ++b) {
      const bool together = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
      const bool apart = layout.offsets[a] + lives[a].bytes <= layout.offsets[b] ||
                         layout.offsets[b] + lives[b].bytes <= layout.offsets[a];
      ASSERT_TRUE(!together || apart) << "values " << a << " and " << b;
    }
  }
}

TEST(MemoryLayout, ValuesThatLiveTogetherDoNotShareMemory) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto lives = random_lives(seed, 100);
    expect_no_overlap(lives, lay_out(lives));
  }
}

TEST(MemoryLayout, ManyValuesAreLaidOutByTimeWithoutOverlap) {
  const auto lives = random_lives(7, 4000);
  const MemoryLayout layout = lay_out(lives);
  expect_no_overlap(lives, layout);
  EXPECT_GE(layout.bytes, layout.bound);
}

TEST(MemoryLayout, ValuesThatFollowEachOtherShareMemory) {
  const MemoryLayout layout = lay_out({{0, 1, 1000}, {2, 3, 1000}, {4, 5, 1000}});
  EXPECT_EQ(layout.bytes, 1024u);
  EXPECT_EQ(layout.bound, 1024u);
}

TEST(MemoryLayout, StaysNearItsBound) {
  double worst = 1;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const MemoryLayout layout = lay_out(random_lives(seed, 200));
    worst = std::max(worst, static_cast<double>(layout.bytes) / static_cast<double>(layout.bound));
  }
  EXPECT_LE(worst, 1.2);
}

TEST(MemoryLayout, NothingNeedsNothing) { EXPECT_EQ(lay_out({}).bytes, 0u); }

}  // namespace
}  // namespace belay::runtime
