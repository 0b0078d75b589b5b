// SPDX-License-Identifier: Apache-2.0
// A gated recurrent unit over whole sequences, built like lstm.cc. The reset gate acts behind the recurrent product:
//
//   r = sigmoid(x Wr + br + h Ur + cr)    z = sigmoid(x Wz + bz + h Uz + cz)
//   n = tanh(x Wn + bn + r (h Un + cn))   h' = (1 - z) n + z h
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

constexpr std::int64_t kGates = 3;  // reset, update, candidate: in this order along the kernels' columns
constexpr RecurrentCell kGru{
    .name = "a GRU", .gradient = "GruGrad", .kept = "candidate sums", .gates = kGates, .biases = 2, .states = 1};

// ---- forward

void infer_gru(InferContext& c) { infer_recurrent(c, kGru); }

// One step of some examples. Rows lie `stride` rows apart, those of the states before it `before_stride`.
template <class T>
struct Step {
  T* gates;            // in: the inputs' sums; out: the gates
  const T* recurrent;  // the sums of the states before, dense
  const T* h_before;   // null: zeros
  T *n_of, *h;         // n_of: h Un + cn, which the gradient needs
  std::int64_t rows, units, stride, before_stride;
};

template <class T>
[[gnu::always_inline]] inline void gru_step(const Step<T>& s) {
  const std::int64_t n = s.units;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    T* g = s.gates + r * s.stride * kGates * n;
    T *h = s.h + r * s.stride * n, *n_of = s.n_of + r * s.stride * n;
    const T* u = s.recurrent + r * kGates * n;
    const bool first = s.h_before == nullptr;
    const T* before = first ? h : s.h_before + r * s.before_stride * n;
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) {
      const T reset = sigmoid_of(g[j] + u[j]), update = sigmoid_of(g[n + j] + u[n + j]), sum = u[2 * n + j];
      const T candidate = tanh_of(g[2 * n + j] + reset * sum);
      g[j] = reset, g[n + j] = update, g[2 * n + j] = candidate;
      n_of[j] = sum;
      h[j] = candidate + update * ((first ? T(0) : before[j]) - candidate);
    }
  }
}
BELAY_HOT void gru_step_hot(const Step<float>& s) { gru_step(s); }

template <class T>
class GruKernel final : public Kernel {
 public:
  explicit GruKernel(const KernelSpec& spec)
      : sequence_(spec.inputs[0].dims, spec.attrs().flag("time_major")),
        units_(spec.inputs[2].dims[0]),
        has_state_(spec.inputs.size() == 6),
        threads_(spec.threads),
        sums_(make_product<T>({.m = sequence_.rows(), .n = kGates * units_, .k = spec.inputs[0].dims[2]}, true,
                              spec.precision, spec.threads, spec.inputs[1].version)),
        recurrent_(static_cast<std::size_t>(sequence_.batch * kGates * units_)) {}
  void run(void* const* in, void* const* out, const StepContext&) override {
    sums_->run(input<T>(in, 0), input<T>(in, 1), input<T>(in, 3), output<T>(out, 2));
    parallel_items(sequence_.batch, threads_,
                   [&](std::int64_t begin, std::int64_t end, int) { run_examples(in, out, begin, end - begin); });
  }

 private:
  void run_examples(void* const* in, void* const* out, std::int64_t b, std::int64_t rows) {
    const Sequence& s = sequence_;
    const std::int64_t gates = kGates * units_;
    T* recurrent = recurrent_.data() + b * gates;
    const T* before = has_state_ ? input<T>(in, 5) + b * units_ : nullptr;
    std::int64_t before_stride = 1;
    for (std::int64_t t = 0; t < s.time; ++t) {
      const std::int64_t at = s.row(b, t);
      for (std::int64_t r = 0; r < rows; ++r) std::copy_n(input<T>(in, 4), gates, recurrent + r * gates);
      if (before != nullptr)
        multiply(TileProduct<T>{.m = rows,
                                .n = gates,
                                .k = units_,
                                .a = before,
                                .a_row = before_stride * units_,
                                .a_column = 1,
                                .b = input<T>(in, 2),
                                .b_row = gates,
                                .c = recurrent,
                                .c_row = gates,
                                .add = true});
      const Step<T> step{.gates = output<T>(out, 2) + at * gates,
                         .recurrent = recurrent,
                         .h_before = before,
                         .n_of = output<T>(out, 3) + at * units_,
                         .h = output<T>(out, 0) + at * units_,
                         .rows = rows,
                         .units = units_,
                         .stride = s.example,
                         .before_stride = before_stride};
      if constexpr (std::is_same_v<T, float>) {
        gru_step_hot(step);
      } else {
        gru_step(step);
      }
      before = step.h;
      before_stride = s.example;
    }
    copy_rows(before, before_stride, rows, units_, output<T>(out, 1) + b * units_);
  }

