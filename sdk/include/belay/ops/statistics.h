// SPDX-License-Identifier: Apache-2.0
// Means with their variances, and sums of exponentials. No axes: all; keep_dims leaves them as 1.
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

struct Moments {
  Output mean;
  Output variance;  // of the population: divided by n
};
inline Moments moments(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  const Graph g = x.graph();
  const auto scope = g.scope(name.empty() ? "moments" : name);
  const Output mean = reduce_mean(x, axes, true);
  const Output variance = reduce_mean(squared_difference(x, mean), axes, keep_dims, "variance");
  return {keep_dims ? mean : reduce_mean(x, axes, false, "mean"), variance};
}
inline Output reduce_variance(const Output& x, const Axes& axes = {}, bool keep_dims = false,
                              std::string_view name = {}) {
  return moments(x, axes, keep_dims, name.empty() ? "variance" : name).variance;
}
inline Output reduce_std(const Output& x, const Axes& axes = {}, bool keep_dims = false, std::string_view name = {}) {
  return sqrt(reduce_variance(x, axes, keep_dims, name.empty() ? "std" : name));
}

// log(sum(e^x)), without overflow where x is large. Of nothing, and of minus infinity alone: minus infinity.
inline Output reduce_logsumexp(const Output& x, const Axes& axes = {}, bool keep_dims = false,
                               std::string_view name = {}) {
  const Graph g = x.graph();
  const auto scope = g.scope(name.empty() ? "logsumexp" : name);
  const Output largest = reduce_max(x, axes, true);
  const Output shift = stop_gradient(select(is_finite(largest), largest, zeros_like(largest)));
  const Output sum = log(reduce_sum(exp(x - shift), axes, true)) + shift;
  return keep_dims ? sum : reshape_like(sum, reduce_max(stop_gradient(x), axes, false));
}

// x / sqrt(max(sum(x^2), epsilon)) along the axes: vectors of length 1.
inline Output l2_normalize(const Output& x, const Axes& axes = {}, double epsilon = 1e-12, std::string_view name = {}) {
  const Graph g = x.graph();
  const auto scope = g.scope(name.empty() ? "l2_normalize" : name);
  const Output sum = reduce_sum(square(x), axes, true);
  return x * rsqrt(maximum(sum, scalar(g, epsilon, x.dtype())));
}

// x scaled so that its norm is at most clip_norm.
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
