// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/loader/file/cpu_features.h"

namespace belay::runtime::testing {
namespace {

std::vector<float> pattern(std::int64_t n, int seed) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>((i * 37 + static_cast<std::size_t>(seed)) % 19) - 9;
  return x;
}

// Small whole numbers: their sum is the same in every order.
std::vector<float> reference(const ProductSizes& s, const std::vector<float>& a, const std::vector<float>& b,
                             const std::vector<float>& bias) {
  std::vector<float> c;
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      float sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(j)];
      for (std::int64_t l = 0; l < s.k; ++l)
        sum += a[static_cast<std::size_t>(s.transpose_a ? l * s.m + i : i * s.k + l)] *
               b[static_cast<std::size_t>(s.transpose_b ? j * s.k + l : l * s.n + j)];
      c.push_back(sum);
    }
  return c;
}

std::vector<float> run(Product<float>& product, const ProductSizes& s, const std::vector<float>& a,
                       const std::vector<float>& b, const std::vector<float>& bias) {
  std::vector<float> c(static_cast<std::size_t>(s.m * s.n), -1);
  product.run(a.data(), b.data(), bias.empty() ? nullptr : bias.data(), c.data());
  return c;
}

TEST(Product, AllImplementationsMultiply) {
  const bool has_bf16 =
      why_not(Precision::kBfloat16, CpuFeatures()).empty() && std::getenv("ONEDNN_MAX_CPU_ISA") == nullptr;
  const std::vector<std::vector<std::int64_t>> sizes = {
      {1, 1, 1}, {1, 5, 3}, {5, 1, 3}, {3, 4, 1}, {7, 17, 9}, {2, 29, 3}, {16, 16, 16}, {33, 10, 20}, {64, 128, 31}};
  for (const auto& mnk : sizes)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const bool with_bias : {false, true}) {
          const ProductSizes s{mnk[0], mnk[1], mnk[2], ta, tb};
          SCOPED_TRACE(std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) + " " +
                       (ta ? "T" : "N") + (tb ? "T" : "N") + (with_bias ? " with bias" : ""));
          const std::vector<float> a = pattern(s.m * s.k, 1), b = pattern(s.k * s.n, 5);
          const std::vector<float> bias = with_bias ? pattern(s.n, 3) : std::vector<float>{};
          const std::vector<float> wanted = reference(s, a, b, bias);
          EXPECT_EQ(run(*make_small_product(s, with_bias), s, a, b, bias), wanted);
          EXPECT_EQ(run(*make_onednn_product(s, with_bias), s, a, b, bias), wanted);
          EXPECT_EQ(run(*make_product<float>(s, with_bias), s, a, b, bias), wanted);
          if (has_bf16) {  // which holds these numbers
            EXPECT_EQ(run(*make_onednn_product(s, with_bias, Precision::kBfloat16), s, a, b, bias), wanted);
          }
        }
}

TEST(Product, FewRowsTimesAMatrixBeyondTheCachesIsStreamed) {
  const std::vector<std::vector<std::int64_t>> sizes = {
      {8, 1000, 600}, {32, 1000, 600}, {37, 257, 2100}, {64, 3000, 256}, {128, 815, 700}};
  for (const auto& mnk : sizes)
    for (const bool tb : {false, true})
      for (const bool with_bias : {false, true}) {
        const ProductSizes s{mnk[0], mnk[1], mnk[2], false, tb};
        SCOPED_TRACE(std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) +
                     (tb ? " NT" : " NN"));
        if (tb && (s.m < 32 || s.m > 64)) {
          EXPECT_EQ(make_streamed_product(s, with_bias, 1), nullptr);
          continue;
        }
        const std::vector<float> a = pattern(s.m * s.k, 1), b = pattern(s.k * s.n, 5);
        const std::vector<float> bias = with_bias ? pattern(s.n, 3) : std::vector<float>{};
        const std::vector<float> wanted = reference(s, a, b, bias);
        for (const int threads : {1, 2, 3}) {
          const auto streamed = make_streamed_product(s, with_bias, threads);
          ASSERT_NE(streamed, nullptr);
          EXPECT_EQ(run(*streamed, s, a, b, bias), wanted) << threads << " threads";
        }
      }
  EXPECT_EQ(make_streamed_product({7, 1024, 1024, false, false}, false, 1), nullptr) << "too few rows";
  EXPECT_EQ(make_streamed_product({129, 1024, 1024, false, false}, false, 1), nullptr) << "too many rows";
  EXPECT_EQ(make_streamed_product({64, 512, 512, false, false}, false, 1), nullptr) << "it stays in a cache";
  EXPECT_EQ(make_streamed_product({64, 1024, 1024, true, false}, false, 1), nullptr) << "a is transposed";
}

