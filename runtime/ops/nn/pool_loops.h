// SPDX-License-Identifier: Apache-2.0
// Loops of pooling over images. The results are the same at every run and for every number of threads. One thread
// computes an element of a result, in the order of the window.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/ops/kernels/hot.h"
#include "runtime/ops/nn/windows.h"

namespace belay::runtime {

// Images of c channels that lie next to each other. For NCHW, each channel is a separate image with c = 1.
struct PoolSizes {
  std::int64_t n = 0;
  std::int64_t c = 0;
  WindowAxis height;
  WindowAxis width;

  std::int64_t image_in() const noexcept { return height.input * width.input * c; }
  std::int64_t image_out() const noexcept { return height.output * width.output * c; }
  // True if no element is in two windows.
  bool apart() const noexcept { return height.stride >= height.size && width.stride >= width.size; }
};

// The first and last tap inside the image, for the window at output place o.
struct Taps {
  std::int64_t first, last;
  Taps(const WindowAxis& a, std::int64_t o)
      : first(std::max<std::int64_t>(0, -a.begin(o))), last(std::min(a.size, a.input - a.begin(o))) {}
};

// Number of channels that are processed together, in buffers that stay in the nearest cache. They are plain loops. Each
// clone of a BELAY_HOT function makes separate vectors of them; with vector types it would not.
inline constexpr std::int64_t kChannelTile = 32;

// Calls f(channel, n) for n channels from there on. Whole tiles have a size that the compiler knows.
template <class F>
[[gnu::always_inline]] inline void for_each_tile(std::int64_t channels, F&& f) {
  std::int64_t c = 0;
  for (; c + kChannelTile <= channels; c += kChannelTile) f(c, kChannelTile);
  if (c < channels) f(c, channels - c);
}

// ---- the largest of each window, and its place in the window (row * width + column): the first of equal ones. NaN is
// larger than all.

// Handles n channels of one window. `relu`: a negative result becomes 0.
template <bool relu, class T, class Index>
[[gnu::always_inline]] inline void max_of_window(const PoolSizes& s, Taps rows, Taps columns, std::int64_t n,
                                                 const T* x, T* y, Index* where) {
  T best[kChannelTile];
  std::int32_t at[kChannelTile];
  const T* first = x + (rows.first * s.width.input + columns.first) * s.c;
  const auto begin = static_cast<std::int32_t>(rows.first * s.width.size + columns.first);
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) best[c] = first[c], at[c] = begin;
  for (std::int64_t i = rows.first; i < rows.last; ++i)
    for (std::int64_t j = columns.first; j < columns.last; ++j) {
      const T* tap = x + (i * s.width.input + j) * s.c;
      const auto index = static_cast<std::int32_t>(i * s.width.size + j);
#pragma omp simd
      for (std::int64_t c = 0; c < n; ++c) {
        const bool larger = (tap[c] > best[c]) | (tap[c] != tap[c]);
        at[c] = larger ? index : at[c];
        best[c] = larger ? tap[c] : best[c];
      }
    }
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) y[c] = relu && best[c] < T(0) ? T(0) : best[c];
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) where[c] = static_cast<Index>(at[c]);
}

// Handles output rows [begin, end) of all images.
template <bool relu, class T, class Index>
[[gnu::always_inline]] inline void max_pool_rows(const PoolSizes& s, std::int64_t begin, std::int64_t end, const T* x,
                                                 T* y, Index* where) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t oh = row % s.height.output;
    const Taps rows(s.height, oh);
    const T* image = x + row / s.height.output * s.image_in() + s.height.begin(oh) * s.width.input * s.c;
    for (std::int64_t ow = 0; ow < s.width.output; ++ow) {
      const Taps columns(s.width, ow);
      const std::int64_t to = (row * s.width.output + ow) * s.c;
      const auto tile = [&](std::int64_t c, std::int64_t n) __attribute__((always_inline)) {
        max_of_window<relu>(s, rows, columns, n, image + s.width.begin(ow) * s.c + c, y + to + c, where + to + c);
      };
      for_each_tile(s.c, tile);
    }
  }
}

// Handles n channels of one window. `covered`: each element of the images is in one window, and so is written once.
template <bool relu, class T, class Index>
[[gnu::always_inline]] inline void give_to_largest(const PoolSizes& s, Taps rows, Taps columns, bool covered,
                                                   std::int64_t n, const T* dy, const Index* where, const T* y, T* dx) {
  T grad[kChannelTile];
  std::int32_t at[kChannelTile];
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) {
    if constexpr (relu) {
      grad[c] = y[c] > T(0) ? dy[c] : T(0);
    } else {
      grad[c] = dy[c];
    }
  }
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) at[c] = static_cast<std::int32_t>(where[c]);
  for (std::int64_t i = rows.first; i < rows.last; ++i)
    for (std::int64_t j = columns.first; j < columns.last; ++j) {
      T* tap = dx + (i * s.width.input + j) * s.c;
      const auto index = static_cast<std::int32_t>(i * s.width.size + j);
      if (covered) {
#pragma omp simd
        for (std::int64_t c = 0; c < n; ++c) tap[c] = at[c] == index ? grad[c] : T(0);
      } else {
#pragma omp simd
        for (std::int64_t c = 0; c < n; ++c) tap[c] += at[c] == index ? grad[c] : T(0);
      }
    }
}

// Computes the gradient for images [begin, end): dy goes to the place of the largest. If y is not null, dy counts only
// if y is positive. That is the gradient of a relu before the pooling.
template <bool relu, class T, class Index>
[[gnu::always_inline]] inline void max_pool_gradient_of(const PoolSizes& s, std::int64_t begin, std::int64_t end,
                                                        const T* dy, const Index* where, const T* y, T* dx) {
  const bool covered = s.apart() && s.height.stride == s.height.size && s.width.stride == s.width.size &&
                       s.height.output * s.height.size == s.height.input &&
                       s.width.output * s.width.size == s.width.input;
  if (!covered) std::fill(dx + begin * s.image_in(), dx + end * s.image_in(), T(0));
  for (std::int64_t row = begin * s.height.output; row < end * s.height.output; ++row) {
    const std::int64_t oh = row % s.height.output;
    const Taps rows(s.height, oh);
    T* image = dx + row / s.height.output * s.image_in() + s.height.begin(oh) * s.width.input * s.c;
    for (std::int64_t ow = 0; ow < s.width.output; ++ow) {
      const Taps columns(s.width, ow);
      const std::int64_t from = (row * s.width.output + ow) * s.c;
      const auto tile = [&](std::int64_t c, std::int64_t n) __attribute__((always_inline)) {
        give_to_largest<relu>(s, rows, columns, covered, n, dy + from + c, where + from + c,
                              relu ? y + from + c : nullptr, image + s.width.begin(ow) * s.c + c);
      };
      for_each_tile(s.c, tile);
    }
  }
}

}  // namespace belay::runtime
