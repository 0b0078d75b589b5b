// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/product.h"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <utility>
#include <vector>

#include "runtime/ops/kernels/hot.h"

namespace belay::runtime {
namespace {

// Below this number of multiplications our loops are faster than a call of oneDNN.
constexpr std::int64_t kSmall = 1 << 12;

// Computes `lanes` neighbouring results: c[l] = sum over i of a[i * a_stride] * b[i * n + l].
template <int lanes>
[[gnu::always_inline]] inline void sum_lanes(const float* a, std::int64_t a_stride, const float* b, std::int64_t k,
                                             std::int64_t n, float* c) {
  float sum[lanes] = {};
  for (std::int64_t i = 0; i < k; ++i)
    for (int l = 0; l < lanes; ++l) sum[l] += a[i * a_stride] * b[i * n + l];
  for (int l = 0; l < lanes; ++l) c[l] = sum[l];
}

BELAY_HOT void multiply_rows(const float* a, std::int64_t a_row, std::int64_t a_stride, const float* b, std::int64_t m,
                             std::int64_t k, std::int64_t n, float* c) {
  for (std::int64_t i = 0; i < m; ++i, a += a_row, c += n) {
    std::int64_t j = 0;
    for (; j + 16 <= n; j += 16) sum_lanes<16>(a, a_stride, b + j, k, n, c + j);
    if (j + 8 <= n) sum_lanes<8>(a, a_stride, b + j, k, n, c + j), j += 8;
    if (j + 4 <= n) sum_lanes<4>(a, a_stride, b + j, k, n, c + j), j += 4;
    if (n - j == 3) sum_lanes<3>(a, a_stride, b + j, k, n, c + j);
    if (n - j == 2) sum_lanes<2>(a, a_stride, b + j, k, n, c + j);
    if (n - j == 1) sum_lanes<1>(a, a_stride, b + j, k, n, c + j);
  }
}

class SmallProduct final : public Product<float> {
 public:
  SmallProduct(const ProductSizes& s, bool bias) : rows_(s.m), columns_(s.n), bias_(bias), s_(s) {
    // A result of one column becomes a row by c' = b' a'.
    swap_ = s.n == 1;
    if (swap_) s_ = {1, s.m, s.k, !s.transpose_b, !s.transpose_a};
    if (s_.transpose_b) packed_.resize(static_cast<std::size_t>(s_.k * s_.n));
  }
  void run(const float* a, const float* b, const float* bias, float* c) override {
    if (swap_) std::swap(a, b);
    if (s_.transpose_b) {
      float* packed = packed_.data();
      for (std::int64_t j = 0; j < s_.n; ++j)
        for (std::int64_t i = 0; i < s_.k; ++i) packed[i * s_.n + j] = b[j * s_.k + i];
      b = packed;
    }
    multiply_rows(a, s_.transpose_a ? 1 : s_.k, s_.transpose_a ? s_.m : 1, b, s_.m, s_.k, s_.n, c);
    if (!bias_) return;
    for (std::int64_t i = 0; i < rows_; ++i)
      for (std::int64_t j = 0; j < columns_; ++j) c[i * columns_ + j] += bias[j];
  }

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  bool bias_;
  bool swap_;
  ProductSizes s_;
  std::vector<float> packed_;  // b, transposed
};

class EigenProduct final : public Product<double> {
 public:
  EigenProduct(const ProductSizes& sizes, bool bias) : s_(sizes), bias_(bias) {}
  void run(const double* a, const double* b, const double* bias, double* c) override {
    const Map x(a, s_.transpose_a ? s_.k : s_.m, s_.transpose_a ? s_.m : s_.k);
    const Map y(b, s_.transpose_b ? s_.n : s_.k, s_.transpose_b ? s_.k : s_.n);
    Eigen::Map<Matrix> z(c, s_.m, s_.n);
    if (s_.transpose_a && s_.transpose_b) {
      z.noalias() = x.transpose() * y.transpose();
    } else if (s_.transpose_a) {
      z.noalias() = x.transpose() * y;
    } else if (s_.transpose_b) {
      z.noalias() = x * y.transpose();
    } else {
      z.noalias() = x * y;
    }
    if (bias_) z.rowwise() += Eigen::Map<const Eigen::RowVectorXd>(bias, s_.n);
  }

 private:
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Map = Eigen::Map<const Matrix>;
  ProductSizes s_;
  bool bias_;
};

}  // namespace

std::unique_ptr<Product<float>> make_small_product(const ProductSizes& sizes, bool bias) {
  return std::make_unique<SmallProduct>(sizes, bias);
}

Precision product_precision(const ProductSizes& s, Precision precision, bool b_is_kept) {
  // Rounding an operand takes as long as about sixteen multiplications of each of its elements, and another call.
  constexpr std::int64_t kThin = 16, kFew = 1 << 18;
  const bool gains = s.m * s.n * s.k >= kFew && s.n >= kThin && s.k >= kThin && (s.m >= kThin || b_is_kept);
  return gains ? precision : Precision::kFloat32;
}

bool runs_alone(const ProductSizes& s, Precision precision, bool tiles) noexcept {
  return tiles && precision == Precision::kBfloat16 && s.m * s.n * s.k < (1 << 23);
}

template <>
std::unique_ptr<Product<float>> make_product(const ProductSizes& sizes, bool bias, Precision wanted, int threads,
                                             const Version* b_version) {
  if (sizes.m * sizes.n * sizes.k <= kSmall) return make_small_product(sizes, bias);
  const Precision precision = product_precision(sizes, wanted, b_version != nullptr);
  if (precision == Precision::kFloat32 && b_version == nullptr && hot_level() == HotLevel::kAvx512)
    if (auto streamed = make_streamed_product(sizes, bias, threads)) return streamed;
  return make_onednn_product(sizes, bias, precision, b_version);
}

template <>
std::unique_ptr<Product<double>> make_product(const ProductSizes& sizes, bool bias, Precision, int, const Version*) {
  return std::make_unique<EigenProduct>(sizes, bias);
}

}  // namespace belay::runtime
