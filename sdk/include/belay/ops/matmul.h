// Matrix products and the dense layer made of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "belay/graph.h"
#include "belay/ops/activations.h"
#include "belay/ops/random.h"
#include "belay/ops/shape.h"
#include "belay/ops/variables.h"

namespace belay {
inline namespace v0 {
namespace ops {

// a * b of two matrices, each transposed first if wanted.
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
// x plus a vector along its last dimension.
inline Output bias_add(const Output& x, const Output& bias, std::string_view name = {}) {
  return x.graph().node("BiasAdd", name).in(x).in(bias).output();
}

struct DenseOptions {
  Activation activation = Activation::kNone;
  // From graph, dims [features, units] and dtype; none: glorot_uniform.
  std::function<Output(const Graph&, const Dims&, DType)> kernel_initializer = nullptr;
  bool use_bias = true;  // begins at 0
  std::string_view name = "dense";
};

// activation(x * kernel + bias) of a matrix [examples, features], with the trainable variables "<name>/kernel" and
// "<name>/bias". The name is made unique.
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

}  // namespace ops
}  // namespace v0
}  // namespace belay