  Sequence sequence_;
  std::int64_t units_;
  bool has_state_;
  int threads_;
  std::unique_ptr<Product<T>> sums_;
  std::vector<T> recurrent_;  // a step's sums of the states before it
};

// ---- backward

void grad_gru(GradContext& c) { differentiate_recurrent(c, kGru); }

enum In : std::size_t { kX, kKernel, kRecurrent, kY, kGatesOf, kSums, kDy, kDh, kInitialH };

void infer_gru_grad(InferContext& c) { infer_recurrent_gradient(c, kGru); }

template <class T>
struct BackStep {
  const T *gates, *n_of, *h_before;  // h_before null: zeros
  const T* dy;
  T *dx_sums, *dh_sums;           // the gradients of the inputs' sums and of the states'
  T *dh, *bias, *recurrent_bias;  // dh of the state, in: after the step, out: what passes the update gate; dense rows
  std::int64_t rows, units, stride, before_stride;
};

template <class T>
[[gnu::always_inline]] inline void gru_back_step(const BackStep<T>& s) {
  const std::int64_t n = s.units;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const T *g = s.gates + r * s.stride * kGates * n, *n_of = s.n_of + r * s.stride * n, *dy = s.dy + r * s.stride * n;
    T *dx = s.dx_sums + r * s.stride * kGates * n, *du = s.dh_sums + r * s.stride * kGates * n;
    T *dh_of = s.dh + r * n, *bias = s.bias + r * kGates * n, *recurrent_bias = s.recurrent_bias + r * kGates * n;
    const bool first = s.h_before == nullptr;
    const T* before = first ? n_of : s.h_before + r * s.before_stride * n;
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) {
      const T reset = g[j], update = g[n + j], candidate = g[2 * n + j];
      const T dh = dy[j] + dh_of[j];
      const T d_update = dh * ((first ? T(0) : before[j]) - candidate) * update * (T(1) - update);
      const T d_candidate = dh * (T(1) - update) * (T(1) - candidate * candidate);
      const T d_reset = d_candidate * n_of[j] * reset * (T(1) - reset), d_sum = d_candidate * reset;
      dx[j] = d_reset, dx[n + j] = d_update, dx[2 * n + j] = d_candidate;
      du[j] = d_reset, du[n + j] = d_update, du[2 * n + j] = d_sum;
      bias[j] += d_reset, bias[n + j] += d_update, bias[2 * n + j] += d_candidate;
      recurrent_bias[j] += d_reset, recurrent_bias[n + j] += d_update, recurrent_bias[2 * n + j] += d_sum;
      dh_of[j] = dh * update;
    }
  }
}
BELAY_HOT void gru_back_step_hot(const BackStep<float>& s) { gru_back_step(s); }

