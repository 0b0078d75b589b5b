// SPDX-License-Identifier: Apache-2.0
// Input and model functions return these: section 7 of the catalogue.
#include "tests/estimator/estimator_fixture.h"

#include "runtime/ops/registry.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EstimatorSpecs : public EstimatorTest {
 protected:
  EstimatorSpecs() : registry(make_op_registry()), graph(*registry), other(*registry), g(graph.handle()) {
    all.loss = scalar(graph);
    all.predictions = {{"y", scalar(graph)}};
    all.train_op = ops::no_op(g);
  }
  static Output scalar(NodeGraph& of) { return ops::constant(of.handle(), Tensor(1.0f)); }
  std::string error(EstimatorPieces pieces, Mode mode = Mode::kTrain) {
    return error_of([&] { EstimatorSpec(g, mode, std::move(pieces)); });
  }
  // The error where `change` is made to a whole spec.
  std::string error_with(const std::function<void(EstimatorPieces&)>& change, Mode mode = Mode::kTrain) {
    EstimatorPieces changed = all;
    change(changed);
    return error(std::move(changed), mode);
  }

  std::unique_ptr<OpRegistry> registry;
  NodeGraph graph, other;
  belay::Graph g;
  EstimatorPieces all;
};

TEST_F(EstimatorSpecs, SPEC_02_WhatIsNotGivenIsEmptyAndTheScaffoldADefaultOne) {
  const EstimatorSpec train(g, Mode::kTrain, {.loss = all.loss, .train_op = all.train_op});
  EXPECT_EQ(train.mode(), Mode::kTrain);
  EXPECT_THAT(train.pieces().predictions, IsEmpty());
  EXPECT_THAT(train.pieces().eval_metric_ops, IsEmpty());
  EXPECT_THAT(train.pieces().training_hooks, IsEmpty());
  EXPECT_THAT(train.pieces().training_chief_hooks, IsEmpty());
  EXPECT_THAT(train.pieces().evaluation_hooks, IsEmpty());
  EXPECT_THAT(train.pieces().prediction_hooks, IsEmpty());
  EXPECT_FALSE(train.pieces().scaffold.init_op);
  EXPECT_FALSE(train.pieces().scaffold.init_fn);
  EXPECT_EQ(error({.loss = all.loss}, Mode::kEval), "");
  EXPECT_EQ(error({.predictions = all.predictions}, Mode::kPredict), "");
}

TEST_F(EstimatorSpecs, PROSE_40_EachModeNeedsItsPieces) {
  EXPECT_EQ(error({.loss = all.loss}),
            "INVALID_ARGUMENT: [B5050] EstimatorSpec: train_op is missing; mode kTrain needs it");
  EXPECT_EQ(error({.train_op = all.train_op}),
            "INVALID_ARGUMENT: [B5050] EstimatorSpec: loss is missing; modes kTrain and kEval need it");
  EXPECT_EQ(error({.predictions = all.predictions}, Mode::kEval),
            "INVALID_ARGUMENT: [B5050] EstimatorSpec: loss is missing; modes kTrain and kEval need it");
  EXPECT_EQ(error({.loss = all.loss}, Mode::kPredict),
            "INVALID_ARGUMENT: [B5050] EstimatorSpec: predictions are missing; mode kPredict needs them");
  // The first in the order train_op, loss, predictions.
  EXPECT_EQ(error({}), "INVALID_ARGUMENT: [B5050] EstimatorSpec: train_op is missing; mode kTrain needs it");
}

TEST_F(EstimatorSpecs, PROSE_40_TheLossHasOneElement) {
  EXPECT_THAT(error_with([&](auto& p) {
                p.loss = ops::constant(g, Tensor({2}, {1.0f, 2.0f}));
              }),
              HasSubstr("EstimatorSpec: loss must be a scalar"));
  EXPECT_EQ(error_with([&](auto& p) { p.loss = all.train_op; }),
            "INVALID_ARGUMENT: [B5050] EstimatorSpec: loss is an operation without a value");
  const EstimatorSpec one(g, Mode::kEval, {.loss = ops::constant(g, Tensor({1, 1}, {1.0f}))});
  EXPECT_EQ(one.pieces().loss.rank(), 0);
}

