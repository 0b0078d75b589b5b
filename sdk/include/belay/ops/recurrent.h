// SPDX-License-Identifier: Apache-2.0
// Recurrent layers over whole sequences.
//
//   const ops::LstmResult r = ops::lstm(x, 128);        x [batch, time, features] -> r.y [batch, time, 128]
//
// Truncated backpropagation: give the last states of one part as the first ones of the next (they are ordinary inputs
// and outputs; ops::stop_gradient or a feed cuts the gradient).
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "belay/graph.h"
#include "belay/ops/random.h"
#include "belay/ops/shape.h"
#include "belay/ops/variables.h"

namespace belay {
inline namespace v0 {
namespace ops {

struct LstmResult {
  Output y;     // h of each step, in the order of x
  Output h, c;  // after the last step: [batch, units]
};
struct LstmOptions {
  bool time_major = false;      // x and y are [time, batch, ...]
  Output initial_h, initial_c;  // [batch, units]; empty: zeros. Both or none.
  double forget_bias = 1;       // where the bias of the forget gates begins; the others begin at 0
  std::string_view name = "lstm";
};
struct GruResult {
  Output y;
  Output h;
};
struct GruOptions {
  bool time_major = false;
  Output initial_h;
  std::string_view name = "gru";
};

// A long short-term memory with given weights. Gates along the kernels' columns: input, forget, candidate, output.
// kernel [features, 4 * units], recurrent_kernel [units, 4 * units], bias [4 * units].
//
//   i, f, o = sigmoid(...)   g = tanh(...)   c' = f c + i g   h' = o tanh(c')
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

// A gated recurrent unit with given weights, its reset gate behind the recurrent product. Gates along the kernels'
// columns: reset, update, candidate. kernel [features, 3 * units], recurrent_kernel [units, 3 * units], biases
// [3 * units].
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

// The same as a layer with the trainable variables "<name>/kernel" (glorot_uniform), "<name>/recurrent_kernel" (uniform
// within 1 / sqrt(units)) and "<name>/bias".
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
// Its variables: as those of lstm, and "<name>/recurrent_bias".
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
