// SPDX-License-Identifier: Apache-2.0
#include <belay/ops/training.h>
#include <belay/plugin.h>

namespace {

namespace ops = belay::ops;
using belay::OptimizerContext;
using belay::Output;
using belay::SparseUpdate;
using belay::Update;

class Sgd final : public belay::Optimizer {
 public:
  static constexpr auto about = belay::about("sgd", "Plain gradient descent");

  Output apply(const OptimizerContext& o, const Update& u) override {
    return ops::apply_gradient_descent(u.variable, o.learning_rate(), u.gradient, u.name);
  }
  bool takes_sparse() const override { return true; }
  Output apply_sparse(const OptimizerContext& o, const SparseUpdate& u) override {
    return ops::sparse_apply_gradient_descent(u.variable, o.learning_rate(), u.gradient, u.name);
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Sgd)
