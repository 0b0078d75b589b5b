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

class Adagrad final : public belay::Optimizer {
 public:
  struct Options {
    double initial_accumulator_value = 0.1;
  };
  static constexpr auto about =
      belay::about("adagrad", "Divides each element's step by the root of its gradients' sum of squares",
                   belay::option("initial_accumulator_value", &Options::initial_accumulator_value,
                                 "initial value of the sum of squares, above 0")
                       .range(1e-300, 1e30));

  explicit Adagrad(const Options& o) : o_(o) {}

  void create_slots(const OptimizerContext& o) override {
    accumulators_ = o.slots("Adagrad", o_.initial_accumulator_value);
  }
  Output apply(const OptimizerContext& o, const Update& u) override {
    return ops::apply_adagrad(u.variable, accumulators_[u.index], o.learning_rate(), u.gradient, u.name);
  }
  bool takes_sparse() const override { return true; }
  Output apply_sparse(const OptimizerContext& o, const SparseUpdate& u) override {
    return ops::sparse_apply_adagrad(u.variable, accumulators_[u.index], o.learning_rate(), u.gradient, u.name);
  }

 private:
  const Options o_;
  std::vector<Output> accumulators_;
};

}  // namespace

BELAY_MODULE("1.0.0", Adagrad)
