// SPDX-License-Identifier: Apache-2.0
// Computes one element of the activations that can end a fused product.
#pragma once

#include "runtime/ops/kernels/elementwise.h"
#include "runtime/ops/kernels/vector_math.h"

namespace belay::runtime {

struct ReluOf : Cheap {
  template <class T>
  T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
};
struct SigmoidOf : Expensive {
  auto operator()(auto x) const { return sigmoid_of(x); }
};
struct TanhOf : Expensive {
  auto operator()(auto x) const { return tanh_of(x); }
};

}  // namespace belay::runtime
