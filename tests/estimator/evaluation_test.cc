// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/evaluation.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <thread>

#include "belay/ops/math.h"
#include "runtime/estimator/evaluation/undefined_metrics.h"
#include "tests/estimator/evaluation_fixture.h"

namespace belay::runtime::testing {
namespace {

constexpr const char* kNotThere =
    "FAILED_PRECONDITION: [B5027] the model in mode eval has the variable 'scale', which the training does not have; a "
    "model must "
    "make the same variables in both";

class EvaluateTrained : public EvaluationTest {
 protected:
  EvaluateTrained() {
    trained.find_or_create("scale", DType::kFloat32, {}, true);
    trained.find_or_create("global_step", DType::kInt64, {}, false);
    set("scale", Tensor(2.0f));
    set("global_step", Tensor(std::int64_t{70}));
  }
  void set(const std::string& name, const Tensor& value) { trained.assign(name, TensorView(value.view())); }
  Evaluation& make(EvaluationOptions options = {}, const OptionList& of_input = {}, const OptionList& of_model = {}) {
    input = &open("eval", of_input);
    evaluation.emplace(*run_host, *ops, model(of_model), *input, std::move(options));
    return *evaluation;
  }
  EvalResult run(const std::function<bool()>& keep_going = always) { return evaluation->run(trained, 70, keep_going); }

