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

class Momentum final : public belay::Optimizer {
 public:
  struct Options {
    double momentum = 0.9;
    bool use_nesterov = false;
  };
  static constexpr auto about =
      belay::about("momentum", "Gradient descent along a decaying sum of the gradients",
                   belay::option("momentum", &Options::momentum, "share of the sum that a step keeps").range(0, 1),
                   belay::option("use_nesterov", &Options::use_nesterov,
                                 "true: applies Nesterov's momentum, which looks ahead by one step of the sum"));

  explicit Momentum(const Options& o) : o_(o) {}

  void create_slots(const OptimizerContext& o) override { sums_ = o.slots("Momentum"); }
  void prepare(const OptimizerContext& o) override { momentum_ = o.scalar(o_.momentum, "momentum"); }
  Output apply(const OptimizerContext& o, const Update& u) override {
    return ops::apply_momentum(u.variable, sums_[u.index], o.learning_rate(), u.gradient, momentum_, o_.use_nesterov,
                               u.name);
  }
  bool takes_sparse() const override { return true; }
  Output apply_sparse(const OptimizerContext& o, const SparseUpdate& u) override {
    return ops::sparse_apply_momentum(u.variable, sums_[u.index], o.learning_rate(), u.gradient, momentum_,
                                      o_.use_nesterov, u.name);
  }

 private:
  const Options o_;
  std::vector<Output> sums_;
  Output momentum_;
};

}  // namespace

BELAY_MODULE("1.0.0", Momentum)