TEST_F(EstimatorSpecs, T_138_ALossWhoseSizeIsNotKnownYetIsTaken) {
  const Output loss = ops::placeholder(g, DType::kFloat32, {-1, 1}, "batch");
  EXPECT_EQ(EstimatorSpec(g, Mode::kEval, {.loss = loss}).pieces().loss.rank(), 0);
  EXPECT_NE(error_with([&](auto& p) { p.loss = ops::placeholder(g, DType::kFloat32, {-1, 2}, "pairs"); }), "");
}

TEST_F(EstimatorSpecs, SPEC_04_AListOfHooksHoldsHooks) {
  const auto message = [](const std::string& list) {
    return "INVALID_ARGUMENT: [B5052] " + list + "[1] is no hook; make it by own_hook or plugin_hook";
  };
  const std::vector<OwnHook> wrong{probe("fine"), OwnHook{}};
  EXPECT_EQ(error_with([&](auto& p) { p.training_hooks = wrong; }), message("training_hooks"));
  EXPECT_EQ(error_with([&](auto& p) { p.evaluation_hooks = wrong; }), message("evaluation_hooks"));
  EXPECT_EQ(error_with([&](auto& p) { p.prediction_hooks = wrong; }), message("prediction_hooks"));
  EXPECT_EQ(error_with([&](auto& p) { p.training_chief_hooks = wrong; }), message("training_chief_hooks"));
}

TEST_F(EstimatorSpecs, SPEC_05_AMetricIsAValueAndItsUpdate) {
  const Output value = scalar(graph);
  EXPECT_EQ(
      error_with([&](auto& p) {
        p.eval_metric_ops["m"] = {value, {}};
      }),
      "INVALID_ARGUMENT: [B5050] EstimatorSpec: eval_metric_ops['m'].update is missing; it adds a batch to the metric");
  EXPECT_EQ(error_with([&](auto& p) {
              p.eval_metric_ops["m"] = {{}, value};
            }),
            "INVALID_ARGUMENT: [B5050] EstimatorSpec: eval_metric_ops['m'].value must be a tensor");
  EXPECT_EQ(error_with([&](auto& p) {
              p.eval_metric_ops["m"] = {ops::constant(g, Tensor({2}, {1.0f, 2.0f})), value};
            }),
            "");
  for (const char* name : {"loss", "global_step"})
    EXPECT_EQ(error_with(
                  [&](auto& p) {
                    p.eval_metric_ops[name] = {value, value};
                  },
                  Mode::kEval),
              std::string("INVALID_ARGUMENT: [B5039] EstimatorSpec: eval_metric_ops['") + name +
                  "'] is a name that evaluate uses itself; choose another");
}

