// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_reduce_lr_on_plateau;

namespace reduce_lr_on_plateau_test {

using namespace belay::testing;
using belay::Tensor;

const belay_module& module() { return module_under_test(belay_module_reduce_lr_on_plateau); }

std::unique_ptr<HookDriver> started(const OptionValues& options, const StoredState* state = nullptr,
                                    std::int64_t step = 0, float scale = 1) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->tensor<float>("loss");
  hook->tensor<float>("learning_rate_scale");
  hook->session().variable("learning_rate_scale", Tensor(scale), false);
  hook->session().set_value("learning_rate_scale", Tensor(scale));
  hook->global_step(step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}

float scale(HookDriver& hook) {
  return belay::TensorView(hook.session().variable_value("learning_rate_scale").view()).scalar<float>();
}

// Returns the scale after each step.
std::vector<float> scales(HookDriver& hook, const std::vector<float>& losses) {
  std::vector<float> out;
  for (const float loss : losses) {
    hook.step({{"loss", loss}, {"learning_rate_scale", scale(hook)}});
    out.push_back(scale(hook));
  }
  return out;
}

TEST(ReduceLrOnPlateau, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"factor", 1.0}});
            }),
            "INVALID_ARGUMENT: 'factor' is 1, must be <= 0.999999");
}

TEST(ReduceLrOnPlateau, NeedsAVariableThatScalesTheLearningRate) {
  HookDriver hook(module(), {});
  hook.tensor<float>("loss");
  hook.global_step(0);
  EXPECT_EQ(error_of([&] { hook.begin(); }), "NOT_FOUND: the graph has no 'learning_rate_scale'");
}