  VariableStore trained;
  RunInput* input = nullptr;
  std::optional<Evaluation> evaluation;
};

TEST_F(EvaluateTrained, WeighsEachBatchByItsExamples) {
  make();
  const EvalResult result = run();
  EXPECT_EQ(result.global_step, 70);
  EXPECT_EQ(result.examples, 5);
  EXPECT_EQ(result.batches, 3);
  // Losses of the batches: 3, 7, 10; their largest numbers: 2, 4, 5.
  EXPECT_EQ(result.metrics, (Metrics{{"loss", 6.0}, {"largest", 3.4}, {"total", 15.0}}));
  EXPECT_EQ(evaluation->metric_names(), (std::vector<std::string>{"loss", "largest", "total"}));
}

TEST_F(EvaluateTrained, EVAL_02_TheEndOfTheInputIsCountedAsNoBatchAndTheMetricsAreReadBehindIt) {
  make({}, {{"last", std::int64_t{16}}});
  const EvalResult result = run();
  EXPECT_EQ(result.batches, 8);
  EXPECT_EQ(result.examples, 16);
  EXPECT_EQ(result.metrics.back().second, 136.0);
}

TEST_F(EvaluateTrained, BeginsAnewEachTimeWithTheVariablesOfThen) {
  make();
  for (int i = 0; i < 20; ++i) {
    set("scale", Tensor(static_cast<float>(i)));
    const EvalResult result = run();
    ASSERT_EQ(result.examples, 5);
    ASSERT_EQ(result.metrics, (Metrics{{"loss", 3.0 * i}, {"largest", 3.4}, {"total", 15.0}}));
  }
}

TEST_F(EvaluateTrained, NothingThatAPassHasReadAheadIsInTheNextOne) {
  make({.batches = 2}, {{"last", std::int64_t{1000}}});
  for (int i = 0; i < 50; ++i) {
    const EvalResult result = run();
    ASSERT_EQ(result.batches, 2);
    ASSERT_EQ(result.metrics, (Metrics{{"loss", 5.0}, {"largest", 3.0}, {"total", 10.0}}));
  }
}

TEST_F(EvaluateTrained, AFewBatchesLookWhetherItWorks) {
  make();
  EXPECT_EQ(evaluation->run_some(trained, 0, 1, always).examples, 2);
  EXPECT_EQ(run().examples, 5);
}

TEST_F(EvaluateTrained, HooksOfTheModelAreRoundEachPassAndMayEndIt) {
  Probe* hook = nullptr;
  make({.add_hooks = [&](SessionHost& host, const ModelOutputs&) {
    auto probe = std::make_unique<Probe>("x", timeline);
    hook = probe.get();
    host.add_hook("x",
                  [held = std::make_shared<std::unique_ptr<Probe>>(std::move(probe))](
                      const belay_host_api* api, belay_host* of) { return belay::hook(api, of, std::move(*held)); });
  }});
  EXPECT_EQ(new_events(), Timeline{"x.begin"});
  const Metrics whole = run().metrics;
  EXPECT_EQ(new_events(), (Timeline{"x.after_create_session", "x.before_run", "x.after_run", "x.before_run",
                                    "x.after_run", "x.before_run", "x.after_run", "x.end"}));
  EXPECT_EQ(run().metrics, whole) << "begin is called once, all else again";
  EXPECT_EQ(new_events().size(), 8u);
  hook->look = [](RunContext& context, const RunValues&) { context.request_stop("enough"); };
  EXPECT_EQ(run().batches, 1);
  EXPECT_EQ(new_events().back(), "x.end");
  hook->look = [](RunContext&, const RunValues&) { fail(Code::kInternal, "broken"); };
  EXPECT_THAT(error_of([&] { run(); }), ::testing::HasSubstr("in after_run"));
  EXPECT_EQ(new_events().back(), "x.on_error");
}

TEST_F(EvaluateTrained, LeavesTheTrainedVariablesAlone) {
  make();
  const std::uint64_t version = trained.find("scale")->version;
  run();
  EXPECT_EQ(trained.find("scale")->version, version);
  EXPECT_EQ(trained.find("total"), nullptr);
  EXPECT_TRUE(trained.positions().empty());
}

TEST_F(EvaluateTrained, TheSnapshotIsMadeOnceAndCounted) {
  make();
  EXPECT_EQ(evaluation->snapshot_bytes(), 0u);
  run();
  EXPECT_EQ(evaluation->snapshot_bytes(), sizeof(float) + sizeof(std::int64_t));
  run();
  EXPECT_EQ(evaluation->snapshot_bytes(), sizeof(float) + sizeof(std::int64_t));
}

TEST_F(EvaluateTrained, AVariableThatTrainingHasNotGotIsAnError) {
  make();
  VariableStore without_scale;
  without_scale.find_or_create("global_step", DType::kInt64, {}, false);
  without_scale.assign("global_step", TensorView(Tensor(std::int64_t{1}).view()));
  EXPECT_EQ(error_of([&] { evaluation->run(without_scale, 1, always); }), kNotThere);
  EXPECT_EQ(run().examples, 5);
  trained.find("scale")->initialized = false;
  EXPECT_EQ(error_of([&] { run(); }), kNotThere);
}

TEST_F(EvaluateTrained, AVariableOfAnotherShapeIsAnError) {
  make();
  VariableStore wider;
  wider.find_or_create("global_step", DType::kInt64, {}, false).initialized = true;
  wider.find_or_create("scale", DType::kFloat32, {3}, true).initialized = true;
  EXPECT_EQ(error_of([&] { evaluation->run(wider, 1, always); }),
            "FAILED_PRECONDITION: [B5027] the variable 'scale' is float32 [] in mode eval, but training has float32 "
            "[3]; a model "
            "must make the same variables in both");
}

TEST_F(EvaluateTrained, EndsBetweenTwoBatchesWhereItIsTold) {
  make();
  int asked = 0;
  EXPECT_EQ(error_of([&] { run([&] { return ++asked < 3; }); }), "CANCELLED: the evaluation was interrupted");
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(run().metrics, (Metrics{{"loss", 6.0}, {"largest", 3.4}, {"total", 15.0}}));
}

TEST_F(EvaluateTrained, AnInterruptEndsAWaitForTheInputWhichBeginsAgainOnceItHasComeBack) {
  Gatekeeper gate;
  gatekeeper = &gate;
  new_run({.session = {.stop_grace_period_secs = 0.01}});
  make({}, {{"waits_at", std::int64_t{2}}});
  std::thread signal([&] {
    gate.await();
    control.interrupt().cancel(Error(Code::kCancelled, "a signal came"));
  });
  EXPECT_EQ(error_of([&] { run(); }), "CANCELLED: a signal came");
  signal.join();
  control.interrupt().reset();
  EXPECT_EQ(error_of([&] { run(); }),
            "FAILED_PRECONDITION: [B3006] 'input/eval_queue' cannot begin again: its input has not come back from the "
            "last pass");
  gate.open();
  while (error_of([&] { run(); }).find("cannot begin again") != std::string::npos) std::this_thread::yield();
  EXPECT_EQ(run().examples, 5);
}

TEST_F(EvaluateTrained, WhatTheInputFailsWithIsTheEvaluationsError) {
  make({}, {{"fails_at", std::int64_t{4}}});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(error_of([&] { run(); }),
              "DATA_LOSS: input \"numbers\" (linked in, 1.0.0) in next at step 70: the numbers are damaged");
}

TEST_F(EvaluateTrained, AnInputWithoutExamplesIsAnError) {
  make({}, {{"last", std::int64_t{0}}});
  EXPECT_EQ(error_of([&] { run(); }), "FAILED_PRECONDITION: [B5037] the evaluation's input has no examples");
}

TEST_F(EvaluateTrained, AnInputThatNeverEndsIsAnErrorUnlessTheBatchesAreCounted) {
  make({}, {{"repeat", true}});
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(error_of([&] { run(); }),
              "FAILED_PRECONDITION: [B5025] [input.eval] begins its third pass over its examples, and does not seem to "
              "end: set "
              "its option epochs = 1, or eval.batches");
  make({.batches = 30}, {{"repeat", true}});
  EXPECT_EQ(run().batches, 30);
}

TEST_F(EvaluateTrained, AMetricWithTheNameOfOneThatEachEvaluationHasIsRefused) {
  for (const char* name : {"loss", "global_step"})
    EXPECT_EQ(error_of([&] {
                make({}, {}, {{"metric", std::string(name)}});
              }),
              "INVALID_ARGUMENT: [B5039] the model has a metric called '" + std::string(name) +
                  "', which each evaluation has already; give the metric another name");
}

TEST_F(EvaluateTrained, TellsItsProgressAndItsStep) {
  int batches = 0;
  make({.on_batch = [&] { ++batches; }});
  run();
  EXPECT_EQ(batches, 3);
  EXPECT_EQ(input->monitor.step, 70);
}

TEST_F(EvaluateTrained, AnUndefinedMetricIsOneWarningUnlessTheTrainingHasDiverged) {
  const auto with_nan = [&] {
    make({.add_metrics = [](NodeGraph&, ModelOutputs& outputs) {
      const Output nothing = outputs.metrics[0].value * 0.0;
      outputs.metrics.push_back({"hidden", nothing / nothing, Output()});
    }});
    log_text.clear();
    EXPECT_TRUE(std::isnan(run().metrics.back().second));
    run();
  };
  const std::string warning = "the metric hidden of [input.eval] is undefined at step 70: no example has a class that ";
  with_nan();
  const std::size_t at = log_text.find(warning);
  EXPECT_NE(at, std::string::npos) << log_text;
  EXPECT_EQ(log_text.find(warning, at + 1), std::string::npos) << log_text;
  set("scale", Tensor(std::numeric_limits<float>::infinity()));
  with_nan();
  EXPECT_FALSE(logged("undefined")) << log_text;
}

TEST(UndefinedMetrics, TheReasonIsTheClassesWithoutAnExample) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EvalResult result;
  result.global_step = 20;
  result.metrics = {{"loss", 0.5}, {"auc", nan}, {"accuracy", 1}, {"f1", nan}};
  result.matrices = {{"confusion_matrix", Tensor({2, 2}, {3.0, 0.0, 0.0, 0.0})}};
  result.class_names = {"no", "yes"};
  EXPECT_EQ(undefined_metrics(result), (std::vector<std::string>{"auc", "f1"}));
  EXPECT_EQ(
      undefined_metrics_text(result, "[input.eval]"),
      "the metrics auc, f1 of [input.eval] are undefined at step 20: no example has the class \"yes\"; evaluate on "
      "examples of each class, for instance by split_by = \"stratify\" in [input.train] (logged once)");
  result.class_names.clear();
  EXPECT_THAT(undefined_metrics_text(result, "[input.eval]"), ::testing::HasSubstr("no example has the class 1;"));
  result.matrices = {{"confusion_matrix", Tensor({3, 3}, std::vector<double>{0, 0, 0, 0, 2, 0, 0, 0, 0})}};
  EXPECT_THAT(undefined_metrics_text(result, "[input.eval]"), ::testing::HasSubstr("no example has the class 0 or 2;"));
  result.metrics[0].second = nan;
  EXPECT_EQ(undefined_metrics_text(result, "[input.eval]"), "") << "the training has diverged";
  result.weightless = true;
  EXPECT_EQ(undefined_metrics_text(result, "[input.eval]"),
            "the metrics loss, auc, f1 of [input.eval] are undefined at step 20: each example has weight 0; give those "
            "that count a weight above 0 (logged once)");
  result.metrics = {{"loss", 0.5}, {"accuracy", 1}};
  EXPECT_EQ(undefined_metrics_text(result, "[input.eval]"), "");
}

TEST(MetricsText, IsShort) {
  EvalResult result;
  EXPECT_EQ(metrics_text(result), "");
  result.metrics = {{"loss", 0.08123456789}, {"accuracy", 0.975}, {"count", 1e12}};
  EXPECT_EQ(metrics_text(result), "loss = 0.0812346, accuracy = 0.975, count = 1e+12");
}

}  // namespace
}  // namespace belay::runtime::testing
