// SPDX-License-Identifier: Apache-2.0
// Estimator::predict: section 9 of the catalogue.
#include "tests/estimator/estimator_fixture.h"

extern "C" {
extern const belay_module belay_module_digits;
extern const belay_module belay_module_mlp;
}

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EstimatorPredicts : public EstimatorTest {
 protected:
  static ModelFn predicting(std::function<std::vector<NamedOutput>(const ModelArgs&)> predictions) {
    return [=](const ModelArgs& m) {
      EstimatorPieces p = pieces(m, 1, 3);
      p.predictions = predictions(m);
      return EstimatorSpec(m, p);
    };
  }
  static ModelFn two_names() {
    return predicting([](const ModelArgs& m) {
      return std::vector<NamedOutput>{{"x", m.feature()}, {"twice", m.feature() * 2.0}};
    });
  }
};

TEST_F(EstimatorPredicts, EST_28_ComputesAsItIsRead) {
  Estimator estimator(counting, options());
  EstimatorPredictions predictions = estimator.predict(counted(4, 2), {.hooks = {probe("hook")}});
  EXPECT_THAT(timeline, IsEmpty());
  predictions.next();
  EXPECT_EQ(count("hook.before_run"), 1);
  predictions.next();
  EXPECT_EQ(count("hook.before_run"), 1);
  predictions.next();
  EXPECT_EQ(count("hook.before_run"), 2);
  EXPECT_EQ(count("hook.end"), 0);
  predictions.next();
  EXPECT_EQ(predictions.next(), nullptr);
  EXPECT_EQ(count("hook.end"), 1);
  EXPECT_EQ(predictions.next(), nullptr);
}

TEST_F(EstimatorPredicts, EST_28_AReaderThatStopsClosesOrDrops) {
  Estimator estimator(counting, options());
  EstimatorPredictions closed = estimator.predict(counted(4, 2), {.hooks = {probe("closed")}});
  closed.next();
  closed.close();
  EXPECT_EQ(count("closed.end"), 1);
  EXPECT_EQ(closed.next(), nullptr);
  for (const PredictedRow& p : estimator.predict(counted(4, 2), {.hooks = {probe("dropped")}})) {
    EXPECT_EQ(p.value().data<float>()[0], 3);
    break;
  }
  EXPECT_EQ(count("dropped.end"), 0);
}

TEST_F(EstimatorPredicts, EST_29_RowsComeByNameAndKeysChoose) {
  Estimator estimator(two_names(), options());
  std::vector<float> rows;
  for (const PredictedRow& p : estimator.predict(counted(3, 2))) {
    EXPECT_THAT(p.names(), ElementsAre("x", "twice"));
    EXPECT_EQ(p["x"].dims(), Dims{1});
    rows.push_back(p["x"].data<float>()[0]);
    rows.push_back(p["twice"].data<float>()[0]);
    EXPECT_EQ(error_of([&] { p["twise"]; }),
              "NOT_FOUND: [B5032] there is no prediction 'twise' (did you mean \"twice\"?)");
    EXPECT_EQ(error_of([&] { p.value(); }),
              "INVALID_ARGUMENT: [B5032] there is no single prediction, but 2: x, twice; choose one by its name");
  }
  EXPECT_THAT(rows, ElementsAre(1, 2, 2, 4, 3, 6));
  EstimatorPredictions one_key = estimator.predict(counted(3, 2), {.predict_keys = {"twice", "other"}});
  const PredictedRow* p = one_key.next();
  EXPECT_THAT(p->names(), ElementsAre("twice"));
  EXPECT_EQ(p->value().data<float>()[0], 2);
  EXPECT_EQ(error_of([&] { estimator.predict(counted(3, 2), {.predict_keys = {"three"}}).next(); }),
            "INVALID_ARGUMENT: [B5032] predict_keys = three: the model has none of them, but x, twice");
  Estimator single(counting, options());
  EXPECT_EQ(error_of([&] { single.predict(counted(3, 2), {.predict_keys = {"x"}}).next(); }),
            "INVALID_ARGUMENT: [B5032] predict_keys = x, and the model's prediction is a tensor without a name; leave "
            "them out");
}

