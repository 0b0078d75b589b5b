// Updates of variables by their gradients, one by one and for all variables of a kind in one pass.
#include "belay/ops/training.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/ops/dtypes.h"
#include "runtime/ops/fused.h"
#include "runtime/ops/hot.h"
#include "runtime/ops/parallel.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

// An update's inputs by name: where each stands in its operation, and how many there are.
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

// slots: inputs of the variable's shape besides input 0; scalars: the rest.
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
void infer_descent(InferContext& c) { infer_update(c, {DescentInputs::kGrad}, {DescentInputs::kRate}); }
void infer_momentum(InferContext& c) {
  using In = MomentumInputs;
  infer_update(c, {In::kAccum, In::kGrad}, {In::kRate, In::kMomentum});
}
void infer_adam(InferContext& c) {
  using In = AdamInputs;
  infer_update(c, {In::kM, In::kV, In::kGrad}, {In::kBeta1Power, In::kBeta2Power, In::kRate});
}

// ---- loops over one variable

template <class T>
[[gnu::always_inline]] inline void descend(T* var, const T* grad, std::int64_t n, T rate) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) var[i] -= rate * grad[i];
}
BELAY_HOT void descend_hot(float* var, const float* grad, std::int64_t n, float rate) { descend(var, grad, n, rate); }

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
BELAY_HOT void descend_with_momentum_hot(float* var, float* accum, const float* grad, std::int64_t n, float rate,
                                         float momentum, bool nesterov) {
  descend_with_momentum(var, accum, grad, n, rate, momentum, nesterov);
}

template <class T>
struct AdamStep {
  T rate;          // corrected for the moments' beginning at 0
  T keep1, keep2;  // 1 - beta
  T epsilon;
};
template <class T>
[[gnu::always_inline]] inline void adam(T* var, T* m, T* v, const T* grad, std::int64_t n, AdamStep<T> s) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = grad[i];
    m[i] += s.keep1 * (g - m[i]);
    v[i] += s.keep2 * (g * g - v[i]);
    var[i] -= s.rate * m[i] / (std::sqrt(v[i]) + s.epsilon);
  }
}
BELAY_HOT void adam_hot(float* var, float* m, float* v, const float* grad, std::int64_t n, AdamStep<float> s) {
  adam(var, m, v, grad, n, s);
}

// ---- kinds of updates: how many inputs one has, and what it does to a range of a variable's elements

template <class T>
T* slot(void* const* in, std::size_t i, std::int64_t at) {
  return static_cast<T*>(in[i]) + at;
}

template <class T>
struct Descent {
  using In = DescentInputs;
  struct Step {
    T rate;
  };
  explicit Descent(const Attrs&) {}
  Step prepare(void* const* in) const { return {*input<T>(in, In::kRate)}; }
  void update(const Step& s, void* const* in, std::int64_t at, std::int64_t n) const {
    T* var = slot<T>(in, In::kVar, at);
    const T* grad = input<T>(in, In::kGrad) + at;
    if constexpr (std::is_same_v<T, float>) {
      descend_hot(var, grad, n, s.rate);
    } else {
      descend(var, grad, n, s.rate);
    }
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
  void update(const Step& s, void* const* in, std::int64_t at, std::int64_t n) const {
    T *var = slot<T>(in, In::kVar, at), *accum = slot<T>(in, In::kAccum, at);
    const T* grad = input<T>(in, In::kGrad) + at;
    if constexpr (std::is_same_v<T, float>) {
      descend_with_momentum_hot(var, accum, grad, n, s.rate, s.momentum, nesterov_);
    } else {
      descend_with_momentum(var, accum, grad, n, s.rate, s.momentum, nesterov_);
    }
  }

 private:
  bool nesterov_;
};

template <class T>
struct Adam {
  using In = AdamInputs;
  using Step = AdamStep<T>;
  explicit Adam(const Attrs& attrs)
      : beta1_(static_cast<T>(attrs.number("beta1", 0.9))),
        beta2_(static_cast<T>(attrs.number("beta2", 0.999))),
        epsilon_(static_cast<T>(attrs.number("epsilon", 1e-8))) {}
  Step prepare(void* const* in) const {
    const double power1 = *input<T>(in, In::kBeta1Power), power2 = *input<T>(in, In::kBeta2Power);
    const double rate = *input<T>(in, In::kRate) * std::sqrt(1 - power2) / (1 - power1);
    return {static_cast<T>(rate), 1 - beta1_, 1 - beta2_, epsilon_};
  }
  void update(const Step& s, void* const* in, std::int64_t at, std::int64_t n) const {
    T *var = slot<T>(in, In::kVar, at), *m = slot<T>(in, In::kM, at), *v = slot<T>(in, In::kV, at);
    const T* grad = input<T>(in, In::kGrad) + at;
    if constexpr (std::is_same_v<T, float>) {
      adam_hot(var, m, v, grad, n, s);
    } else {
      adam(var, m, v, grad, n, s);
    }
  }

