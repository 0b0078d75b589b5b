// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/stored/tensor_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace belay::runtime {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor of_bits(DType dtype, const std::vector<std::uint16_t>& bits) {
  Tensor t(dtype, {static_cast<std::int64_t>(bits.size())});
  std::memcpy(t.view().data, bits.data(), bits.size() * sizeof(bits[0]));
  return t;
}

TEST(TensorStatistics, AreThoseOfTheFiniteElements) {
  const Tensor t({2, 3}, {1.f, kNotANumber, -2.f, kInfinity, 4.f, -2.f});
  const TensorStatistics found = statistics_of(t);
  EXPECT_EQ(found.non_finite, 2u);
  EXPECT_EQ(found.min_at, 2u);
  EXPECT_EQ(found.max_at, 4u);
  EXPECT_EQ(found.mean, 0.25);
}

TEST(TensorStatistics, OfNothingFiniteAreNone) {
  const Tensor nan({1}, {kNotANumber});
  EXPECT_EQ(statistics_of(nan).min_at, std::nullopt);
  EXPECT_EQ(statistics_of(nan).non_finite, 1u);
  const Tensor empty(DType::kFloat32, {0, 3});
  EXPECT_EQ(statistics_of(empty).max_at, std::nullopt);
  EXPECT_EQ(statistics_of(empty).non_finite, 0u);
}

TEST(TensorStatistics, KnowEveryStoredType) {
  EXPECT_EQ(statistics_of(Tensor({2}, {std::int64_t{-9007199254740993}, std::int64_t{-9007199254740992}})).min_at, 0u);
  EXPECT_EQ(statistics_of(Tensor({2}, {std::uint8_t{200}, std::uint8_t{100}})).mean, 150);
  EXPECT_EQ(statistics_of(Tensor({2}, {3, 5})).mean, 4);
  EXPECT_EQ(statistics_of(Tensor({2}, {3.0, 5.0})).max_at, 1u);
  const Tensor half = of_bits(DType::kFloat16, {0x3c00, 0xbc00, 0x7c00});  // 1, -1, infinity
  EXPECT_EQ(statistics_of(half).min_at, 1u);
  EXPECT_EQ(statistics_of(half).non_finite, 1u);
  const Tensor bfloat = of_bits(DType::kBFloat16, {0x3f80, 0x4000, 0x7fc0});  // 1, 2, NaN
  EXPECT_EQ(statistics_of(bfloat).mean, 1.5);
  EXPECT_EQ(statistics_of(bfloat).non_finite, 1u);
}

TEST(TensorDifference, CountsAndNamesTheFirstAndTheLargest) {
  const Tensor a({4}, {1.f, 2.f, 3.f, 4.f}), b({4}, {1.f, 2.5f, 3.f, 1.f});
  const TensorDifference found = difference_of(a, b);
  EXPECT_EQ(found.count, 2u);
  EXPECT_EQ(found.first, 1u);
  EXPECT_EQ(found.largest, 3);
  EXPECT_EQ(found.largest_at, 3u);
  EXPECT_EQ(difference_of(a, a).count, 0u);
}

TEST(TensorDifference, LooksAtBits) {
  const Tensor nan({1}, {kNotANumber}), zero({1}, {0.f}), negative({1}, {-0.f});
  EXPECT_EQ(difference_of(nan, nan).count, 0u);
  EXPECT_EQ(difference_of(zero, negative).count, 1u);
  EXPECT_EQ(difference_of(zero, negative).largest, 0);
}

TEST(TensorDifference, NothingIsLargerThanToNoNumber) {
  const Tensor a({4}, {1.f, kNotANumber, 5.f, kNotANumber}), b({4}, {2.f, 1.f, 500.f, 2.f});
  const TensorDifference found = difference_of(a, b);
  EXPECT_EQ(found.count, 4u);
  EXPECT_TRUE(std::isnan(found.largest));
  EXPECT_EQ(found.largest_at, 1u);
}

TEST(TensorDifference, OfLargeIntegersIsExact) {
  const Tensor a({1}, {std::int64_t{9007199254740993}}), b({1}, {std::int64_t{9007199254740992}});
  EXPECT_EQ(difference_of(a, b).largest, 1);
  const Tensor low({1}, {INT64_MIN}), high({1}, {INT64_MAX});
  EXPECT_EQ(difference_of(low, high).largest, 18446744073709551615.0);
}

TEST(ElementText, ReadsBackTheSame) {
  EXPECT_EQ(element_text(Tensor({2}, {0.f, 0.1f}), 1), "0.1");
  EXPECT_EQ(element_text(Tensor({1}, {0.1}), 0), "0.1");
  EXPECT_EQ(element_text(Tensor({1}, {std::int64_t{-9007199254740993}}), 0), "-9007199254740993");
  EXPECT_EQ(element_text(Tensor({2}, {true, false}), 0), "true");
  EXPECT_EQ(element_text(Tensor({1}, {std::uint8_t{255}}), 0), "255");
  EXPECT_EQ(element_text(Tensor({1}, {kNotANumber}), 0), "nan");
  EXPECT_EQ(element_text(of_bits(DType::kFloat16, {0x3c00}), 0), "1");
}

TEST(PositionText, IsRowMajor) {
  const Tensor t(DType::kFloat32, {2, 3});
  EXPECT_EQ(position_text(t, 0), "[0, 0]");
  EXPECT_EQ(position_text(t, 5), "[1, 2]");
  EXPECT_EQ(position_text(Tensor(1.f), 0), "[]");
}

}  // namespace
}  // namespace belay::runtime