template <class T>
class GruGradKernel final : public Kernel {
 public:
  explicit GruGradKernel(const KernelSpec& spec)
      : sequence_(spec.inputs[kX].dims, spec.attrs().flag("time_major")),
        units_(spec.inputs[kRecurrent].dims[0]),
        has_state_(spec.inputs.size() > kInitialH),
        threads_(spec.threads),
        dx_sums_(size_of(sequence_.rows() * kGates * units_)),
        dh_sums_(dx_sums_.size()),
        bias_(size_of(sequence_.batch * kGates * units_)),
        recurrent_bias_(bias_.size()),
        products_(spec, sequence_, units_, kGates * units_) {}
  void run(void* const* in, void* const* out, const StepContext&) override {
    const std::int64_t gates = kGates * units_;
    const T* initial = has_state_ ? input<T>(in, kInitialH) : nullptr;
    const T* transposed = products_.transposed(in);
    std::fill(bias_.begin(), bias_.end(), T(0));
    std::fill(recurrent_bias_.begin(), recurrent_bias_.end(), T(0));
    std::copy_n(input<T>(in, kDh), sequence_.batch * units_, output<T>(out, 5));
    parallel_items(sequence_.batch, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      run_examples(in, initial, transposed, output<T>(out, 5), begin, end - begin);
    });
    products_.run(in, initial, dx_sums_.data(), dh_sums_.data(), out);
    add_rows(bias_.data(), sequence_.batch, gates, output<T>(out, 3));
    add_rows(recurrent_bias_.data(), sequence_.batch, gates, output<T>(out, 4));
  }

 private:
  static std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }
  void run_examples(void* const* in, const T* initial, const T* transposed, T* dh_of_all, std::int64_t b,
                    std::int64_t rows) {
    const Sequence& s = sequence_;
    const std::int64_t gates = kGates * units_;
    for (std::int64_t t = s.time; t-- > 0;) {
      const std::int64_t at = s.row(b, t);
      const T* before = initial == nullptr ? nullptr : initial + b * units_;
      if (t > 0) before = input<T>(in, kY) + s.row(b, t - 1) * units_;
      const BackStep<T> step{.gates = input<T>(in, kGatesOf) + at * gates,
                             .n_of = input<T>(in, kSums) + at * units_,
                             .h_before = before,
                             .dy = input<T>(in, kDy) + at * units_,
                             .dx_sums = dx_sums_.data() + at * gates,
                             .dh_sums = dh_sums_.data() + at * gates,
                             .dh = dh_of_all + b * units_,
                             .bias = bias_.data() + b * gates,
                             .recurrent_bias = recurrent_bias_.data() + b * gates,
                             .rows = rows,
                             .units = units_,
                             .stride = s.example,
                             .before_stride = t > 0 ? s.example : 1};
      if constexpr (std::is_same_v<T, float>) {
        gru_back_step_hot(step);
      } else {
        gru_back_step(step);
      }
      if (t > 0 || has_state_)
        multiply(TileProduct<T>{.m = rows,
                                .n = units_,
                                .k = gates,
                                .a = step.dh_sums,
                                .a_row = s.example * gates,
                                .a_column = 1,
                                .b = transposed,
                                .b_row = units_,
                                .c = step.dh,
                                .c_row = units_,
                                .add = true});
    }
  }

  Sequence sequence_;
  std::int64_t units_;
  bool has_state_;
  int threads_;
  std::vector<T> dx_sums_, dh_sums_;
  std::vector<T> bias_, recurrent_bias_;  // their gradients from each example
  RecurrentProducts<T> products_;
};

}  // namespace

void add_gru_ops(OpRegistry& r) {
  r.add({.name = "Gru",
         .doc = "A gated recurrent unit over sequences x [batch, time, features], its reset gate behind the recurrent "
                "product. Inputs: x, kernel, recurrent_kernel, bias, recurrent_bias, "
                "and for a state other than 0 initial_h. Gates along the kernels' columns: reset, update, candidate. "
                "Outputs: h of each step, the last h, and the gates and the candidates' recurrent sums of each step.",
         .inputs = "x, kernel, recurrent_kernel, bias, recurrent_bias, states...",
         .dtypes = "floats",
         .n_inputs = -1,
         .attrs = {time_major_attr()},
         .infer = infer_gru,
         .gradient = grad_gru,
         .kernel = make_typed<GruKernel>});
  r.add({.name = "GruGrad",
         .doc = "The gradients of Gru's inputs, that of x only with `wants_x`. Inputs: x, kernel, recurrent_kernel, h, "
                "gates and candidates' sums of each step, the incoming gradients of h of each step and of the last h, "
                "and the state before the first step, if there is one.",
         .inputs = "values...",
         .dtypes = "floats",
         .n_inputs = -1,
         .attrs = {time_major_attr(), wants_x_attr()},
         .infer = infer_gru_grad,
         .kernel = make_typed<GruGradKernel>});
}

}  // namespace belay::runtime