TEST(ReduceLrOnPlateau, LowersTheScaleAfterSoManyLooksWithoutAnImprovement) {
  struct Case {
    OptionValues options;
    std::vector<float> losses;
    std::vector<float> scales;
  };
  const std::vector<Case> cases = {
      {{{"every_n_steps", 1}, {"patience", 2}, {"factor", 0.5}}, {3, 2, 2, 2, 2, 2}, {1, 1, 1, 0.5f, 0.5f, 0.25f}},
      {{{"every_n_steps", 1}, {"patience", 1}, {"factor", 0.5}, {"cooldown", 2}},
       {3, 3, 3, 3, 3},
       {1, 0.5f, 0.5f, 0.5f, 0.25f}},
      {{{"every_n_steps", 1}, {"patience", 1}, {"factor", 0.5}, {"min_scale", 0.4}},
       {3, 3, 3, 3},
       {1, 0.5f, 0.4f, 0.4f}},
      {{{"every_n_steps", 1}, {"patience", 1}, {"factor", 0.5}, {"mode", "max"}}, {1, 2, 2}, {1, 1, 0.5f}},
      {{{"every_n_steps", 2}, {"patience", 1}, {"factor", 0.5}}, {3, 1, 3, 1}, {1, 1, 0.5f, 0.5f}},
      // The hook looks at steps 1, 3, 5, 7, 9. The best is at step 3; then it counts from step 7.
      {{{"every_n_steps", 2}, {"patience_steps", 3}, {"factor", 0.5}},
       {3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2},
       {1, 1, 1, 1, 1, 1, 0.5f, 0.5f, 0.5f, 0.5f, 0.25f}},
      {{{"every_n_steps", 1}, {"patience_steps", 2}, {"cooldown", 2}, {"factor", 0.5}},
       {3, 3, 3, 3, 3, 3, 3},
       {1, 1, 0.5f, 0.5f, 0.5f, 0.5f, 0.25f}},
      // The patience that is over first counts.
      {{{"every_n_steps", 1}, {"patience", 2}, {"patience_steps", 3}, {"factor", 0.5}},
       {3, 3, 3, 3},
       {1, 1, 0.5f, 0.5f}},
      {{{"every_n_steps", 1}, {"patience", 4}, {"patience_steps", 3}, {"factor", 0.5}}, {3, 3, 3, 3}, {1, 1, 1, 0.5f}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(scales(*started(cases[i].options), cases[i].losses), cases[i].scales) << "case " << i;
}

// Ten looks would lower the scale at step 11.
TEST(ReduceLrOnPlateau, PatienceInStepsLeavesTheDefaultOfLooksOut) {
  const auto hook = started({{"every_n_steps", 1}, {"patience_steps", 13}, {"factor", 0.5}});
  std::vector<float> wanted(14, 1.f);
  wanted.back() = 0.5f;
  EXPECT_EQ(scales(*hook, std::vector<float>(14, 3.f)), wanted);
}

TEST(ReduceLrOnPlateau, SaysHowManyStepsItWaited) {
  const auto hook = started({{"every_n_steps", 2}, {"patience_steps", 3}});
  std::vector<std::string> logged;
  for (int i = 0; i < 5; ++i)
    for (std::string& line : hook->step({{"loss", 1.f}}).logged) logged.push_back(std::move(line));
  EXPECT_EQ(logged,
            (std::vector<std::string>{"info: 'loss' has not improved for 4 steps at step 5; the learning rate is "
                                      "now 0.1 of the manifest's"}));
}

TEST(ReduceLrOnPlateau, SaysWhatItDid) {
  const auto hook = started({{"every_n_steps", 1}, {"patience", 1}});
  hook->step({{"loss", 1.f}});
  EXPECT_EQ(hook->step({{"loss", 1.f}}).logged,
            (std::vector<std::string>{"info: 'loss' has not improved for 1 look at step 2; the learning rate is now "
                                      "0.1 of the manifest's"}));
}

TEST(ReduceLrOnPlateau, AResumedRunLowersItAtTheSameSteps) {
  for (const char* patience : {"patience", "patience_steps"}) {
    SCOPED_TRACE(patience);
    const OptionValues options{{"every_n_steps", 2}, {patience, 2}, {"factor", 0.5}, {"cooldown", 1}};
    const std::vector<float> losses = {5, 4, 3, 4, 4, 5, 4, 3.5f, 4, 4, 4, 4, 3, 3, 3, 3};
    const std::vector<float> whole = scales(*started(options), losses);
    ASSERT_LT(whole.back(), 1);
    for (std::size_t cut = 1; cut < losses.size(); ++cut) {
      const auto first = started(options);
      const auto middle = losses.begin() + static_cast<std::ptrdiff_t>(cut);
      std::vector<float> got = scales(*first, {losses.begin(), middle});
      const StoredState state = first->save_state();
      const auto second = started(options, &state, static_cast<std::int64_t>(cut), got.back());
      for (const float s : scales(*second, {middle, losses.end()})) got.push_back(s);
      EXPECT_EQ(got, whole) << "cut at " << cut;
    }
  }
}

TEST(ReduceLrOnPlateau, OfTheEvaluationItCountsEvaluations) {
  HookDriver hook(module(), {{"tensor", "eval/accuracy"}, {"patience", 2}, {"factor", 0.5}});
  hook.tensor<double>("eval/accuracy");
  hook.tensor<std::int64_t>("eval/global_step");
  hook.tensor<float>("learning_rate_scale");
  hook.session().variable("learning_rate_scale", Tensor(1.0f), false);
  hook.session().set_value("learning_rate_scale", Tensor(1.0f));
  hook.global_step(0);
  hook.begin();
  hook.create_session();
  std::vector<float> after;
  std::vector<std::string> logged;
  std::int64_t step = 0;
  for (const double accuracy : {.5, .6, .6, .55, .7}) {
    step += 100;
    for (int i = 0; i < 3; ++i)  // the first of three steps has a look
      for (std::string& line : hook.step({{"eval/accuracy", accuracy}, {"eval/global_step", step}}).logged)
        logged.push_back(std::move(line));
    after.push_back(scale(hook));
  }
  EXPECT_EQ(after, (std::vector<float>{1, 1, 1, 0.5f, 0.5f}));
  EXPECT_EQ(logged, (std::vector<std::string>{"info: 'eval/accuracy' has not improved for 2 evaluations at step 400; "
                                              "the learning rate is now 0.5 of the manifest's"}));
}

}  // namespace reduce_lr_on_plateau_test
