// SPDX-License-Identifier: Apache-2.0
// A long short-term memory over whole sequences. One large product computes the inputs' products for all steps. A step
// then adds the small product of the earlier states. Threads share the examples of the batch; each example goes through
// all steps alone.
#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/hot.h"
#include "runtime/ops/kernels/vector_math.h"
#include "runtime/ops/nn/recurrent.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kLstmGates = 4;  // input, forget, candidate, output, in this order along the kernels' columns
constexpr RecurrentCell kLstm{
    .name = "an LSTM", .gradient = "LstmGrad", .kept = "cells", .gates = kLstmGates, .biases = 1, .states = 2};

// ---- forward

void infer_lstm(InferContext& c) { infer_recurrent(c, kLstm); }

// One step of some examples. Rows lie `stride` rows apart, those of the earlier states `before_stride`.
template <class T>
struct LstmStep {
  T* gates;           // in: the sums; out: the gates
  const T* c_before;  // null: zeros
  T *c, *h;
  std::int64_t rows, units, stride, before_stride;
};

template <class T>
[[gnu::always_inline]] inline void lstm_step(const LstmStep<T>& s) {
  const std::int64_t n = s.units;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    T* g = s.gates + r * s.stride * kLstmGates * n;
    T *c = s.c + r * s.stride * n, *h = s.h + r * s.stride * n;
    const T* before = s.c_before + r * s.before_stride * n;
    const bool first = s.c_before == nullptr;
    if (first) before = c;
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) {
      const T in = sigmoid_of(g[j]), forget = sigmoid_of(g[n + j]);
      const T candidate = tanh_of(g[2 * n + j]), out = sigmoid_of(g[3 * n + j]);
      const T cell = in * candidate + (first ? T(0) : forget * before[j]);
      g[j] = in, g[n + j] = forget, g[2 * n + j] = candidate, g[3 * n + j] = out;
      c[j] = cell;
      h[j] = out * tanh_of(cell);
    }
  }
}

template <class T>
class LstmKernel final : public RecurrentKernel<T> {
 public:
  explicit LstmKernel(const KernelSpec& spec) : RecurrentKernel<T>(spec, kLstm) {}

 private:
  void step(void* const* in, void* const* out, const StepRows& s) override {
    const RecurrentSizes& size = this->size_;
    T* gates = output<T>(out, 3) + s.at * size.gates;
    this->add_recurrent_sums(in, out, s, gates, s.stride);
    const StatesBefore<T> c = this->before(in, out, s, 1);
    hot<T, lstm_step<T>>(LstmStep<T>{.gates = gates,
                                     .c_before = c.rows,
                                     .c = output<T>(out, 4) + s.at * size.units,
                                     .h = output<T>(out, 0) + s.at * size.units,
                                     .rows = s.rows,
                                     .units = size.units,
                                     .stride = s.stride,
                                     .before_stride = c.stride});
  }
};

// ---- backward

void grad_lstm(GradContext& c) { differentiate_recurrent(c, kLstm); }

void infer_lstm_grad(InferContext& c) { infer_recurrent_gradient(c, kLstm); }

template <class T>
struct LstmBackStep {
  const T *gates, *c, *c_before;  // c_before null: zeros
  const T* dy;
  T* sums;            // gradient of the gates' sums
  T *dh, *dc, *bias;  // dh, dc: gradients of the state after the step; out: dc before it; bias: added to; dense rows
  std::int64_t rows, units, stride, before_stride;
};

template <class T>
[[gnu::always_inline]] inline void lstm_back_step(const LstmBackStep<T>& s) {
  const std::int64_t n = s.units;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const T *g = s.gates + r * s.stride * kLstmGates * n, *c = s.c + r * s.stride * n, *dy = s.dy + r * s.stride * n;
    T* sums = s.sums + r * s.stride * kLstmGates * n;
    T *dh_of = s.dh + r * n, *dc_of = s.dc + r * n, *bias = s.bias + r * kLstmGates * n;
    const bool first = s.c_before == nullptr;
    const T* before = first ? c : s.c_before + r * s.before_stride * n;
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) {
      const T in = g[j], forget = g[n + j], candidate = g[2 * n + j], out = g[3 * n + j];
      const T tanh_c = tanh_of(c[j]), dh = dy[j] + dh_of[j];
      const T dc = dc_of[j] + dh * out * (T(1) - tanh_c * tanh_c);
      const T d_in = dc * candidate * in * (T(1) - in);
      const T d_forget = first ? T(0) : dc * before[j] * forget * (T(1) - forget);
      const T d_candidate = dc * in * (T(1) - candidate * candidate);
      const T d_out = dh * tanh_c * out * (T(1) - out);
      dc_of[j] = dc * forget;
      sums[j] = d_in, sums[n + j] = d_forget, sums[2 * n + j] = d_candidate, sums[3 * n + j] = d_out;
      bias[j] += d_in, bias[n + j] += d_forget, bias[2 * n + j] += d_candidate, bias[3 * n + j] += d_out;
    }
  }
}

template <class T>
class LstmGradKernel final : public RecurrentGradKernel<T> {
 public:
  explicit LstmGradKernel(const KernelSpec& spec) : RecurrentGradKernel<T>(spec, kLstm) {}

 private:
  using In = RecurrentGradIn;
  void step(void* const* in, void* const* out, const StepRows& s) override {
    const RecurrentSizes& size = this->size_;
    const T* cells = input<T>(in, In::kKept);
    const StatesBefore<T> c = size.before(s, cells, size.has_states ? input<T>(in, In::kStates + 3) : nullptr);
    hot<T, lstm_back_step<T>>(LstmBackStep<T>{.gates = input<T>(in, In::kGates) + s.at * size.gates,
                                              .c = cells + s.at * size.units,
                                              .c_before = c.rows,
                                              .dy = input<T>(in, In::kDy) + s.at * size.units,
                                              .sums = this->x_sums(s),
                                              .dh = this->state_gradient(out, s, 0),
                                              .dc = this->state_gradient(out, s, 1),
                                              .bias = this->bias(s, 0),
                                              .rows = s.rows,
                                              .units = size.units,
                                              .stride = s.stride,
                                              .before_stride = c.stride});
  }
};

}  // namespace

void add_lstm_ops(OpRegistry& r) {
  r.add({.name = "Lstm",
         .doc = "A long short-term memory over sequences x [batch, time, features]. Inputs: x, kernel, "
                "recurrent_kernel, bias, and for states other than 0 initial_h, initial_c. Gates along the kernels' "
                "columns: input, forget, candidate, output. Outputs: h of each step, the last h, "
                "the last c, and the gates and cells of each step.",
         .inputs = "x, kernel, recurrent_kernel, bias, states...",
         .dtypes = "floats",
         .n_inputs = -1,
         .attrs = {time_major_attr()},
         .infer = infer_lstm,
         .gradient = grad_lstm,
         .kernel = make_typed<LstmKernel>});
  r.add({.name = "LstmGrad",
         .doc =
             "The gradients of Lstm's inputs, that of x only with `wants_x`. Inputs: x, kernel, recurrent_kernel, h, "
             "gates and cells of each step, the incoming gradients of h of each step, of the last h and c, and the "
             "states before the first step, if there are any.",
         .inputs = "values...",
         .dtypes = "floats",
         .n_inputs = -1,
         .attrs = {time_major_attr(), wants_x_attr()},
         .infer = infer_lstm_grad,
         .kernel = make_typed<LstmGradKernel>});
}

}  // namespace belay::runtime