TEST_F(EstimatorSpecs, B_12e_AnExportOutputIsASignatureOfThisGraph) {
  const NamedOutput x{"x", scalar(graph)}, y{"y", scalar(graph)}, foreign{"z", scalar(other)};
  const auto with = [&](std::vector<Signature> signatures) {
    return error_with([&](auto& p) { p.export_outputs = std::move(signatures); }, Mode::kPredict);
  };
  EXPECT_EQ(with({{"a", "predict", {x}, {y}}, {"b", "classify", {x}, {x, y}}, {"c", "regress", {x}, {y}}}), "");
  const std::string begin = "INVALID_ARGUMENT: EstimatorSpec: export_outputs: ";
  EXPECT_EQ(with({{"a", "predict", {x}, {y}}, {"a", "predict", {x}, {y}}}),
            begin + "[B5084] the model has the signature 'a' twice");
  EXPECT_EQ(with({{"", "predict", {x}, {y}}}), begin + "[B5084] a signature of the model has no name");
  EXPECT_EQ(with({{"a", "Predict", {x}, {y}}}),
            begin + "[B5084] the signature 'a': its method is 'Predict'; the methods are: predict, classify, regress");
  EXPECT_EQ(with({{"a", "predict", {}, {y}}}),
            begin + "[B5084] the signature 'a': its input is missing: it needs at least one");
  EXPECT_EQ(with({{"a", "predict", {x}, {foreign}}}),
            begin + "[B5084] the signature 'a': its output 'z' is no output of this graph");
  EXPECT_EQ(with({{"a", "predict", {x}, {{"t", all.train_op}}}}),
            begin + "[B5084] the signature 'a': its output 't' is an operation without a value");
  EXPECT_EQ(with({{"a", "predict", {x, x}, {y}}}), begin + "[B5084] the signature 'a': its input 'x' is there twice");
}

TEST_F(EstimatorSpecs, SPEC_06_APieceOfAnotherGraphIsNamed) {
  const Output foreign = scalar(other), own = scalar(graph);
  const auto message = [](const std::string& piece) {
    return "INVALID_ARGUMENT: [B5050] EstimatorSpec: " + piece +
           " is of another graph than the model function was given";
  };
  EXPECT_EQ(error_with([&](auto& p) { p.train_op = foreign; }), message("train_op"));
  EXPECT_EQ(error_with([&](auto& p) { p.loss = foreign; }), message("loss"));
  EXPECT_EQ(error_with([&](auto& p) { p.predictions = {{"y", foreign}}; }), message("predictions['y']"));
  EXPECT_EQ(error_with([&](auto& p) { p.predictions = {{"", foreign}}; }), message("predictions"));
  EXPECT_EQ(error_with([&](auto& p) {
              p.eval_metric_ops["m"] = {foreign, own};
            }),
            message("eval_metric_ops['m'].value"));
  EXPECT_EQ(error_with([&](auto& p) {
              p.eval_metric_ops["m"] = {own, foreign};
            }),
            message("eval_metric_ops['m'].update"));
  EXPECT_EQ(error_with([&](auto& p) { p.scaffold.init_op = foreign; }), message("scaffold.init_op"));
  EXPECT_EQ(error_with([&](auto& p) { p.scaffold.summary_op = foreign; }), message("scaffold.summary_op"));
}

TEST_F(EstimatorSpecs, SPEC_06_TheSpecOfAnotherCallIsRefused) {
  std::optional<EstimatorSpec> kept;
  Estimator estimator(
      [&](const ModelArgs& m) {
        if (!kept) kept = counting(m);
        return *kept;
      },
      options());
  estimator.evaluate(one, {.steps = 1});
  EXPECT_EQ(error_of([&] { estimator.evaluate(one, {.steps = 1}); }),
            "INVALID_ARGUMENT: [B5052] the model function returned the EstimatorSpec of another call");
}

TEST_F(EstimatorSpecs, SPEC_07_ReplaceChecksAgainAndKeepsTheMode) {
  const EstimatorSpec spec(g, Mode::kTrain, all);
  const Output loss = scalar(graph);
  EXPECT_EQ(spec.replace([&](EstimatorPieces& p) { p.loss = loss; }).pieces().loss, loss);
  EXPECT_EQ(spec.replace([&](EstimatorPieces& p) { p.loss = loss; }).mode(), Mode::kTrain);
  EXPECT_EQ(spec.pieces().loss, all.loss);
  EXPECT_EQ(error_of([&] { spec.replace([](EstimatorPieces& p) { p.train_op = {}; }); }),
            "INVALID_ARGUMENT: [B5050] EstimatorSpec: train_op is missing; mode kTrain needs it");
}

