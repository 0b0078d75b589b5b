// SPDX-License-Identifier: Apache-2.0
// The optimizers sgd and adagrad, but they take no sparse gradients: each gradient is dense.
#include <belay/ops/training.h>
#include <belay/plugin.h>

#include <vector>

namespace {

namespace ops = belay::ops;
using belay::OptimizerContext;
using belay::Output;
using belay::Update;

class DenseSgd final : public belay::Optimizer {
 public:
  static constexpr auto about = belay::about("dense_sgd", "Gradient descent for tests of sparse gradients");

  Output apply(const OptimizerContext& o, const Update& u) override {
    return ops::apply_gradient_descent(u.variable, o.learning_rate(), u.gradient, u.name);
  }
};

class DenseAdagrad final : public belay::Optimizer {
 public:
  static constexpr auto about = belay::about("dense_adagrad", "Adagrad for tests of sparse gradients");

  void create_slots(const OptimizerContext& o) override { accumulators_ = o.slots("Adagrad", 0.1); }
  Output apply(const OptimizerContext& o, const Update& u) override {
    return ops::apply_adagrad(u.variable, accumulators_[u.index], o.learning_rate(), u.gradient, u.name);
  }

 private:
  std::vector<Output> accumulators_;
};

}  // namespace

BELAY_MODULE("1.0.0", DenseSgd, DenseAdagrad)
