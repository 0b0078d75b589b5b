// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_early_stopping;

namespace early_stopping_test {

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

// Returns the number of steps until the hook stops; 0: it does not.
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
            "INVALID_ARGUMENT: 'mode' is \"least\", must be one of: auto, min, max");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"patience", 0}});
            }),
            "INVALID_ARGUMENT: 'patience' is 0, must be >= 1");
}

TEST(EarlyStopping, WhichValuesAreBetterMustBeKnownBeforeTheFirstStep) {
  HookDriver hook(module(), {{"tensor", "agreement"}});
  hook.tensor<float>("agreement");
  hook.global_step(0);
  EXPECT_EQ(error_of([&] { hook.begin(); }),
            "INVALID_ARGUMENT: 'agreement' does not show by its name which values are better: set mode = \"min\" or "
            "\"max\"");
  HookDriver limit(module(), {{"tensor", "agreement"}, {"higher_than", 1.0}});
  limit.tensor<float>("agreement");
  limit.global_step(0);
  limit.begin();
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

// ---- metrics of the evaluation

struct Evaluated {
  std::int64_t step;
  double loss;
  double accuracy;
};
const std::vector<Evaluated> kHistory = {{1000, .8, .5}, {2000, .7, .6}, {3000, .4, .7}, {3500, .41, .68}};

// The training makes steps between evaluations. Meanwhile the values of the last one stay.
std::unique_ptr<HookDriver> evaluating(const OptionValues& options, const StoredState* state = nullptr,
                                       std::int64_t step = 0) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->tensor<double>("eval/loss");
  hook->tensor<double>("eval/accuracy");
  hook->tensor<std::int64_t>("eval/global_step");
  hook->session().set_value("eval/loss", belay::Tensor(std::numeric_limits<double>::quiet_NaN()));
  hook->session().set_value("eval/accuracy", belay::Tensor(std::numeric_limits<double>::quiet_NaN()));
  hook->session().set_value("eval/global_step", belay::Tensor(std::int64_t{-1}));
  hook->global_step(step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}

bool stops_after(HookDriver& hook, const Evaluated& e) {
  hook.set_global_step(e.step);
  const bool stops =
      hook.step({{"eval/loss", e.loss}, {"eval/accuracy", e.accuracy}, {"eval/global_step", e.step}}).stop_asked;
  return stops || hook.step().stop_asked || hook.step().stop_asked;
}

// Returns the step of the evaluation that stops the run; 0: none does.
std::int64_t stop_step(HookDriver& hook, const std::vector<Evaluated>& history = kHistory) {
  EXPECT_FALSE(hook.step().stop_asked) << "before the first evaluation";
  for (const Evaluated& e : history)
    if (stops_after(hook, e)) return e.step;
  return 0;
}
std::int64_t stop_step(const OptionValues& options) { return stop_step(*evaluating(options)); }

TEST(EarlyStopping, ESTOP_02_StopsWhereAValueIsBeyondALimitAndNotBeforeItsFirstStep) {
  EXPECT_EQ(stop_step({{"tensor", "eval/accuracy"}, {"higher_than", .8}}), 0);
  EXPECT_EQ(stop_step({{"tensor", "eval/accuracy"}, {"higher_than", .6}, {"start_from_step", 4000}}), 0);
  EXPECT_EQ(stop_step({{"tensor", "eval/accuracy"}, {"higher_than", .6}}), 3000);
  EXPECT_EQ(stop_step({{"tensor", "eval/loss"}, {"lower_than", .3}}), 0);
  EXPECT_EQ(stop_step({{"tensor", "eval/loss"}, {"lower_than", .5}, {"start_from_step", 4000}}), 0);
  EXPECT_EQ(stop_step({{"tensor", "eval/loss"}, {"lower_than", .5}}), 3000);
}

TEST(EarlyStopping, ALimitIsNoPatience) {
  const auto hook = evaluating({{"tensor", "eval/loss"}, {"lower_than", .1}});
  std::vector<Evaluated> worse;
  for (std::int64_t i = 1; i <= 10; ++i) worse.push_back({i * 10, 1.0 + static_cast<double>(i), 0});
  EXPECT_EQ(stop_step(*hook, worse), 0);
}

TEST(EarlyStopping, ESTOP_04_StopsSoManyStepsBehindTheLastImprovement) {
  for (const char* tensor : {"eval/loss", "eval/accuracy"}) {
    SCOPED_TRACE(tensor);
    EXPECT_EQ(stop_step({{"tensor", tensor}, {"patience_steps", 1500}}), 0);
    EXPECT_EQ(stop_step({{"tensor", tensor}, {"patience_steps", 500}, {"start_from_step", 4000}}), 0);
    EXPECT_EQ(stop_step({{"tensor", tensor}, {"patience_steps", 500}}), 3500);
  }
}

TEST(EarlyStopping, PatienceCountsEvaluationsHoweverManyStepsLieBetween) {
  EXPECT_EQ(stop_step({{"tensor", "eval/loss"}, {"patience", 1}}), 3500);
  EXPECT_EQ(stop_step({{"tensor", "eval/loss"}, {"patience", 2}}), 0);
  EXPECT_EQ(stop_step({{"tensor", "eval/loss"}, {"patience", 1}, {"mode", "max"}}), 2000);
}

TEST(EarlyStopping, SaysWhichLimitItIs) {
  const auto limit = evaluating({{"tensor", "eval/accuracy"}, {"higher_than", .6}});
  stop_step(*limit);
  EXPECT_EQ(limit->stop_reason(), "'eval/accuracy' is 0.7 at step 3000 (higher_than = 0.6)");
  const auto steps = evaluating({{"tensor", "eval/loss"}, {"patience_steps", 500}});
  stop_step(*steps);
  EXPECT_EQ(steps->stop_reason(),
            "'eval/loss' has not improved for 500 steps; best 0.4 at step 3000 (patience_steps = 500)");
  const auto looks = evaluating({{"tensor", "eval/loss"}, {"patience", 1}});
  stop_step(*looks);
  EXPECT_EQ(looks->stop_reason(),
            "'eval/loss' has not improved for 1 evaluation; best 0.4 at step 3000 (patience = 1)");
}

// TRAP-17
TEST(EarlyStopping, ESTOP_08_AMetricThatIsNotThereIsAnErrorBeforeTheFirstStepAndNanIsNoImprovement) {
  HookDriver hook(module(), {{"tensor", "eval/acuracy"}});
  hook.tensor<double>("eval/accuracy");
  hook.tensor<std::int64_t>("eval/global_step");
  hook.global_step(0);
  EXPECT_EQ(error_of([&] { hook.begin(); }),
            "NOT_FOUND: the graph has no 'eval/acuracy'; did you mean 'eval/accuracy'?");
  const std::vector<Evaluated> history = {{100, .8, .5}, {200, kNan, kNan}, {300, .7, .6}, {400, kNan, kNan}};
  EXPECT_EQ(stop_step(*evaluating({{"tensor", "eval/loss"}, {"patience", 2}}), history), 0);
  EXPECT_EQ(stop_step(*evaluating({{"tensor", "eval/loss"}, {"patience", 1}}), history), 200);
  EXPECT_EQ(stop_step(*evaluating({{"tensor", "eval/loss"}, {"higher_than", 1.0}}), history), 0);
}

TEST(EarlyStopping, AnUndefinedMetricIsAWarningAndNamedWhereItStopsTheRun) {
  const auto hook = evaluating({{"tensor", "eval/accuracy"}, {"patience", 2}});
  EXPECT_EQ(stop_step(*hook, {{100, .8, kNan}, {200, .8, kNan}}), 200);
  EXPECT_EQ(hook->stop_reason(),
            "'eval/accuracy' has not improved for 2 evaluations; it was never a number (patience = 2)");
  EXPECT_EQ(hook->logged(), (std::vector<std::string>{
                                "warning: 'eval/accuracy' is undefined (NaN) in the evaluation of step 100: this is "
                                "no improvement and beyond no limit (logged once)"}));
}

TEST(EarlyStopping, AResumedRunStopsAfterTheSameEvaluation) {
  const std::vector<Evaluated> history = {{100, .8, 0}, {200, .7, 0}, {300, .75, 0}, {400, .6, 0},
                                          {500, .9, 0}, {600, .9, 0}, {700, .9, 0},  {800, .1, 0}};
  for (const OptionValues& options : {OptionValues{{"tensor", "eval/loss"}, {"patience", 3}},
                                      OptionValues{{"tensor", "eval/loss"}, {"patience_steps", 300}}}) {
    ASSERT_EQ(stop_step(*evaluating(options), history), 700);
    for (std::size_t cut = 1; cut < 6; ++cut) {
      SCOPED_TRACE("cut behind step " + std::to_string(history[cut - 1].step));
      const auto first = evaluating(options);
      for (std::size_t i = 0; i < cut; ++i) EXPECT_FALSE(stops_after(*first, history[i]));
      const StoredState state = first->save_state();
      const auto second = evaluating(options, &state, history[cut - 1].step);
      // The host puts the last evaluation back. The hook has seen it already.
      EXPECT_FALSE(stops_after(*second, history[cut - 1]));
      std::int64_t stop = 0;
      for (std::size_t i = cut; i < history.size() && stop == 0; ++i)
        if (stops_after(*second, history[i])) stop = history[i].step;
      EXPECT_EQ(stop, 700);
    }
  }
}

TEST(EarlyStopping, ALimitThatWasPassedLetsNoFurtherStepBeMade) {
  const OptionValues options{{"tensor", "eval/accuracy"}, {"higher_than", .6}};
  const auto first = evaluating(options);
  ASSERT_EQ(stop_step(*first), 3000);
  const StoredState state = first->save_state();
  EXPECT_TRUE(evaluating(options, &state, 3001)->stop_asked());
  EXPECT_FALSE(evaluating({{"tensor", "eval/accuracy"}, {"higher_than", .9}}, &state, 3001)->stop_asked());
}

TEST(EarlyStopping, AnotherEvaluationInputHasItsOwnSteps) {
  HookDriver hook(module(), {{"tensor", "eval_hard/loss"}, {"patience", 1}});
  hook.tensor<double>("eval_hard/loss");
  hook.tensor<std::int64_t>("eval_hard/global_step");
  hook.global_step(0);
  hook.begin();
  hook.create_session();
  const auto evaluated = [&](std::int64_t step, double loss) {
    return hook.step({{"eval_hard/loss", loss}, {"eval_hard/global_step", step}}).stop_asked;
  };
  EXPECT_FALSE(evaluated(10, 1));
  EXPECT_FALSE(evaluated(10, 1));
  EXPECT_TRUE(evaluated(20, 1));
}

}  // namespace early_stopping_test
