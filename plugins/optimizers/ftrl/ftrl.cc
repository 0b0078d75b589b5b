// SPDX-License-Identifier: Apache-2.0
#include <belay/ops/training.h>
#include <belay/plugin.h>

#include <vector>

namespace {

namespace ops = belay::ops;
using belay::OptimizerContext;
using belay::Output;
using belay::SparseUpdate;
using belay::Update;

class Ftrl final : public belay::Optimizer {
 public:
  struct Options {
    double initial_accumulator_value = 0.1;
    double l1_regularization_strength = 0;
    double l2_regularization_strength = 0;
    double learning_rate_power = -0.5;
  };
  static constexpr auto about = belay::about(
      "ftrl", "Follows the (proximally) regularized leader, for sparse linear models",
      belay::option("initial_accumulator_value", &Options::initial_accumulator_value,
                    "initial value of the sum of squares, above 0")
          .range(1e-300, 1e30),
      belay::option("l1_regularization_strength", &Options::l1_regularization_strength,
                    "strength of the L1 regularization, on the sum of absolute values; it makes elements 0")
          .range(0, 1e30),
      belay::option("l2_regularization_strength", &Options::l2_regularization_strength,
                    "strength of the L2 regularization, on the sum of squares")
          .range(0, 1e30),
      belay::option("learning_rate_power", &Options::learning_rate_power,
                    "exponent of the sum of squares in the rate, at most 0")
          .range(-1e30, 0));

  explicit Ftrl(const Options& o) : o_(o) {}

  void create_slots(const OptimizerContext& o) override {
    accumulators_ = o.slots("Ftrl", o_.initial_accumulator_value);
    linears_ = o.slots("Ftrl_1");
  }
  Output apply(const OptimizerContext& o, const Update& u) override {
    return ops::apply_ftrl(u.variable, accumulators_[u.index], linears_[u.index], o.learning_rate(), u.gradient,
                           constants(), u.name);
  }
  bool takes_sparse() const override { return true; }
  Output apply_sparse(const OptimizerContext& o, const SparseUpdate& u) override {
    return ops::sparse_apply_ftrl(u.variable, accumulators_[u.index], linears_[u.index], o.learning_rate(), u.gradient,
                                  constants(), u.name);
  }

 private:
  ops::FtrlConstants constants() const {
    return {o_.l1_regularization_strength, o_.l2_regularization_strength, o_.learning_rate_power};
  }

  const Options o_;
  std::vector<Output> accumulators_, linears_;
};

}  // namespace

BELAY_MODULE("1.0.0", Ftrl)
