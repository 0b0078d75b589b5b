// SPDX-License-Identifier: Apache-2.0
// train_and_evaluate: section 10 of the catalogue of checkpoints, Estimator and input.
#include "belay/runtime/train_and_evaluate.h"

#include <filesystem>

#include "tests/conformance/program_estimator.h"

namespace belay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TrainAndEvaluates : public ProgramEstimatorTest {
 protected:
  // Trains the same model up to a step, as another process would.
  void train_to(std::int64_t step) { estimator()->train(ones, {.max_steps = step}); }
  std::vector<EvalStatus> statuses;
  std::vector<std::int64_t> evaluated;
  TrainAndEvaluateOptions noting() {
    TrainAndEvaluateOptions o;
    o.after_eval = [this](const EvalOutcome& outcome) {
      statuses.push_back(outcome.status);
      if (outcome.status == EvalStatus::kEvaluated) evaluated.push_back(step_of(outcome.metrics));
      return true;
    };
    return o;
  }
};

TEST_F(TrainAndEvaluates, TAE_01_TheSpecsHaveTensorFlowsDefaultsAndRefuseWhatIsWrong) {
  const TrainSpec training(ones);
  EXPECT_EQ(training.options().max_steps, std::nullopt);
  EXPECT_TRUE(training.options().hooks.empty() && training.options().saving_listeners.empty());
  const EvalSpec evaluation(ones);
  EXPECT_EQ(evaluation.options().steps, 100);
  EXPECT_EQ(evaluation.options().start_delay_secs, 120);
  EXPECT_EQ(evaluation.options().throttle_secs, 600);
  EXPECT_TRUE(evaluation.options().name.empty() && evaluation.options().exporters.empty());

  EXPECT_EQ(error_of([] { TrainSpec spec({}); }), "INVALID_ARGUMENT: [B5052] TrainSpec was given no input function");
  EXPECT_EQ(error_of([] { TrainSpec spec(ones, {.max_steps = 0}); }),
            "INVALID_ARGUMENT: [B5052] max_steps must be above 0, got 0");
  EXPECT_THAT(error_of([] { TrainSpec spec(ones, {.hooks = {OwnHook{}}}); }), HasSubstr("TrainSpec's hooks"));
  EXPECT_THAT(error_of([] { TrainSpec spec(ones, {.saving_listeners = {OwnHook{}}}); }),
              HasSubstr("TrainSpec's saving_listeners"));
  EXPECT_EQ(error_of([] { EvalSpec spec({}); }), "INVALID_ARGUMENT: [B5052] EvalSpec was given no input function");
  EXPECT_EQ(error_of([] { EvalSpec spec(ones, {.steps = -1}); }),
            "INVALID_ARGUMENT: [B5052] steps must be above 0, got -1");
  EXPECT_THAT(error_of([] { EvalSpec spec(ones, {.start_delay_secs = -1}); }),
              HasSubstr("start_delay_secs must not be below 0"));
  EXPECT_THAT(error_of([] { EvalSpec spec(ones, {.throttle_secs = -1}); }),
              HasSubstr("throttle_secs must not be below 0"));
  EXPECT_THAT(error_of([] { EvalSpec spec(ones, {.hooks = {OwnHook{}}}); }), HasSubstr("EvalSpec's hooks"));
  EXPECT_EQ(error_of([] { EvalSpec spec(ones, {.exporters = {nullptr}}); }),
            "INVALID_ARGUMENT: [B5052] an exporter is null");
  EXPECT_EQ(error_of([&] { EvalSpec spec(ones, {.exporters = keeping({""})}); }),
            "INVALID_ARGUMENT: [B5052] an exporter has no name");
  EXPECT_EQ(error_of([&] {
              EvalSpec spec(ones, {.exporters = keeping({"a", "a"})});
            }),
            "INVALID_ARGUMENT: [B5052] two exporters have the name \"a\"; each needs its own");
}

