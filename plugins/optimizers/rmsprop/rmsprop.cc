// SPDX-License-Identifier: Apache-2.0
#include <belay/ops/training.h>
#include <belay/plugin.h>

#include <vector>

namespace {

namespace ops = belay::ops;
using belay::OptimizerContext;
using belay::Output;
using belay::Update;

class RmsProp final : public belay::Optimizer {
 public:
  struct Options {
    double decay = 0.9;
    double momentum = 0;
    double epsilon = 1e-10;
    bool centered = false;
  };
  static constexpr auto about = belay::about(
      "rmsprop", "Divides each element's step by the root of its gradients' decaying mean square",
      belay::option("decay", &Options::decay, "share of the mean square that a step keeps, below 1")
          .range(0, 0.9999999999999999),
      belay::option("momentum", &Options::momentum, "share of the sum of steps that a step keeps").range(0, 1),
      belay::option("epsilon", &Options::epsilon, "number that is added to the mean square, above 0")
          .range(1e-300, 1e30),
      belay::option("centered", &Options::centered,
                    "true: divides by the standard deviation in place of the root of the mean square"));

  explicit RmsProp(const Options& o) : o_(o) {}

  void create_slots(const OptimizerContext& o) override {
    mean_squares_ = o.slots("RMSProp", 1);
    if (o_.centered) means_ = o.slots("RMSProp_1");
    momenta_ = o.slots(o_.centered ? "RMSProp_2" : "RMSProp_1");
  }
  Output apply(const OptimizerContext& o, const Update& u) override {
    const ops::RmsPropConstants constants{o_.decay, o_.momentum, o_.epsilon};
    const Output &ms = mean_squares_[u.index], &momentum = momenta_[u.index];
    if (!o_.centered)
      return ops::apply_rms_prop(u.variable, ms, momentum, o.learning_rate(), u.gradient, constants, u.name);
    return ops::apply_centered_rms_prop(u.variable, means_[u.index], ms, momentum, o.learning_rate(), u.gradient,
                                        constants, u.name);
  }

 private:
  const Options o_;
  std::vector<Output> mean_squares_, means_, momenta_;
};

}  // namespace

BELAY_MODULE("1.0.0", RmsProp)
