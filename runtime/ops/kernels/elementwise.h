// SPDX-License-Identifier: Apache-2.0
// Kernels of element-wise operations, made from a functor for one element:
//
//   struct SquareOf : Cheap {
//     auto operator()(auto x) const { return x * x; }
//   };
//   r.add({.name = "Square", ... .kernel = make_unary<SquareOf, NumberTypes>});
//
// A functor with a constructor for attributes is made from the node's attributes. Its float32 functions must inline,
// since the loops are also compiled for newer processors. The result may lie in the memory of an operand of its size.
// Each element is written after all operands are read at its place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/broadcast.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/hot.h"
#include "runtime/ops/kernels/parallel.h"

namespace belay::runtime {

// Least number of elements worth a thread, for arithmetic and for functions such as exp.
inline constexpr std::int64_t kCheapGrain = 1 << 15;
inline constexpr std::int64_t kExpensiveGrain = 1 << 12;
struct Cheap {
  static constexpr std::int64_t kGrain = kCheapGrain;
};
struct Expensive {
  static constexpr std::int64_t kGrain = kExpensiveGrain;
};

template <class F>
F functor_of(const Attrs& attrs) {
  if constexpr (std::is_constructible_v<F, const Attrs&>) {
    return F(attrs);
  } else {
    return F();
  }
}

// `omp simd` states that elements do not depend on each other. Without it the compiler expects that a result may
// overwrite an operand, and computes one element at a time.
template <class F, class T, class R>
[[gnu::always_inline]] inline void map_run(F f, const T* x, R* y, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(f(x[i]));
}

template <class F, class T, class R = T>
class UnaryKernel final : public Kernel {
 public:
  explicit UnaryKernel(const KernelSpec& spec)
      : f_(functor_of<F>(spec.attrs())), n_(spec.outputs[0].elements()), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T* x = input<T>(in, 0);
    R* y = output<R>(out, 0);
    parallel_for(n_, F::kGrain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      hot<T, map_run<F, T, R>>(f_, x + begin, y + begin, end - begin);
    });
  }

 private:
  F f_;
  std::int64_t n_;
  int threads_;
};

template <class F, class List = FloatTypes>
std::unique_ptr<Kernel> make_unary(const KernelSpec& spec) {
  return make_for(List{}, spec.inputs[0].dtype,
                  [&]<class T>(std::type_identity<T>) { return std::make_unique<UnaryKernel<F, T>>(spec); });
}

// Rows of `inner` elements of two operands: their start, and whether one element serves a whole row.
template <class T>
struct BinaryRows {
  const T* a;
  const T* b;
  std::int64_t a_stride, b_stride;  // from row to row
  bool a_contiguous, b_contiguous;
  std::int64_t rows, inner;
};

template <class F, class T, class R>
[[gnu::always_inline]] inline void binary_run(F f, const BinaryRows<T>& in, R* y) {
  const T *a = in.a, *b = in.b;
  const std::int64_t n = in.inner;
  for (std::int64_t r = 0; r < in.rows; ++r, a += in.a_stride, b += in.b_stride, y += n) {
    if (in.a_contiguous && in.b_contiguous) {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(f(a[i], b[i]));
    } else if (in.a_contiguous) {
      const T one = *b;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(f(a[i], one));
    } else if (in.b_contiguous) {
      const T one = *a;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(f(one, b[i]));
    } else {
      const R one = static_cast<R>(f(*a, *b));
      for (std::int64_t i = 0; i < n; ++i) y[i] = one;
    }
  }
}

template <class F, class T, class R = T>
class BinaryKernel final : public Kernel {
 public:
  explicit BinaryKernel(const KernelSpec& spec)
      : f_(functor_of<F>(spec.attrs())),
        plan_({&spec.inputs[0].dims, &spec.inputs[1].dims}, spec.outputs[0].dims),
        threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T *a = input<T>(in, 0), *b = input<T>(in, 1);
    R* y = output<R>(out, 0);
    BinaryRows<T> rows{a, b, 0, 0, plan_.contiguous(0), plan_.contiguous(1), 1, plan_.inner()};
    if (plan_.rows() == 1) {
      parallel_for(plan_.inner(), F::kGrain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
        BinaryRows<T> part = rows;
        if (part.a_contiguous) part.a += begin;
        if (part.b_contiguous) part.b += begin;
        part.inner = end - begin;
        compute(part, y + begin);
      });
      return;
    }
    rows.a_stride = plan_.row_stride(0), rows.b_stride = plan_.row_stride(1);
    const std::int64_t grain = F::kGrain / std::max<std::int64_t>(plan_.inner(), 1) + 1;
    parallel_for(plan_.rows(), grain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      plan_.for_each_run(begin, end, [&](const auto& at, std::int64_t first, std::int64_t n) {
        BinaryRows<T> part = rows;
        part.a += at[0], part.b += at[1], part.rows = n;
        compute(part, y + first * plan_.inner());
      });
    });
  }

 private:
  void compute(const BinaryRows<T>& part, R* y) const { hot<T, binary_run<F, T, R>>(f_, part, y); }

  F f_;
  BroadcastPlan plan_;
  int threads_;
};

template <class F, class List = FloatTypes>
std::unique_ptr<Kernel> make_binary(const KernelSpec& spec) {
  return make_for(List{}, spec.inputs[0].dtype,
                  [&]<class T>(std::type_identity<T>) { return std::make_unique<BinaryKernel<F, T>>(spec); });
}

}  // namespace belay::runtime
