// SPDX-License-Identifier: Apache-2.0
// The exponentials of rows relative to their largest elements, for softmax and its cross entropies.
#pragma once

#include <cstdint>
#include <limits>

#include "runtime/ops/kernels/vector_math.h"

namespace belay::runtime {

// Returns -infinity for an empty row, and ignores NaN.
template <class T>
[[gnu::always_inline]] inline T row_largest(const T* x, std::int64_t n) {
  T largest = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

template <class T>
struct ExpRow {
  T largest;
  T sum;
};

// The number of rows of n elements that are processed together. exp is cheap only over many neighbours, more than a
// short row has.
inline constexpr std::int64_t kExpTile = 512;
inline std::int64_t rows_together(std::int64_t n) { return n >= kExpTile ? 1 : kExpTile / (n < 1 ? 1 : n); }

// Computes y = e^(x - largest) for at most rows_together(n) rows, and each row's largest and sum. The sum is NaN if the
// row has a NaN, or nothing above -infinity. y may be x.
template <class T>
[[gnu::always_inline]] inline void exp_rows(const T* x, std::int64_t rows, std::int64_t n, T* y, ExpRow<T>* found) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T largest = row_largest(x + r * n, n);
    found[r].largest = largest;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[r * n + i] = x[r * n + i] - largest;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < rows * n; ++i) y[i] = exp_of(y[i]);
  for (std::int64_t r = 0; r < rows; ++r) {
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) sum += y[r * n + i];
    found[r].sum = sum;
  }
}

}  // namespace belay::runtime
