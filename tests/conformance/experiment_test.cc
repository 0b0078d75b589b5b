// SPDX-License-Identifier: Apache-2.0
// Experiment: section 13 of the catalogue of checkpoints, Estimator and input.
#include "belay/runtime/experiment.h"
#include "belay/runtime/train_and_evaluate.h"

#include <filesystem>

#include "runtime/api/experiment.h"
#include "tests/conformance/program_estimator.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Experiments : public ProgramEstimatorTest {
 protected:
  // Counts steps, one evaluation after the other, without a delay.
  ExperimentOptions quick(std::optional<std::int64_t> train_steps) {
    ExperimentOptions o{.train_steps = train_steps, .eval_steps = 1};
    o.train_hooks = {behind("trained", [this] { ++trained; })};
    o.eval_hooks = {behind("evaluated", [this] { ++evaluated; })};
    o.eval_delay_secs = 0;
    o.continuous_eval_throttle_secs = 0;
    o.exporters = keeping();
    return o;
  }
  int trained = 0;    // steps
  int evaluated = 0;  // batches; one is an evaluation
};

TEST_F(Experiments, TheConstructorRunsNothingAndRefusesWhatIsWrong) {
  const auto e = estimator();
  const Experiment experiment(*e, ones, ones);
  EXPECT_FALSE(std::filesystem::exists(temp / "model"));
  EXPECT_EQ(experiment.options().eval_steps, 100);
  EXPECT_EQ(experiment.options().eval_delay_secs, 120);
  EXPECT_EQ(experiment.options().continuous_eval_throttle_secs, 60);
  EXPECT_EQ(experiment.options().min_eval_frequency, 1);
  EXPECT_EQ(experiment.options().check_interval_secs, 5);
  EXPECT_THAT(error_of([&] { Experiment(*e, ones, {}); }), HasSubstr("no input function for evaluation"));
  EXPECT_THAT(error_of([&] { Experiment(*e, {}, ones); }), HasSubstr("no input function for training"));
  EXPECT_EQ(error_of([&] { Experiment(*e, ones, ones, {.train_steps_per_iteration = 0}); }),
            "INVALID_ARGUMENT: [B5052] train_steps_per_iteration must be above 0, got 0");
  EXPECT_EQ(error_of([&] { Experiment(*e, ones, ones, {.exporters = {nullptr}}); }),
            "INVALID_ARGUMENT: [B5052] an exporter is null");
}

TEST_F(Experiments, XP_02_TrainTrainsToItsStepsAndEvaluatesNothing) {
  const auto e = estimator();
  Experiment(*e, ones, ones, quick(7)).train();
  EXPECT_EQ(trained, 7);
  EXPECT_EQ(evaluated, 0);
  EXPECT_EQ(e->latest_checkpoint(), temp / "model/model.ckpt-7");
}

TEST_F(Experiments, XP_03_DelaysAreWaitedForExactlyAndATaskHasItsOwn) {
  const auto e = estimator();
  Experiment experiment(*e, ones, ones, quick(1));
  for (const std::int64_t seconds : {0, 1, 3}) {
    clock.new_waits_ms();
    experiment.train(static_cast<double>(seconds));
    EXPECT_EQ(clock.new_waits_ms(), seconds == 0 ? std::vector<std::int64_t>() : std::vector{seconds * 1000});
  }
  experiment.train();
  EXPECT_THAT(clock.new_waits_ms(), IsEmpty());  // task 0
  EXPECT_EQ(worker_delay(0, false).seconds, 0);
  EXPECT_EQ(worker_delay(1, false).seconds, 5);
  EXPECT_EQ(worker_delay(3, false).seconds, 15);
  EXPECT_EQ(worker_delay(100, false).seconds, 60);
  EXPECT_EQ(worker_delay(1, true).steps, 5545);
  EXPECT_EQ(worker_delay(1, true).seconds, 0);
}

