// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <limits>
#include <memory>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_assign_metric;

namespace assign_metric_test {

using namespace belay::testing;
using belay::Tensor;

const belay_module& module() { return module_under_test(belay_module_assign_metric); }

const OptionValues kOptions{{"tensor", "loss"}, {"variable", "threshold"}};

std::unique_ptr<HookDriver> started() {
  auto hook = std::make_unique<HookDriver>(module(), kOptions);
  hook->tensor<float>("loss");
  hook->tensor<float>("threshold");
  hook->session().variable("threshold", Tensor(0.5f), false);
  hook->session().set_value("threshold", Tensor(0.5f));
  hook->global_step(0);
  hook->begin();
  hook->create_session();
  return hook;
}

float threshold(HookDriver& hook) {
  return belay::TensorView(hook.session().variable_value("threshold").view()).scalar<float>();
}

TEST(AssignMetric, GivesTheVariableTheValueOfTheMetric) {
  const auto hook = started();
  hook->step({{"loss", 0.25f}, {"threshold", 0.5f}});
  EXPECT_EQ(threshold(*hook), 0.25f);
}

TEST(AssignMetric, KeepsTheValueIfTheMetricIsNotFinite) {
  const auto hook = started();
  hook->step({{"loss", std::numeric_limits<float>::quiet_NaN()}, {"threshold", 0.5f}});
  EXPECT_EQ(threshold(*hook), 0.5f);
}

TEST(AssignMetric, NeedsAnEvaluation) {
  HookDriver hook(module(), kOptions);
  hook.global_step(0);
  EXPECT_THAT(error_of([&] { hook.begin(); }), ::testing::HasSubstr("the manifest needs the evaluation's input"));
}

}  // namespace assign_metric_test
