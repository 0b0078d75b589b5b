// SPDX-License-Identifier: Apache-2.0
// in_memory_evaluator, TensorFlow's InMemoryEvaluatorHook: section 12 of the catalogue.
#include "belay/ops/random.h"
#include "tests/estimator/estimator_fixture.h"
#include "tests/monitored/event_files.h"

extern "C" {
extern const belay_module belay_module_digits;
extern const belay_module belay_module_mlp;
}

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class EvaluatesInMemory : public EstimatorTest {
 protected:
  // 0 to 9, one by one.
  static InputFn ten() {
    return tensor_input({{"x", Tensor({10, 1}, {0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f, 8.0f, 9.0f})}}, {},
                        {.batch_size = 1});
  }
  // Training sets w to the step and 2 more; its initial value is 0. The metrics are w and the mean of x.
  static EstimatorSpec two_ahead(const ModelArgs& m) {
    const Output w = ops::variable(m.graph, "w", Tensor(0.0f));
    EstimatorPieces p;
    p.loss = ops::reduce_mean(m.feature());
    if (m.mode == Mode::kEval)
      p.eval_metric_ops = {{"w", ops::metrics::mean(w)}, {"mean_x", ops::metrics::mean(m.feature())}};
    if (m.mode == Mode::kTrain) {
      const Output step =
          ops::assign_add(m.graph.global_step_if_exists(), ops::constant(m.graph, Tensor(std::int64_t{1})));
      p.train_op = ops::assign(w, ops::cast(step, DType::kFloat32) + 2.0).operation();
    }
    return EstimatorSpec(m, p);
  }
  EventFiles events(const std::string& folder = "eval") const { return read_event_files(temp / "model/" + folder); }
};

TEST_F(EvaluatesInMemory, EHK_01_EventsAreOfTheStartOfEveryFourthStepAndOfTheEnd) {
  Estimator estimator(two_ahead, options());
  estimator.train(ten(), {.evaluators = {in_memory_evaluator(ten(), {.every_n_iter = 4})}});
  const EventFiles found = events();
  EXPECT_EQ(found.steps.at("mean_x"), (Steps{0, 4, 8, 10}));
  EXPECT_EQ(found.values.at("mean_x"), (std::vector<float>{4.5f, 4.5f, 4.5f, 4.5f}));
  EXPECT_FALSE(found.steps.contains("checkpoint_path"));
  EXPECT_THAT(log.of("eval"), Contains(StartsWith("step 8: loss = 4.5, mean_x = 4.5, w = 10 (10 batches)")));
}

TEST_F(EvaluatesInMemory, EHK_01_AStepThatWasEvaluatedIsNotEvaluatedAgainAtTheEnd) {
  Estimator estimator(two_ahead, options());
  estimator.train(ten(), {.max_steps = 4, .evaluators = {in_memory_evaluator(ten(), {.every_n_iter = 2})}});
  EXPECT_EQ(events().steps.at("loss"), (Steps{0, 2, 4}));
}

