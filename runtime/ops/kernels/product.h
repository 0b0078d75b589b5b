// SPDX-License-Identifier: Apache-2.0
// Matrix products with sizes that are fixed when the object is made. It may keep scratch memory, so only one run is
// allowed at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

// Computes c[m, n] = a[m, k] * b[k, n]. Transposed, a lies in memory as [k, m], b as [n, k]. All are row-major and
// dense.
struct ProductSizes {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
};

template <class T>
class Product {
 public:
  virtual ~Product() = default;
  // Computes c = a b, plus bias[n] in each row if it was made with a bias (else null). c does not overlap the others.
  virtual void run(const T* a, const T* b, const T* bias, T* c) = 0;
};

// float32 uses oneDNN (with OpenMP's team of that time), or our loops if they are faster. These use `threads` and
// always compute in float32. float64 uses Eigen on one thread, whatever the precision. b_version is TensorSpec.version
// of b. With it b may be kept in the product's best layout.
template <class T>
std::unique_ptr<Product<T>> make_product(const ProductSizes& sizes, bool bias,
                                         Precision precision = Precision::kFloat32, int threads = 1,
                                         const Version* b_version = nullptr);
template <>
std::unique_ptr<Product<float>> make_product(const ProductSizes& sizes, bool bias, Precision precision, int threads,
                                             const Version* b_version);
template <>
std::unique_ptr<Product<double>> make_product(const ProductSizes& sizes, bool bias, Precision precision, int threads,
                                              const Version* b_version);

// Returns the precision of a product that is wanted in `wanted`. It is float32 if rounding the operands would take
// longer than it saves. b_is_kept: b needs rounding once.
Precision product_precision(const ProductSizes& sizes, Precision wanted, bool b_is_kept);
// True if oneDNN's product runs on one thread, whatever the team. A processor with tiles (AMX) multiplies few numbers
// in less time than threads need to meet.
bool runs_alone(const ProductSizes& sizes, Precision precision, bool tiles) noexcept;

// Make the parts of a product. A streamed one is null if another is faster.
std::unique_ptr<Product<float>> make_small_product(const ProductSizes& sizes, bool bias);
std::unique_ptr<Product<float>> make_streamed_product(const ProductSizes& sizes, bool bias, int threads);
std::unique_ptr<Product<float>> make_onednn_product(const ProductSizes& sizes, bool bias,
                                                    Precision precision = Precision::kFloat32,
                                                    const Version* b_version = nullptr);

}  // namespace belay::runtime
