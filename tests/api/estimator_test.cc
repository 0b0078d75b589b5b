// SPDX-License-Identifier: Apache-2.0
#include <belay/ops/losses.h>
#include <belay/ops/matmul.h>
#include <belay/plugin.h>
#include <belay/runtime/default_graph.h>
#include <belay/runtime/estimator.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/api/program.h"

extern "C" {
extern const belay_module belay_module_whole_model;
}

namespace belay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class EstimatorFace : public ProgramTest {
 protected:
  EstimatorOptions options() {
    EstimatorOptions o{.plugins = default_plugins(), .model_dir = temp / "model"};
    o.log = log_options();
    return o;
  }
  static EstimatorSpec line_model(const ModelArgs& model) {
    const Output y = ops::dense(model.feature("x"), model.param("units", std::int64_t{1}));
    if (model.mode == Mode::kPredict) return {model, {.predictions = {{"y", y}}}};
    const Output loss = ops::mean_squared_error(y, model.label());
    return {model, {.loss = loss, .train_op = model.minimize(loss, {.name = "adam"})}};
  }
  static InputFn points() {
    return tensor_input({{"x", Tensor({4, 1}, {0.f, 1.f, 2.f, 3.f})}}, {{"y", Tensor({4, 1}, {2.f, 5.f, 8.f, 11.f})}},
                        {.batch_size = 2, .epochs = 50});
  }
};

TEST_F(EstimatorFace, TrainsEvaluatesAndPredicts) {
  Estimator estimator(line_model, options());
  estimator.train(points(), {.steps = 10, .evaluators = {in_memory_evaluator(points(), {.every_n_iter = 5})}});
  const EvalMetrics metrics = estimator.evaluate(points(), {.steps = 2});
  EXPECT_EQ(TensorView(metrics.at("global_step").view()).scalar<std::int64_t>(), 10);
  EXPECT_THAT(eval_metrics_text(metrics), HasSubstr("loss = "));
  EXPECT_THAT(estimator.latest_checkpoint(), HasSubstr("model.ckpt-10"));
  EXPECT_THAT(estimator.variable_names(), Contains("global_step"));

  int rows = 0;
  for (const PredictedRow& p : estimator.predict(tensor_input({{"x", Tensor({3, 1}, {0.f, 1.f, 2.f})}}))) {
    EXPECT_EQ(p["y"].dims(), Dims{1});
    EXPECT_THAT(p.names(), ElementsAre("y"));
    ++rows;
  }
  EXPECT_EQ(rows, 3);
}

TEST_F(EstimatorFace, T_139_InputAndModelFunctionsHaveTheirGraphAsTheDefaultOne) {
  int inputs = 0, models = 0;
  const InputFn input = [&](const InputArgs& args) -> InputResult {
    ++inputs;
    EXPECT_EQ(default_graph().serial(), args.graph.serial());
    return {.features = {{"x", ops::ones({2, 1})}}, .labels = {{"y", ops::zeros({2, 1})}}};
  };
  const ModelFn model = [&](const ModelArgs& args) {
    ++models;
    EXPECT_EQ(default_graph().serial(), args.graph.serial());
    return line_model(args);
  };
  Estimator estimator(model, options());
  estimator.train(input, {.steps = 2});
  EXPECT_EQ(inputs, 1);
  EXPECT_EQ(models, 1);
  EXPECT_THAT(error_of([] { default_graph(); }), HasSubstr("no default graph"));
}

// Writes down when a run begins and when a checkpoint is there.
class Order final : public Hook {
 public:
  explicit Order(std::vector<std::string>& events) : events_(events) {}
  RunArgs before_run(RunContext&) override {
    events_.emplace_back("run");
    return {};
  }
  bool after_save(Session&, const Saved&) override {
    events_.emplace_back("saved");
    return false;
  }

 private:
  std::vector<std::string>& events_;
};

TEST_F(EstimatorFace, T_138_CheckpointsAreWrittenBetweenTwoStepsIfTheConfigSaysSo) {
  std::vector<std::string> events;
  EstimatorOptions o = options();
  o.config = RunConfig({.save_checkpoints_steps = 1, .save = runtime::SaveMode::kSync});
  Estimator estimator(line_model, o);
  estimator.train(points(), {.hooks = {own_hook("order", std::make_unique<Order>(events))}, .steps = 3});
  EXPECT_EQ(std::count(events.begin(), events.end(), "run"), 3);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i] != "run") continue;
    EXPECT_TRUE(i + 1 < events.size() && events[i + 1] == "saved") << "event " << i;
  }
}

TEST_F(EstimatorFace, PredictionsOutliveTheEstimator) {
  std::optional<Estimator> estimator;
  estimator.emplace(line_model, options());
  estimator->train(points(), {.steps = 1});
  EstimatorPredictions predictions = estimator->predict(tensor_input({{"x", Tensor({1, 1}, {1.f})}}));
  estimator.reset();
  ASSERT_NE(predictions.next(), nullptr);
  EXPECT_THAT(predictions.checkpoint(), HasSubstr("model.ckpt-1"));
  EXPECT_EQ(predictions.next(), nullptr);
}

TEST_F(EstimatorFace, AWrongPieceIsNamedWhereTheModelFunctionReturns) {
  Estimator estimator([](const ModelArgs& model) { return EstimatorSpec(model, {}); }, options());
  EXPECT_THAT(error_of([&] { estimator.train(points(), {.steps = 1}); }), HasSubstr("train_op is missing"));
  EXPECT_THAT(error_of([&] { Estimator({}, options()); }), HasSubstr("no model function"));
  EXPECT_THAT(error_of([&] { in_memory_evaluator(points(), {.every_n_iter = 0}); }), HasSubstr("INVALID_ARGUMENT"));
}

TEST_F(EstimatorFace, AModelPluginKeepsItsInitialValuesWhereAProgramReplacesAPiece) {
  EstimatorOptions o = options();
  o.plugins.push_back(&belay_module_whole_model);
  bool changed = false;
  Estimator estimator(
      [&, whole = model_plugin("whole")](const ModelArgs& model) {
        return whole(model).replace([&](EstimatorPieces& pieces) {
          changed = pieces.training_hooks.size() == 1;
          pieces.training_hooks.clear();
        });
      },
      o);
  estimator.train(tensor_input({{"x", Tensor({8, 4}, std::vector<float>(32, 0.5f))}},
                               {{"y", Tensor({8}, std::vector<float>(8, 1.0f))}}, {.batch_size = 4}));
  EXPECT_TRUE(changed);
  EXPECT_THAT(log, HasSubstr("asked for slope"));
}

}  // namespace
}  // namespace belay
