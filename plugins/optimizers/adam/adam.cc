// SPDX-License-Identifier: Apache-2.0
#include "../adam_rule.h"

namespace {

class Adam final : public belay::Optimizer {
 public:
  struct Options {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
  };
  static constexpr auto about = belay::about(
      "adam", "Steps along the first moment of the gradients, divided by the root of the second one",
      belay::option("beta1", &Options::beta1, "share of the first moment that a step keeps, below 1")
          .range(0, 0.9999999999999999),
      belay::option("beta2", &Options::beta2, "share of the second moment that a step keeps, below 1")
          .range(0, 0.9999999999999999),
      belay::option("epsilon", &Options::epsilon, "number that is added to the root of the second moment, above 0")
          .range(1e-300, 1e30));

  explicit Adam(const Options& o) : rule_({o.beta1, o.beta2, o.epsilon, 0}) {}

  void create_slots(const belay::OptimizerContext& o) override { rule_.create_slots(o); }
  belay::Output apply(const belay::OptimizerContext& o, const belay::Update& u) override { return rule_.apply(o, u); }
  std::vector<belay::Output> finish(const belay::OptimizerContext& o,
                                    const std::vector<belay::Output>& updates) override {
    return rule_.finish(o, updates);
  }

 private:
  AdamRule rule_;
};

}  // namespace

BELAY_MODULE("1.0.0", Adam)
