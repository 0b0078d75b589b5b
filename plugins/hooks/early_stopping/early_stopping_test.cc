// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_early_stopping;

namespace {

using namespace belay::testing;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const belay_module& module() { return module_under_test(belay_module_early_stopping); }

std::unique_ptr<HookDriver> started(const OptionValues& options, const StoredState* state = nullptr,
                                    std::int64_t step = 0) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->tensor<float>("loss");
  hook->global_step(step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}

// The number of steps until it stops; 0: it does not.
int steps_until_stop(HookDriver& hook, const std::vector<float>& losses) {
  int n = 0;
  for (const float loss : losses) {
    ++n;
    if (hook.step({{"loss", loss}}).stop_asked) return n;
  }
  return 0;
}

TEST(EarlyStopping, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"mode", "least"}});
            }),
            "INVALID_ARGUMENT: 'mode' is \"least\", must be one of: min, max");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"patience", 0}});
            }),
            "INVALID_ARGUMENT: 'patience' is 0, must be >= 1");
}

TEST(EarlyStopping, WatchesAScalarNumber) {
  HookDriver hook(module(), {{"tensor", "logits"}});
  hook.tensor<float>("logits", {-1, 10});
  hook.global_step(0);
  EXPECT_EQ(error_of([&] { hook.begin(); }),
            "INVALID_ARGUMENT: early_stopping watches a scalar number, 'logits:0' (float32 [?, 10]) is none");
}

TEST(EarlyStopping, StopsAfterSoManyLooksWithoutAnImprovement) {
  struct Case {
    OptionValues options;
    std::vector<float> losses;
    int stops;
  };
  const std::vector<Case> cases = {
      {{{"every_n_steps", 1}, {"patience", 2}}, {3, 2, 2, 2, 1}, 4},
      {{{"every_n_steps", 1}, {"patience", 2}}, {3, 2, 2, 1, 1, 0.5f}, 0},
      {{{"every_n_steps", 1}, {"patience", 1}}, {3, kNan}, 2},
      {{{"every_n_steps", 1}, {"patience", 2}}, {kNan, kNan}, 2},
      {{{"every_n_steps", 1}, {"patience", 1}, {"mode", "max"}}, {1, 2, 2}, 3},
      {{{"every_n_steps", 1}, {"patience", 1}, {"min_delta", 0.5}}, {3, 2, 1.75f}, 3},
      {{{"every_n_steps", 2}, {"patience", 1}}, {3, 9, 2, 9, 2, 0}, 5},  // looks at steps 1, 3, 5
      {{{"every_n_steps", 1}, {"patience", 1}, {"start_from_step", 4}}, {1, 2, 3, 4, 5}, 5},
  };
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(steps_until_stop(*started(cases[i].options), cases[i].losses), cases[i].stops) << "case " << i;
}

TEST(EarlyStopping, SaysWhatWasBest) {
  const auto hook = started({{"every_n_steps", 1}, {"patience", 2}});
  steps_until_stop(*hook, {3, 1.5, 2, 2});
  EXPECT_EQ(hook->stop_reason(), "'loss' has not improved for 2 looks; best 1.5 at step 2 (patience = 2)");
}

TEST(EarlyStopping, AResumedRunStopsAtTheSameStep) {
  const OptionValues options{{"every_n_steps", 2}, {"patience", 3}};
  const std::vector<float> losses = {5, 4, 3, 4, 4, 5, 4, 3.5f, 4, 4, 4, 4};
  const int whole = steps_until_stop(*started(options), losses);
  ASSERT_GT(whole, 0);
  for (int cut = 1; cut < whole; ++cut) {
    const auto first = started(options);
    for (int i = 0; i < cut; ++i) first->step({{"loss", losses[static_cast<std::size_t>(i)]}});
    const StoredState state = first->save_state();
    const auto second = started(options, &state, cut);
    EXPECT_EQ(cut + steps_until_stop(*second, {losses.begin() + cut, losses.end()}), whole) << "cut at " << cut;
  }
}

TEST(EarlyStopping, AStoppedRunThatIsStartedAgainMakesNoStepUnlessItIsGivenMorePatience) {
  const auto first = started({{"every_n_steps", 1}, {"patience", 2}});
  EXPECT_EQ(steps_until_stop(*first, {1, 2, 2}), 3);
  const StoredState state = first->save_state();
  EXPECT_TRUE(started({{"every_n_steps", 1}, {"patience", 2}}, &state, 3)->stop_asked());
  EXPECT_FALSE(started({{"every_n_steps", 1}, {"patience", 3}}, &state, 3)->stop_asked());
}

TEST(EarlyStopping, ARecoveryGoesBackToTheCheckpoint) {
  const auto hook = started({{"every_n_steps", 1}, {"patience", 2}});
  EXPECT_EQ(steps_until_stop(*hook, {3, 2}), 0);
  hook->save();
  EXPECT_EQ(steps_until_stop(*hook, {2}), 0);
  hook->recover();
  EXPECT_EQ(steps_until_stop(*hook, {2, 2}), 2);
}

}  // namespace