TEST_F(EstimatorSpecs, SPEC_08_AMetricsCountsBeginAtZeroInEachEvaluationAndAreNeverSaved) {
  Estimator estimator(
      [](const ModelArgs& m) {
        EstimatorPieces p = pieces(m, 1, 3);
        const ops::Metric mean = ops::metrics::mean(m.feature());
        p.eval_metric_ops["mean"] = mean;
        if (m.mode == Mode::kTrain) p.train_op = ops::group(m.graph, {p.train_op, mean.update});
        return EstimatorSpec(m, p);
      },
      options());
  estimator.train(one, {.steps = 2});
  EXPECT_THAT(estimator.variable_names(), ::testing::ElementsAre("global_step", "one", "three"));
  EXPECT_EQ(number(estimator.evaluate(counted(3, 1)), "mean"), 2);
  EXPECT_EQ(number(estimator.evaluate(counted(5, 1)), "mean"), 3);
}

TEST_F(EstimatorSpecs, SPEC_08_TheModelsOwnLocalInitRunsBesideTheMetrics) {
  Estimator estimator(
      [](const ModelArgs& m) {
        EstimatorPieces p = pieces(m, 1, 3);
        const Output mark = ops::variable(m.graph, "mark", Tensor(0.0f), ops::VariableKind::kGlobal);
        p.scaffold.local_init_op = ops::assign(mark, ops::constant(m.graph, Tensor(4.0f))).operation();
        p.eval_metric_ops["mark"] = {mark, ops::no_op(m.graph)};
        return EstimatorSpec(m, p);
      },
      options());
  const EvalMetrics metrics = estimator.evaluate(one, {.steps = 2});
  EXPECT_EQ(number(metrics, "mark"), 4);
  EXPECT_EQ(number(metrics, "loss"), 1);
}

TEST_F(EstimatorSpecs, SPEC_09_AnInputHasFeaturesAndPerhapsLabelsAndHooks) {
  std::size_t labels = 7;
  Estimator estimator(
      [&](const ModelArgs& m) {
        labels = m.labels.size();
        EXPECT_EQ(m.feature().raw().graph, m.feature("x").raw().graph);
        EXPECT_EQ(error_of([&] { m.feature("z"); }),
                  "INVALID_ARGUMENT: [B5053] the input has no feature 'z'; it has: x");
        return counting(m);
      },
      options());
  estimator.evaluate(one, {.steps = 1});
  EXPECT_EQ(labels, 1);
  // A queue that a hook fills when the session is made, as a dataset's iterator is initialized.
  estimator.evaluate(counted(2, 1));
  EXPECT_EQ(labels, 0);
  EXPECT_EQ(error_of([&] { estimator.evaluate(InputFn()); }),
            "INVALID_ARGUMENT: [B5052] the Estimator was given no input function");
}

TEST_F(EstimatorSpecs, SPEC_10_PredictionsAreTensorsAndTheWrongOneIsNamed) {
  for (const Mode mode : {Mode::kEval, Mode::kPredict}) {
    EXPECT_EQ(error_with(
                  [&](auto& p) {
                    p.predictions = {{"", {}}};
                  },
                  mode),
              "INVALID_ARGUMENT: [B5050] EstimatorSpec: predictions must be a tensor");
    EXPECT_EQ(error_with(
                  [&](auto& p) {
                    p.predictions = {{"y", all.train_op}};
                  },
                  mode),
              "INVALID_ARGUMENT: [B5050] EstimatorSpec: predictions['y'] must be a tensor");
  }
  EXPECT_EQ(error_with([&](auto& p) {
              p.predictions.push_back({"y", all.loss});
            }),
            "INVALID_ARGUMENT: [B5050] EstimatorSpec: predictions['y'] is there twice");
  EXPECT_EQ(error_with([&](auto& p) {
              p.predictions.push_back({"", all.loss});
            }),
            "INVALID_ARGUMENT: [B5050] EstimatorSpec: one of several predictions has no name");
}

}  // namespace
}  // namespace belay::runtime::testing