// Numbers whose sums are rounded.
TEST(Product, AStreamedProductHasTheSameBitsAtAnyNumberOfThreads) {
  for (const bool tb : {false, true}) {
    const ProductSizes s{60, 1100, 777, false, tb};
    std::vector<float> a = pattern(s.m * s.k, 1), b = pattern(s.k * s.n, 5);
    for (float& x : a) x /= 7;
    for (float& x : b) x /= 11;
    const std::vector<float> one = run(*make_streamed_product(s, false, 1), s, a, b, {});
    EXPECT_EQ(run(*make_streamed_product(s, false, 2), s, a, b, {}), one);
    EXPECT_EQ(run(*make_streamed_product(s, false, 5), s, a, b, {}), one);
  }
}

TEST(Product, T_46a_RoundsOnlyWhereThatSavesTime) {
  const auto precision_of = [](std::int64_t m, std::int64_t n, std::int64_t k, bool b_is_kept = false) {
    return product_precision({m, n, k}, Precision::kBfloat16, b_is_kept);
  };
  constexpr Precision kRounded = Precision::kBfloat16, kExact = Precision::kFloat32;
  EXPECT_EQ(precision_of(64, 1024, 3136), kRounded);
  EXPECT_EQ(precision_of(64, 64, 64), kRounded);
  EXPECT_EQ(precision_of(64, 10, 128), kExact);
  EXPECT_EQ(precision_of(4096, 10, 1024), kExact) << "rounding a takes longer than the product";
  EXPECT_EQ(precision_of(4096, 1024, 10), kExact);
  EXPECT_EQ(precision_of(1, 1024, 1024), kExact) << "rounding b does";
  EXPECT_EQ(precision_of(1, 1024, 1024, true), kRounded) << "once";
  EXPECT_EQ(precision_of(32, 32, 32), kExact);
  EXPECT_EQ(product_precision({64, 1024, 3136}, Precision::kFloat32, false), kExact);
}

TEST(Product, T_46a_AThinOneInBf16HasTheBitsOfFloat32) {
  if (const std::string why = why_not(Precision::kBfloat16, CpuFeatures()); !why.empty()) GTEST_SKIP() << why;
  const ProductSizes s{300, 10, 200};
  std::vector<float> a(60'000), b(2'000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(std::cos(static_cast<double>(i)));
  EXPECT_EQ(run(*make_product<float>(s, false, Precision::kBfloat16), s, a, b, {}),
            run(*make_product<float>(s, false, Precision::kFloat32), s, a, b, {}));
}

TEST(Product, T_46b_OnTilesAFewNumbersInBf16AreMultipliedByOneThread) {
  const ProductSizes few{64, 128, 784}, many{64, 1024, 3136};
  EXPECT_TRUE(runs_alone(few, Precision::kBfloat16, true));
  EXPECT_FALSE(runs_alone(many, Precision::kBfloat16, true));
  EXPECT_FALSE(runs_alone(few, Precision::kBfloat16, false));
  EXPECT_FALSE(runs_alone(few, Precision::kFloat32, true));
}

TEST(Product, FollowsPointersThatMove) {
  const ProductSizes s{32, 32, 32, false, false};
  const auto product = make_onednn_product(s, false);
  for (int seed = 0; seed < 3; ++seed) {
    const std::vector<float> a = pattern(s.m * s.k, seed), b = pattern(s.k * s.n, seed + 1);
    EXPECT_EQ(run(*product, s, a, b, {}), reference(s, a, b, {}));
  }
}

TEST(Product, WithoutTermsIsTheBias) {
  const ProductSizes s{2, 3, 0, false, false};
  EXPECT_EQ(run(*make_product<float>(s, false), s, {}, {}, {}), std::vector<float>(6, 0));
  EXPECT_EQ(run(*make_product<float>(s, true), s, {}, {}, {1, 2, 3}), (std::vector<float>{1, 2, 3, 1, 2, 3}));
  const double bias[] = {1, 2, 3};
  std::vector<double> c(6, -1);
  make_product<double>(s, true)->run(nullptr, nullptr, bias, c.data());
  EXPECT_EQ(c, (std::vector<double>{1, 2, 3, 1, 2, 3}));
}

}  // namespace
}  // namespace belay::runtime::testing
