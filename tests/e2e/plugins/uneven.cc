// SPDX-License-Identifier: Apache-2.0
// Optimizers that are another one on each process: one adds its own random numbers to the sums of all, the other fails
// on the chief alone, when all have the sums.
#include <belay/ops/math.h>
#include <belay/ops/random.h>
#include <belay/ops/training.h>
#include <belay/plugin.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

namespace ops = belay::ops;
using belay::OptimizerContext;
using belay::Output;
using belay::Update;

class Uneven final : public belay::Optimizer {
 public:
  static constexpr auto about = belay::about("uneven", "Steps that are other ones on each process");

  Output apply(const OptimizerContext& o, const Update& u) override {
    const Output noise = ops::random_normal(o.graph(), u.variable.dims(), 0, 1e-3);
    return ops::apply_gradient_descent(u.variable, o.learning_rate(), u.gradient + noise, u.name);
  }
};

// x as it is. Its second input is the global step.
class ChiefFails final : public belay::Op {
 public:
  struct Options {
    std::int64_t step = -1;
  };
  static constexpr auto about =
      belay::about("chief_fails", "Its input, but for the first time that rank 0 makes one step",
                   belay::option("step", &Options::step, "which one; UNAVAILABLE then"));
  static constexpr auto traits = belay::OpTraits().inputs(2);
  explicit ChiefFails(const Options& o) : step_(o.step) {}

  void infer(belay::OpShapes& shapes) const override {
    shapes.need_dtype(0, belay::DType::kFloat32);
    shapes.need_dtype(1, belay::DType::kInt64);
    shapes.output_like(0);
  }
  void run(belay::OpRun& run) override {
    std::memcpy(run.output(0).data<float>(), run.input(0).data<const float>(), run.input(0).size() * sizeof(float));
    const char* rank = std::getenv("RANK");  // NOLINT(concurrency-mt-unsafe)
    if (failed_ || run.input(1).data<const std::int64_t>()[0] + 1 != step_ || rank == nullptr || *rank != '0') return;
    failed_ = true;
    belay::fail(belay::Code::kUnavailable, "the chief does not make this step");
  }

 private:
  const std::int64_t step_;
  bool failed_ = false;
};

class ChiefBehind final : public belay::Optimizer {
 public:
  struct Options {
    std::int64_t step = 57;
  };
  static constexpr auto about =
      belay::about("chief_behind", "Steps, one of which the chief fails in when the others have its sums",
                   belay::option("step", &Options::step, "which one"));
  explicit ChiefBehind(const Options& o) : step_(o.step) {}

  Output apply(const OptimizerContext& o, const Update& u) override {
    const Output gradient =
        o.graph().node("ChiefFails", u.name + "/fails").in(u.gradient).in(o.global_step()).attr("step", step_).output();
    return ops::apply_gradient_descent(u.variable, o.learning_rate(), gradient, u.name);
  }

 private:
  const std::int64_t step_;
};

}  // namespace

BELAY_MODULE("1.0.0", Uneven, ChiefFails, ChiefBehind)
