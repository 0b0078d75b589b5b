// SPDX-License-Identifier: Apache-2.0
// Updates variables by their gradients: gradient descent, momentum, Adam. training_adaptive.cc has the other
// optimizers.
#include "belay/ops/training.h"

#include <cmath>
#include <string>

#include "runtime/ops/math/fused.h"
#include "runtime/ops/registry.h"
#include "runtime/ops/training/update_kernel.h"

namespace belay::runtime {
namespace {

// The index of each input in its operation, by name, and the number of inputs.
struct DescentInputs {
  static constexpr std::size_t kVar = 0, kRate = 1, kGrad = 2, kCount = 3;
};
struct MomentumInputs {
  static constexpr std::size_t kVar = 0, kAccum = 1, kRate = 2, kGrad = 3, kMomentum = 4, kCount = 5;
};
struct AdamInputs {
  static constexpr std::size_t kVar = 0, kM = 1, kV = 2, kBeta1Power = 3, kBeta2Power = 4, kRate = 5, kGrad = 6,
                               kCount = 7;
};

// ---- shape rules

void infer_descent(InferContext& c) { infer_update(c, {DescentInputs::kGrad}, {DescentInputs::kRate}); }
void infer_momentum(InferContext& c) {
  using In = MomentumInputs;
  infer_update(c, {In::kAccum, In::kGrad}, {In::kRate, In::kMomentum});
}
void infer_adam(InferContext& c) {
  using In = AdamInputs;
  infer_update(c, {In::kM, In::kV, In::kGrad}, {In::kBeta1Power, In::kBeta2Power, In::kRate});
}
void infer_sparse_descent(InferContext& c) { infer_sparse_update(c, {}, {DescentInputs::kRate}, DescentInputs::kGrad); }
void infer_sparse_momentum(InferContext& c) {
  using In = MomentumInputs;
  infer_sparse_update(c, {In::kAccum}, {In::kRate, In::kMomentum}, In::kGrad);
}
void infer_sparse_adam(InferContext& c) {
  using In = AdamInputs;
  infer_sparse_update(c, {In::kM, In::kV}, {In::kBeta1Power, In::kBeta2Power, In::kRate}, In::kGrad);
}

// ---- loops over one variable

template <class T>
[[gnu::always_inline]] inline void descend(T* var, const T* grad, std::int64_t n, T rate) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) var[i] -= rate * grad[i];
}

template <class T>
[[gnu::always_inline]] inline void descend_with_momentum(T* var, T* accum, const T* grad, std::int64_t n, T rate,
                                                         T momentum, bool nesterov) {
  if (nesterov) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      accum[i] = momentum * accum[i] + grad[i];
      var[i] -= rate * grad[i] + rate * momentum * accum[i];
    }
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      accum[i] = momentum * accum[i] + grad[i];
      var[i] -= rate * accum[i];
    }
  }
}

template <class T>
struct AdamStep {
  T rate;          // corrected, since the moments begin at 0
  T decay;         // learning_rate * weight_decay
  T keep1, keep2;  // 1 - beta
  T epsilon;
};
template <bool decays, class T>
[[gnu::always_inline]] inline void adam(T* var, T* m, T* v, const T* grad, std::int64_t n, AdamStep<T> s) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = grad[i];
    m[i] += s.keep1 * (g - m[i]);
    v[i] += s.keep2 * (g * g - v[i]);
    const T kept = decays ? var[i] - s.decay * var[i] : var[i];
    var[i] = kept - s.rate * m[i] / (std::sqrt(v[i]) + s.epsilon);
  }
}

// ---- kinds of updates

template <class T>
struct Descent {
  using In = DescentInputs;
  struct Step {
    T rate;
  };
  explicit Descent(const Attrs&) {}
  Step prepare(void* const* in) const { return {*input<T>(in, In::kRate)}; }
  void update(const Step& s, void* const* in, std::int64_t at, const T* grad, std::int64_t n) const {
    T* var = slot<T>(in, In::kVar, at);
    hot<T, descend<T>>(var, grad, n, s.rate);
  }
};