TEST_F(EstimatorPredicts, EST_29_UnequalBatchesComeOnlyWhole) {
  Estimator estimator(predicting([](const ModelArgs& m) {
                        return std::vector<NamedOutput>{
                            {"x", m.feature()}, {"all", ops::constant(m.graph, Tensor({3}, {7.0f, 8.0f, 9.0f}))}};
                      }),
                      options());
  EXPECT_EQ(error_of([&] { estimator.predict(counted(2, 2), {.hooks = {probe("hook")}}).next(); }),
            "INVALID_ARGUMENT: [B5035] the prediction 'all' is of 3 examples, 'x' of 2; set yield_single_examples to "
            "false for "
            "batches as they are");
  EXPECT_EQ(count("hook.on_error"), 1);
  EstimatorPredictions whole = estimator.predict(counted(2, 2), {.yield_single_examples = false});
  const PredictedRow* p = whole.next();
  EXPECT_EQ((*p)["x"].dims(), (Dims{2, 1}));
  EXPECT_EQ((*p)["all"].dims(), Dims{3});
  EXPECT_EQ(whole.next(), nullptr);
  Estimator scalar(predicting([](const ModelArgs& m) {
                     return std::vector<NamedOutput>{{"sum", ops::reduce_sum(m.feature())}};
                   }),
                   options());
  EXPECT_THAT(error_of([&] { scalar.predict(counted(2, 2)).next(); }),
              HasSubstr("the prediction 'sum' is a scalar, not a value for each example"));
}

TEST_F(EstimatorPredicts, EST_29_StringsComeRowByRow) {
  Estimator estimator(
      [](const ModelArgs& m) {
        return EstimatorSpec(m, {.predictions = {{"", m.feature()}}});
      },
      options());
  EstimatorPredictions words = estimator.predict([](const InputArgs& in) {
    Tensor text(DType::kString, {2});
    text.set_text(0, "one");
    text.set_text(1, "two");
    return InputResult{.features = {{"x", ops::constant(in.graph, text)}}};
  });
  EXPECT_EQ(words.next()->value().text(0), "one");
  EXPECT_EQ(words.next()->value().text(0), "two");
}

TEST_F(EstimatorPredicts, EST_30_AnInputThatNeverEndsIsAWarning) {
  Estimator estimator(counting, options());
  estimator.predict(counted(2, 1)).next();
  EXPECT_THAT(log.of("", LogLevel::kWarning), IsEmpty());
  estimator.predict(one).next();
  EXPECT_THAT(log.of("", LogLevel::kWarning),
              ElementsAre("the input of predict has no queue: it never ends, and neither does predict"));
}

TEST_F(EstimatorPredicts, EST_31_PredictsFromAnExplicitCheckpoint) {
  Estimator trained([](const ModelArgs& m) { return EstimatorSpec(m, pieces(m, 42, 3)); }, options());
  trained.train(one, {.steps = 1});
  EstimatorSetup o = options();
  o.model_dir = temp / "second";
  Estimator second(counting, o);
  EstimatorPredictions predictions = second.predict(one, {.checkpoint_path = trained.latest_checkpoint()});
  EXPECT_EQ(predictions.next()->value().data<float>()[0], 85);
  EXPECT_EQ(predictions.checkpoint(), trained.latest_checkpoint());
  EXPECT_EQ(error_of([&] { second.predict(one, {.checkpoint_path = temp / "none"}).next(); }),
            "NOT_FOUND: [B4025] there is no '" + (temp / "none") + "'");
}

TEST_F(EstimatorPredicts, EST_32_ALinearModelLearnsAndPredicts) {
  const InputFn line = [](const InputArgs& in) {
    std::vector<float> x, y;
    for (int i = 0; i < 20; ++i) {
      x.push_back(static_cast<float>(i) / 10 - 1);
      y.push_back(2 * x.back() + 1);
    }
    return InputResult{.features = {{"x", ops::constant(in.graph, Tensor({20, 1}, x))}},
                       .labels = {{"y", ops::constant(in.graph, Tensor({20, 1}, y))}}};
  };
  const ModelFn model = [](const ModelArgs& m) {
    const Output w = ops::variable(m.graph, "w", Tensor(0.0f)), b = ops::variable(m.graph, "b", Tensor(0.0f));
    const Output y = m.feature() * w + b;
    if (m.mode == Mode::kPredict) return EstimatorSpec(m, {.predictions = {{"y", y}}});
    OptimizerSettings optimizer;
    optimizer.learning_rate.learning_rate = 0.1;
    EstimatorPieces p{.loss = ops::mean_squared_error(y, m.label())};
    if (m.mode == Mode::kTrain) p.train_op = m.minimize(p.loss, optimizer);
    return EstimatorSpec(m, p);
  };
  Estimator estimator(model, options());
  estimator.train(line, {.steps = 200});
  const EvalMetrics metrics = estimator.evaluate(line, {.steps = 1});
  EXPECT_LT(number(metrics, "loss"), 0.1);
  EXPECT_EQ(number(metrics, "global_step"), 200);
  EstimatorPredictions predictions = estimator.predict(line);
  for (int i = 0; i < 20; ++i)
    EXPECT_NEAR((*predictions.next())["y"].data<float>()[0], 2 * (static_cast<float>(i) / 10 - 1) + 1, 0.01);
}