 private:
  T beta1_, beta2_, epsilon_;  // betas rounded as the variables that hold their powers
};

// Updates of one or more variables in one pass; their inputs follow each other. Threads share the elements of all of
// them.
template <class Update>
class UpdateKernel final : public Kernel {
 public:
  explicit UpdateKernel(const KernelSpec& spec) : update_(spec.attrs()), threads_(spec.threads) {
    for (std::size_t i = 0; i < spec.inputs.size(); i += In::kCount) {
      const Dims& var = spec.inputs[i + In::kVar].dims;
      const Dims& grad = spec.inputs[i + In::kGrad].dims;
      if (var != grad)
        fail(Code::kInvalidArgument, "the variable has shape " + dims_text(var) + ", its gradient " + dims_text(grad));
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + count_of(var));
    }
  }
  void run(void* const* in, void* const*, const StepContext&) override {
    const typename Update::Step step = update_.prepare(in);
    parallel_for(ends_.back(), kGrain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      std::size_t i = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin());
      for (; begin < end; ++i) {
        const std::int64_t first = i == 0 ? 0 : ends_[i - 1], last = std::min(end, ends_[i]);
        if (begin < last) update_.update(step, in + i * In::kCount, begin - first, last - begin);
        begin = last;
      }
    });
  }

 private:
  using In = typename Update::In;
  Update update_;
  std::vector<std::int64_t> ends_;  // where each variable ends in the row of all elements
  int threads_;
};

template <template <class> class Update>
std::unique_ptr<Kernel> make_update(const KernelSpec& spec) {
  return make_for(FloatTypes{}, spec.inputs[0].dtype,
                  [&]<class T>(std::type_identity<T>) { return std::make_unique<UpdateKernel<Update<T>>>(spec); });
}

OpDef update(const char* name, const char* doc, int n_inputs, std::uint32_t ref_inputs, void (*infer)(InferContext&),
             std::unique_ptr<Kernel> (*kernel)(const KernelSpec&)) {
  return {.name = name,
          .doc = doc,
          .n_inputs = n_inputs,
          .effect = Effect::kWrite,
          .ref_inputs = ref_inputs,
          .infer = infer,
          .stops_gradient = true,
          .kernel = kernel};
}

}  // namespace

std::span<const std::size_t> shared_update_inputs(std::string_view op) {
  static constexpr std::size_t kDescent[] = {DescentInputs::kRate};
  static constexpr std::size_t kMomentum[] = {MomentumInputs::kRate, MomentumInputs::kMomentum};
  static constexpr std::size_t kAdam[] = {AdamInputs::kBeta1Power, AdamInputs::kBeta2Power, AdamInputs::kRate};
  if (op == "ApplyGradientDescent") return kDescent;
  if (op == "ApplyMomentum") return kMomentum;
  if (op == "ApplyAdam") return kAdam;
  return {};
}

void add_training_ops(OpRegistry& r) {
  r.add(update("ApplyGradientDescent", "var -= learning_rate * grad. Inputs: var, learning_rate, grad.",
               DescentInputs::kCount, 1, infer_descent, make_update<Descent>));
  r.add(update("ApplyMomentum",
               "accum = momentum * accum + grad; var -= learning_rate * accum, or with `use_nesterov` learning_rate * "
               "(grad + momentum * accum). Inputs: var, accum, learning_rate, grad, momentum.",
               MomentumInputs::kCount, 3, infer_momentum, make_update<Momentum>));
  r.add(update("ApplyAdam",
               "Adam with the attributes `beta1`, `beta2`, `epsilon`. Inputs: var, m, v, beta1_power, beta2_power, "
               "learning_rate, grad.",
               AdamInputs::kCount, 7, infer_adam, make_update<Adam>));
}

}  // namespace belay::runtime
