// SPDX-License-Identifier: Apache-2.0
// Normalizations, and their layers: float32 and float64, results in the shape of x.
//
//   Output y = ops::layer_norm(x);                                             over the features of each example
//   Output y = ops::batch_norm(x, model.training());                           over the batch, for each channel
//
//   x [batch, features]                     layer_norm: batch means            batch_norm: features means
//   x [batch, height, width, channels]      batch * height * width means       channels means
//
// layer_norm computes the same in training and evaluation, with batches of any size. batch_norm needs batches of some
// size and keeps averages for the evaluation. Both can be differentiated once, with respect to x, scale and offset.
#pragma once

#include <string>
#include <string_view>

#include "belay/graph.h"
#include "belay/ops/defaults.h"
#include "belay/ops/math.h"
#include "belay/ops/shape.h"
#include "belay/ops/variables.h"

namespace belay {
inline namespace v0 {
namespace ops {

// (x - mean) / sqrt(variance + epsilon) * scale + offset (Ba, Kiros and Hinton 2016). Mean and variance (divided by n)
// are over the last dimension of x. scale and offset are vectors of its size and of the dtype of x. With scale 1 and
// offset 0, [1, 2, 3] becomes [-1.2247, 0, 1.2247].
inline Output layer_norm(const Output& x, const Output& scale, const Output& offset, double epsilon = 1e-5,
                         std::string_view name = {}) {
  return x.graph().node("LayerNorm", name).in(x).in(scale).in(offset).attr("epsilon", epsilon).output();
}

// Options of a layer norm.
struct LayerNormOptions {
  // Keeps the root above 0 in rows of equal elements.
  double epsilon = detail_defaults::value(&LayerNormOptions::epsilon, 1e-5);
  std::string_view name = "layer_norm";
};

// Does the same as a layer with the trainable variables "<name>/scale", initially 1, and "<name>/offset", initially 0.
// The last dimension must be known.
inline Output layer_norm(const Output& x, const LayerNormOptions& options) {
  if (x.rank() < 1 || x.dim(-1) < 0)
    fail(Code::kInvalidArgument,
         "layer_norm '" + std::string(options.name) + "': " + x.text() + " must have a known last dimension");
  const Graph g = x.graph();
  const auto scope = g.scope(options.name);
  const Dims dims{x.dim(-1)};
  const Output scale = variable(g, "scale", ones(g, dims, x.dtype()));
  const Output offset = variable(g, "offset", zeros(g, dims, x.dtype()));
  return layer_norm(x, scale, offset, options.epsilon);
}
// Does the same with the default options.
inline Output layer_norm(const Output& x) { return layer_norm(x, LayerNormOptions()); }

// Options of a batch norm. momentum and epsilon have the defaults of tf.layers.batch_normalization.
struct BatchNormOptions {
  // The fraction of the moving averages that each step keeps. After 300 steps they still contain 5 % of the initial
  // values: use 0.9 for short runs.
  double momentum = detail_defaults::value(&BatchNormOptions::momentum, 0.99);
  // Added to the variance; above 0.
  double epsilon = detail_defaults::value(&BatchNormOptions::epsilon, 1e-3);
  // The place of the channels: the last dimension, or with "NCHW" dimension 1 of 4.
  std::string_view data_format = detail_defaults::value(&BatchNormOptions::data_format, "NHWC");
  std::string_view name = "batch_norm";
};

// (x - mean) / sqrt(variance + epsilon) * scale + offset for each channel of x (Ioffe and Szegedy 2015). Channels are
// its last dimension, or dimension 1 with NCHW. x has at least two dimensions, and its number of channels is known.
//
// In training, mean and variance are those of the batch. The operations in the collection "update_ops", which the
// host's train operation runs, move the averages towards them. Otherwise the averages are used. So build the
// evaluation's graph with training false; a batch of one example works there.
//
// Variables of the dtype of x, [channels]: trainable "<name>/scale", initially 1, and "<name>/offset", initially 0.
// Saved but not trainable: "<name>/moving_mean", initially 0, and "<name>/moving_variance", initially 1. The moving
// variance is over n - 1, like TensorFlow's. The name is made unique.
inline Output batch_norm(const Output& x, bool training, const BatchNormOptions& options = {}) {
  const std::int64_t channels = x.rank() < 2 ? -1 : x.dim(options.data_format == "NCHW" ? 1 : -1);
  if (channels < 0)
    fail(Code::kInvalidArgument, "batch_norm '" + std::string(options.name) + "': " + x.text() +
                                     " must have at least two dimensions and a known number of channels");
  const Graph g = x.graph();
  const auto scope = g.scope(options.name);
  const Dims dims{channels};
  const Output scale = variable(g, "scale", ones(g, dims, x.dtype()));
  const Output offset = variable(g, "offset", zeros(g, dims, x.dtype()));
  const Output mean = variable(g, "moving_mean", zeros(g, dims, x.dtype()), VariableKind::kGlobal);
  const Output variance = variable(g, "moving_variance", ones(g, dims, x.dtype()), VariableKind::kGlobal);
  NodeBuilder node = g.node("FusedBatchNorm").in(x).in(scale).in(offset);
  if (!training) node.in(mean).in(variance);
  const Output y = node.attr("epsilon", options.epsilon)
                       .attr("data_format", options.data_format)
                       .attr("is_training", training)
                       .output();
  if (!training) return y;
  const Output moved = scalar(g, 1 - options.momentum, x.dtype());
  g.collect(collections::kUpdateOps, assign_sub(mean, mul(sub(mean, y.sibling(1)), moved)));
  g.collect(collections::kUpdateOps, assign_sub(variance, mul(sub(variance, y.sibling(2)), moved)));
  return y;
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
