// SPDX-License-Identifier: Apache-2.0
// Estimator::evaluate, and evaluate_once below it: sections 9 and 6a of the catalogue.
#include "belay/ops/matmul.h"
#include "runtime/estimator/evaluation/evaluate_once.h"
#include "runtime/events/event_reader.h"
#include "tests/estimator/estimator_fixture.h"
#include "tests/monitored/event_files.h"
#include "tests/platform/faulty_file_system.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EstimatorEvaluates : public EstimatorTest {
 protected:
  // The loss is the sum of the batch; `metrics` adds to it.
  static ModelFn summing(std::function<void(const ModelArgs&, EstimatorPieces&)> metrics = {}) {
    return [=](const ModelArgs& m) {
      EstimatorPieces p = pieces(m, 1, 3);
      p.loss = ops::reduce_sum(m.feature());
      if (metrics) metrics(m, p);
      return EstimatorSpec(m, p);
    };
  }
  // x is +-1, y whether it is positive: learned without a fault.
  static InputResult separable(const InputArgs& in) {
    std::vector<float> x;
    std::vector<std::int64_t> y;
    for (int i = 0; i < 16; ++i) {
      x.push_back(i % 3 == 0 ? 1.0f : -1.0f);
      y.push_back(i % 3 == 0 ? 1 : 0);
    }
    return {.features = {{"x", ops::constant(in.graph, Tensor({16, 1}, x))}},
            .labels = {{"y", ops::constant(in.graph, Tensor({16}, y))}}};
  }
  static EstimatorSpec classifier(const ModelArgs& m) {
    const Output w = ops::variable(m.graph, "w", Tensor({1, 2}, {0.0f, 0.0f}));
    const Output logits = ops::matmul(m.feature(), w);
    EstimatorPieces p;
    p.predictions = {{"class", ops::arg_max(logits)}};
    if (m.mode != Mode::kPredict) {
      p.loss = ops::softmax_cross_entropy(logits, m.label());
      p.eval_metric_ops["accuracy"] = ops::metrics::accuracy(m.label(), ops::arg_max(logits));
    }
    OptimizerSettings optimizer;
    optimizer.learning_rate.learning_rate = 1;
    if (m.mode == Mode::kTrain) p.train_op = m.minimize(p.loss, optimizer);
    return EstimatorSpec(m, p);
  }
};

TEST_F(EstimatorEvaluates, EVAL_01_ATrainedModelIsRestoredAndIsRight) {
  Estimator estimator(classifier, options());
  estimator.train(separable, {.steps = 20});
  EXPECT_GT(number(estimator.evaluate(separable, {.steps = 1}), "accuracy"), 0.99);
}

TEST_F(EstimatorEvaluates, EVAL_02_AFiniteInputIsCountedInWholeRunsAndTheValuesAreFetchedAtItsEnd) {
  Estimator estimator(summing([](const ModelArgs& m, EstimatorPieces& p) {
                        p.eval_metric_ops["runs"] = {get_or_create_eval_step(m.graph), ops::no_op(m.graph)};
                      }),
                      options());
  const EvalMetrics metrics = estimator.evaluate(counted(16, 6));
  EXPECT_EQ(number(metrics, "runs"), 3);  // TensorFlow has 4: it counts the run that found the end
  EXPECT_NEAR(number(metrics, "loss"), 136.0 / 3, 1e-4);
}

TEST_F(EstimatorEvaluates, EVAL_06_AMissingCheckpointIsNotFound) {
  Estimator estimator(summing(), options());
  EXPECT_EQ(error_of([&] { estimator.evaluate(one, {.steps = 1, .checkpoint_path = temp / "none"}); }),
            "NOT_FOUND: [B4025] there is no '" + (temp / "none") + "'");
}

TEST_F(EstimatorEvaluates, PROSE_43_StepsAreCheckedAndLogged) {
  Estimator estimator(summing(), options());
  EXPECT_EQ(error_of([&] { estimator.evaluate(one, {.steps = 0}); }),
            "INVALID_ARGUMENT: [B5037] an evaluation needs at least one step, got 0");
  estimator.evaluate(one, {.steps = 3});
  EXPECT_THAT(log.of("stop_after_n_evals"), ElementsAre("evaluation [1/3]", "evaluation [2/3]", "evaluation [3/3]"));
  estimator.evaluate(one, {.steps = 40});
  EXPECT_EQ(log.of("stop_after_n_evals").size(), 3 + 10);
  EXPECT_EQ(log.of("stop_after_n_evals").back(), "evaluation [40/40]");
}

