// SPDX-License-Identifier: Apache-2.0
// Updates whose rate adapts to each element: Adagrad, RMSProp, FTRL.
#include <cmath>
#include <string>

#include "runtime/ops/math/fused.h"
#include "runtime/ops/training/update_kernel.h"

namespace belay::runtime {
namespace {

struct AdagradInputs {
  static constexpr std::size_t kVar = 0, kAccum = 1, kRate = 2, kGrad = 3, kCount = 4;
};
struct RmsPropInputs {
  static constexpr std::size_t kVar = 0, kMs = 1, kMomentum = 2, kRate = 3, kGrad = 4, kCount = 5;
};
struct CenteredRmsPropInputs {
  static constexpr std::size_t kVar = 0, kMg = 1, kMs = 2, kMomentum = 3, kRate = 4, kGrad = 5, kCount = 6;
};
struct FtrlInputs {
  static constexpr std::size_t kVar = 0, kAccum = 1, kLinear = 2, kRate = 3, kGrad = 4, kCount = 5;
};

void infer_adagrad(InferContext& c) {
  infer_update(c, {AdagradInputs::kAccum, AdagradInputs::kGrad}, {AdagradInputs::kRate});
}
void infer_rms_prop(InferContext& c) {
  using In = RmsPropInputs;
  infer_update(c, {In::kMs, In::kMomentum, In::kGrad}, {In::kRate});
}
void infer_centered_rms_prop(InferContext& c) {
  using In = CenteredRmsPropInputs;
  infer_update(c, {In::kMg, In::kMs, In::kMomentum, In::kGrad}, {In::kRate});
}
void infer_ftrl(InferContext& c) {
  using In = FtrlInputs;
  infer_update(c, {In::kAccum, In::kLinear, In::kGrad}, {In::kRate});
}

void infer_sparse_adagrad(InferContext& c) {
  infer_sparse_update(c, {AdagradInputs::kAccum}, {AdagradInputs::kRate}, AdagradInputs::kGrad);
}
void infer_sparse_ftrl(InferContext& c) {
  using In = FtrlInputs;
  infer_sparse_update(c, {In::kAccum, In::kLinear}, {In::kRate}, In::kGrad);
}

// ---- one element

template <class T>
struct AdagradElement {
  T *var, *accum;
  const T* grad;
  T rate;
  [[gnu::always_inline]] void operator()(std::int64_t i) const {
    accum[i] += grad[i] * grad[i];
    var[i] -= rate * grad[i] / std::sqrt(accum[i]);
  }
};

template <class T>
struct RmsPropElement {
  T *var, *ms, *momentum_slot;
  const T* grad;
  T rate, keep, momentum, epsilon;  // keep: 1 - decay
  [[gnu::always_inline]] void operator()(std::int64_t i) const {
    const T g = grad[i];
    ms[i] += keep * (g * g - ms[i]);
    momentum_slot[i] = momentum * momentum_slot[i] + rate * g / std::sqrt(ms[i] + epsilon);
    var[i] -= momentum_slot[i];
  }
};

// Divides by the deviation instead of the root of the mean square.
template <class T>
struct CenteredRmsPropElement {
  T *var, *mg, *ms, *momentum_slot;
  const T* grad;
  T rate, keep, momentum, epsilon;
  [[gnu::always_inline]] void operator()(std::int64_t i) const {
    const T g = grad[i];
    ms[i] += keep * (g * g - ms[i]);
    mg[i] += keep * (g - mg[i]);
    momentum_slot[i] = momentum * momentum_slot[i] + rate * g / std::sqrt(ms[i] - mg[i] * mg[i] + epsilon);
    var[i] -= momentum_slot[i];
  }
};

// square_root: learning_rate_power is -0.5, and x^0.5 needs no pow.
template <class T, bool square_root>
struct FtrlElement {
  T *var, *accum, *linear;
  const T* grad;
  T rate, l1, l2, power;  // power: -learning_rate_power
  [[gnu::always_inline]] T raised(T x) const { return square_root ? std::sqrt(x) : std::pow(x, power); }
  [[gnu::always_inline]] void operator()(std::int64_t i) const {
    const T g = grad[i], sum = accum[i] + g * g;
    const T now = raised(sum), before = raised(accum[i]);
    const T line = linear[i] + g - (now - before) / rate * var[i];
    const T shrunk = (line < T(0) ? -l1 : l1) - line;
    const T absolute = line < T(0) ? -line : line;
    var[i] = absolute > l1 ? shrunk / (now / rate + 2 * l2) : T(0);
    linear[i] = line;
    accum[i] = sum;
  }
};

template <class Element, class T>
void apply(const Element& element, std::int64_t n, const T*) {
  hot<T, update_elements<Element>>(element, n);
}

// ---- kinds of updates

template <class T>
struct RateStep {
  T rate;
};

template <class T>
struct Adagrad {
  using In = AdagradInputs;
  using Step = RateStep<T>;
  explicit Adagrad(const Attrs&) {}
  Step prepare(void* const* in) const { return {*input<T>(in, In::kRate)}; }
  void update(const Step& s, void* const* in, std::int64_t at, const T* grad, std::int64_t n) const {
    apply(AdagradElement<T>{slot<T>(in, In::kVar, at), slot<T>(in, In::kAccum, at), grad, s.rate}, n, grad);
  }
};

template <class T>
struct RmsProp {
  using In = RmsPropInputs;
  using Step = RateStep<T>;
  explicit RmsProp(const Attrs& attrs)
      : keep_(static_cast<T>(1 - attrs.number("decay"))),
        momentum_(static_cast<T>(attrs.number("momentum"))),
        epsilon_(static_cast<T>(attrs.number("epsilon"))) {}
  Step prepare(void* const* in) const { return {*input<T>(in, In::kRate)}; }
  void update(const Step& s, void* const* in, std::int64_t at, const T* grad, std::int64_t n) const {
    apply(RmsPropElement<T>{slot<T>(in, In::kVar, at), slot<T>(in, In::kMs, at), slot<T>(in, In::kMomentum, at), grad,
                            s.rate, keep_, momentum_, epsilon_},
          n, grad);
  }

