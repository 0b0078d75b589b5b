// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/tile_product.h"

#include <algorithm>
#include <cstring>

#include "runtime/ops/kernels/hot.h"

namespace belay::runtime {
namespace {

// The registers of a level of processors: their width, and the rows of a tile of two registers' width that fits into
// all. Compilers spill a vector that is wider than a register, so each level has a separate type.
struct Avx512 {  // 32 registers
  using Lanes = float __attribute__((vector_size(64), aligned(4), may_alias));
  static constexpr std::int64_t kLanes = 16;
  static constexpr int kRows = 8;
};
struct Avx2 {  // 16 registers
  using Lanes = float __attribute__((vector_size(32), aligned(4), may_alias));
  static constexpr std::int64_t kLanes = 8;
  static constexpr int kRows = 6;
};
struct Base {  // at least 16 registers, as in SSE, which needs one for a product before the addition
  using Lanes = float __attribute__((vector_size(16), aligned(4), may_alias));
  static constexpr std::int64_t kLanes = 4;
  static constexpr int kRows = 6;
};

constexpr std::int64_t kDepth = 256;  // rows of a panel of b: with two widest registers it fills half of a level 1
                                      // cache

struct Panel {
  const float* a;
  std::int64_t a_row, a_column;
  const float* b;
  std::int64_t b_row;
  float* c;
  std::int64_t c_row;
};

// Computes a tile of c of `rows` times `vectors` registers, which stays in them.
template <class Registers, int rows, int vectors>
[[gnu::always_inline]] inline void tile(const Panel& p, std::int64_t depth, bool add) {
  using Lanes = typename Registers::Lanes;
  constexpr std::int64_t kLanes = Registers::kLanes;
  Lanes sum[rows][vectors];
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) {
      if (add) {
        sum[r][v] = *reinterpret_cast<const Lanes*>(p.c + r * p.c_row + v * kLanes);
      } else {
        sum[r][v] = Lanes{};
      }
    }
  const float *a = p.a, *b = p.b;
  for (std::int64_t l = 0; l < depth; ++l, a += p.a_column, b += p.b_row) {
    Lanes row[vectors];
    for (int v = 0; v < vectors; ++v) row[v] = *reinterpret_cast<const Lanes*>(b + v * kLanes);
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < vectors; ++v) sum[r][v] += a[r * p.a_row] * row[v];
  }
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) *reinterpret_cast<Lanes*>(p.c + r * p.c_row + v * kLanes) = sum[r][v];
}

template <class Registers, int vectors>
[[gnu::always_inline]] inline void columns(Panel p, std::int64_t m, std::int64_t depth, bool add) {
  constexpr int kRows = Registers::kRows;
  for (; m >= kRows; m -= kRows, p.a += kRows * p.a_row, p.c += kRows * p.c_row)
    tile<Registers, kRows, vectors>(p, depth, add);
  if (m >= 4) {
    tile<Registers, 4, vectors>(p, depth, add);
    m -= 4, p.a += 4 * p.a_row, p.c += 4 * p.c_row;
  }
  for (; m > 0; --m, p.a += p.a_row, p.c += p.c_row) tile<Registers, 1, vectors>(p, depth, add);
}

// Computes the last columns, fewer than a register, through copies padded with zeros.
template <class Registers>
[[gnu::always_inline]] inline void last_columns(const Panel& p, std::int64_t m, std::int64_t n, std::int64_t depth,
                                                bool add) {
  constexpr std::int64_t kLanes = Registers::kLanes;
  constexpr int kRows = Registers::kRows;
  alignas(64) float b[kDepth * kLanes];
  alignas(64) float c[kRows * kLanes];
  std::memset(b, 0, static_cast<std::size_t>(depth * kLanes) * sizeof(float));
  for (std::int64_t l = 0; l < depth; ++l)
    for (std::int64_t j = 0; j < n; ++j) b[l * kLanes + j] = p.b[l * p.b_row + j];
  for (std::int64_t i = 0; i < m; i += kRows) {
    const std::int64_t rows = std::min<std::int64_t>(kRows, m - i);
    if (add)
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < n; ++j) c[r * kLanes + j] = p.c[(i + r) * p.c_row + j];
    columns<Registers, 1>({p.a + i * p.a_row, p.a_row, p.a_column, b, kLanes, c, kLanes}, rows, depth, add);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < n; ++j) p.c[(i + r) * p.c_row + j] = c[r * kLanes + j];
  }
}

// Many rows read a panel of b again and again. Its rows may lie a power of two apart and push each other out of the
// cache. A dense copy avoids that.
constexpr std::int64_t kRowsWorthACopy = 64;

template <class Registers>
[[gnu::always_inline]] inline void copied_columns(Panel p, std::int64_t m, std::int64_t depth, bool add) {
  using Lanes = typename Registers::Lanes;
  constexpr std::int64_t kLanes = Registers::kLanes;
  alignas(64) float b[kDepth * 2 * kLanes];
  for (std::int64_t l = 0; l < depth; ++l)
    for (std::int64_t v = 0; v < 2; ++v)
      *reinterpret_cast<Lanes*>(b + (l * 2 + v) * kLanes) =
          *reinterpret_cast<const Lanes*>(p.b + l * p.b_row + v * kLanes);
  p.b = b, p.b_row = 2 * kLanes;
  columns<Registers, 2>(p, m, depth, add);
}

// Computes the last columns, fewer than two registers.
template <class Registers>
[[gnu::always_inline]] inline void narrow_columns(Panel p, std::int64_t m, std::int64_t n, std::int64_t depth,
                                                  bool add) {
  constexpr std::int64_t kLanes = Registers::kLanes;
  if (n >= kLanes) {
    columns<Registers, 1>(p, m, depth, add);
    n -= kLanes, p.b += kLanes, p.c += kLanes;
  }
  if (n > 0) last_columns<Registers>(p, m, n, depth, add);
}