TEST_F(EstimatorEvaluates, PROSE_44_TheCallersHooksEndBeforeTheValuesAreFetchedAndTwoCountersAreRefused) {
  const ModelFn two = summing([](const ModelArgs& m, EstimatorPieces&) {
    for (const char* name : {"a", "b"})
      m.graph.collect("eval_step", ops::variable(m.graph, name, Tensor(std::int64_t{0}), ops::VariableKind::kLocal));
  });
  EXPECT_EQ(error_of([&] { Estimator(two, options()).evaluate(one, {.steps = 1}); }),
            "INVALID_ARGUMENT: [B5037] the graph has 2 counters of evaluation runs");
  // If a hook changes a metric in its end, the fetch after it sees the change.
  auto late = std::make_unique<Probe>("late", timeline);
  late->in_session = [&](Session& session) {
    if (timeline.back() == "late.end") session.assign("seen", Tensor(9.0f));
  };
  Estimator estimator(summing([](const ModelArgs& m, EstimatorPieces& p) {
                        const Output seen = ops::variable(m.graph, "seen", Tensor(0.0f), ops::VariableKind::kGlobal);
                        p.eval_metric_ops["seen"] = {seen, ops::no_op(m.graph)};
                      }),
                      options());
  EXPECT_EQ(number(estimator.evaluate(one, {.steps = 1, .hooks = {own_hook("late", std::move(late))}}), "seen"), 9);
}

TEST_F(EstimatorEvaluates, EST_20_BatchesOfAQueueAreEvaluatedAndLabelsMayBeMissing) {
  const InputFn input =
      tensor_input({{"x", Tensor({2, 1}, {1.0f, 2.0f})}}, {{"y", Tensor({2, 1}, {10.0f, 20.0f})}}, {.batch_size = 1});
  Estimator estimator(summing([](const ModelArgs& m, EstimatorPieces& p) {
                        p.predictions = {{"", m.feature()}};
                        if (!m.labels.empty()) p.loss = ops::reduce_sum(m.feature() + m.label());
                      }),
                      options());
  EXPECT_EQ(number(estimator.evaluate(input), "loss"), 16.5);
  std::vector<float> predicted;
  for (const PredictedRow& p : estimator.predict(input)) predicted.push_back(p.value().data<float>()[0]);
  EXPECT_THAT(predicted, ElementsAre(1, 2));
  EXPECT_EQ(number(estimator.evaluate(counted(2, 1)), "loss"), 1.5);
}

TEST_F(EstimatorEvaluates, EST_21_WithoutACheckpointTheInitialOrWarmValuesAreUsed) {
  const auto with = [](float initial) {
    return [=](const ModelArgs& m) {
      EstimatorPieces p = pieces(m, initial, 3);
      p.loss = ops::reduce_sum(m.graph.find("one") + m.feature());
      p.predictions = {{"", m.graph.find("one") + m.feature()}};
      return EstimatorSpec(m, p);
    };
  };
  Estimator fresh(with(2), options());
  EXPECT_EQ(number(fresh.evaluate(one, {.steps = 1}), "loss"), 3);
  EXPECT_EQ(fresh.predict(one).next()->value().data<float>()[0], 3);
  EXPECT_THAT(logged(),
              HasSubstr("there is no checkpoint in " + (temp / "model") + ": the model starts from its initial"));

  EstimatorSetup o = options();
  o.model_dir = temp / "source";
  Estimator(with(42), o).train(one, {.steps = 1});
  o = options();
  o.warm_start_from = warm_start(temp / "source");
  Estimator warm(with(36), o);
  EXPECT_EQ(number(warm.evaluate(one, {.steps = 1}), "loss"), 43);
  EXPECT_EQ(warm.predict(one).next()->value().data<float>()[0], 43);
}

TEST_F(EstimatorEvaluates, EST_22_MetricsTheStepAndTheMeanLossAreReported) {
  const ModelFn model = summing([](const ModelArgs& m, EstimatorPieces& p) {
    p.eval_metric_ops["mean_x"] = ops::metrics::mean(m.feature());
    p.loss = ops::reduce_sum(m.feature() * 2.0);
  });
  Estimator estimator(model, options());
  estimator.train(one, {.steps = 5});
  const EvalMetrics metrics = estimator.evaluate(counted(5, 1));
  EXPECT_EQ(metrics.size(), 3);
  EXPECT_EQ(number(metrics, "loss"), 6);
  EXPECT_EQ(number(metrics, "mean_x"), 3);
  EXPECT_EQ(number(metrics, "global_step"), 5);
  EXPECT_THAT(logged(), HasSubstr("evaluation at global step 5: global_step = 5, loss = 6, mean_x = 3"));
  const EventFiles events = read_event_files(estimator.eval_dir());
  EXPECT_EQ(events.values.at("mean_x"), std::vector<float>{3});
  EXPECT_EQ(events.steps.at("loss"), Steps{5});
  EXPECT_FALSE(events.steps.contains("global_step"));
}

TEST_F(EstimatorEvaluates, EST_24_AHookIsCalledOncePerStep) {
  Estimator(summing(), options()).evaluate(one, {.steps = 5, .hooks = {probe("hook")}});
  EXPECT_EQ(count("hook.before_run"), 5);
  EXPECT_EQ(count("hook.end"), 1);
}

