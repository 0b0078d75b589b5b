// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/testing.h"
#include "belay/testing/training_driver.h"

extern "C" const belay_module belay_module_parameter_schedule;

namespace parameter_schedule_test {

using namespace belay::testing;
using belay::Tensor;
using ::testing::HasSubstr;

using Steps = std::vector<std::int64_t>;
using Values = std::vector<double>;

const belay_module& module() { return module_under_test(belay_module_parameter_schedule); }

OptionValues options(const Steps& steps, const Values& values, bool linear = false,
                     const std::string& variable = "learning_rate_scale") {
  return {{"variable", variable}, {"steps", steps}, {"values", values}, {"linear", linear}};
}

float scale(TrainingDriver& training) { return training.variable("learning_rate_scale").data<float>()[0]; }

// Returns the scale at the start of each of the first runs.
std::vector<float> scales(const OptionValues& options, int runs) {
  TrainingDriver training(module(), options);
  training.start();
  std::vector<float> found;
  for (int i = 0; i < runs; ++i) {
    found.push_back(scale(training));
    training.run(1);
  }
  return found;
}

TEST(ParameterSchedule, SetsTheValueFromItsStepOn) {
  EXPECT_EQ(scales(options({2, 4}, {0.5, 0.25}), 6), (std::vector<float>{1, 1, 0.5, 0.5, 0.25, 0.25}));
}

TEST(ParameterSchedule, GoesEvenlyFromOneToTheNext) {
  EXPECT_EQ(scales(options({0, 4}, {1, 0}, true), 6), (std::vector<float>{1, 0.75, 0.5, 0.25, 0, 0}));
}

TEST(ParameterSchedule, AResumedRunIsWhereItWas) {
  const OptionValues rising = options({0, 20}, {0, 1}, true);
  TrainingDriver whole(module(), rising), stopped(module(), rising);
  whole.run(20);
  stopped.run(7);
  stopped.save();
  stopped.run(2);
  stopped.restart();
  stopped.run(13);
  EXPECT_EQ(stopped.variable("weight").data<float>()[0], whole.variable("weight").data<float>()[0]);
}

TEST(ParameterSchedule, T_158_WhatAnotherHookHasMadeOfTheVariableStaysOverAResume) {
  const OptionValues steps = options({0, 6}, {1, 0.5});
  const auto started = [&](std::int64_t step, const StoredState* state) {
    auto hook = std::make_unique<HookDriver>(module(), steps);
    hook->global_step(step);
    hook->tensor<float>("learning_rate_scale");
    hook->begin();
    hook->session().variable("learning_rate_scale", Tensor(0.3f));
    if (state != nullptr) hook->load_state(*state);
    hook->create_session();
    return hook;
  };
  const auto value = [](HookDriver& hook) {
    return belay::TensorView(hook.session().variable_value("learning_rate_scale").view()).scalar<float>();
  };
  const auto first = started(3, nullptr);
  EXPECT_EQ(value(*first), 1.f);
  const StoredState state = first->save_state();
  EXPECT_EQ(value(*started(3, &state)), 0.3f);
  EXPECT_EQ(value(*started(6, &state)), 0.5f) << "the schedule has another value there";
}

TEST(ParameterSchedule, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), options({1, 2}, {1}));
            }),
            "INVALID_ARGUMENT: 'steps' has 2 elements and 'values' 1; give a value for each step");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), options({2, 2}, {1, 2}));
            }),
            "INVALID_ARGUMENT: 'steps' must rise from each element to the next");
  HookDriver hook(module(), options({0}, {1}, false, "logits"));
  hook.global_step(0);
  hook.tensor<float>("logits", {-1, 10});
  EXPECT_EQ(error_of([&] { hook.begin(); }),
            "INVALID_ARGUMENT: parameter_schedule sets a float scalar variable, 'logits:0' (float32 [?, 10]) is none");
}

TEST(ParameterSchedule, WhatIsNoVariableIsAnErrorBeforeTheFirstStep) {
  HookDriver hook(module(), options({0}, {1}, false, "loss"));
  hook.global_step(0);
  hook.tensor<float>("loss");
  hook.begin();
  EXPECT_THAT(error_of([&] { hook.create_session(); }), HasSubstr("no variable 'loss'"));
}

}  // namespace parameter_schedule_test
