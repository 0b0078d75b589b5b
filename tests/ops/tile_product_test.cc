// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/tile_product.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace belay::runtime {
namespace {

std::vector<float> numbers(std::int64_t n, int seed) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>((static_cast<int>(i) * 37 + seed) % 101) / 50 - 1;
  return x;
}

struct TileProductSizes {
  std::int64_t m, n, k;
};
const TileProductSizes kTileProductSizes[] = {{1, 1, 1},    {0, 3, 2},     {3, 0, 2},   {3, 4, 0},    {7, 15, 3},
                                              {8, 16, 5},   {9, 17, 33},   {13, 47, 7}, {16, 32, 16}, {70, 50, 300},
                                              {33, 64, 65}, {21, 50, 257}, {5, 33, 600}};

// Both matrices lie within wider ones; a may be transposed.
struct TileProductCase {
  TileProductSizes s;
  bool transposed, add;
};
void check(const TileProductCase& c) {
  const auto [m, n, k] = c.s;
  const std::int64_t a_width = (c.transposed ? m : k) + 3, b_row = n + 5, c_row = n + 2;
  const std::vector<float> a = numbers((c.transposed ? k : m) * a_width, 1), b = numbers(k * b_row, 2);
  std::vector<float> got = numbers(m * c_row, 3);
  const std::vector<float> before = got;
  const std::int64_t a_row = c.transposed ? 1 : a_width, a_column = c.transposed ? a_width : 1;
  multiply(TileProduct<float>{m, n, k, a.data(), a_row, a_column, b.data(), b_row, got.data(), c_row, c.add});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < c_row; ++j) {
      const auto at = static_cast<std::size_t>(i * c_row + j);
      double wanted = j >= n || c.add ? before[at] : 0;
      for (std::int64_t l = 0; j < n && l < k; ++l)
        wanted += static_cast<double>(a[static_cast<std::size_t>(i * a_row + l * a_column)]) *
                  b[static_cast<std::size_t>(l * b_row + j)];
      ASSERT_NEAR(got[at], wanted, 1e-4) << i << ", " << j;
    }
}

TEST(TileProduct, IsTheProductOfPartsOfMatricesAndTouchesNothingElse) {
  for (const TileProductSizes& s : kTileProductSizes)
    for (const bool transposed : {false, true})
      for (const bool add : {false, true}) {
        SCOPED_TRACE(std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) +
                     (transposed ? " transposed" : "") + (add ? " added" : ""));
        check({s, transposed, add});
      }
}

TEST(TileProduct, RowsHaveTheSameBitsAloneAndTogether) {
  const std::int64_t m = 83, n = 53, k = 300;
  const std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 2);
  std::vector<float> together(static_cast<std::size_t>(m * n)), alone(together.size());
  multiply(TileProduct<float>{m, n, k, a.data(), k, 1, b.data(), n, together.data(), n});
  for (std::int64_t i = 0; i < m; ++i)
    multiply(TileProduct<float>{1, n, k, a.data() + i * k, k, 1, b.data(), n, alone.data() + i * n, n});
  EXPECT_EQ(alone, together);
}

TEST(TileProduct, Float64IsTheSameProduct) {
  const std::vector<double> a{1, 2, 3, 4}, b{5, 6, 7, 8};
  std::vector<double> c(4, 100);
  multiply(TileProduct<double>{2, 2, 2, a.data(), 2, 1, b.data(), 2, c.data(), 2});
  EXPECT_EQ(c, (std::vector<double>{19, 22, 43, 50}));
  multiply(TileProduct<double>{2, 2, 2, a.data(), 1, 2, b.data(), 2, c.data(), 2, true});
  EXPECT_EQ(c, (std::vector<double>{19 + 26, 22 + 30, 43 + 38, 50 + 44}));
}

TEST(TransposeCopy, TurnsAPartOfAMatrix) {
  const std::vector<float> x = numbers(37 * 21, 5);
  std::vector<float> y(17 * 37);
  transpose_copy(x.data() + 2, 21, 37, 17, y.data());
  for (std::size_t i = 0; i < 37; ++i)
    for (std::size_t j = 0; j < 17; ++j) ASSERT_EQ(y[j * 37 + i], x[i * 21 + j + 2]) << i << ", " << j;
}

}  // namespace
}  // namespace belay::runtime
