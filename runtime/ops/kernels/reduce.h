// SPDX-License-Identifier: Apache-2.0
// Kernels of reductions, made from a reducer: the type that it accumulates (Acc), and its functions. The order of the
// terms depends only on the shape, so the number of threads changes no bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/elementwise.h"
#include "runtime/ops/kernels/hot.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/kernels/reduction_plan.h"

namespace belay::runtime {

// ---- reducers: run() takes n contiguous terms, combine() one term of a separate column

// In float32, blocks of kSumBlock terms are summed in float32, and the blocks' sums in float64.
inline constexpr std::int64_t kSumBlock = 1024;

template <class T>
struct SumOf {
  using Value = T;
  using Acc = std::conditional_t<std::is_same_v<T, float>, double, WrappingOf<T>>;
  static constexpr Acc identity() { return Acc(0); }
  [[gnu::always_inline]] static Acc run(const T* x, std::int64_t n) {
    Acc all = 0;
    for (std::int64_t begin = 0; begin < n; begin += kSumBlock) {
      const std::int64_t end = std::min(n, begin + kSumBlock);
      WrappingOf<T> sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = begin; i < end; ++i) sum += static_cast<WrappingOf<T>>(x[i]);
      all += sum;
    }
    return all;
  }
  static Acc combine(Acc acc, T x) { return acc + static_cast<WrappingOf<T>>(x); }
  static Acc merge(Acc a, Acc b) { return a + b; }
  static T finish(Acc acc, std::int64_t) { return static_cast<T>(acc); }
};

template <class T>
struct MeanOf : SumOf<T> {
  static T finish(typename SumOf<T>::Acc acc, std::int64_t terms) {
    return static_cast<T>(acc / static_cast<double>(terms));
  }
};

template <class T>
struct ProdOf {
  using Value = T;
  using Acc = typename SumOf<T>::Acc;
  static constexpr Acc identity() { return Acc(1); }
  [[gnu::always_inline]] static Acc run(const T* x, std::int64_t n) {
    Acc all = 1;
#pragma omp simd reduction(* : all)
    for (std::int64_t i = 0; i < n; ++i) all *= static_cast<Acc>(x[i]);
    return all;
  }
  static Acc combine(Acc acc, T x) { return acc * static_cast<Acc>(x); }
  static Acc merge(Acc a, Acc b) { return a * b; }
  static T finish(Acc acc, std::int64_t) { return static_cast<T>(acc); }
};

// The reducer for the largest term or the smallest one. Its result is NaN if a term is NaN.
template <class T, bool largest>
struct ExtremeOf {
  using Value = T;
  using Acc = T;
  using Limits = std::numeric_limits<T>;
  static constexpr Acc identity() {
    if constexpr (Limits::has_infinity) return largest ? -Limits::infinity() : Limits::infinity();
    return largest ? Limits::lowest() : Limits::max();
  }
  [[gnu::always_inline]] static Acc run(const T* x, std::int64_t n) {
    T best = identity();
    int nan = 0;
    if constexpr (largest) {
#pragma omp simd reduction(max : best) reduction(| : nan)
      for (std::int64_t i = 0; i < n; ++i) best = x[i] > best ? x[i] : best, nan |= x[i] != x[i];
    } else {
#pragma omp simd reduction(min : best) reduction(| : nan)
      for (std::int64_t i = 0; i < n; ++i) best = x[i] < best ? x[i] : best, nan |= x[i] != x[i];
    }
    return nan != 0 ? Limits::quiet_NaN() : best;
  }
  static Acc combine(Acc acc, T x) {
    const bool better = largest ? x > acc : x < acc;
    return better || x != x ? x : acc;
  }
  static Acc merge(Acc a, Acc b) { return combine(a, b); }
  static T finish(Acc acc, std::int64_t) { return acc; }
};
template <class T>
using MaxOf = ExtremeOf<T, true>;
template <class T>
using MinOf = ExtremeOf<T, false>;

// Booleans are bytes: 0 is false.
template <bool all>
struct BooleanOf {
  using Value = std::uint8_t;
  using Acc = std::uint8_t;
  static constexpr Acc identity() { return all ? 1 : 0; }
  static Acc run(const Value* x, std::int64_t n) {
    Acc acc = identity();
    for (std::int64_t i = 0; i < n; ++i) acc = combine(acc, x[i]);
    return acc;
  }
  static Acc combine(Acc acc, Value x) {
    const Acc is_true = x != 0 ? 1 : 0;
    return all ? acc & is_true : acc | is_true;
  }
  static Acc merge(Acc a, Acc b) { return combine(a, b); }
  static Value finish(Acc acc, std::int64_t) { return acc; }
};
using AllOf = BooleanOf<true>;
using AnyOf = BooleanOf<false>;

// ---- loops

template <class R>
typename R::Acc reduce_run(const typename R::Value* x, std::int64_t n) {
  return hot<typename R::Value, R::run>(x, n);
}

inline constexpr std::int64_t kColumns = 128;  // number of results that are made side by side

// Makes n <= kColumns results. The terms of each are below each other in rows `stride` apart.
template <class R>
[[gnu::always_inline]] inline void columns_run(const typename R::Value* x, std::int64_t rows, std::int64_t stride,
                                               std::int64_t n, typename R::Acc* acc) {
  for (std::int64_t r = 0; r < rows; ++r, x += stride) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) acc[i] = R::combine(acc[i], x[i]);
  }
}

// ---- kernels

