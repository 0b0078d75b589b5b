// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/kernels/product.h"
#include "runtime/ops/kernels/tile_product.h"

namespace belay::runtime {
namespace {

// In this range it took less time than oneDNN on a processor with AVX-512 and b not in a cache. The ratio was 0.63 to
// 0.98 from 8 to 128 rows. With b transposed, which oneDNN also reads in long runs, it was 0.83 to 1.07 from 32 to 64
// rows.
constexpr std::int64_t kFewestRows = 8, kMostRows = 128;
constexpr std::int64_t kFewestRowsTransposed = 32, kMostRowsTransposed = 64;
constexpr std::int64_t kCached = 1 << 19;  // elements of b: two megabytes, the most that a second level cache holds

// Multiplies few rows of a with a b that comes from memory each time. Such a b is the weights of a wide layer after an
// optimizer's pass. Threads share the columns of c; their number changes no bit.
class StreamedProduct final : public Product<float> {
 public:
  StreamedProduct(const ProductSizes& s, bool bias, int threads) : s_(s), bias_(bias), threads_(threads) {
    if (s.transpose_b) {
      a_.resize(static_cast<std::size_t>(s.k * s.m));
      c_.resize(static_cast<std::size_t>(s.n * s.m));
    } else {
      scratch_.resize(static_cast<std::size_t>(threads * kStreamScratch));
    }
  }

  void run(const float* a, const float* b, const float* bias, float* c) override {
    if (s_.transpose_b) transpose_copy(a, s_.k, s_.m, s_.k, a_.data());
    parallel_for(s_.n, kChunk, threads_, [&](std::int64_t begin, std::int64_t end, int part) {
      if (s_.transpose_b) {
        transposed(b, begin, end, c);
      } else {
        multiply_streamed({s_.m, end - begin, s_.k, a, s_.k, 1, b + begin, s_.n, c + begin, s_.n},
                          scratch_.data() + part * kStreamScratch);
      }
      if (!bias_) return;
      for (std::int64_t i = 0; i < s_.m; ++i)
        for (std::int64_t j = begin; j < end; ++j) c[i * s_.n + j] += bias[j];
    });
  }

 private:
  // Number of rows of b that stay in a cache while all columns of a' pass over them.
  static constexpr std::int64_t kChunk = 128;

  // Computes c' = b a', for which b already has the right layout.
  void transposed(const float* b, std::int64_t begin, std::int64_t end, float* c) {
    for (std::int64_t j = begin; j < end; j += kChunk) {
      const std::int64_t rows = std::min(kChunk, end - j);
      float* to = c_.data() + j * s_.m;
      multiply({rows, s_.m, s_.k, b + j * s_.k, s_.k, 1, a_.data(), s_.m, to, s_.m});
      for (std::int64_t i = 0; i < s_.m; ++i)
        for (std::int64_t r = 0; r < rows; ++r) c[i * s_.n + j + r] = to[r * s_.m + i];
    }
  }

  ProductSizes s_;
  bool bias_;
  int threads_;
  std::vector<float> a_;        // transposed
  std::vector<float> c_;        // transposed
  std::vector<float> scratch_;  // for each thread
};

}  // namespace

std::unique_ptr<Product<float>> make_streamed_product(const ProductSizes& s, bool bias, int threads) {
  if (s.transpose_a || s.k * s.n < kCached) return nullptr;
  if (s.m < (s.transpose_b ? kFewestRowsTransposed : kFewestRows)) return nullptr;
  if (s.m > (s.transpose_b ? kMostRowsTransposed : kMostRows)) return nullptr;
  return std::make_unique<StreamedProduct>(s, bias, threads);
}

}  // namespace belay::runtime