TEST_F(EstimatorPredicts, T_126_APredictionSaysNothingAndALongEvaluationLittle) {
  Estimator estimator(counting, options());
  estimator.train(one, {.steps = 1});
  const std::size_t before = log.of("", LogLevel::kInfo).size();
  EstimatorPredictions predictions = estimator.predict(counted(3, 1));
  while (predictions.next() != nullptr) continue;
  EXPECT_EQ(log.of("", LogLevel::kInfo).size(), before);
  estimator.evaluate(counted(40, 1), {.steps = std::nullopt});
  EXPECT_THAT(log.of("stop_after_n_evals"), ElementsAre("evaluation [1]", "evaluation [2]", "evaluation [4]",
                                                        "evaluation [8]", "evaluation [16]", "evaluation [32]"));
  EXPECT_THAT(log.of("").back(), HasSubstr("evaluation at global step 1"));
  EXPECT_THAT(logged(), HasSubstr(" s: the input ended\n"));
  EXPECT_THAT(logged(), ::testing::Not(HasSubstr("insufficient")));
}

TEST_F(EstimatorPredicts, T_125_APluginThatIsNotAmongTheGivenIsNamedWithWhatToAdd) {
  Estimator estimator(counting, options());
  EXPECT_EQ(error_of([&] { estimator.train(input_plugin("digits"), {.steps = 1}); }),
            "NOT_FOUND: [B2039] there is no input \"digits\" among the session's plugins: belay::default_plugins() has "
            "none of "
            "that kind; add its belay_module to the plugins that the program gives");
}

// As the page writes it: a string, and a number without its type.
TEST_F(EstimatorPredicts, T_125_OptionsOfAnInputAreWrittenPlainly) {
  EstimatorSetup o = options();
  o.clock = nullptr;  // the input has a thread
  o.plugins.push_back(&belay_module_digits);
  const ModelFn model = [](const ModelArgs& m) {
    EstimatorPieces p;
    p.loss = ops::identity(ops::variable(m.graph, "one", Tensor(1.0f)));
    p.train_op =
        ops::assign_add(m.graph.global_step_if_exists(), ops::constant(m.graph, Tensor(std::int64_t{1}))).operation();
    return EstimatorSpec(m, p);
  };
  Estimator(model, o).train(input_plugin("digits", {{"split", "train"}, {"batch_size", 64}}), {.steps = 1});
}

// A model and an input that were written for the manifest.
TEST_F(EstimatorPredicts, PROSE_45_PluginsAreModelsAndInputs) {
  EstimatorSetup o = options();
  o.clock = nullptr;  // the input has a thread
  o.plugins.push_back(&belay_module_digits);
  o.plugins.push_back(&belay_module_mlp);
  o.params["task"] = std::string("classification");
  o.params["hidden"] = std::vector<std::int64_t>{32};
  OptimizerSettings adam;
  adam.name = "adam";
  adam.learning_rate.learning_rate = 0.01;
  Estimator estimator(model_plugin("mlp", adam), o);
  estimator.train(input_plugin("digits", {{"batch_size", std::int64_t{64}}}), {.steps = 150});
  const InputFn test = input_plugin(
      "digits", {{"split", std::string("eval")}, {"examples", std::int64_t{300}}, {"epochs", std::int64_t{1}}});
  const EvalMetrics metrics = estimator.evaluate(test);
  EXPECT_GT(number(metrics, "accuracy"), 0.5);
  std::int64_t examples = 0;
  for (const PredictedRow& p : estimator.predict(test, {.predict_keys = {"class"}})) {
    EXPECT_LT(p.value().scalar<std::int64_t>(), 10);
    ++examples;
  }
  EXPECT_EQ(examples, 300);
  o.params["hiden"] = std::int64_t{1};
  EXPECT_THAT(error_of([&] { Estimator(model_plugin("mlp", adam), o).evaluate(test); }), HasSubstr("hidden"));
}

// It needs no option for that: the schema of the training has its labels.
TEST_F(EstimatorPredicts, T_106_AModelThatPredictsHasTheClassesOfItsTraining) {
  EstimatorSetup o = options();
  o.clock = nullptr;  // the input has a thread
  o.plugins.push_back(&belay_module_digits);
  o.plugins.push_back(&belay_module_mlp);
  Estimator estimator(model_plugin("mlp"), o);
  estimator.train(input_plugin("digits", {{"batch_size", 64}}), {.steps = 1});
  const InputFn rows = input_plugin("digits", {{"split", "eval"}, {"examples", 3}, {"epochs", 1}});
  EstimatorPredictions predictions = estimator.predict(rows, {.predict_keys = {"probabilities"}});
  const PredictedRow* row = predictions.next();
  ASSERT_NE(row, nullptr);
  EXPECT_THAT(row->value().dims(), ElementsAre(10));
}

}  // namespace
}  // namespace belay::runtime::testing
