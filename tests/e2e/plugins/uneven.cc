// SPDX-License-Identifier: Apache-2.0
// An optimizer that several processes cannot have: each adds random numbers of its own to what all have summed.
#include <belay/ops/math.h>
#include <belay/ops/random.h>
#include <belay/ops/training.h>
#include <belay/plugin.h>

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

}  // namespace

BELAY_MODULE("1.0.0", Uneven)