template <class T>
struct Momentum {
  using In = MomentumInputs;
  struct Step {
    T rate, momentum;
  };
  explicit Momentum(const Attrs& attrs) : nesterov_(attrs.flag("use_nesterov")) {}
  Step prepare(void* const* in) const { return {*input<T>(in, In::kRate), *input<T>(in, In::kMomentum)}; }
  void update(const Step& s, void* const* in, std::int64_t at, const T* grad, std::int64_t n) const {
    T *var = slot<T>(in, In::kVar, at), *accum = slot<T>(in, In::kAccum, at);
    hot<T, descend_with_momentum<T>>(var, accum, grad, n, s.rate, s.momentum, nesterov_);
  }

 private:
  bool nesterov_;
};

template <class T>
struct Adam {
  using In = AdamInputs;
  using Step = AdamStep<T>;
  explicit Adam(const Attrs& attrs)
      : beta1_(static_cast<T>(attrs.number("beta1"))),
        beta2_(static_cast<T>(attrs.number("beta2"))),
        epsilon_(static_cast<T>(attrs.number("epsilon"))),
        weight_decay_(attrs.number("weight_decay")) {}
  Step prepare(void* const* in) const {
    const double power1 = *input<T>(in, In::kBeta1Power), power2 = *input<T>(in, In::kBeta2Power);
    const double rate = *input<T>(in, In::kRate) * std::sqrt(1 - power2) / (1 - power1);
    return {static_cast<T>(rate), static_cast<T>(*input<T>(in, In::kRate) * weight_decay_), 1 - beta1_, 1 - beta2_,
            epsilon_};
  }
  void update(const Step& s, void* const* in, std::int64_t at, const T* grad, std::int64_t n) const {
    T *var = slot<T>(in, In::kVar, at), *m = slot<T>(in, In::kM, at), *v = slot<T>(in, In::kV, at);
    weight_decay_ != 0 ? hot<T, adam<true, T>>(var, m, v, grad, n, s) : hot<T, adam<false, T>>(var, m, v, grad, n, s);
  }

 private:
  T beta1_, beta2_, epsilon_;  // betas are rounded like the variables with their powers
  double weight_decay_;
};

}  // namespace

void infer_update(InferContext& c, const std::vector<std::size_t>& slots, const std::vector<std::size_t>& scalars) {
  c.need_float(0);
  for (const std::size_t i : slots) {
    c.need_same_dtype(0, i);
    if (!Shape::compatible(c.shape(0), c.shape(i)))
      c.fail(c.input_text(i) + " must have the shape of the variable, " + c.input_text(0));
  }
  for (const std::size_t i : scalars) {
    c.need_same_dtype(0, i);
    c.need_scalar(i);
  }
  c.output(c.dtype(0), c.shape(0));
}

void infer_sparse_update(InferContext& c, const std::vector<std::size_t>& slots,
                         const std::vector<std::size_t>& scalars, std::size_t grad) {
  infer_update(c, slots, scalars);
  const std::size_t indices = c.n_inputs() - 1;
  c.need_same_dtype(0, grad);
  c.need_dtype(indices, DType::kInt64);
  c.need_rank(indices, 1);
  if (!c.shape(0).has_rank()) return;
  if (c.shape(0).rank() == 0) c.fail(c.input_text(0) + " must have at least one dimension");
  Shape wanted = c.shape(0);
  wanted.set_dim(0, c.shape(indices).has_rank() ? c.shape(indices).dim(0) : -1);
  if (!Shape::compatible(wanted, c.shape(grad)))
    c.fail(c.input_text(grad) + " must have the shape " + wanted.text() + ": a row of the variable for each index");
}

