// SPDX-License-Identifier: Apache-2.0
// Matrix products, and the dense layer. All take floats (float32 or float64), both operands of one dtype.
//
//   Output h = ops::dense(x, 128, {.activation = ops::Activation::kRelu, .name = "hidden"});   [batch, 128]
//   Output logits = ops::dense(h, 10);                                                         [batch, 10]
//
// In float32 one kernel computes a matmul, its bias_add and the relu, sigmoid or tanh after it. With [session]
// precision "bf16" large float32 products round their operands to bfloat16 and add up in float32. Inner dimensions that
// differ are INVALID_ARGUMENT: while the graph is built if they are known, else in the run.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "belay/graph.h"
#include "belay/ops/activations.h"
#include "belay/ops/defaults.h"
#include "belay/ops/random.h"
#include "belay/ops/shape.h"
#include "belay/ops/variables.h"

namespace belay {
inline namespace v0 {
namespace ops {

// a * b of two matrices: [m, k] times [k, n] is [m, n]. The flags transpose an operand first (a is then [k, m]). Its
// gradients are two products of the same kind, with matching flags.
//
//   ops::matmul(a, b, true)             a [k, m], b [k, n] -> [m, n]
//   ops::matmul(a, b, false, true)      a [m, k], b [n, k] -> [m, n]
//
// For more dimensions use batch_matmul, or dense_last for a layer.
inline Output matmul(const Output& a, const Output& b, bool transpose_a = false, bool transpose_b = false,
                     std::string_view name = {}) {
  return a.graph()
      .node("MatMul", name)
      .in(a)
      .in(b)
      .attr("transpose_a", transpose_a)
      .attr("transpose_b", transpose_b)
      .output();
}
// The products of the matrices in the last two dimensions; the flags transpose them first. The dimensions before them
// broadcast by numpy's rule: [8, 1, 3, 4] and [5, 4, 2] make [8, 5, 3, 2]. Each operand has at least two dimensions.
// The gradient of a repeated operand is summed back to its shape.
inline Output batch_matmul(const Output& a, const Output& b, bool transpose_a = false, bool transpose_b = false,
                           std::string_view name = {}) {
  return a.graph()
      .node("BatchMatMul", name)
      .in(a)
      .in(b)
      .attr("transpose_a", transpose_a)
      .attr("transpose_b", transpose_b)
      .output();
}
// x [..., n] plus a vector [n] along its last dimension; numbers of one dtype. The gradient of bias is the sum over all
// other dimensions.
inline Output bias_add(const Output& x, const Output& bias, std::string_view name = {}) {
  return x.graph().node("BiasAdd", name).in(x).in(bias).output();
}

// Options of a dense layer. The defaults are those of TensorFlow's tf.layers.dense, or of a scope (defaults.h).
struct DenseOptions {
  // The function that is applied to x * kernel + bias. kNone: linear, as for logits.
  Activation activation = detail_defaults::value(&DenseOptions::activation, Activation::kNone);
  // Called once, in the layer's scope, with the graph, dims [features, units] and dtype of x; returns the initial
  // value. Empty: glorot_uniform.
  //
  //   options.kernel_initializer = [](const Graph& g, const Dims& d, DType t) { return ops::he_normal(g, d, t); };
  std::function<Output(const Graph&, const Dims&, DType)> kernel_initializer =
      detail_defaults::value(&DenseOptions::kernel_initializer, nullptr);
  // If true, the layer has a bias, initially 0. If false, there is no variable "<name>/bias". Use false before a batch
  // norm, which has an offset.
  bool use_bias = detail_defaults::value(&DenseOptions::use_bias, true);
  // The scope of the layer. A second layer of this name is "dense_1": name layers if checkpoints must find their
  // variables.
  std::string_view name = "dense";
};

// activation(x * kernel + bias) of a matrix x [examples, features]: [examples, units]. Its trainable variables, of the
// dtype of x, are "<name>/kernel" [features, units] and "<name>/bias" [units], initially 0. The name is made unique.
// INVALID_ARGUMENT: x is not a matrix with known features, or units is below 1.
inline Output dense(const Output& x, std::int64_t units, const DenseOptions& options = {}) {
  if (x.rank() != 2 || x.dim(1) < 0)
    fail(Code::kInvalidArgument,
         "dense '" + std::string(options.name) + "': " + x.text() +
             " must be a matrix [examples, features] whose features are known; use ops::flatten "
             "or ops::reshape");
  if (units < 1)
    fail(Code::kInvalidArgument,
         "dense '" + std::string(options.name) + "': units must be at least 1, got " + std::to_string(units));
  const Graph g = x.graph();
  const auto scope = g.scope(options.name);
  const Dims dims{x.dim(1), units};
  const Output initial =
      options.kernel_initializer ? options.kernel_initializer(g, dims, x.dtype()) : glorot_uniform(g, dims, x.dtype());
  Output y = matmul(x, variable(g, "kernel", initial));
  if (options.use_bias) y = bias_add(y, variable(g, "bias", zeros(g, {units}, x.dtype())));
  return activate(y, options.activation);
}

// dense of the last dimension of x [..., features], as for a matrix of all its rows: [..., units]. At most one of the
// other dimensions may be unknown. Each row uses the same weights, for example over the time of [batch, time,
// features].
inline Output dense_last(const Output& x, std::int64_t units, const DenseOptions& options = {}) {
  if (x.rank() == 2) return dense(x, units, options);
  Dims dims = x.dims();
  int unknown = 0;
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) unknown += dims[i] < 0 ? 1 : 0;
  if (x.rank() < 1 || dims.back() < 0 || unknown > 1)
    fail(Code::kInvalidArgument, "dense_last '" + std::string(options.name) + "': " + x.text() +
                                     " must have a known last dimension, and of the others at most one unknown");
  const Output y = dense(reshape(x, {-1, dims.back()}), units, options);
  dims.back() = units;
  return reshape(y, dims);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