template <class Registers>
[[gnu::always_inline]] inline void multiply_panels(const TileProduct<float>& p) {
  constexpr std::int64_t kWidth = 2 * Registers::kLanes;
  for (std::int64_t l = 0; l < p.k; l += kDepth) {
    const std::int64_t depth = std::min(kDepth, p.k - l);
    const bool add = p.add || l > 0;
    Panel panel{p.a + l * p.a_column, p.a_row, p.a_column, p.b + l * p.b_row, p.b_row, p.c, p.c_row};
    std::int64_t j = 0;
    for (; j + kWidth <= p.n; j += kWidth, panel.b += kWidth, panel.c += kWidth) {
      if (p.m >= kRowsWorthACopy) {
        copied_columns<Registers>(panel, p.m, depth, add);
      } else {
        columns<Registers, 2>(panel, p.m, depth, add);
      }
    }
    narrow_columns<Registers>(panel, p.m, p.n - j, depth, add);
  }
}

constexpr std::int64_t kStreamed = 256;  // columns that are copied at once: a kilobyte of each row
static_assert(kDepth * kStreamed == kStreamScratch);

template <class Registers>
[[gnu::always_inline]] inline void multiply_streamed_panels(const TileProduct<float>& p, float* scratch) {
  using Lanes = typename Registers::Lanes;
  constexpr std::int64_t kLanes = Registers::kLanes, kWidth = 2 * kLanes;
  for (std::int64_t l = 0; l < p.k; l += kDepth) {
    const std::int64_t depth = std::min(kDepth, p.k - l);
    const bool add = p.add || l > 0;
    for (std::int64_t j = 0; j < p.n; j += kStreamed) {
      const std::int64_t n = std::min(kStreamed, p.n - j), whole = n / kWidth * kWidth;
      const float* b = p.b + l * p.b_row + j;
      for (std::int64_t r = 0; r < depth; ++r)
        for (std::int64_t v = 0; v < whole; v += kLanes)
          *reinterpret_cast<Lanes*>(scratch + v / kWidth * kWidth * depth + r * kWidth + v % kWidth) =
              *reinterpret_cast<const Lanes*>(b + r * p.b_row + v);
      Panel panel{p.a + l * p.a_column, p.a_row, p.a_column, scratch, kWidth, p.c + j, p.c_row};
      for (std::int64_t v = 0; v < whole; v += kWidth, panel.b += kWidth * depth, panel.c += kWidth)
        columns<Registers, 2>(panel, p.m, depth, add);
      panel.b = b + whole, panel.b_row = p.b_row;
      narrow_columns<Registers>(panel, p.m, n - whole, depth, add);
    }
  }
}

#ifdef BELAY_HOT_VERSIONS
BELAY_AVX2 void multiply_avx2(const TileProduct<float>& p) { multiply_panels<Avx2>(p); }
BELAY_AVX2 void multiply_streamed_avx2(const TileProduct<float>& p, float* scratch) {
  multiply_streamed_panels<Avx2>(p, scratch);
}
BELAY_AVX512 void multiply_avx512(const TileProduct<float>& p) { multiply_panels<Avx512>(p); }
BELAY_AVX512 void multiply_streamed_avx512(const TileProduct<float>& p, float* scratch) {
  multiply_streamed_panels<Avx512>(p, scratch);
}
#endif

template <class T>
void clear(const TileProduct<T>& p) {
  for (std::int64_t i = 0; i < p.m; ++i) std::fill_n(p.c + i * p.c_row, p.n, T(0));
}

template <class T>
[[gnu::always_inline]] inline void transpose_blocks(const T* from, std::int64_t from_row, std::int64_t rows,
                                                    std::int64_t columns, T* to) {
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t i = 0; i < rows; i += kBlock)
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t r = i; r < std::min(rows, i + kBlock); ++r) to[j * rows + r] = from[r * from_row + j];
}

}  // namespace

void multiply(const TileProduct<float>& p) {
  if (p.k == 0 && !p.add) return clear(p);
#ifdef BELAY_HOT_VERSIONS
  if (hot_level() == HotLevel::kAvx512) return multiply_avx512(p);
  if (hot_level() == HotLevel::kAvx2) return multiply_avx2(p);
#endif
  multiply_panels<Base>(p);
}

void multiply_streamed(const TileProduct<float>& p, float* scratch) {
  if (p.k == 0 && !p.add) return clear(p);
#ifdef BELAY_HOT_VERSIONS
  if (hot_level() == HotLevel::kAvx512) return multiply_streamed_avx512(p, scratch);
  if (hot_level() == HotLevel::kAvx2) return multiply_streamed_avx2(p, scratch);
#endif
  multiply_streamed_panels<Base>(p, scratch);
}

void multiply(const TileProduct<double>& p) {
  if (!p.add) clear(p);
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t l = 0; l < p.k; ++l) {
      const double factor = p.a[i * p.a_row + l * p.a_column];
      for (std::int64_t j = 0; j < p.n; ++j) p.c[i * p.c_row + j] += factor * p.b[l * p.b_row + j];
    }
}

void transpose_copy(const float* from, std::int64_t from_row, std::int64_t rows, std::int64_t columns, float* to) {
  transpose_blocks(from, from_row, rows, columns, to);
}
void transpose_copy(const double* from, std::int64_t from_row, std::int64_t rows, std::int64_t columns, double* to) {
  transpose_blocks(from, from_row, rows, columns, to);
}

}  // namespace belay::runtime
