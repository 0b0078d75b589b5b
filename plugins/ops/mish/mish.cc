// SPDX-License-Identifier: Apache-2.0
// Mish, x * tanh(log(1 + e^x)), and the kernel of its gradient.
//
// With n = e^x (e^x + 2) the tanh is n / (n + 2), so an element needs one exponential. Above kLinear it is 1 in
// float64, and e^x would grow too large for a square.
#include <belay/plugin.h>

#include <cmath>

namespace {

using belay::DType;

constexpr std::int64_t kGrain = 2048;  // number of elements that are worth a thread
constexpr double kLinear = 20;

template <class T>
T mish(T x) {
  if (x > static_cast<T>(kLinear)) return x;
  const T e = std::exp(x), n = e * (e + 2);
  return x * n / (n + 2);
}

template <class T>
T mish_slope(T x) {
  if (x > static_cast<T>(kLinear)) return 1;
  const T e = std::exp(x), n = e * (e + 2), t = n / (n + 2);
  return t + x * (1 - t * t) * e / (1 + e);
}

class Mish final : public belay::Op {
 public:
  static constexpr auto about = belay::about("mish", "The activation x * tanh(log(1 + e^x))");
  static constexpr auto traits = belay::OpTraits().elementwise().in_place();

  void infer(belay::OpShapes& shapes) const override {
    shapes.need_dtype(0, {DType::kFloat32, DType::kFloat64});
    shapes.output_like(0);
  }
  void run(belay::OpRun& run) override {
    if (run.input(0).dtype() == DType::kFloat32)
      run_as<float>(run);
    else
      run_as<double>(run);
  }
  void gradient(belay::OpGradient& g) const override {
    g.set(0, g.graph().node("MishGrad").in(g.input(0)).in(g.grad()).output());
  }

 private:
  template <class T>
  static void run_as(belay::OpRun& run) {
    const T* x = run.input(0).data<const T>();
    T* y = run.output(0).data<T>();
    run.parallel(static_cast<std::int64_t>(run.input(0).size()), kGrain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = mish(x[i]);
    });
  }
};

class MishGrad final : public belay::Op {
 public:
  static constexpr auto about = belay::about("mish_grad", "The gradient of mish, from x and the incoming gradient");
  static constexpr auto traits = belay::OpTraits().inputs(2).elementwise().in_place(0).in_place(1);

  void infer(belay::OpShapes& shapes) const override {
    shapes.need_dtype(0, {DType::kFloat32, DType::kFloat64});
    shapes.need_same_dtype(0, 1);
    shapes.need_same_shape(0, 1);
    shapes.output_like(0);
  }
  void run(belay::OpRun& run) override {
    if (run.input(0).dtype() == DType::kFloat32)
      run_as<float>(run);
    else
      run_as<double>(run);
  }

 private:
  template <class T>
  static void run_as(belay::OpRun& run) {
    const T *x = run.input(0).data<const T>(), *dy = run.input(1).data<const T>();
    T* dx = run.output(0).data<T>();
    run.parallel(static_cast<std::int64_t>(run.input(0).size()), kGrain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) dx[i] = mish_slope(x[i]) * dy[i];
    });
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Mish, MishGrad)