TEST_F(TrainAndEvaluates, TAE_02_AnEvaluatorOfAnotherIndexAndAMissingEvalSpecAreRefusedBeforeAnythingBegins) {
  const auto second = task(R"({"cluster": {"chief": ["h:1"]}, "task": {"type": "evaluator", "index": 1}})");
  EXPECT_EQ(error_of([&] { train_and_evaluate(*second, TrainSpec(ones), EvalSpec(ones)); }),
            "INVALID_ARGUMENT: [B5052] there is one evaluator, of index 0, not 1");
  EXPECT_EQ(error_of([&] { train_and_evaluate(*estimator(), TrainSpec(ones), std::nullopt); }),
            "INVALID_ARGUMENT: [B5052] train_and_evaluate needs an EvalSpec without a cluster");
  EXPECT_EQ(error_of([&] { train_and_evaluate(*task(kEvaluator), TrainSpec(ones), std::nullopt); }),
            "INVALID_ARGUMENT: [B5052] train_and_evaluate needs an EvalSpec in an evaluator");
  EXPECT_FALSE(std::filesystem::exists(temp / "model"));
}

TEST_F(TrainAndEvaluates, TAE_03_EachTaskDoesItsPartAndOthersAreListed) {
  const TrainSpec training(ones, {.max_steps = 10});
  const EvalSpec evaluation(ones, at_once());
  EXPECT_FALSE(train_and_evaluate(*estimator(), training, evaluation).metrics.empty());  // without a cluster
  EXPECT_FALSE(train_and_evaluate(*task(kEvaluator), training, evaluation).metrics.empty());
  for (const char* job : {"ps", "local"}) {
    const auto other = task(std::string(R"({"cluster": {"chief": ["a:1"], ")") + job +
                            R"(": ["b:1"]}, "task": {"type": ")" + job + R"(", "index": 0}})");
    EXPECT_EQ(error_of([&] { train_and_evaluate(*other, training, evaluation); }),
              "INVALID_ARGUMENT: [B5052] a task of type \"" + std::string(job) +
                  "\" has no part in train_and_evaluate; those are chief, worker, master and evaluator");
  }
}

TEST_F(TrainAndEvaluates, TAE_04_AChiefTrainsAndLeavesEvaluationAndExportsToOthers) {
  const auto chief = task(alone("chief"));
  TrainAndEvaluateOptions more;
  more.hooks = {probe("late")};
  more.before_eval = [] {
    ADD_FAILURE() << "nothing is evaluated here";
    return true;
  };
  train_and_evaluate(*chief, TrainSpec(ones, {.max_steps = 20, .hooks = {probe("early")}}), EvalSpec(ones, at_once()),
                     more);
  EXPECT_EQ(chief->latest_checkpoint(), temp / "model/model.ckpt-20");
  EXPECT_THAT(exports, IsEmpty());
  EXPECT_THAT(timeline, ::testing::IsSupersetOf({"early.begin", "late.begin"}));
  EXPECT_LT(std::find(timeline.begin(), timeline.end(), "early.begin"),
            std::find(timeline.begin(), timeline.end(), "late.begin"));
  train_and_evaluate(*chief, TrainSpec(ones, {.max_steps = 30}), std::nullopt);
  EXPECT_EQ(chief->latest_checkpoint(), temp / "model/model.ckpt-30");
}

TEST_F(TrainAndEvaluates, TAE_06_AClusterOfOneTaskTrainsAndALargerOneIsRefused) {
  train_and_evaluate(*task(alone("chief")), TrainSpec(ones, {.max_steps = 10}), std::nullopt);
  for (const char* job : {"chief", "worker"}) {
    const auto one_of_two =
        task(std::string(R"({"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": ")") + job +
             R"(", "index": 0}})");
    EXPECT_THAT(error_of([&] { train_and_evaluate(*one_of_two, TrainSpec(ones), std::nullopt); }),
                HasSubstr("FAILED_PRECONDITION: [B5052] an Estimator trains in one process"));
  }
  EXPECT_THAT(error_of([&] { task(R"({"cluster": {"chief": ["a:1"]}, "task": {"index": 0}})"); }),
              HasSubstr("task.type must be given where there is a cluster"));
  EXPECT_THAT(error_of([&] { task(R"({"cluster": {"chief": ["a:1"]}, "task": {"type": "chief"}})"); }),
              HasSubstr("task.index must be given where there is a cluster"));
}

