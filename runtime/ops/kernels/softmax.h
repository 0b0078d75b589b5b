// SPDX-License-Identifier: Apache-2.0
// The exponentials of rows against their largest elements: what softmax and its cross entropies are made of.
#pragma once

#include <cstdint>
#include <limits>

#include "runtime/ops/kernels/vector_math.h"

namespace belay::runtime {

// -infinity of nothing; NaN is passed over.
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

// How many rows of n elements are worked on together: exp is cheap only over many neighbours, more than a short row
// has.
inline constexpr std::int64_t kExpTile = 512;
inline std::int64_t rows_together(std::int64_t n) { return n >= kExpTile ? 1 : kExpTile / (n < 1 ? 1 : n); }

// y = e^(x - largest) of up to rows_together(n) rows, and what each row's largest and sum are. Any NaN in a row, or
// nothing above -infinity, makes its sum NaN. y may be x.
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
