// SPDX-License-Identifier: Apache-2.0
// Recurrent layers over whole sequences, of float32 or float64. One matrix product computes the inputs of all steps and
// gates first. The rest of each step runs for the examples in parallel. The graph has no loop: the number of steps may
// differ from run to run.
//
//   const ops::LstmResult r = ops::lstm(x, 128);        x [batch, time, features] -> r.y [batch, time, 128]
//   const Output last = ops::dense(r.h, classes);       r.h [batch, 128], the state after the last step
//
// For truncated backpropagation, the last states of one part are the first states of the next. They are ordinary inputs
// and outputs; ops::stop_gradient or a feed cuts the gradient. Sequences are not masked: every example of a padded
// batch runs through all steps. Pick the last real step from y with ops::gather, or weight the losses.
//
// Both can be differentiated once, with respect to x, the weights and the initial states.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "belay/graph.h"
#include "belay/ops/defaults.h"
#include "belay/ops/random.h"
#include "belay/ops/shape.h"
#include "belay/ops/variables.h"

namespace belay {
inline namespace v0 {
namespace ops {

// The result of a layer, of the dtype of x.
struct LstmResult {
  Output y;     // h of each step, in the order of x
  Output h, c;  // after the last step: [batch, units]
};
// Options of an LSTM, and of the layer's initial values.
struct LstmOptions {
  // If true, x and y are [time, batch, ...].
  bool time_major = detail_defaults::value(&LstmOptions::time_major, false);
  // The states before the first step, [batch, units]; empty: zeros. INVALID_ARGUMENT: only one of them is set.
  Output initial_h, initial_c;
  // The initial bias of the forget gates; the others begin at 0. So cells remember at first (Jozefowicz et al. 2015).
  // The variable holds it, unlike TensorFlow's BasicLSTMCell, which adds it in each step. For the layer only.
  double forget_bias = detail_defaults::value(&LstmOptions::forget_bias, 1);
  // The scope of the layer's variables.
  std::string_view name = "lstm";
};
// The result is like LstmResult; a GRU has one state.
struct GruResult {
  // h of each step: [batch, time, units], or [time, batch, units].
  Output y;
  // The state after the last step: [batch, units].
  Output h;
};
// The options are like LstmOptions.
struct GruOptions {
  // If true, x and y are [time, batch, ...].
  bool time_major = detail_defaults::value(&GruOptions::time_major, false);
  // The state before the first step, [batch, units]; empty: zeros.
  Output initial_h;
  std::string_view name = "gru";
};

// A long short-term memory with given weights (Hochreiter and Schmidhuber 1997, with forget gates). The gates are along
// the kernels' columns: input, forget, candidate, output. kernel [features, 4 * units], recurrent_kernel [units, 4 *
// units], bias [4 * units].
//
//   i, f, g, o = x W + h U + b, cut into four       of this step's x and the step's h before
//   c' = sigmoid(f) c + sigmoid(i) tanh(g)
//   h' = sigmoid(o) tanh(c')
inline LstmResult lstm(const Output& x, const Output& kernel, const Output& recurrent_kernel, const Output& bias,
                       const LstmOptions& options = {}) {
  if (static_cast<bool>(options.initial_h) != static_cast<bool>(options.initial_c))
    fail(Code::kInvalidArgument,
         "lstm '" + std::string(options.name) + "': give both initial_h and initial_c, or neither of them");
  NodeBuilder node = x.graph().node("Lstm");
  node.in(x).in(kernel).in(recurrent_kernel).in(bias).attr("time_major", options.time_major);
  if (options.initial_h) node.in(options.initial_h).in(options.initial_c);
  const Output y = node.output();
  return {y, y.sibling(1), y.sibling(2)};
}

// A gated recurrent unit with given weights (Cho et al. 2014). Its reset gate is after the recurrent product, as in
// cuDNN's and Keras' reset_after. The gates are along the kernels' columns: reset, update, candidate. kernel [features,
// 3 * units], recurrent_kernel [units, 3 * units], bias and recurrent_bias [3 * units].
//
//   r = sigmoid(x Wr + br + h Ur + cr)         z = sigmoid(x Wz + bz + h Uz + cz)
//   n = tanh(x Wn + bn + r (h Un + cn))        h' = (1 - z) n + z h
inline GruResult gru(const Output& x, const Output& kernel, const Output& recurrent_kernel, const Output& bias,
                     const Output& recurrent_bias, const GruOptions& options = {}) {
  NodeBuilder node = x.graph().node("Gru");
  node.in(x).in(kernel).in(recurrent_kernel).in(bias).in(recurrent_bias).attr("time_major", options.time_major);
  if (options.initial_h) node.in(options.initial_h);
  const Output y = node.output();
  return {y, y.sibling(1)};
}

namespace detail_recurrent {
inline void check(const char* layer, std::string_view name, const Output& x, std::int64_t units) {
  const std::string who = std::string(layer) + " '" + std::string(name) + "': ";
  if (x.rank() != 3 || x.dim(2) < 0)
    fail(Code::kInvalidArgument,
         who + x.text() + " must have 3 dimensions, batch, time and features, and its features must be known");
  if (units < 1) fail(Code::kInvalidArgument, who + "units must be at least 1, got " + std::to_string(units));
}
inline Output recurrent_kernel(const Graph& g, std::int64_t units, std::int64_t gates, DType dtype) {
  const double limit = 1 / std::sqrt(static_cast<double>(units));
  return variable(g, "recurrent_kernel", random_uniform(g, {units, gates * units}, -limit, limit, dtype));
}
}  // namespace detail_recurrent

// Does the same as a layer with 4 * units * (features + units + 1) numbers in trainable variables of the shapes above.
// They are "<name>/kernel" (glorot_uniform), "<name>/recurrent_kernel" (uniform within 1 / sqrt(units)) and
// "<name>/bias". x has 3 dimensions, and its features are known.
inline LstmResult lstm(const Output& x, std::int64_t units, const LstmOptions& options = {}) {
  detail_recurrent::check("lstm", options.name, x, units);
  const Graph g = x.graph();
  const auto scope = g.scope(options.name);
  const DType dtype = x.dtype();
  const Output kernel = variable(g, "kernel", glorot_uniform(g, {x.dim(2), 4 * units}, dtype));
  const Output recurrent = detail_recurrent::recurrent_kernel(g, units, 4, dtype);
  const Output begin =
      concat({zeros(g, {units}, dtype), fill(g, {units}, options.forget_bias, dtype), zeros(g, {2 * units}, dtype)}, 0);
  return lstm(x, kernel, recurrent, variable(g, "bias", begin), options);
}
// Does the same as a layer. Its variables are like those of lstm, with 3 instead of 4, and "<name>/recurrent_bias".
// Both biases begin at 0.
inline GruResult gru(const Output& x, std::int64_t units, const GruOptions& options = {}) {
  detail_recurrent::check("gru", options.name, x, units);
  const Graph g = x.graph();
  const auto scope = g.scope(options.name);
  const DType dtype = x.dtype();
  const Output kernel = variable(g, "kernel", glorot_uniform(g, {x.dim(2), 3 * units}, dtype));
  const Output recurrent = detail_recurrent::recurrent_kernel(g, units, 3, dtype);
  const Output bias = variable(g, "bias", zeros(g, {3 * units}, dtype));
  return gru(x, kernel, recurrent, bias, variable(g, "recurrent_bias", zeros(g, {3 * units}, dtype)), options);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