// A worker's delay comes with the cluster that it would help.
TEST_F(TrainAndEvaluates, TAE_07_AChiefAndAMasterBeginAtOnceAndASecondWorkerIsRefusedWithoutAWait) {
  train_and_evaluate(*task(alone("chief")), TrainSpec(ones, {.max_steps = 10}), std::nullopt);
  train_and_evaluate(*task(alone("master")), TrainSpec(ones, {.max_steps = 20}), EvalSpec(ones, at_once()));
  const auto worker =
      task(R"({"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": 1}})");
  EXPECT_THAT(error_of([&] { train_and_evaluate(*worker, TrainSpec(ones), std::nullopt); }),
              HasSubstr("FAILED_PRECONDITION: [B5052] an Estimator trains in one process"));
  EXPECT_THAT(clock.new_waits_ms(), IsEmpty());
}

TEST_F(TrainAndEvaluates, TAE_08_AMasterEvaluatesBehindItsCheckpointsAndExportsTheLastAsFinal) {
  train_and_evaluate(*task(alone("master")), TrainSpec(ones, {.max_steps = 10}), EvalSpec(ones, at_once()), noting());
  EXPECT_THAT(evaluated, ElementsAre(10));
  EXPECT_EQ(exports, (Exports{{10, true}}));
  EXPECT_THAT(error_of([&] { train_and_evaluate(*task(alone("master")), TrainSpec(ones), std::nullopt); }),
              HasSubstr("needs an EvalSpec in a master"));
}

TEST_F(TrainAndEvaluates, TAE_09_TheThrottleLeavesEvaluationsOutButTheLast) {
  // The checkpoints of 10, 20 and 30 come at 1, 2 and 1000 s.
  const std::vector<std::int64_t> seconds{1, 1, 998};
  std::size_t asked = 0;
  TrainAndEvaluateOptions options = noting();
  options.before_eval = [&] {
    pass(seconds.at(asked++));
    return true;
  };
  EvalSpecOptions o = at_once();
  o.throttle_secs = 600;
  train_and_evaluate(*estimator(), TrainSpec(ones, {.max_steps = 30}), EvalSpec(ones, o), options);
  EXPECT_THAT(evaluated, ElementsAre(10, 30));
  EXPECT_EQ(exports, (Exports{{10, false}, {30, true}}));
  EXPECT_THAT(log.of("eval"), ElementsAre("the evaluation of step 20 is skipped because of throttle_secs; 1 so far"));
}

TEST_F(TrainAndEvaluates, TAE_09_ALastCheckpointThatIsThrottledIsEvaluatedAllTheSame) {
  EvalSpecOptions o = at_once();
  o.throttle_secs = 600;
  train_and_evaluate(*estimator(), TrainSpec(ones, {.max_steps = 20}), EvalSpec(ones, o), noting());
  EXPECT_THAT(evaluated, ElementsAre(10, 20));
  EXPECT_EQ(exports, (Exports{{10, false}, {20, true}}));
}

TEST_F(TrainAndEvaluates, TAE_10_AnEvaluatorTakesTheEvalSpecAndNothingOfTheTraining) {
  train_to(10);
  int batches = 0;
  const EvalSpec evaluation(ones, {.steps = 3, .name = "late", .hooks = {behind("counting", [&] { ++batches; })}});
  train_and_evaluate(*task(kEvaluator), TrainSpec(ones, {.max_steps = 10, .hooks = {probe("training")}}), evaluation,
                     noting());
  EXPECT_THAT(evaluated, ElementsAre(10));
  EXPECT_EQ(batches, 3);
  EXPECT_TRUE(std::filesystem::is_directory(temp / "model/eval_late"));
  EXPECT_THAT(timeline, IsEmpty());
}

TEST_F(TrainAndEvaluates, TAE_11_AnEvaluatorEndsBehindTheCheckpointOfMaxStepsAndExportsItAsFinal) {
  TrainAndEvaluateOptions o = noting();
  int rounds = 0;
  o.before_eval = [&] {
    train_to(++rounds * 100);
    return true;
  };
  train_and_evaluate(*task(kEvaluator), TrainSpec(ones, {.max_steps = 200}), EvalSpec(ones, at_once()), o);
  EXPECT_THAT(evaluated, ElementsAre(100, 200));
  EXPECT_EQ(exports, (Exports{{100, false}, {200, true}}));
}

