// SPDX-License-Identifier: Apache-2.0
#include "../adam_rule.h"

namespace {

class Adam final : public belay::Optimizer {
 public:
  struct Options {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    bool lazy = false;
  };
  static constexpr auto about = belay::about(
      "adam", "Steps along the first moment of the gradients, divided by the root of the second one",
      belay::option("beta1", &Options::beta1, "share of the first moment that a step keeps, below 1")
          .range(0, 0.9999999999999999),
      belay::option("beta2", &Options::beta2, "share of the second moment that a step keeps, below 1")
          .range(0, 0.9999999999999999),
      belay::option("epsilon", &Options::epsilon, "number that is added to the root of the second moment, above 0")
          .range(1e-300, 1e30),
      belay::option("lazy", &Options::lazy,
                    "true: a step updates only those rows of an embedding that it uses, and the moments of other rows "
                    "do not decay"));

  explicit Adam(const Options& o) : rule_({o.beta1, o.beta2, o.epsilon, 0}), lazy_(o.lazy) {}

  void create_slots(const belay::OptimizerContext& o) override { rule_.create_slots(o); }
  belay::Output apply(const belay::OptimizerContext& o, const belay::Update& u) override { return rule_.apply(o, u); }
  std::vector<belay::Output> finish(const belay::OptimizerContext& o,
                                    const std::vector<belay::Output>& updates) override {
    return rule_.finish(o, updates);
  }
  bool takes_sparse() const override { return lazy_; }
  belay::Output apply_sparse(const belay::OptimizerContext& o, const belay::SparseUpdate& u) override {
    return rule_.apply_sparse(o, u);
  }

 private:
  AdamRule rule_;
  const bool lazy_;
};

}  // namespace

BELAY_MODULE("1.0.0", Adam)
