// SPDX-License-Identifier: Apache-2.0
// One element of the activations that can also be at the end of a fused product.
#pragma once

#include "runtime/ops/kernels/elementwise.h"
#include "runtime/ops/kernels/vector_math.h"

namespace belay::runtime {

struct ReluOf {
  static constexpr std::int64_t kGrain = kCheapGrain;
  template <class T>
  T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
};
struct SigmoidOf {
  static constexpr std::int64_t kGrain = kDearGrain;
  template <class T>
  T operator()(T x) const {
    return sigmoid_of(x);
  }
};
struct TanhOf {
  static constexpr std::int64_t kGrain = kDearGrain;
  template <class T>
  T operator()(T x) const {
    return tanh_of(x);
  }
};

}  // namespace belay::runtime
