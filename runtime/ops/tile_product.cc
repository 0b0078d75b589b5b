#include "runtime/ops/tile_product.h"

#include <algorithm>
#include <cstring>

#include "runtime/ops/hot.h"

namespace belay::runtime {
namespace {

// 16 floats: a register, or as many as they need.
using Lanes = float __attribute__((vector_size(64), aligned(4), may_alias));
constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kDepth = 256;  // of a panel of b: two vectors wide it fills half of a level 1 cache
constexpr int kRows = 8;

struct Panel {
  const float* a;
  std::int64_t a_row, a_column;
  const float* b;
  std::int64_t b_row;
  float* c;
  std::int64_t c_row;
};

// A tile of c of `rows` times `vectors` registers, which stays in them.
template <int rows, int vectors>
[[gnu::always_inline]] inline void tile(const Panel& p, std::int64_t depth, bool add) {
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

template <int vectors>
[[gnu::always_inline]] inline void columns(Panel p, std::int64_t m, std::int64_t depth, bool add) {
  for (; m >= kRows; m -= kRows, p.a += kRows * p.a_row, p.c += kRows * p.c_row) tile<kRows, vectors>(p, depth, add);
  if (m >= 4) {
    tile<4, vectors>(p, depth, add);
    m -= 4, p.a += 4 * p.a_row, p.c += 4 * p.c_row;
  }
  for (; m > 0; --m, p.a += p.a_row, p.c += p.c_row) tile<1, vectors>(p, depth, add);
}

// The last columns, fewer than a register: through copies that are filled up with zeros.
[[gnu::always_inline]] inline void last_columns(const Panel& p, std::int64_t m, std::int64_t n, std::int64_t depth,
                                                bool add) {
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
    columns<1>({p.a + i * p.a_row, p.a_row, p.a_column, b, kLanes, c, kLanes}, rows, depth, add);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < n; ++j) p.c[(i + r) * p.c_row + j] = c[r * kLanes + j];
  }
}

// Many rows use a panel of b again and again: a dense copy of it keeps rows of b that lie a power of two apart from
// pushing each other out of the cache.
constexpr std::int64_t kRowsWorthACopy = 64;

[[gnu::always_inline]] inline void copied_columns(Panel p, std::int64_t m, std::int64_t depth, bool add) {
  alignas(64) float b[kDepth * 2 * kLanes];
  for (std::int64_t l = 0; l < depth; ++l)
    for (std::int64_t v = 0; v < 2; ++v)
      *reinterpret_cast<Lanes*>(b + (l * 2 + v) * kLanes) =
          *reinterpret_cast<const Lanes*>(p.b + l * p.b_row + v * kLanes);
  p.b = b, p.b_row = 2 * kLanes;
  columns<2>(p, m, depth, add);
}

// The last columns, fewer than two registers.
[[gnu::always_inline]] inline void narrow_columns(Panel p, std::int64_t m, std::int64_t n, std::int64_t depth,
                                                  bool add) {
  if (n >= kLanes) {
    columns<1>(p, m, depth, add);
    n -= kLanes, p.b += kLanes, p.c += kLanes;
  }
  if (n > 0) last_columns(p, m, n, depth, add);
}

BELAY_HOT void multiply_hot(const TileProduct<float>& p) {
  for (std::int64_t l = 0; l < p.k; l += kDepth) {
    const std::int64_t depth = std::min(kDepth, p.k - l);
    const bool add = p.add || l > 0;
    Panel panel{p.a + l * p.a_column, p.a_row, p.a_column, p.b + l * p.b_row, p.b_row, p.c, p.c_row};
    std::int64_t j = 0;
    for (; j + 2 * kLanes <= p.n; j += 2 * kLanes, panel.b += 2 * kLanes, panel.c += 2 * kLanes) {
      if (p.m >= kRowsWorthACopy) {
        copied_columns(panel, p.m, depth, add);
      } else {
        columns<2>(panel, p.m, depth, add);
      }
    }
    narrow_columns(panel, p.m, p.n - j, depth, add);
  }
}

constexpr std::int64_t kStreamed = 256;  // columns that are copied at once: a kilobyte of each row
static_assert(kDepth * kStreamed == kStreamScratch);

BELAY_HOT void multiply_streamed_hot(const TileProduct<float>& p, float* scratch) {
  constexpr std::int64_t kWidth = 2 * kLanes;
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
        columns<2>(panel, p.m, depth, add);
      panel.b = b + whole, panel.b_row = p.b_row;
      narrow_columns(panel, p.m, n - whole, depth, add);
    }
  }
}

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
  multiply_hot(p);
}

void multiply_streamed(const TileProduct<float>& p, float* scratch) {
  if (p.k == 0 && !p.add) return clear(p);
  multiply_streamed_hot(p, scratch);
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
