// Gradient descent with momentum: sum = momentum * sum + gradient; variable -= learning_rate * sum.
#include <belay/ops/math.h>
#include <belay/plugin.h>

#include <vector>

namespace {

namespace ops = belay::ops;
using belay::Output;

class MyOptimizer final : public belay::Optimizer {
 public:
  struct Options {
    double momentum = 0.9;
  };
  static constexpr auto about =
      belay::about("my_optimizer", "Gradient descent along a decaying sum of the gradients",
                   belay::option("momentum", &Options::momentum, "share of the sum that a step keeps").range(0, 1));

  explicit MyOptimizer(const Options& options) : options_(options) {}

  // One variable beside each of the model's, in checkpoints as "dense/kernel/Sum".
  void create_slots(const belay::OptimizerContext& o) override { sums_ = o.slots("Sum"); }

  // An Output of a variable is its value before the step; all writes of a step happen together at its end.
  Output apply(const belay::OptimizerContext& o, const belay::Update& u) override {
    const Output sum = sums_[u.index] * options_.momentum + u.gradient;
    const Output kept = ops::assign(sums_[u.index], sum);
    const Output moved = ops::assign_sub(u.variable, sum * o.learning_rate(), u.name);
    return ops::group(o.graph(), {kept, moved});
  }

 private:
  const Options options_;
  std::vector<Output> sums_;
};

}  // namespace

BELAY_MODULE("0.1.0", MyOptimizer)
