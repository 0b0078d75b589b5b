// SPDX-License-Identifier: Apache-2.0
// Tests partitioned variables: the places of a tensor's parts, and their keys.
#include "slices.h"

#include <gtest/gtest.h>

#include "bundle_test_files.h"

namespace tf_bundle {
namespace {

TEST(SliceKey, IsTheOrderedCodeOfNameAndExtents) {
  EXPECT_EQ(slice_key("w", {}), std::string("\0w\0\1\0", 5));
  EXPECT_EQ(slice_key("w", {{0, 4}, {0, -1}}), std::string("\0w\0\1\1\2\x80\x84\x80\x7f", 10));
  EXPECT_EQ(slice_key(std::string("a\0\xff", 3), {}), std::string("\0a\0\xff\xff\0\0\1\0", 9));
}

TEST(SliceKey, NumbersTakeAsManyBytesAsTheyNeed) {
  const auto of = [](std::int64_t start) { return slice_key("", {{start, 1}}).substr(5); };
  EXPECT_EQ(of(63), "\xbf\x81");
  EXPECT_EQ(of(64), "\xc0\x40\x81");
  EXPECT_EQ(of(8191), "\xdf\xff\x81");
  EXPECT_EQ(of(8192), std::string("\xe0\x20\x00\x81", 4));
  EXPECT_EQ(of(-1), "\x7f\x81");
  EXPECT_EQ(of(-65), "\x3f\xbf\x81");
  EXPECT_EQ(of(std::int64_t{1} << 62), std::string("\xff\xc0\x40\0\0\0\0\0\0\0\x81", 11));
  EXPECT_EQ(of(INT64_MAX), "\xff\xc0\x7f\xff\xff\xff\xff\xff\xff\xff\x81");
}

Slice part(const Dims& start, const Dims& length) { return {start, length, {}}; }

TEST(Slices, MustCoverTheTensorOnce) {
  const Dims dims{4, 6};
  EXPECT_EQ(fault_of({part({0, 0}, {2, 6}), part({2, 0}, {2, 6})}, dims), "");
  EXPECT_EQ(fault_of({part({0, 0}, {2, 3}), part({0, 3}, {2, 3}), part({2, 0}, {2, 6})}, dims), "");
  EXPECT_EQ(fault_of({part({0, 0}, {2, 6})}, dims), "slices of 12 elements; it has 24");
  EXPECT_EQ(fault_of({part({0, 0}, {3, 6}), part({2, 0}, {2, 6})}, dims),
            "the slices [3, 6] at [0, 0] and [2, 6] at [2, 0], which overlap");
  EXPECT_EQ(fault_of({part({0, 0}, {2, 6}), part({2, 0}, {3, 6})}, dims),
            "a slice [3, 6] at [2, 0] that is not inside of [4, 6]");
  EXPECT_EQ(fault_of({part({0, 7}, {4, 1})}, dims), "a slice [4, 1] at [0, 7] that is not inside of [4, 6]");
  EXPECT_EQ(fault_of({part({0, 0}, {0, 6})}, dims), "a slice [0, 6] at [0, 0] that is not inside of [4, 6]");
  EXPECT_EQ(fault_of({part({-1, 0}, {4, 6})}, dims), "a slice [4, 6] at [?, 0] that is not inside of [4, 6]");
}

using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
Runs runs_of(const Slice& slice, const Dims& dims, std::uint64_t width) {
  Runs runs;
  for_each_run(slice, dims, width, [&](std::uint64_t at, std::uint64_t n) { runs.emplace_back(at, n); });
  return runs;
}

TEST(Slices, RowsAreOnePiece) {
  EXPECT_EQ(runs_of(part({2, 0, 0}, {2, 3, 5}), {6, 3, 5}, 4), (Runs{{120, 120}}));
  EXPECT_EQ(runs_of(part({0, 0}, {4, 6}), {4, 6}, 1), (Runs{{0, 24}}));
  EXPECT_EQ(runs_of(part({}, {}), {}, 8), (Runs{{0, 8}}));
}

TEST(Slices, ColumnsAreAPieceEachRow) {
  EXPECT_EQ(runs_of(part({1, 2}, {2, 3}), {4, 6}, 2), (Runs{{16, 6}, {28, 6}}));
  EXPECT_EQ(runs_of(part({0, 1, 0}, {2, 1, 2}), {2, 3, 2}, 1), (Runs{{2, 2}, {8, 2}}));
}

}  // namespace
}  // namespace tf_bundle
