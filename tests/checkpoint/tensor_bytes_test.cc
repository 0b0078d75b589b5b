// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/tensor_bytes.h"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/platform/files/crc32c.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TEST(TensorBytes, SizeIsCheckedArithmetic) {
  const struct {
    DType dtype;
    Dims dims;
    std::optional<std::uint64_t> expected;
  } cases[] = {
      {DType::kFloat32, {}, 4},
      {DType::kFloat64, {2, 3}, 48},
      {DType::kBFloat16, {7}, 14},
      {DType::kBool, {0, 5}, 0},
      {DType::kUInt8, {kHuge}, static_cast<std::uint64_t>(kHuge)},
      {DType::kUInt8, {kHuge, 2}, std::nullopt},
      {DType::kFloat32, {kHuge}, std::nullopt},
      {DType::kUInt8, {kHuge, kHuge, 0}, std::nullopt},
      {DType::kUInt8, {0, kHuge, kHuge}, std::nullopt},
      {DType::kFloat32, {-1}, std::nullopt},
      {DType::kFloat32, {0, -1}, std::nullopt},
      {DType::kString, {2}, std::nullopt},
      {DType::kInvalid, {2}, std::nullopt},
      {static_cast<DType>(77), {2}, std::nullopt},
  };
  for (const auto& c : cases) EXPECT_EQ(byte_size(c.dtype, c.dims), c.expected) << dims_text(c.dims);
}

template <class T>
void expect_found_everywhere(T bad) {
  for (const std::size_t n : {1u, 2u, 4095u, 4096u, 4097u, 16'383u, 16'385u, 50'000u}) {
    Tensor t({static_cast<std::int64_t>(n)}, std::vector<T>(n, T{1}));
    EXPECT_EQ(digest(t.view()).non_finite, std::nullopt);
    for (const std::size_t at : {n - 1, n / 2, std::size_t{0}}) {
      t.data<T>()[at] = bad;  // the last of those that are there by now
      EXPECT_EQ(digest(t.view()).non_finite, at) << n;
      EXPECT_EQ(digest(t.view()).crc, crc32c(t.data<T>(), n * sizeof(T))) << n;
    }
  }
}

TEST(TensorBytes, T_47a_TheReadForTheChecksumFindsNonFiniteElementsWhereverTheyAre) {
  expect_found_everywhere(std::numeric_limits<float>::quiet_NaN());
  expect_found_everywhere(-std::numeric_limits<float>::infinity());
  expect_found_everywhere(std::numeric_limits<double>::infinity());
  expect_found_everywhere(-std::numeric_limits<double>::quiet_NaN());
}

TEST(TensorBytes, HalvesAreJudgedByTheirOwnExponent) {
  const struct {
    DType dtype;
    std::uint16_t bits;
    bool finite;
  } cases[] = {
      {DType::kFloat16, 0x7bff, true},   {DType::kFloat16, 0x7c00, false}, {DType::kFloat16, 0xfc01, false},
      {DType::kFloat16, 0x3c00, true},   {DType::kBFloat16, 0x7f7f, true}, {DType::kBFloat16, 0x7f80, false},
      {DType::kBFloat16, 0xff81, false}, {DType::kBFloat16, 0x7c00, true},
  };
  for (const auto& c : cases) {
    Tensor t(c.dtype, {1});
    std::memcpy(t.view().data, &c.bits, 2);
    EXPECT_EQ(digest(t.view()).non_finite == std::nullopt, c.finite) << std::hex << c.bits;
  }
}

TEST(TensorBytes, ExtremesAndIntegersAreFinite) {
  EXPECT_EQ(digest(Tensor(std::numeric_limits<float>::max()).view()).non_finite, std::nullopt);
  EXPECT_EQ(digest(Tensor(std::numeric_limits<double>::denorm_min()).view()).non_finite, std::nullopt);
  EXPECT_EQ(digest(Tensor(std::int32_t{0x7f800000}).view()).non_finite, std::nullopt);
  EXPECT_EQ(digest(Tensor(DType::kFloat32, {0}).view()).non_finite, std::nullopt);
}

}  // namespace
}  // namespace belay::runtime