TEST_F(Experiments, EvaluateWaitsAndNamesItsEvents) {
  const auto e = estimator();
  ExperimentOptions o = quick(5);
  o.eval_delay_secs = 120;
  Experiment experiment(*e, ones, ones, o);
  experiment.train();
  clock.new_waits_ms();
  EXPECT_EQ(step_of(experiment.evaluate()), 5);
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(120'000));
  EXPECT_TRUE(std::filesystem::exists(temp / "model/eval_one_pass"));
  EXPECT_THAT(exports, IsEmpty());
}

TEST_F(Experiments, XP_08_ContinuousEvalEndsBehindACheckpointOfTrainSteps) {
  const auto e = estimator();
  e->train(ones, {.steps = 100});
  EXPECT_EQ(step_of(Experiment(*e, ones, ones, quick(100)).continuous_eval()), 100);
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(exports, (Exports{{100, true}}));
  EXPECT_TRUE(std::filesystem::exists(temp / "model/eval_continuous"));
}

TEST_F(Experiments, XP_09_APredicateSeesTheLastResultAndItsCheckpoint) {
  const auto e = estimator();
  e->train(ones, {.steps = 10});
  int calls = 0;
  Experiment(*e, ones, ones, quick(std::nullopt))
      .continuous_eval(
          {.evaluate_checkpoint_only_once = false, .predicate = [&](const EvalMetrics* last, const std::string& path) {
             EXPECT_EQ(last == nullptr, path.empty());
             return ++calls <= 3;
           }});
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(evaluated, 3);
}

TEST_F(Experiments, XP_10_ACheckpointIsEvaluatedOnce) {
  const auto e = estimator();
  e->train(ones, {.steps = 10});
  int calls = 0, with_result = 0;
  Experiment(*e, ones, ones, quick(std::nullopt))
      .continuous_eval({.throttle_secs = 1, .predicate = [&](const EvalMetrics* last, const std::string&) {
                          with_result += last != nullptr && !last->empty() ? 1 : 0;
                          return ++calls < 300;
                        }});
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(with_result, 1);
}

TEST_F(Experiments, ContinuousEvalWaitsBetweenTwoLooksAndOnTrainDataExportsNothing) {
  const auto e = estimator();
  e->train(ones, {.steps = 10});
  ExperimentOptions o = quick(std::nullopt);
  o.continuous_eval_throttle_secs = 60;
  o.eval_hooks = {behind("work", [&] { pass(12); })};
  int calls = 0;
  clock.new_waits_ms();
  Experiment(*e, ones, ones, o)
      .continuous_eval_on_train_data(
          {.delay_secs = 7, .predicate = [&](const EvalMetrics*, const std::string&) { return ++calls <= 2; }});
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(7'000, 48'000, 60'000));
  EXPECT_TRUE(std::filesystem::exists(temp / "model/eval_continuous_on_train_data"));
  EXPECT_THAT(exports, IsEmpty());
}

TEST_F(Experiments, XP_12_HooksAreTheExperimentsOwnAndWhatOneCallAddsDoesNotStay) {
  const auto e = estimator({.save_checkpoints_steps = 5});
  const ExperimentOptions o = quick(10);
  Experiment experiment(*e, ones, ones, o);
  int more = 0;
  experiment.extend_train_hooks({behind("more", [&] { ++more; })});
  EXPECT_EQ(o.train_hooks.size(), 1u);
  EXPECT_EQ(experiment.options().train_hooks.size(), 2u);
  EXPECT_THAT(error_of([&] { experiment.extend_train_hooks({OwnHook{}}); }), HasSubstr("extend_train_hooks"));
  EXPECT_EQ(step_of(experiment.train_and_evaluate().metrics), 10);
  EXPECT_EQ(more, 10);
  EXPECT_EQ(experiment.options().train_hooks.size(), 2u);
  EXPECT_TRUE(experiment.options().saving_listeners.empty());
}

TEST_F(Experiments, TrainAndEvaluateEvaluatesBetweenTwoStepsAndOnceMoreAtTheEnd) {
  ExperimentOptions o = quick(25);
  o.check_interval_secs = 0;
  o.min_eval_frequency = 20;
  const auto e = estimator();
  Experiment(*e, ones, ones, o).train_and_evaluate();
  EXPECT_EQ(evaluated, 2);  // after the checkpoint of step 20, and that of 25 at the end
  EXPECT_EQ(exports, (Exports{{25, true}}));
  evaluated = 0;
  o.train_steps = 50;
  o.min_eval_frequency = 0;
  Experiment(*e, ones, ones, o).train_and_evaluate();
  EXPECT_EQ(evaluated, 1);
}

TEST_F(Experiments, XP_13_ExportStrategiesAreReplacedAndThoseBeforeReturned) {
  const auto e = estimator();
  Experiment experiment(*e, ones, ones, quick(2));
  experiment.train_and_evaluate();
  EXPECT_EQ(exports.size(), 1u);
  const ModelExporters before = experiment.reset_export_strategies();
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0]->name(), "kept");
  experiment.train_and_evaluate();
  EXPECT_EQ(exports.size(), 1u);
  EXPECT_TRUE(experiment.reset_export_strategies(keeping({"a", "b"})).empty());
  experiment.train_and_evaluate();
  EXPECT_EQ(exports.size(), 3u);
  EXPECT_EQ(error_of([&] { experiment.reset_export_strategies({nullptr}); }),
            "INVALID_ARGUMENT: [B5052] an exporter is null");
}

