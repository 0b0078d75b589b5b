// SPDX-License-Identifier: Apache-2.0
// A gated recurrent unit over whole sequences, built like lstm.cc. The reset gate acts after the recurrent product:
//
//   r = sigmoid(x Wr + br + h Ur + cr)    z = sigmoid(x Wz + bz + h Uz + cz)
//   n = tanh(x Wn + bn + r (h Un + cn))   h' = (1 - z) n + z h
#include <algorithm>
#include <vector>

#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/hot.h"
#include "runtime/ops/kernels/vector_math.h"
#include "runtime/ops/nn/recurrent.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kGruGates = 3;  // reset, update, candidate, in this order along the kernels' columns
constexpr RecurrentCell kGru{.name = "a GRU",
                             .gradient = "GruGrad",
                             .kept = "candidate sums",
                             .gates = kGruGates,
                             .biases = 2,
                             .states = 1,
                             .carries_h = true};

// ---- forward

void infer_gru(InferContext& c) { infer_recurrent(c, kGru); }

// One step of some examples. Rows lie `stride` rows apart, those of the earlier states `before_stride`.
template <class T>
struct GruStep {
  T* gates;            // in: the inputs' sums; out: the gates
  const T* recurrent;  // the sums of the earlier states, dense
  const T* h_before;   // null: zeros
  T *n_of, *h;         // n_of: h Un + cn, for the gradient
  std::int64_t rows, units, stride, before_stride;
};

template <class T>
[[gnu::always_inline]] inline void gru_step(const GruStep<T>& s) {
  const std::int64_t n = s.units;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    T* g = s.gates + r * s.stride * kGruGates * n;
    T *h = s.h + r * s.stride * n, *n_of = s.n_of + r * s.stride * n;
    const T* u = s.recurrent + r * kGruGates * n;
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

template <class T>
class GruKernel final : public RecurrentKernel<T> {
 public:
  explicit GruKernel(const KernelSpec& spec)
      : RecurrentKernel<T>(spec, kGru),
        recurrent_(static_cast<std::size_t>(this->size_.sequence.batch * this->size_.gates)) {}

 private:
  void step(void* const* in, void* const* out, const StepRows& s) override {
    const RecurrentSizes& size = this->size_;
    T* recurrent = recurrent_.data() + s.example * size.gates;
    for (std::int64_t r = 0; r < s.rows; ++r) std::copy_n(input<T>(in, 4), size.gates, recurrent + r * size.gates);
    this->add_recurrent_sums(in, out, s, recurrent, 1);
    const StatesBefore<T> h = this->before(in, out, s, 0);
    hot<T, gru_step<T>>(GruStep<T>{.gates = output<T>(out, 2) + s.at * size.gates,
                                   .recurrent = recurrent,
                                   .h_before = h.rows,
                                   .n_of = output<T>(out, 3) + s.at * size.units,
                                   .h = output<T>(out, 0) + s.at * size.units,
                                   .rows = s.rows,
                                   .units = size.units,
                                   .stride = s.stride,
                                   .before_stride = h.stride});
  }

  std::vector<T> recurrent_;  // a step's sums of the earlier states
};

// ---- backward

void grad_gru(GradContext& c) { differentiate_recurrent(c, kGru); }

void infer_gru_grad(InferContext& c) { infer_recurrent_gradient(c, kGru); }

template <class T>
struct GruBackStep {
  const T *gates, *n_of, *h_before;  // h_before null: zeros
  const T* dy;
  T *dx_sums, *dh_sums;           // gradients of the inputs' sums and of the states' sums
  T *dh, *bias, *recurrent_bias;  // dh: the state's gradient after the step; out: the part past the update gate; dense
  std::int64_t rows, units, stride, before_stride;
};

template <class T>
[[gnu::always_inline]] inline void gru_back_step(const GruBackStep<T>& s) {
  const std::int64_t n = s.units;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const T *g = s.gates + r * s.stride * kGruGates * n, *n_of = s.n_of + r * s.stride * n,
            *dy = s.dy + r * s.stride * n;
    T *dx = s.dx_sums + r * s.stride * kGruGates * n, *du = s.dh_sums + r * s.stride * kGruGates * n;
    T *dh_of = s.dh + r * n, *bias = s.bias + r * kGruGates * n, *recurrent_bias = s.recurrent_bias + r * kGruGates * n;
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

template <class T>
class GruGradKernel final : public RecurrentGradKernel<T> {
 public:
  explicit GruGradKernel(const KernelSpec& spec) : RecurrentGradKernel<T>(spec, kGru) {}

 private:
  using In = RecurrentGradIn;
  void step(void* const* in, void* const* out, const StepRows& s) override {
    const RecurrentSizes& size = this->size_;
    const T* initial = size.has_states ? input<T>(in, In::kStates + 1) : nullptr;
    const StatesBefore<T> h = size.before(s, input<T>(in, In::kY), initial);
    hot<T, gru_back_step<T>>(GruBackStep<T>{.gates = input<T>(in, In::kGates) + s.at * size.gates,
                                            .n_of = input<T>(in, In::kKept) + s.at * size.units,
                                            .h_before = h.rows,
                                            .dy = input<T>(in, In::kDy) + s.at * size.units,
                                            .dx_sums = this->x_sums(s),
                                            .dh_sums = this->h_sums(s),
                                            .dh = this->state_gradient(out, s, 0),
                                            .bias = this->bias(s, 0),
                                            .recurrent_bias = this->bias(s, 1),
                                            .rows = s.rows,
                                            .units = size.units,
                                            .stride = s.stride,
                                            .before_stride = h.stride});
  }
};

}  // namespace

void add_gru_ops(OpRegistry& r) {
  r.add({.name = "Gru",
         .doc = "A gated recurrent unit over sequences x [batch, time, features], its reset gate after the recurrent "
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
