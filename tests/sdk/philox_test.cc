// SPDX-License-Identifier: Apache-2.0
#include "belay/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace {

using belay::philox;
using belay::PhiloxBlock;
using belay::PhiloxSequence;

// The known answers that the authors of Philox publish for philox4x32-10.
TEST(Philox, GivesTheKnownAnswers) {
  struct Case {
    std::uint64_t key, low, high;
    PhiloxBlock words;
  };
  for (const Case& c :
       {Case{0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        Case{~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        Case{0x299f31d0a4093822,
             0x85a308d3243f6a88,
             0x0370734413198a2e,
             {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}})
    EXPECT_EQ(philox(c.key, c.low, c.high), c.words);
}

TEST(Philox, ASequenceIsItsBlocksInOrder) {
  PhiloxSequence sequence(7, 9);
  for (std::uint64_t counter = 0; counter < 3; ++counter)
    for (const std::uint32_t word : philox(7, counter, 9)) EXPECT_EQ(sequence.next(), word);
}

// FNV-1a's published values.
TEST(Philox, StreamIdIsFnv1a) {
  EXPECT_EQ(belay::stream_id(""), 0xcbf29ce484222325u);
  EXPECT_EQ(belay::stream_id("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(belay::stream_id("foobar"), 0x85944171f73967e8u);
}

TEST(Philox, MixedKeysDiffer) {
  std::set<std::uint64_t> keys;
  for (std::uint64_t a = 0; a < 50; ++a)
    for (std::uint64_t b = 0; b < 50; ++b) keys.insert(belay::mix_key(a, b));
  EXPECT_EQ(keys.size(), 2500u);
}

TEST(Philox, UniformsAreBelowOne) {
  EXPECT_EQ(belay::uniform_float(0), 0.f);
  EXPECT_EQ(belay::uniform_float(~std::uint32_t{0}), 1 - 0x1p-24f);
  EXPECT_EQ(belay::uniform_double(0, 0), 0.0);
  EXPECT_EQ(belay::uniform_double(~std::uint32_t{0}, ~std::uint32_t{0}), 1 - 0x1p-53);
}

TEST(Philox, BelowIsEvenAndInRange) {
  PhiloxSequence sequence(1, 2);
  std::vector<int> counts(10);
  for (int i = 0; i < 100000; ++i) ++counts[sequence.below(10)];
  for (const int n : counts) EXPECT_NEAR(n, 10000, 500);
  EXPECT_EQ(sequence.below(1), 0u);
}

TEST(Philox, NormalHasMeanZeroAndVarianceOne) {
  PhiloxSequence sequence(3, 4);
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double v = sequence.normal();
    ASSERT_TRUE(std::isfinite(v));
    sum += v, squares += v * v;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.015);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
}

}  // namespace
