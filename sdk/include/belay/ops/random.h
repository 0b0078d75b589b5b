// SPDX-License-Identifier: Apache-2.0
// Random numbers and dropout. Every node has its own stream (Philox), keyed by the run's seed and the node's full name
// and counted by the global step: the same step gives the same numbers, however often it is repeated and whatever else
// runs.
#pragma once

#include <cmath>
#include <string_view>

#include "belay/graph.h"
#include "belay/ops/control.h"

namespace belay {
inline namespace v0 {
namespace ops {

// In [low, high).
inline Output random_uniform(const Graph& g, const Dims& dims, double low = 0, double high = 1,
                             DType dtype = DType::kFloat32, std::string_view name = {}) {
  return g.node("RandomUniform", name)
      .attr("shape", dims)
      .attr("dtype", dtype)
      .attr("low", low)
      .attr("high", high)
      .output();
}
inline Output random_normal(const Graph& g, const Dims& dims, double mean = 0, double stddev = 1,
                            DType dtype = DType::kFloat32, std::string_view name = {}) {
  return g.node("RandomNormal", name)
      .attr("shape", dims)
      .attr("dtype", dtype)
      .attr("mean", mean)
      .attr("stddev", stddev)
      .output();
}
// Normal, but what lies more than two standard deviations from the mean is drawn again.
inline Output truncated_normal(const Graph& g, const Dims& dims, double mean = 0, double stddev = 1,
                               DType dtype = DType::kFloat32, std::string_view name = {}) {
  return g.node("TruncatedNormal", name)
      .attr("shape", dims)
      .attr("dtype", dtype)
      .attr("mean", mean)
      .attr("stddev", stddev)
      .output();
}
// Uniform within +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010); for a matrix [fan_in, fan_out].
Output glorot_uniform(const Graph& g, const Dims& dims, DType dtype = DType::kFloat32, std::string_view name = {});
// Normal with stddev sqrt(2 / fan_in) (He et al. 2015), truncated; for a matrix [fan_in, fan_out].
Output he_normal(const Graph& g, const Dims& dims, DType dtype = DType::kFloat32, std::string_view name = {});

// Sets a fraction `rate` of the elements to 0 and scales the others by 1 / (1 - rate). Use it while training only.
inline Output dropout(const Output& x, double rate, std::string_view name = {}) {
  return x.graph().node("Dropout", name).in(x).attr("rate", rate).output();
}

inline Output glorot_uniform(const Graph& g, const Dims& dims, DType dtype, std::string_view name) {
  if (dims.size() < 2) fail(Code::kInvalidArgument, "glorot_uniform needs a matrix, got shape " + dims_text(dims));
  double receptive = 1;
  for (std::size_t i = 0; i + 2 < dims.size(); ++i) receptive *= static_cast<double>(dims[i]);
  const double fans = receptive * static_cast<double>(dims[dims.size() - 2] + dims[dims.size() - 1]);
  const double limit = std::sqrt(6 / fans);
  return random_uniform(g, dims, -limit, limit, dtype, name.empty() ? "glorot_uniform" : name);
}
inline Output he_normal(const Graph& g, const Dims& dims, DType dtype, std::string_view name) {
  if (dims.size() < 2) fail(Code::kInvalidArgument, "he_normal needs a matrix, got shape " + dims_text(dims));
  double fan_in = static_cast<double>(dims[dims.size() - 2]);
  for (std::size_t i = 0; i + 2 < dims.size(); ++i) fan_in *= static_cast<double>(dims[i]);
  return truncated_normal(g, dims, 0, std::sqrt(2 / fan_in), dtype, name.empty() ? "he_normal" : name);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
