// SPDX-License-Identifier: Apache-2.0
// An optimizer and a schedule with a flaw of choice, for `belay validate` to find.
#include <belay/ops/math.h>
#include <belay/ops/training.h>
#include <belay/plugin.h>

#include <string>
#include <vector>

namespace {

namespace ops = belay::ops;
using belay::Output;

class FlawedOptimizer final : public belay::Optimizer {
 public:
  struct Options {
    belay::Str flaw = "none";
  };
  static constexpr auto about =
      belay::about("flawed_optimizer", "Momentum with a flaw", belay::option("flaw", &Options::flaw, "which"));
  explicit FlawedOptimizer(const Options& o) : flaw_(o.flaw.string()) {}

  void create_slots(const belay::OptimizerContext& o) override {
    if (flaw_ == "slots too late") return;
    if (flaw_ != "keeps something else") {
      sums_ = o.slots("Sum");
      return;
    }
    for (const Output& v : o.variables())
      sums_.push_back(
          ops::variable(o.graph(), "hidden", ops::fill(o.graph(), v.dims(), 0, v.dtype()), ops::VariableKind::kLocal));
  }
  void prepare(const belay::OptimizerContext& o) override {
    if (flaw_ == "slots too late") sums_ = o.slots("Sum");
  }
  Output apply(const belay::OptimizerContext& o, const belay::Update& u) override {
    if (flaw_ == "refuses float64" && o.dtype() == belay::DType::kFloat64)
      belay::fail(belay::Code::kUnimplemented, "it computes in float32 only");
    const Output gradient = flaw_ == "divides by the gradient" ? 1.0 / u.gradient : u.gradient;
    const Output sum = sums_[u.index] * 0.5 + gradient;
    const Output kept = ops::assign(sums_[u.index], sum);
    const Output step = sum * o.learning_rate();
    const Output moved = flaw_ == "climbs" ? ops::assign_add(u.variable, step) : ops::assign_sub(u.variable, step);
    return ops::group(o.graph(), {kept, moved});
  }
  bool takes_sparse() const override { return flaw_ == "none" || flaw_.rfind("sparse ", 0) == 0; }
  Output apply_sparse(const belay::OptimizerContext& o, const belay::SparseUpdate& u) override {
    if (flaw_ == "sparse moves all rows") return apply(o, {u.index, u.variable, o.gradients()[u.index], u.name});
    if (flaw_ == "sparse forgets the sum")
      return ops::sparse_apply_gradient_descent(u.variable, o.learning_rate(), u.gradient, u.name);
    return ops::sparse_apply_momentum(u.variable, sums_[u.index], o.learning_rate(), u.gradient, o.scalar(0.5), false,
                                      u.name);
  }

 private:
  const std::string flaw_;
  std::vector<Output> sums_;
};

// Has an option that no manifest can give.
class Unreachable final : public belay::Optimizer {
 public:
  struct Options {
    belay::Str flaw = "none";
    double clip_norm = 0;
  };
  static constexpr auto about =
      belay::about("unreachable", "Plain descent", belay::option("flaw", &Options::flaw, "of no meaning here"),
                   belay::option("clip_norm", &Options::clip_norm, "the host's key"));

  Output apply(const belay::OptimizerContext& o, const belay::Update& u) override {
    return ops::assign_sub(u.variable, u.gradient * o.learning_rate(), u.name);
  }
};

class FlawedSchedule final : public belay::Schedule {
 public:
  struct Options {
    belay::Str flaw = "none";
  };
  static constexpr auto about =
      belay::about("flawed_schedule", "A constant with a flaw", belay::option("flaw", &Options::flaw, "which"));
  explicit FlawedSchedule(const Options& o) : flaw_(o.flaw.string()) {}

  Output build(const belay::ScheduleContext& s) override {
    if (flaw_ == "falls below 0") return s.learning_rate() - s.step() * 1e-6;
    if (flaw_ == "divides by the step") return s.learning_rate() / s.step();
    if (flaw_ != "counts runs") return s.scalar(s.learning_rate());
    const Output count = ops::variable(s.graph(), "runs", belay::Tensor(0.0), ops::VariableKind::kGlobal);
    return s.learning_rate() + ops::assign_add(count, s.scalar(1));
  }

 private:
  const std::string flaw_;
};

}  // namespace

BELAY_MODULE("1.0.0", FlawedOptimizer, Unreachable, FlawedSchedule)
