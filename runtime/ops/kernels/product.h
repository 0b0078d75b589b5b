// SPDX-License-Identifier: Apache-2.0
// Matrix products of sizes that are fixed when the object is made. It may keep scratch memory: one run at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

// c[m, n] = a[m, k] * b[k, n]; transposed: a lies in memory as [k, m], b as [n, k]. All row-major, dense.
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
  // c = a b, plus bias[n] in each row if it was made with one (null otherwise). c lies apart from the others.
  virtual void run(const T* a, const T* b, const T* bias, T* c) = 0;
};

// float32 by oneDNN (whose team is the one of OpenMP at that time), or by loops of our own where that is faster: those
// take `threads` and always compute in float32. float64 by Eigen on one thread, whatever the precision.
// b_version (TensorSpec.version of b): b may be kept in the layout that the product likes best.
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

// In which precision a product is computed that is asked for in `wanted`: float32 where rounding the operands would
// take longer than it saves. b_is_kept: b needs rounding once.
Precision product_precision(const ProductSizes& sizes, Precision wanted, bool b_is_kept);
// Whether oneDNN's product runs on one thread, whatever the team: a processor with tiles (AMX) multiplies few numbers
// in less time than threads take to meet.
bool runs_alone(const ProductSizes& sizes, Precision precision, bool tiles) noexcept;

// Its parts. A streamed one is null where another is faster.
std::unique_ptr<Product<float>> make_small_product(const ProductSizes& sizes, bool bias);
std::unique_ptr<Product<float>> make_streamed_product(const ProductSizes& sizes, bool bias, int threads);
std::unique_ptr<Product<float>> make_onednn_product(const ProductSizes& sizes, bool bias,
                                                    Precision precision = Precision::kFloat32,
                                                    const Version* b_version = nullptr);

}  // namespace belay::runtime