TEST_F(TrainAndEvaluates, TAE_12_TheListenerIsAskedBeforeAndToldBehindEachEvaluation) {
  train_to(10);
  int asked = 0;
  TrainAndEvaluateOptions o = noting();
  o.before_eval = [&] { return ++asked == 1; };
  train_and_evaluate(*task(kEvaluator), TrainSpec(ones, {.max_steps = 99}), EvalSpec(ones, at_once()), o);
  EXPECT_EQ(asked, 2);
  EXPECT_THAT(evaluated, ElementsAre(10));

  EvalOutcome told;
  o = {.after_eval = [&](const EvalOutcome& outcome) {
    told = outcome;
    return false;
  }};
  train_and_evaluate(*task(kEvaluator), TrainSpec(ones, {.max_steps = 99}), EvalSpec(ones, at_once()), o);
  EXPECT_EQ(told.checkpoint_path, temp / "model/model.ckpt-10");
  EXPECT_EQ(step_of(told.metrics), 10);
}

TEST_F(TrainAndEvaluates, TAE_12_TheListenerEndsATrainingToo) {
  TrainAndEvaluateOptions o = noting();
  o.after_eval = [this](const EvalOutcome& outcome) {
    evaluated.push_back(step_of(outcome.metrics));
    return false;
  };
  const auto of_one_process = estimator();
  train_and_evaluate(*of_one_process, TrainSpec(ones, {.max_steps = 1000}), EvalSpec(ones, at_once()), o);
  EXPECT_THAT(evaluated, ElementsAre(10));
}

TEST_F(TrainAndEvaluates, T_138_AListenerThatEndsATrainingIsNotCalledAgain) {
  int asked = 0, told = 0;
  TrainAndEvaluateOptions o;
  o.before_eval = [&] { return ++asked < 2; };
  o.after_eval = [&](const EvalOutcome&) {
    ++told;
    return true;
  };
  train_and_evaluate(*estimator(), TrainSpec(ones, {.max_steps = 1000}), EvalSpec(ones, at_once()), o);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(told, 1);
}

TEST_F(TrainAndEvaluates, TAE_13_MissingAndKnownCheckpointsAreToldAndWarnedOfOnce) {
  const std::vector<std::function<void()>> before{[] {}, [&] { std::filesystem::create_directory(temp / "model"); },
                                                  [&] { train_to(10); }, [] {}, [&] { train_to(20); }};
  std::size_t round = 0;
  TrainAndEvaluateOptions o = noting();
  o.before_eval = [&] {
    if (round == before.size()) return false;
    before[round++]();
    return true;
  };
  EvalSpecOptions spec = at_once();
  spec.throttle_secs = 1;
  train_and_evaluate(*task(kEvaluator), TrainSpec(ones, {.max_steps = 99}), EvalSpec(ones, spec), o);
  EXPECT_THAT(evaluated, ElementsAre(10, 20));
  EXPECT_THAT(statuses, ElementsAre(EvalStatus::kMissingCheckpoint, EvalStatus::kMissingCheckpoint,
                                    EvalStatus::kEvaluated, EvalStatus::kNoNewCheckpoint, EvalStatus::kEvaluated));
  EXPECT_THAT(log.of("", LogLevel::kWarning),
              ElementsAre("nothing is evaluated: there is no checkpoint in " + (temp / "model"),
                          "nothing is evaluated: there is no newer checkpoint than " + (temp / "model/model.ckpt-10")));
}

