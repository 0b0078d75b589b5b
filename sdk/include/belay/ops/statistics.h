// SPDX-License-Identifier: Apache-2.0
// Means with their variances, norms, and sums of exponentials, of floats. Axes are as in reductions.h: negative ones
// count from the last, none means all, and keep_dims leaves them as 1. Each function makes several nodes in a scope of
// its name, and has gradients.
//
//   const ops::Moments m = ops::moments(x, {0});                x [batch, features] -> both [features]
//   const Output y = (x - m.mean) / ops::sqrt(m.variance + 1e-5);
#pragma once

#include <string>
#include <string_view>

#include "belay/graph.h"
#include "belay/ops/control.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/shape.h"

namespace belay {
inline namespace v0 {
namespace ops {

// The result of moments(): two tensors of one shape.
struct Moments {
  Output mean;
  // The variance of the population: divided by n, as in tf.nn.moments.
  Output variance;
};
// Mean and variance over the axes. The variance is the mean of (x - mean)^2. So it is exact also if the mean is much
// larger than the deviation. Without elements: NaN.
inline Moments moments(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  const Graph g = x.graph();
  const auto scope = g.scope(name.empty() ? "moments" : name);
  const Output mean = reduce_mean(x, axes, true);
  const Output variance = reduce_mean(squared_difference(x, mean), axes, keep_dims, "variance");
  return {keep_dims ? mean : reduce_mean(x, axes, false, "mean"), variance};
}
// The variance alone.
inline Output reduce_variance(const Output& x, const Axes& axes = {}, bool keep_dims = false,
                              std::string_view name = {}) {
  return moments(x, axes, keep_dims, name.empty() ? "variance" : name).variance;
}
// The standard deviation of the population: the square root of the variance. Its gradient is infinite if all elements
// are equal. If that can happen, add an epsilon to reduce_variance and take the root.
inline Output reduce_std(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return sqrt(reduce_variance(x, axes, keep_dims, name.empty() ? "std" : name));
}

// log(sum(e^x)), without overflow for large x: it subtracts the largest element first. Without elements, and for minus
// infinities alone, it is minus infinity. The gradient is softmax(x) times the incoming one.
//
//   ops::reduce_logsumexp(x, {-1})                [..., classes] -> [...]: what log_softmax subtracts
inline Output reduce_logsumexp(const Output& x, const Axes& axes = {}, bool keep_dims = false,
                               std::string_view name = {}) {
  const Graph g = x.graph();
  const auto scope = g.scope(name.empty() ? "logsumexp" : name);
  const Output largest = reduce_max(x, axes, true);
  const Output shift = stop_gradient(select(is_finite(largest), largest, zeros_like(largest)));
  const Output sum = log(reduce_sum(exp(x - shift), axes, true)) + shift;
  return keep_dims ? sum : reshape_like(sum, reduce_max(stop_gradient(x), axes, false));
}

// x / sqrt(max(sum(x^2), epsilon)) along the axes: vectors of length 1, in the shape of x. epsilon keeps vectors of
// zeros finite: they stay zeros.
//
//   const Output u = ops::l2_normalize(a, {-1}), v = ops::l2_normalize(b, {-1});         [m, k] and [n, k]
//   const Output cosines = ops::matmul(u, v, false, true);                               [m, n]
inline Output l2_normalize(const Output& x, const Axes& axes = {}, double epsilon = 1e-12, std::string_view name = {}) {
  const Graph g = x.graph();
  const auto scope = g.scope(name.empty() ? "l2_normalize" : name);
  const Output sum = reduce_sum(square(x), axes, true);
  return x * rsqrt(maximum(sum, scalar(g, epsilon, x.dtype())));
}

// Scales x so that its norm, over all elements, is at most clip_norm: x * clip_norm / max(norm, clip_norm). For all
// gradients together the host has [optimizer] clip_norm. INVALID_ARGUMENT: clip_norm is not above 0.
inline Output clip_by_norm(const Output& x, double clip_norm, std::string_view name = {}) {
  if (!(clip_norm > 0))
    fail(Code::kInvalidArgument, "clip_by_norm: clip_norm must be above 0, got " + std::to_string(clip_norm));
  const Graph g = x.graph();
  const auto scope = g.scope(name.empty() ? "clip_by_norm" : name);
  const Output limit = scalar(g, clip_norm, x.dtype());
  return x * (limit / maximum(global_norm({x}), limit));
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