OpDef update(const char* name, const char* doc, const char* inputs, int n_inputs, std::uint32_t ref_inputs,
             void (*infer)(InferContext&), std::unique_ptr<Kernel> (*kernel)(const KernelSpec&),
             std::vector<AttrDef> attrs) {
  return {.name = name,
          .doc = doc,
          .inputs = inputs,
          .dtypes = "floats",
          .n_inputs = n_inputs,
          .attrs = std::move(attrs),
          .effect = Effect::kWrite,
          .ref_inputs = ref_inputs,
          .infer = infer,
          .stops_gradient = true,
          .kernel = kernel};
}

std::span<const std::size_t> shared_update_inputs(std::string_view op) {
  static constexpr std::size_t kDescent[] = {DescentInputs::kRate};
  static constexpr std::size_t kMomentum[] = {MomentumInputs::kRate, MomentumInputs::kMomentum};
  static constexpr std::size_t kAdam[] = {AdamInputs::kBeta1Power, AdamInputs::kBeta2Power, AdamInputs::kRate};
  if (op == "ApplyGradientDescent") return kDescent;
  if (op == "ApplyMomentum") return kMomentum;
  if (op == "ApplyAdam") return kAdam;
  return shared_adaptive_update_inputs(op);
}

namespace {

std::vector<AttrDef> adam_attrs() {
  return {float_attr("beta1", "of the mean of the gradients").defaults_to(0.9),
          float_attr("beta2", "of the mean of their squares").defaults_to(0.999),
          float_attr("epsilon", "added to the divisor").defaults_to(1e-8),
          float_attr("weight_decay", "the share of a weight that is subtracted").defaults_to(0)};
}

void add_sparse_training_ops(OpRegistry& r) {
  r.add(update("SparseApplyGradientDescent",
               "ApplyGradientDescent for the rows of var at the indices (of SumIndexedSlices).",
               "var, learning_rate, grad, indices", DescentInputs::kCount + 1, 1, infer_sparse_descent,
               make_sparse_update<Descent>));
  r.add(update("SparseApplyMomentum",
               "ApplyMomentum for the rows of var and accum at the indices (of SumIndexedSlices). The other rows of "
               "accum do not decay.",
               "var, accum, learning_rate, grad, momentum, indices", MomentumInputs::kCount + 1, 3,
               infer_sparse_momentum, make_sparse_update<Momentum>,
               {bool_attr("use_nesterov", "Nesterov's momentum")}));
  r.add(update("SparseApplyAdam",
               "ApplyAdam for the rows of var, m and v at the indices (of SumIndexedSlices): lazy Adam. The moments of "
               "the other rows do not decay.",
               "var, m, v, beta1_power, beta2_power, learning_rate, grad, indices", AdamInputs::kCount + 1, 7,
               infer_sparse_adam, make_sparse_update<Adam>, adam_attrs()));
}

}  // namespace

void add_training_ops(OpRegistry& r) {
  r.add(update("ApplyGradientDescent", "var -= learning_rate * grad.", "var, learning_rate, grad",
               DescentInputs::kCount, 1, infer_descent, make_update<Descent>));
  r.add(update("ApplyMomentum",
               "accum = momentum * accum + grad; var -= learning_rate * accum, or with `use_nesterov` learning_rate * "
               "(grad + momentum * accum).",
               "var, accum, learning_rate, grad, momentum", MomentumInputs::kCount, 3, infer_momentum,
               make_update<Momentum>, {bool_attr("use_nesterov", "Nesterov's momentum")}));
  r.add(update("ApplyAdam", "Adam; with `weight_decay` AdamW, which also subtracts learning_rate * weight_decay * var.",
               "var, m, v, beta1_power, beta2_power, learning_rate, grad", AdamInputs::kCount, 7, infer_adam,
               make_update<Adam>, adam_attrs()));
  add_sparse_training_ops(r);
  add_adaptive_training_ops(r);
}

}  // namespace belay::runtime