template <class R>
class ReduceKernel final : public Kernel {
 public:
  using T = typename R::Value;
  using Acc = typename R::Acc;
  ReduceKernel(const KernelSpec& spec, const std::vector<bool>& reduced)
      : plan_(spec.inputs[0].dims, reduced), threads_(spec.threads) {
    terms_ = plan_.terms() * (plan_.inner_reduced() ? plan_.inner() : 1);
    if (plan_.inner_reduced() && plan_.results() == 1 && plan_.terms() == 1)
      chunks_.resize(static_cast<std::size_t>((plan_.inner() + kChunk - 1) / kChunk), R::identity());
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T* x = input<T>(in, 0);
    T* y = output<T>(out, 0);
    if (!plan_.inner_reduced()) {
      reduce_to_rows(x, y);
    } else if (plan_.results() == 1 && plan_.terms() == 1) {
      *y = R::finish(reduce_all(x), terms_);
    } else {
      parallel_for(plan_.results(), kCheapGrain / (terms_ + 1) + 1, threads_,
                   [&](std::int64_t begin, std::int64_t end, int) {
                     for (std::int64_t r = begin; r < end; ++r) y[r] = reduce_one(x + plan_.result_offset(r));
                   });
    }
  }

 private:
  static constexpr std::int64_t kChunk = 16 * kSumBlock;

  // Reduces one run of terms in chunks, so that threads share it.
  Acc reduce_all(const T* x) {
    const std::int64_t n = plan_.inner();
    if (n <= kChunk) return reduce_run<R>(x, n);
    parallel_for(
        static_cast<std::int64_t>(chunks_.size()), 2, threads_, [&](std::int64_t begin, std::int64_t end, int) {
          for (std::int64_t i = begin; i < end; ++i)
            chunks_[static_cast<std::size_t>(i)] = reduce_run<R>(x + i * kChunk, std::min(kChunk, n - i * kChunk));
        });
    Acc all = R::identity();
    for (const Acc& chunk : chunks_) all = R::merge(all, chunk);
    return all;
  }
  T reduce_one(const T* x) const {
    Acc acc = R::identity();
    for (std::int64_t b = 0, blocks = plan_.terms() / std::max<std::int64_t>(plan_.term_rows(), 1); b < blocks; ++b)
      for (std::int64_t r = 0; r < plan_.term_rows(); ++r)
        acc = R::merge(acc, reduce_run<R>(x + plan_.block_offset(b) + r * plan_.term_stride(), plan_.inner()));
    return R::finish(acc, terms_);
  }
  // Makes results side by side, kColumns at a time.
  void reduce_to_rows(const T* x, T* y) const {
    const std::int64_t tiles = (plan_.inner() + kColumns - 1) / kColumns;
    const std::int64_t cost = std::min(plan_.inner(), kColumns) * terms_;
    parallel_for(plan_.results() * tiles, kCheapGrain / (cost + 1) + 1, threads_,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t i = begin; i < end; ++i) reduce_tile(x, i / tiles, i % tiles * kColumns, y);
                 });
  }
  void reduce_tile(const T* x, std::int64_t result, std::int64_t column, T* y) const {
    const std::int64_t n = std::min(kColumns, plan_.inner() - column);
    Acc acc[kColumns];
    std::fill_n(acc, n, R::identity());
    x += plan_.result_offset(result) + column;
    for (std::int64_t b = 0, blocks = plan_.terms() / std::max<std::int64_t>(plan_.term_rows(), 1); b < blocks; ++b)
      hot<T, columns_run<R>>(x + plan_.block_offset(b), plan_.term_rows(), plan_.term_stride(), n, acc);
    y += result * plan_.inner() + column;
    for (std::int64_t i = 0; i < n; ++i) y[i] = R::finish(acc[i], terms_);
  }

  ReductionPlan plan_;
  int threads_;
  std::int64_t terms_;
  std::vector<Acc> chunks_;
};

// ---- squares

// Sums the squares like SumOf sums terms.
template <class T>
[[gnu::always_inline]] inline double squares(const T* x, std::int64_t n) {
  double all = 0;
  for (std::int64_t begin = 0; begin < n; begin += kSumBlock) {
    const std::int64_t end = std::min(n, begin + kSumBlock);
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = begin; i < end; ++i) sum += x[i] * x[i];
    all += sum;
  }
  return all;
}

// Takes all inputs: half the sum of squares, or its square root.
template <class T, bool root>
class SquaresKernel final : public Kernel {
 public:
  explicit SquaresKernel(const KernelSpec& spec) : threads_(spec.threads) {
    for (std::size_t i = 0; i < spec.inputs.size(); ++i)
      for (std::int64_t n = spec.inputs[i].elements(), at = 0; at < n; at += kChunk)
        chunks_.push_back({i, at, std::min(kChunk, n - at), 0});
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    parallel_for(static_cast<std::int64_t>(chunks_.size()), 2, threads_,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     Chunk& c = chunks_[static_cast<std::size_t>(i)];
                     c.sum = hot<T, squares<T>>(input<T>(in, c.input) + c.begin, c.size);
                   }
                 });
    double sum = 0;
    for (const Chunk& c : chunks_) sum += c.sum;
    *output<T>(out, 0) = static_cast<T>(root ? std::sqrt(sum) : sum / 2);
  }

 private:
  static constexpr std::int64_t kChunk = 16 * kSumBlock;
  struct Chunk {
    std::size_t input;
    std::int64_t begin;
    std::int64_t size;
    double sum;
  };

  int threads_;
  std::vector<Chunk> chunks_;
};
template <class T>
using L2LossKernel = SquaresKernel<T, false>;
template <class T>
using GlobalNormKernel = SquaresKernel<T, true>;

}  // namespace belay::runtime