TEST_F(TrainAndEvaluates, TAE_14_StartDelayAndThrottleAreWaitedFor) {
  train_to(10);
  clock.new_waits_ms();
  EvalSpecOptions o = at_once();
  o.start_delay_secs = 123;
  const auto no = [] { return false; };
  train_and_evaluate(*task(kEvaluator), TrainSpec(ones), EvalSpec(ones, o), {.before_eval = no});
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(123'000));

  o = at_once();
  o.throttle_secs = 123;
  o.hooks = {behind("work", [&] { pass(12); })};
  int rounds = 0;
  train_and_evaluate(*task(kEvaluator), TrainSpec(ones), EvalSpec(ones, o),
                     {.before_eval = [&] { return ++rounds == 1; }});
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(111'000));
}

TEST_F(TrainAndEvaluates, TAE_15_WithoutAThrottleALookInVainIsAWarningAndWaitsASecond) {
  int rounds = 0;
  train_and_evaluate(*task(kEvaluator), TrainSpec(ones), EvalSpec(ones, at_once()),
                     {.before_eval = [&] { return ++rounds == 1; }});
  EXPECT_THAT(log.of("", LogLevel::kWarning), Contains(HasSubstr("raise throttle_secs")));
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(1000));
}

TEST_F(TrainAndEvaluates, TAE_18_EveryNewCheckpointIsEvaluatedAndExportedAndOneExportIsFinal) {
  train_and_evaluate(*estimator(), TrainSpec(ones, {.max_steps = 22}), EvalSpec(ones, at_once()), noting());
  EXPECT_THAT(evaluated, ElementsAre(10, 20, 22));
  EXPECT_EQ(exports, (Exports{{10, false}, {20, false}, {22, true}}));
}

TEST_F(TrainAndEvaluates, TAE_20_AConfigThatSavesNothingIsRefused) {
  EXPECT_THAT(error_of([&] {
                train_and_evaluate(*estimator({.save_checkpoints_secs = std::nullopt}), TrainSpec(ones),
                                   EvalSpec(ones, at_once()));
              }),
              HasSubstr("INVALID_ARGUMENT: [B5052] saving_listeners are given, and nothing saves"));
}

TEST_F(TrainAndEvaluates, TAE_21_TheLastMetricsAndWhatTheExportersWroteAreReturned) {
  EvalSpecOptions o = at_once();
  o.exporters = keeping({"a", "b"});
  const TrainAndEvaluateResult result =
      train_and_evaluate(*estimator(), TrainSpec(ones, {.max_steps = 12}), EvalSpec(ones, o), noting());
  EXPECT_EQ(step_of(result.metrics), 12);
  EXPECT_THAT(evaluated, ElementsAre(10, 12));
  EXPECT_THAT(result.exported, ElementsAre(temp / "model/export/a/12", temp / "model/export/b/12"));
}

TEST_F(TrainAndEvaluates, TAE_22_ACheckpointThatACrashLeftUnevaluatedIsEvaluatedBeforeTheNextStep) {
  train_to(10);
  std::vector<std::int64_t> steps_made;
  const OwnHook made = behind("made", [&] { steps_made.push_back(static_cast<std::int64_t>(evaluated.size())); });
  train_and_evaluate(*estimator(), TrainSpec(ones, {.max_steps = 15, .hooks = {made}}), EvalSpec(ones, at_once()),
                     noting());
  EXPECT_THAT(evaluated, ElementsAre(10, 15));
  EXPECT_EQ(steps_made.front(), 1);
  // The one at 15 was evaluated, as the events show.
  evaluated.clear();
  train_and_evaluate(*estimator(), TrainSpec(ones, {.max_steps = 18}), EvalSpec(ones, at_once()), noting());
  EXPECT_THAT(evaluated, ElementsAre(18));
}

TEST_F(TrainAndEvaluates, TAE_23_ATimeLimitCountsFromTheFirstSession) {
  const std::vector<std::int64_t> seconds{0, 500, 400, 200, 0, 0};
  std::size_t runs = 0;
  const OwnHook time = behind("time", [&] { pass(seconds.at(runs++)); });
  estimator()->train(ones, {.hooks = {time, plugin_hook("time_limit", {{"seconds", 1000.0}})}});
  EXPECT_EQ(runs, 4u);
}

TEST_F(TrainAndEvaluates, AnInputThatEndsMakesTheLastExportTheFinalOne) {
  const InputFn three = tensor_input({{"x", Tensor({3, 1}, {1.f, 2.f, 3.f})}}, {}, {.batch_size = 1});
  train_and_evaluate(*estimator({.save_checkpoints_steps = 1}), TrainSpec(three), EvalSpec(ones, at_once()), noting());
  EXPECT_THAT(evaluated, ElementsAre(1, 2, 3));
  ASSERT_FALSE(exports.empty());
  EXPECT_EQ(exports.back(), std::make_pair(std::int64_t{3}, true));
}

TEST_F(TrainAndEvaluates, ATrainingThatIsAtItsEndIsEvaluatedOnceMore) {
  train_to(10);
  train_and_evaluate(*estimator(), TrainSpec(ones, {.max_steps = 10}), EvalSpec(ones, at_once()), noting());
  EXPECT_EQ(exports, (Exports{{10, true}}));
}

TEST_F(TrainAndEvaluates, AnEvaluatorEndsWithTheLastCheckpointOfATrainingThatHasCometoItsEnd) {
  train_and_evaluate(*task(alone("chief")), TrainSpec(ones, {.max_steps = 12}), std::nullopt);
  train_and_evaluate(*task(kEvaluator), TrainSpec(ones), EvalSpec(ones, at_once()), noting());
  EXPECT_THAT(evaluated, ElementsAre(12));
  EXPECT_EQ(exports, (Exports{{12, true}}));
  // It learns of the end even if the chief was killed just before it could report it.
  std::filesystem::remove(temp / "model/finished");
  train_and_evaluate(*task(alone("chief")), TrainSpec(ones, {.max_steps = 12}), std::nullopt);
  EXPECT_TRUE(std::filesystem::exists(temp / "model/finished"));
  // A training that continues has not ended.
  train_to(13);
  EXPECT_FALSE(std::filesystem::exists(temp / "model/finished"));
}

TEST_F(TrainAndEvaluates, ACheckpointThatIsRemovedWhileItIsReadIsSkipped) {
  train_to(10);
  bool gone = false;
  EvalSpecOptions o = at_once();
  o.hooks = {behind("removing", [&] {
    if (std::exchange(gone, true)) return;
    std::filesystem::remove_all(temp / "model/model.ckpt-10");
    fail(Code::kDataLoss, "a file is missing");
  })};
  TrainAndEvaluateOptions told = noting();
  told.before_eval = [&] {
    if (gone) train_to(20);
    return true;
  };
  train_and_evaluate(*task(kEvaluator), TrainSpec(ones, {.max_steps = 20}), EvalSpec(ones, o), told);
  EXPECT_THAT(evaluated, ElementsAre(20));
  EXPECT_THAT(logged(), HasSubstr((temp / "model/model.ckpt-10") + " was removed while it was read: it is skipped"));
}

TEST_F(TrainAndEvaluates, EST_32_ALinearModelIsTrainedEvaluatedAndExported) {
  const InputFn line = [](const InputArgs& in) -> InputResult {
    return {.features = {{"x", ops::constant(in.graph, Tensor({4, 1}, {-1.f, -0.5f, 0.5f, 1.f}))}},
            .labels = {{"y", ops::constant(in.graph, Tensor({4, 1}, {-1.f, 0.f, 2.f, 3.f}))}}};
  };
  const ModelFn model = [](const ModelArgs& m) -> EstimatorSpec {
    const Output w = ops::variable(m.graph, "w", Tensor(0.0f)), b = ops::variable(m.graph, "b", Tensor(0.0f));
    const Output y = m.feature() * w + b;
    if (m.mode == Mode::kPredict) return {m, {.predictions = {{"y", y}}}};
    const Output loss = ops::mean_squared_error(y, m.label());
    if (m.mode == Mode::kEval) return {m, {.loss = loss}};
    return {m, {.loss = loss, .train_op = m.minimize(loss, {.learning_rate = {.learning_rate = 0.1}})}};
  };
  Estimator linear(std::make_unique<Insides>(model, options({.save_checkpoints_steps = 100})));
  EvalSpecOptions o = at_once();
  o.exporters = {plugin_exporter("onnx")};
  const TrainAndEvaluateResult result =
      train_and_evaluate(linear, TrainSpec(line, {.max_steps = 200}), EvalSpec(line, o));
  EXPECT_LT(TensorView(result.metrics.at("loss")).number(0), 0.1);
  EXPECT_EQ(step_of(result.metrics), 200);
  ASSERT_EQ(result.exported.size(), 1u);
  EXPECT_TRUE(std::filesystem::is_regular_file(result.exported[0] + "/model.onnx"));
}

}  // namespace
}  // namespace belay