TEST_F(Experiments, XP_14_CheckpointAndExportEvaluatesBehindEachCheckpointAndNotOnceMore) {
  ExperimentOptions o = quick(8);
  o.checkpoint_and_export = true;
  const auto e = estimator({.save_checkpoints_steps = 3});
  const TrainAndEvaluateResult result = Experiment(*e, ones, ones, o).train_and_evaluate();
  EXPECT_EQ(evaluated, 4);
  EXPECT_EQ(exports, (Exports{{0, false}, {3, false}, {6, false}, {8, true}}));
  EXPECT_THAT(result.exported, ElementsAre(temp / "model/export/kept/8"));
  EXPECT_TRUE(std::filesystem::exists(temp / "model/eval_intermediate_export"));
}

TEST_F(Experiments, XP_15_ContinuousTrainAndEvalTrainsInRounds) {
  const auto no = [](const EvalMetrics*, const std::string&) { return false; };
  const auto once = [calls = 0](const EvalMetrics*, const std::string&) mutable { return ++calls == 1; };
  const auto steps_of_a_round = [&](ExperimentOptions o, const char* folder) {
    runtime::EstimatorSetup of = options();
    of.model_dir = temp / folder;
    Estimator e(std::make_unique<Insides>(ModelFn(counting), of));
    trained = 0;
    Experiment(e, ones, ones, std::move(o)).continuous_train_and_eval(once);
    return trained;
  };
  EXPECT_EQ(steps_of_a_round(quick(100), "tenth"), 10);
  ExperimentOptions given = quick(10000);
  given.train_steps_per_iteration = 1234;
  EXPECT_EQ(steps_of_a_round(given, "given"), 1234);
  EXPECT_EQ(steps_of_a_round(quick(std::nullopt), "none"), 1000);

  trained = evaluated = 0;
  exports.clear();
  const auto e = estimator();
  Experiment(*e, ones, ones, quick(100)).continuous_train_and_eval(no);
  EXPECT_EQ(trained + evaluated + static_cast<int>(exports.size()), 0);
  ExperimentOptions whole = quick(5);
  whole.train_steps_per_iteration = 5;
  const TrainAndEvaluateResult result = Experiment(*e, ones, ones, whole).continuous_train_and_eval();
  EXPECT_EQ(step_of(result.metrics), 5);
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(exports, (Exports{{5, true}}));
}

TEST_F(Experiments, ARoundThatMakesNoStepEndsContinuousTrainAndEval) {
  const auto e = estimator();
  ExperimentOptions o = quick(100);
  o.train_hooks.push_back(plugin_hook("stop_at_step", {{"last_step", std::int64_t{25}}}, "no_further"));
  const TrainAndEvaluateResult result = Experiment(*e, ones, ones, o).continuous_train_and_eval();
  EXPECT_EQ(step_of(result.metrics), 25);
  EXPECT_EQ(evaluated, 4);  // after 10, 20 and 25, and after the round that made none
  EXPECT_THAT(log.of("", LogLevel::kWarning),
              ::testing::Contains("a round of continuous_train_and_eval made no checkpoint: it ends here"));
}

TEST_F(Experiments, XP_16_TestMakesOneStepOfEach) {
  const auto e = estimator();
  Experiment(*e, ones, ones, quick(100)).test();
  EXPECT_EQ(trained, 1);
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(exports.size(), 1u);
}

}  // namespace
}  // namespace belay
