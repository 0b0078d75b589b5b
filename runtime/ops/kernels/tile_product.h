// SPDX-License-Identifier: Apache-2.0
// Matrix products on one thread that are too small, or too oddly placed, for oneDNN: of parts of tensors, as attention
// and recurrent cells need them. No preparation and no allocation. An element of c is the sum over k in ascending
// order, whatever m and n are: how a caller splits rows and columns changes no bit.
#pragma once

#include <cstdint>

namespace belay::runtime {

// Element (i, l) of a is a[i * a_row + l * a_column]; element (l, j) of b is b[l * b_row + j].
template <class T>
struct TileProduct {
  std::int64_t m, n, k;
  const T* a;
  std::int64_t a_row, a_column;
  const T* b;
  std::int64_t b_row;
  T* c;
  std::int64_t c_row;
  bool add = false;  // to what is in c
};

void multiply(const TileProduct<float>& p);
void multiply(const TileProduct<double>& p);

// The same bits where b is larger than the caches: each part of b is read once, in long runs, into `scratch`.
constexpr std::int64_t kStreamScratch = 256 * 256;  // floats
void multiply_streamed(const TileProduct<float>& p, float* scratch);

// to[j * rows + i] = from[i * from_row + j] of a matrix [rows, columns]: a product with the transpose needs its copy.
void transpose_copy(const float* from, std::int64_t from_row, std::int64_t rows, std::int64_t columns, float* to);
void transpose_copy(const double* from, std::int64_t from_row, std::int64_t rows, std::int64_t columns, double* to);

}  // namespace belay::runtime