TEST_F(EvaluatesInMemory, EHK_01_ATrainingThatGoesOnIsEvaluatedWhereItBegins) {
  Estimator estimator(two_ahead, options());
  const std::vector<InMemoryEvaluator> evaluators{in_memory_evaluator(ten(), {.name = "test", .every_n_iter = 4})};
  estimator.train(ten(), {.steps = 3, .evaluators = evaluators});
  clock.advance(2'000'000'000);
  estimator.train(ten(), {.steps = 3, .evaluators = evaluators});
  EXPECT_EQ(events("eval_test").steps.at("w"), (Steps{0, 3, 3, 4, 6}));
  EXPECT_EQ(events("eval_test").values.at("w"), (std::vector<float>{0, 5, 5, 6, 8}));
  EXPECT_EQ(events("eval_test").sessions.at(pb::SessionLog::START), (Steps{1, 4}));
}

TEST_F(EvaluatesInMemory, EHK_02_EachSeesTheVariablesOfItsStepAndHooksOfTheTrainingSeeItsMetrics) {
  Estimator estimator(two_ahead, options());
  auto watches = std::make_unique<Probe>("watches", timeline);
  std::vector<double> seen;
  watches->ask = [](RunContext& run) { return RunArgs({run.session().graph().find("eval/w")}); };
  watches->look = [&](RunContext&, const RunValues& values) { seen.push_back(values.result(0).scalar<double>()); };
  estimator.train(ten(), {.hooks = {own_hook("watches", std::move(watches))},
                          .evaluators = {in_memory_evaluator(ten(), {.every_n_iter = 4})}});
  EXPECT_EQ(events().steps.at("w"), (Steps{0, 4, 8, 10}));
  EXPECT_EQ(events().values.at("w"), (std::vector<float>{0, 6, 10, 12}));
  EXPECT_EQ(seen, (std::vector<double>{0, 0, 0, 0, 6, 6, 6, 6, 10, 10}));
}

TEST_F(EvaluatesInMemory, EHK_02_EarlyStoppingWorksOnItsMetrics) {
  Estimator estimator(two_ahead, options());
  estimator.train(
      ten(), {.hooks = {plugin_hook("early_stopping", {{"tensor", std::string("eval_test/w")}, {"higher_than", 5.0}})},
              .evaluators = {in_memory_evaluator(ten(), {.name = "test", .every_n_iter = 2})}});
  EXPECT_EQ(events("eval_test").values.at("w"), (std::vector<float>{0, 4, 6, 7}));  // that of step 4 is seen at step 5
}

TEST_F(EvaluatesInMemory, EHK_02_ItChangesNoBitOfTheTraining) {
  const ModelFn random = [](const ModelArgs& m) {
    const Output w = ops::variable(m.graph, "w", Tensor(0.0f));
    const Output loss = ops::square(w - ops::reduce_mean(m.feature()) - ops::random_uniform(m.graph, {}, 2, 4));
    if (m.mode != Mode::kTrain) return EstimatorSpec(m, {.loss = loss});
    return EstimatorSpec(m, {.loss = loss, .train_op = m.minimize(loss, {.name = "adam"})});
  };
  EstimatorSetup o = options();
  Estimator alone(random, o);
  alone.train(ten(), {});
  o.model_dir = temp / "evaluated";
  Estimator evaluated(random, o);
  evaluated.train(ten(), {.evaluators = {in_memory_evaluator(ten(), {.every_n_iter = 1})}});
  EXPECT_EQ(TensorView(alone.variable_value("w")).scalar<float>(),
            TensorView(evaluated.variable_value("w")).scalar<float>());
  EXPECT_EQ(evaluated.variable_names(), alone.variable_names());
}

// Batches of unequal sizes, of a queue and of an input plugin.
TEST_F(EvaluatesInMemory, EHK_03_TheLastMetricsAreThoseOfANormalEvaluation) {
  EstimatorSetup o = options();
  o.plugins.push_back(&belay_module_digits);
  o.plugins.push_back(&belay_module_mlp);
  o.params["hidden"] = std::vector<std::int64_t>{16};
  Estimator estimator(model_plugin("mlp"), o);
  const auto digits = [](const char* split, std::int64_t examples) {
    return input_plugin("digits", {{"split", std::string(split)},
                                   {"examples", examples},
                                   {"batch_size", std::int64_t{32}},
                                   {"epochs", std::int64_t{1}}});
  };
  estimator.train(digits("train", 320),
                  {.evaluators = {in_memory_evaluator(digits("eval", 100), {.every_n_iter = 3})}});
  const EventFiles inside = events();
  EXPECT_EQ(inside.steps.at("accuracy"), (Steps{0, 3, 6, 9, 10}));
  const EvalMetrics metrics = estimator.evaluate(digits("eval", 100), {.name = "after"});
  const EventFiles after = events("eval_after");
  EXPECT_EQ(static_cast<float>(number(metrics, "accuracy")), after.values.at("accuracy").at(0));
  for (const auto& [name, values] : after.values) {
    if (name == "checkpoint_path") continue;
    EXPECT_EQ(inside.values.at(name).back(), values.at(0)) << name;
  }
}

TEST_F(EvaluatesInMemory, EHK_04_WhatCannotWorkIsRefusedBeforeAnythingBegins) {
  EXPECT_EQ(error_of([&] { in_memory_evaluator(ten(), {.every_n_iter = 0}); }),
            "INVALID_ARGUMENT: [B5052] in_memory_evaluator's every_n_iter must be above 0, got 0");
  EXPECT_EQ(error_of([&] { in_memory_evaluator(ten(), {.steps = -1}); }),
            "INVALID_ARGUMENT: [B5037] an evaluation needs at least one step, got -1");
  EXPECT_EQ(error_of([&] { in_memory_evaluator({}); }),
            "INVALID_ARGUMENT: [B5052] in_memory_evaluator was given no input function");
  EXPECT_EQ(error_of([&] { in_memory_evaluator(ten(), {.hooks = {OwnHook{}}}); }),
            "INVALID_ARGUMENT: [B5052] in_memory_evaluator's hooks[0] is no hook; make it by own_hook or plugin_hook");
  Estimator estimator(
      [](const ModelArgs& m) -> EstimatorSpec {
        ADD_FAILURE() << "the model function is not to be called";
        return counting(m);
      },
      options());
  const InMemoryEvaluator twice = in_memory_evaluator(ten(), {.name = "test"});
  EXPECT_EQ(error_of([&] {
              estimator.train(ten(), {.evaluators = {twice, twice}});
            }),
            "INVALID_ARGUMENT: [B5052] two in-memory evaluators are named \"test\"; each needs a name, since its "
            "events have a "
            "folder");
  EstimatorSetup o = options();
  o.config = RunConfig({}, variables({{"TF_CONFIG",
                                       "{\"cluster\": {\"chief\": [\"a:1\"], \"worker\": [\"b:1\"]}, "
                                       "\"task\": {\"type\": \"chief\", \"index\": 0}}"}}));
  EXPECT_THAT(error_of([&] { Estimator(counting, o).train(ten(), {.evaluators = {twice}}); }),
              HasSubstr("its config is of a cluster of 2 tasks"));
}

// The variables are copied: no saver, no initializer and no init function comes into it.
TEST_F(EvaluatesInMemory, EHK_04_AVariableThatTrainingHasNotGotIsAnErrorAndTheModelsInitFunctionIsNotCalled) {
  const ModelFn more = [](const ModelArgs& m) {
    if (m.mode == Mode::kEval) ops::variable(m.graph, "more", Tensor(0.0f));
    return counting(m);
  };
  EXPECT_EQ(
      error_of([&] {
        Estimator(more, options()).train(one, {.steps = 1, .evaluators = {in_memory_evaluator(one, {.steps = 1})}});
      }),
      "FAILED_PRECONDITION: the evaluation of step 0 on \"eval\": [B5027] the model in mode eval has the variable "
      "'more', "
      "which the training does not have; a model must make the same variables in both");
  EstimatorSetup o = options();
  o.model_dir = temp / "other";
  std::vector<Mode> called;
  const ModelFn initialized = [&](const ModelArgs& m) {
    EstimatorPieces p = pieces(m, 1, 3);
    p.scaffold.init_fn = [&called, mode = m.mode](Session&) { called.push_back(mode); };
    return EstimatorSpec(m, p);
  };
  Estimator(initialized, o).train(one, {.steps = 1, .evaluators = {in_memory_evaluator(one, {.steps = 1})}});
  EXPECT_THAT(called, ElementsAre(Mode::kTrain));
}

// The value of such a metric takes one more batch when the input has ended.
TEST_F(EvaluatesInMemory, EHK_04_AnEndOfInputThatLeavesItIsAnErrorAndNotTheEndOfTheTraining) {
  const ModelFn late = [](const ModelArgs& m) {
    EstimatorPieces p = pieces(m, 1, 3);
    if (m.mode == Mode::kEval) p.eval_metric_ops["late"] = {ops::reduce_sum(m.feature()), ops::no_op(m.graph)};
    return EstimatorSpec(m, p);
  };
  const std::string error = error_of([&] {
    Estimator(late, options()).train(ten(), {.evaluators = {in_memory_evaluator(ten(), {.every_n_iter = 5})}});
  });
  EXPECT_THAT(error, ::testing::StartsWith("FAILED_PRECONDITION: the evaluation of step 0 on \"eval\": "));
  EXPECT_THAT(error, HasSubstr("OUT_OF_RANGE ends no run from here"));
}

TEST_F(EvaluatesInMemory, EHK_01_ItsHooksBeginOnceAndAreInEachOfItsSessionsAndInNoOther) {
  Estimator estimator(two_ahead, options());
  estimator.train(
      ten(), {.steps = 4,
              .evaluators = {in_memory_evaluator(ten(), {.steps = 2, .hooks = {probe("hook")}, .every_n_iter = 2})}});
  EXPECT_EQ(count("hook.begin"), 1);
  EXPECT_EQ(count("hook.after_create_session"), 3);  // of steps 0, 2 and 4
  EXPECT_EQ(count("hook.before_run"), 6);
  EXPECT_EQ(count("hook.end"), 3);
  EXPECT_EQ(count("hook.before_save 4"), 0);
}

TEST_F(EvaluatesInMemory, EHK_01_SeveralHaveTheirOwnPeriodsAndFolders) {
  Estimator estimator(two_ahead, options());
  estimator.train(ten(), {.steps = 6,
                          .evaluators = {in_memory_evaluator(ten(), {.every_n_iter = 2}),
                                         in_memory_evaluator(one, {.name = "one", .steps = 1, .every_n_iter = 3})}});
  EXPECT_EQ(events().steps.at("loss"), (Steps{0, 2, 4, 6}));
  EXPECT_EQ(events("eval_one").steps.at("loss"), (Steps{0, 3, 6}));
  EXPECT_EQ(events("eval_one").values.at("mean_x"), (std::vector<float>{1, 1, 1}));
}

}  // namespace
}  // namespace belay::runtime::testing
