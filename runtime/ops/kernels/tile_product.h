// SPDX-License-Identifier: Apache-2.0
// Matrix products on one thread for small sizes or layouts that oneDNN handles badly: parts of tensors in attention and
// recurrent cells. They need no preparation and no allocation. An element of c is the sum over k in ascending order for
// any m and n. So a caller's split of rows and columns changes no bit.
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
  bool add = false;  // true: adds to the content of c
};

void multiply(const TileProduct<float>& p);
void multiply(const TileProduct<double>& p);

// multiply_streamed computes the same bits for a b that is larger than the caches. Each part of b is read once, in long
// runs, into `scratch`.
constexpr std::int64_t kStreamScratch = 256 * 256;  // floats
void multiply_streamed(const TileProduct<float>& p, float* scratch);

// Computes to[j * rows + i] = from[i * from_row + j] of a matrix [rows, columns]. A product with the transpose needs
// this copy.
void transpose_copy(const float* from, std::int64_t from_row, std::int64_t rows, std::int64_t columns, float* to);
void transpose_copy(const double* from, std::int64_t from_row, std::int64_t rows, std::int64_t columns, double* to);

}  // namespace belay::runtime