 private:
  T keep_, momentum_, epsilon_;
};

template <class T>
struct CenteredRmsProp {
  using In = CenteredRmsPropInputs;
  using Step = RateStep<T>;
  explicit CenteredRmsProp(const Attrs& attrs)
      : keep_(static_cast<T>(1 - attrs.number("decay"))),
        momentum_(static_cast<T>(attrs.number("momentum"))),
        epsilon_(static_cast<T>(attrs.number("epsilon"))) {}
  Step prepare(void* const* in) const { return {*input<T>(in, In::kRate)}; }
  void update(const Step& s, void* const* in, std::int64_t at, const T* grad, std::int64_t n) const {
    apply(CenteredRmsPropElement<T>{slot<T>(in, In::kVar, at), slot<T>(in, In::kMg, at), slot<T>(in, In::kMs, at),
                                    slot<T>(in, In::kMomentum, at), grad, s.rate, keep_, momentum_, epsilon_},
          n, grad);
  }

 private:
  T keep_, momentum_, epsilon_;
};

template <class T>
struct Ftrl {
  using In = FtrlInputs;
  using Step = RateStep<T>;
  explicit Ftrl(const Attrs& attrs)
      : l1_(static_cast<T>(attrs.number("l1"))),
        l2_(static_cast<T>(attrs.number("l2"))),
        power_(-attrs.number("learning_rate_power")) {}
  Step prepare(void* const* in) const { return {*input<T>(in, In::kRate)}; }
  void update(const Step& s, void* const* in, std::int64_t at, const T* grad, std::int64_t n) const {
    if (power_ == 0.5) {
      update_as<true>(s, in, at, grad, n);
    } else {
      update_as<false>(s, in, at, grad, n);
    }
  }

