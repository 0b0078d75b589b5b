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

// A hook that watches a metric of an evaluation, at the start of a session.
std::unique_ptr<HookDriver> evaluating(std::int64_t step, const StoredState* state = nullptr) {
  auto hook = std::make_unique<HookDriver>(module(),
                                           OptionValues{{"tensor", "eval/best_threshold"}, {"variable", "threshold"}});
  hook->tensor<double>("eval/best_threshold");
  hook->tensor<std::int64_t>("eval/global_step");
  hook->tensor<float>("threshold");
  hook->session().variable("threshold", Tensor(0.5f), false);
  hook->session().set_value("threshold", Tensor(0.5f));
  hook->session().set_value("eval/best_threshold", Tensor(std::numeric_limits<double>::quiet_NaN()));
  hook->session().set_value("eval/global_step", Tensor(std::int64_t{-1}));
  hook->global_step(step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}
StepResult after(HookDriver& hook, std::int64_t evaluated, double value) {
  return hook.step({{"eval/best_threshold", value}, {"eval/global_step", evaluated}});
}

// In a resumed run the host puts the last evaluation back. The variable may have another value by then.
TEST(AssignMetric, AResumedRunUsesNoEvaluationTwice) {
  const auto first = evaluating(10);
  after(*first, 10, 0.25);
  EXPECT_EQ(threshold(*first), 0.25f);
  const StoredState state = first->save_state();
  const auto second = evaluating(12, &state);
  after(*second, 10, 0.25);
  EXPECT_EQ(threshold(*second), 0.5f) << "as the checkpoint has it";
  after(*second, 20, 0.75);
  EXPECT_EQ(threshold(*second), 0.75f);
}

TEST(AssignMetric, AnUndefinedMetricIsOneWarningAndChangesNothing) {
  const auto hook = evaluating(10);
  const double undefined = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(after(*hook, 10, undefined).logged,
              ::testing::ElementsAre("warning: 'eval/best_threshold' is undefined (NaN) in the evaluation of step 10: "
                                     "the variable 'threshold' keeps its value (logged once)"));
  EXPECT_THAT(after(*hook, 11, undefined).logged, ::testing::IsEmpty());
  EXPECT_EQ(threshold(*hook), 0.5f);
}

TEST(AssignMetric, NeedsAnEvaluation) {
  HookDriver hook(module(), kOptions);
  hook.global_step(0);
  EXPECT_THAT(error_of([&] { hook.begin(); }), ::testing::HasSubstr("the manifest needs the evaluation's input"));
}

}  // namespace assign_metric_test
