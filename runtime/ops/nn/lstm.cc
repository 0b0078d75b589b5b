// SPDX-License-Identifier: Apache-2.0
// A long short-term memory over whole sequences. The inputs' products for all steps are one large product; a step then
// adds the small product of the states before it. Threads share the examples of the batch, each goes through all steps
// alone.
#include <algorithm>

#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/hot.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/kernels/product.h"
#include "runtime/ops/kernels/tile_product.h"
#include "runtime/ops/kernels/vector_math.h"
#include "runtime/ops/nn/recurrent.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kGates = 4;  // input, forget, candidate, output: in this order along the kernels' columns
constexpr RecurrentCell kLstm{
    .name = "an LSTM", .gradient = "LstmGrad", .kept = "cells", .gates = kGates, .biases = 1, .states = 2};

// ---- forward

void infer_lstm(InferContext& c) { infer_recurrent(c, kLstm); }

// One step of some examples. Rows lie `stride` rows apart, those of the states before it `before_stride`.
template <class T>
struct Step {
  T* gates;           // in: the sums; out: the gates
  const T* c_before;  // null: zeros
  T *c, *h;
  std::int64_t rows, units, stride, before_stride;
};

template <class T>
[[gnu::always_inline]] inline void lstm_step(const Step<T>& s) {
  const std::int64_t n = s.units;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    T* g = s.gates + r * s.stride * kGates * n;
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
BELAY_HOT void lstm_step_hot(const Step<float>& s) { lstm_step(s); }

template <class T>
class LstmKernel final : public Kernel {
 public:
  explicit LstmKernel(const KernelSpec& spec)
      : sequence_(spec.inputs[0].dims, spec.attrs().flag("time_major")),
        units_(spec.inputs[2].dims[0]),
        has_state_(spec.inputs.size() == 6),
        threads_(spec.threads),
        sums_(make_product<T>({.m = sequence_.rows(), .n = kGates * units_, .k = spec.inputs[0].dims[2]}, true,
                              spec.precision, spec.threads, spec.inputs[1].version)) {}
  void run(void* const* in, void* const* out, const StepContext&) override {
    sums_->run(input<T>(in, 0), input<T>(in, 1), input<T>(in, 3), output<T>(out, 3));
    parallel_items(sequence_.batch, threads_,
                   [&](std::int64_t begin, std::int64_t end, int) { run_examples(in, out, begin, end - begin); });
  }

 private:
  void run_examples(void* const* in, void* const* out, std::int64_t b, std::int64_t rows) const {
    const Sequence& s = sequence_;
    const std::int64_t gates = kGates * units_;
    const T* h_before = has_state_ ? input<T>(in, 4) + b * units_ : nullptr;
    const T* c_before = has_state_ ? input<T>(in, 5) + b * units_ : nullptr;
    std::int64_t before_stride = 1;
    for (std::int64_t t = 0; t < s.time; ++t) {
      const std::int64_t at = s.row(b, t);
      const Step<T> step{.gates = output<T>(out, 3) + at * gates,
                         .c_before = c_before,
                         .c = output<T>(out, 4) + at * units_,
                         .h = output<T>(out, 0) + at * units_,
                         .rows = rows,
                         .units = units_,
                         .stride = s.example,
                         .before_stride = before_stride};
      if (h_before != nullptr)
        multiply(TileProduct<T>{.m = rows,
                                .n = gates,
                                .k = units_,
                                .a = h_before,
                                .a_row = before_stride * units_,
                                .a_column = 1,
                                .b = input<T>(in, 2),
                                .b_row = gates,
                                .c = step.gates,
                                .c_row = s.example * gates,
                                .add = true});
      if constexpr (std::is_same_v<T, float>) {
        lstm_step_hot(step);
      } else {
        lstm_step(step);
      }
      h_before = step.h, c_before = step.c;
      before_stride = s.example;
    }
    copy_rows(h_before, before_stride, rows, units_, output<T>(out, 1) + b * units_);
    copy_rows(c_before, before_stride, rows, units_, output<T>(out, 2) + b * units_);
  }

  Sequence sequence_;
  std::int64_t units_;
  bool has_state_;
  int threads_;
  std::unique_ptr<Product<T>> sums_;
};

// ---- backward

void grad_lstm(GradContext& c) { differentiate_recurrent(c, kLstm); }

enum In : std::size_t { kX, kKernel, kRecurrent, kY, kGatesOf, kCells, kDy, kDh, kDc, kInitialH, kInitialC };

void infer_lstm_grad(InferContext& c) { infer_recurrent_gradient(c, kLstm); }

template <class T>
struct BackStep {
  const T *gates, *c, *c_before;  // c_before null: zeros
  const T* dy;
  T* sums;            // the gradient of the gates' sums
  T *dh, *dc, *bias;  // of the state, in: after the step, out: dc before it; bias, added to: dense rows
  std::int64_t rows, units, stride, before_stride;
};

template <class T>
[[gnu::always_inline]] inline void lstm_back_step(const BackStep<T>& s) {
  const std::int64_t n = s.units;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const T *g = s.gates + r * s.stride * kGates * n, *c = s.c + r * s.stride * n, *dy = s.dy + r * s.stride * n;
    T* sums = s.sums + r * s.stride * kGates * n;
    T *dh_of = s.dh + r * n, *dc_of = s.dc + r * n, *bias = s.bias + r * kGates * n;
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
BELAY_HOT void lstm_back_step_hot(const BackStep<float>& s) { lstm_back_step(s); }

template <class T>
class LstmGradKernel final : public Kernel {
 public:
  explicit LstmGradKernel(const KernelSpec& spec)
      : sequence_(spec.inputs[kX].dims, spec.attrs().flag("time_major")),
        units_(spec.inputs[kRecurrent].dims[0]),
        has_state_(spec.inputs.size() > kInitialH),
        threads_(spec.threads),
        sums_(size_of(sequence_.rows() * kGates * units_)),
        bias_(size_of(sequence_.batch * kGates * units_)),
        products_(spec, sequence_, units_, kGates * units_) {}
  void run(void* const* in, void* const* out, const StepContext&) override {
    const T* transposed = products_.transposed(in);
    std::fill(bias_.begin(), bias_.end(), T(0));
    std::copy_n(input<T>(in, kDh), sequence_.batch * units_, output<T>(out, 4));
    std::copy_n(input<T>(in, kDc), sequence_.batch * units_, output<T>(out, 5));
    parallel_items(sequence_.batch, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      run_examples(in, out, transposed, begin, end - begin);
    });
    products_.run(in, has_state_ ? input<T>(in, kInitialH) : nullptr, sums_.data(), sums_.data(), out);
    add_rows(bias_.data(), sequence_.batch, kGates * units_, output<T>(out, 3));
  }

 private:
  static std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }
  void run_examples(void* const* in, void* const* out, const T* transposed, std::int64_t b, std::int64_t rows) {
    const Sequence& s = sequence_;
    const std::int64_t gates = kGates * units_;
    const T* initial = has_state_ ? input<T>(in, kInitialC) + b * units_ : nullptr;
    T *dh = output<T>(out, 4) + b * units_, *dc = output<T>(out, 5) + b * units_;
    for (std::int64_t t = s.time; t-- > 0;) {
      const std::int64_t at = s.row(b, t);
      const T* c_before = t > 0 ? input<T>(in, kCells) + s.row(b, t - 1) * units_ : initial;
      const BackStep<T> step{.gates = input<T>(in, kGatesOf) + at * gates,
                             .c = input<T>(in, kCells) + at * units_,
                             .c_before = c_before,
                             .dy = input<T>(in, kDy) + at * units_,
                             .sums = sums_.data() + at * gates,
                             .dh = dh,
                             .dc = dc,
                             .bias = bias_.data() + b * gates,
                             .rows = rows,
                             .units = units_,
                             .stride = s.example,
                             .before_stride = t > 0 ? s.example : 1};
      if constexpr (std::is_same_v<T, float>) {
        lstm_back_step_hot(step);
      } else {
        lstm_back_step(step);
      }
      if (t > 0 || has_state_)
        multiply(TileProduct<T>{.m = rows,
                                .n = units_,
                                .k = gates,
                                .a = step.sums,
                                .a_row = s.example * gates,
                                .a_column = 1,
                                .b = transposed,
                                .b_row = units_,
                                .c = dh,
                                .c_row = units_});
    }
  }

  Sequence sequence_;
  std::int64_t units_;
  bool has_state_;
  int threads_;
  std::vector<T> sums_;  // the gradients of the gates' sums
  std::vector<T> bias_;  // the bias's gradient from each example: its sum is the same at any number of threads
  RecurrentProducts<T> products_;
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