 private:
  template <bool square_root>
  void update_as(const Step& s, void* const* in, std::int64_t at, const T* grad, std::int64_t n) const {
    apply(FtrlElement<T, square_root>{slot<T>(in, In::kVar, at), slot<T>(in, In::kAccum, at),
                                      slot<T>(in, In::kLinear, at), grad, s.rate, l1_, l2_, static_cast<T>(power_)},
          n, grad);
  }

  T l1_, l2_;
  double power_;
};

std::vector<AttrDef> rms_prop_attrs() {
  return {float_attr("decay", "of the mean square").defaults_to(0.9),
          float_attr("momentum", "of the steps").defaults_to(0),
          float_attr("epsilon", "added below the root").defaults_to(1e-10)};
}
std::vector<AttrDef> ftrl_attrs() {
  return {float_attr("l1", "how strongly weights are drawn to exactly 0").defaults_to(0),
          float_attr("l2", "how strongly weights are kept small").defaults_to(0),
          float_attr("learning_rate_power", "the exponent by which the rate falls").defaults_to(-0.5)};
}

}  // namespace

std::span<const std::size_t> shared_adaptive_update_inputs(std::string_view op) {
  static constexpr std::size_t kAdagrad[] = {AdagradInputs::kRate};
  static constexpr std::size_t kRmsProp[] = {RmsPropInputs::kRate};
  static constexpr std::size_t kCentered[] = {CenteredRmsPropInputs::kRate};
  static constexpr std::size_t kFtrl[] = {FtrlInputs::kRate};
  if (op == "ApplyAdagrad") return kAdagrad;
  if (op == "ApplyRmsProp") return kRmsProp;
  if (op == "ApplyCenteredRmsProp") return kCentered;
  if (op == "ApplyFtrl") return kFtrl;
  return {};
}

void add_adaptive_training_ops(OpRegistry& r) {
  r.add(update("ApplyAdagrad", "accum += grad^2; var -= learning_rate * grad / sqrt(accum).",
               "var, accum, learning_rate, grad", AdagradInputs::kCount, 3, infer_adagrad, make_update<Adagrad>));
  r.add(update("ApplyRmsProp",
               "ms = decay * ms + (1 - decay) * grad^2; mom = momentum * mom + learning_rate * grad / sqrt(ms + "
               "epsilon); var -= mom.",
               "var, ms, mom, learning_rate, grad", RmsPropInputs::kCount, 7, infer_rms_prop, make_update<RmsProp>,
               rms_prop_attrs()));
  r.add(update("ApplyCenteredRmsProp",
               "As ApplyRmsProp, but divided by sqrt(ms - mg^2 + epsilon), mg = decay * mg + (1 - decay) * grad.",
               "var, mg, ms, mom, learning_rate, grad", CenteredRmsPropInputs::kCount, 15, infer_centered_rms_prop,
               make_update<CenteredRmsProp>, rms_prop_attrs()));
  r.add(update("ApplyFtrl",
               "Follow the regularized leader: sum = accum + "
               "grad^2; p = -learning_rate_power; linear += grad - (sum^p - accum^p) / learning_rate * var; var = "
               "(sign(linear) * l1 - linear) / (sum^p / learning_rate + 2 * l2) where |linear| > l1, else 0; accum = "
               "sum.",
               "var, accum, linear, learning_rate, grad", FtrlInputs::kCount, 7, infer_ftrl, make_update<Ftrl>,
               ftrl_attrs()));
  r.add(update("SparseApplyAdagrad", "ApplyAdagrad for the rows of var and accum at the indices (of SumIndexedSlices).",
               "var, accum, learning_rate, grad, indices", AdagradInputs::kCount + 1, 3, infer_sparse_adagrad,
               make_sparse_update<Adagrad>));
  r.add(
      update("SparseApplyFtrl",
             "ApplyFtrl for the rows of var, accum and linear at the indices (of SumIndexedSlices). The other rows of "
             "var stay as they are.",
             "var, accum, linear, learning_rate, grad, indices", FtrlInputs::kCount + 1, 7, infer_sparse_ftrl,
             make_sparse_update<Ftrl>, ftrl_attrs()));
}

}  // namespace belay::runtime
