// SPDX-License-Identifier: Apache-2.0
// Random numbers and dropout. Every node has its own stream (Philox). Its key is the run's seed and the node's full
// name; its counter is the global step. The same step draws the same numbers, with any number of repetitions or
// threads, and with any other work. So a new name of a node, or of its scope, changes its numbers.
//
//   Output w = ops::variable(g, "w", ops::truncated_normal(g, {784, 10}, 0, 0.05));   drawn once, by the initializer
//   Output noisy = x + ops::random_normal(g, {32, 784}, 0, 0.1);                      drawn again in each step
//
// Drawn tensors are float32 or float64 and of known dimensions, else INVALID_ARGUMENT. No gradient passes to them.
// Bodies of cond or while loops refuse them.
#pragma once

#include <cmath>
#include <string_view>

#include "belay/graph.h"
#include "belay/ops/control.h"

namespace belay {
inline namespace v0 {
namespace ops {

// Uniform in [low, high); low <= high. It is computed from 53 random bits and rounded to the dtype, but never to high
// itself.
inline Output random_uniform(const Graph& g, const Dims& dims, double low = 0, double high = 1,
                             DType dtype = DType::kFloat32, std::string_view name = {}) {
  return g.node("RandomUniform", name)
      .attr("shape", dims)
      .attr("dtype", dtype)
      .attr("low", low)
      .attr("high", high)
      .output();
}
// Normal with this mean and standard deviation (at least 0), by Box and Muller's method in float64. float32 numbers are
// the same bits on every processor. It is not truncated: of 10 million numbers about 6 are beyond 5 standard
// deviations.
inline Output random_normal(const Graph& g, const Dims& dims, double mean = 0, double stddev = 1,
                            DType dtype = DType::kFloat32, std::string_view name = {}) {
  return g.node("RandomNormal", name)
      .attr("shape", dims)
      .attr("dtype", dtype)
      .attr("mean", mean)
      .attr("stddev", stddev)
      .output();
}
// Normal, but numbers more than two standard deviations from the mean are drawn again. So its own deviation is 0.88 of
// stddev. It is the usual start of weights: a weight far off would be saturated.
inline Output truncated_normal(const Graph& g, const Dims& dims, double mean = 0, double stddev = 1,
                               DType dtype = DType::kFloat32, std::string_view name = {}) {
  return g.node("TruncatedNormal", name)
      .attr("shape", dims)
      .attr("dtype", dtype)
      .attr("mean", mean)
      .attr("stddev", stddev)
      .output();
}
// Uniform within +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010), which keeps the variance of a layer with
// tanh. A matrix is [fan_in, fan_out]. For a filter [height, width, in, out] both fans are multiplied by height *
// width. It needs at least two dimensions.
//
//   [784, 128]           within +-0.081
//   [5, 5, 1, 32]        within +-0.085
Output glorot_uniform(const Graph& g, const Dims& dims, DType dtype = DType::kFloat32, std::string_view name = {});
// Normal with stddev sqrt(2 / fan_in) (He et al. 2015), truncated, for layers with relu. Dimensions are as for
// glorot_uniform.
Output he_normal(const Graph& g, const Dims& dims, DType dtype = DType::kFloat32, std::string_view name = {});

// Sets a fraction `rate` (0 <= rate < 1) of the elements of x (floats) to 0. It scales the others by 1 / (1 - rate), so
// the mean stays (Srivastava et al. 2014, in its inverted form). It has the same effect in every mode:
//
//   if (model.training()) h = ops::dropout(h, 0.5);
//
// sibling(1) is the mask, uint8 of the shape of x. The gradient passes through it.
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