TEST_F(EstimatorEvaluates, EST_25_ACheckpointOfAnotherModelDirectoryIsEvaluated) {
  Estimator trained([](const ModelArgs& m) { return EstimatorSpec(m, pieces(m, 42, 3)); }, options());
  trained.train(one, {.steps = 5});
  EstimatorSetup o = options();
  o.model_dir = temp / "second";
  Estimator second(counting, o);
  for (const std::string& path : {trained.latest_checkpoint(), trained.model_dir()}) {
    const EvalMetrics metrics = second.evaluate(one, {.steps = 1, .checkpoint_path = path});
    EXPECT_EQ(number(metrics, "loss"), 42);
    EXPECT_EQ(number(metrics, "global_step"), 5);
  }
}

TEST_F(EstimatorEvaluates, EST_26_SummariesTensorsAndTheCheckpointsPathAreEvents) {
  Estimator estimator(
      summing([](const ModelArgs& m, EstimatorPieces& p) {
        const Graph& g = m.graph;
        const Output images = ops::fill(g, {3, 2, 2, 1}, 0.5);
        p.eval_metric_ops["foo"] = {ops::image_summary("other", images, 3), ops::no_op(g)};
        p.eval_metric_ops["array"] = {ops::constant(g, Tensor({2}, {1.5f, 2.5f})), ops::no_op(g)};
        p.eval_metric_ops["bytes"] = {ops::constant(g, Tensor(std::string_view("\xff no summary"))), ops::no_op(g)};
      }),
      options());
  estimator.train(one, {.steps = 5});
  estimator.evaluate(one, {.steps = 1, .name = "images"});
  const std::string folder = temp / "model/eval_images";
  EXPECT_EQ(estimator.eval_dir("images"), folder);
  const EventFiles events = read_event_files(folder);
  for (const char* tag : {"foo/0", "foo/1", "foo/2", "array", "checkpoint_path"})
    EXPECT_EQ(events.steps.at(tag), Steps{5}) << tag;
  const auto directory = posix_file_system().open_directory(folder);
  for (const std::string& name : directory->entries()) {
    EventReader reader(directory->open(name));
    for (pb::Event event; reader.next(event);)
      for (const pb::Summary::Value& v : event.summary().value()) {
        if (v.tag() == "checkpoint_path") {
          EXPECT_THAT(v.tensor().string_val(), ElementsAre(temp / "model/model.ckpt-5"));
        } else if (v.tag() == "array") {
          EXPECT_EQ(v.tensor().tensor_content().size(), 8);
        }
      }
  }
  EXPECT_THAT(log.of("", LogLevel::kWarning),
              ElementsAre("the metric 'bytes' is in no event: the string is no serialized summary"));
}

TEST_F(EstimatorEvaluates, EST_27_TheModelsHooksOfAModeBeginOnlyInIt) {
  const ModelFn model = [&](const ModelArgs& m) {
    EstimatorPieces p = pieces(m, 1, 3);
    p.evaluation_hooks = {probe("evaluation")};
    p.prediction_hooks = {probe("prediction")};
    return EstimatorSpec(m, p);
  };
  Estimator estimator(model, options());
  estimator.train(one, {.steps = 1});
  EXPECT_THAT(timeline, IsEmpty());
  estimator.evaluate(one, {.steps = 1});
  EXPECT_EQ(count("evaluation.begin"), 1);
  EXPECT_EQ(count("prediction.begin"), 0);
  timeline.clear();
  estimator.predict(one).next();
  EXPECT_EQ(count("evaluation.begin"), 0);
  EXPECT_EQ(count("prediction.begin"), 1);
}

TEST_F(EstimatorEvaluates, PROSE_43_TakesNoLockAndWhereItMayNotWriteGoesOnWithAWarning) {
  EstimatorSetup o = options();
  FaultyFileSystem files(posix_file_system());
  o.files = &files;
  Estimator estimator(counting, o);
  estimator.train(one, {.steps = 1});
  files.forget_calls();
  estimator.predict(one).next();
  for (const std::string& call : files.calls())
    EXPECT_THAT(call.substr(0, call.find(' ')), ::testing::AnyOf("open", "open_directory", "read", "list", "close"));
  files.fail(FileCall::kMakeDirectory, 1, Error(Code::kPermissionDenied, "no entry"), HowOften::kForEver);
  files.forget_calls();
  EXPECT_EQ(number(estimator.evaluate(one, {.steps = 1}), "loss"), 1);
  EXPECT_THAT(files.calls(), ::testing::Not(Contains(::testing::StartsWith("lock"))));
  EXPECT_THAT(log.of("", LogLevel::kWarning), Contains("the evaluation writes no events: no entry"));
}

TEST_F(EstimatorEvaluates, PROSE_43_WorksInsideATraining) {
  Estimator estimator(counting, options({.save_checkpoints_steps = 1}));
  auto hook = std::make_unique<Probe>("evaluate", timeline);
  double loss = 0;
  hook->look = [&](RunContext&, const RunValues&) { loss = number(estimator.evaluate(one, {.steps = 1}), "loss"); };
  estimator.train(one, {.hooks = {own_hook("evaluate", std::move(hook))}, .steps = 2});
  EXPECT_EQ(loss, 1);
}

}  // namespace
}  // namespace belay::runtime::testing
