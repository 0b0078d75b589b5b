// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "belay/testing/model_driver.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_tabular;

namespace tabular_test {

using namespace belay::testing;
using belay::DeclaredLabel;
using belay::DType;
using belay::Mode;
using belay::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Units = std::vector<std::int64_t>;

const belay_module& module() { return module_under_test(belay_module_tabular); }

std::unique_ptr<ModelDriver> built(const OptionValues& options, Mode mode = Mode::kTrain) {
  auto model = std::make_unique<ModelDriver>(module(), options);
  model->feature("features", DType::kFloat32, {-1, 2});
  model->feature("category.city", DType::kInt64, {-1}, 5);
  model->label("label", DType::kInt64, {-1}, 2);
  model->build(mode);
  return model;
}

const ModelBatch kBatch = {{"features", Tensor({4, 2}, {1.f, 2.f, -1.f, 0.5f, 3.f, -2.f, 0.25f, 0.75f})},
                           {"category.city", Tensor({4}, std::vector<std::int64_t>{0, 4, 2, 0})},
                           {"label", Tensor({4}, std::vector<std::int64_t>{0, 1, 1, 0})}};

std::map<std::string, belay::Dims> trained(const ModelDriver& model) {
  std::map<std::string, belay::Dims> found;
  for (const belay::VariableInfo& v : model.variables())
    if (v.trainable) found[v.name] = v.dims;
  return found;
}

TEST(Tabular, HasADeepPartOnEmbeddingsAndAWidePart) {
  EXPECT_EQ(trained(*built({{"hidden", Units{6}}})),
            (std::map<std::string, belay::Dims>{{"deep/category.city/table", {5, 3}},
                                                {"deep/hidden_1/kernel", {5, 6}},
                                                {"deep/hidden_1/bias", {6}},
                                                {"deep/logits/kernel", {6, 2}},
                                                {"deep/logits/bias", {2}},
                                                {"wide/category.city/table", {5, 2}},
                                                {"wide/kernel", {2, 2}}}));
  EXPECT_EQ(trained(*built({{"hidden", Units{}}, {"wide", false}, {"embedding_width", 1}})),
            (std::map<std::string, belay::Dims>{
                {"deep/category.city/table", {5, 1}}, {"deep/logits/kernel", {3, 2}}, {"deep/logits/bias", {2}}}));
}

TEST(Tabular, AddsTheWidePartToTheLogits) {
  const auto model = built({{"hidden", Units{}}, {"embedding_width", 1}, {"loss", "binary"}});
  model->set_variable("deep/category.city/table", Tensor({5, 1}, {1.f, 0.f, 0.f, 0.f, 2.f}));
  model->set_variable("deep/logits/kernel", Tensor({3, 1}, {0.f, 0.f, 0.5f}));
  model->set_variable("wide/kernel", Tensor({2, 1}, {0.25f, 0.f}));
  model->set_variable("wide/category.city/table", Tensor({5, 1}, {0.f, 0.f, 3.f, 0.f, 4.f}));
  EXPECT_THAT(model->values("logits", kBatch), ElementsAre(0.25 + 0.5, -0.25 + 1 + 4, 0.75 + 3, 0.0625 + 0.5));
}

TEST(Tabular, GradientsAgreeWithFiniteDifferencesAndAStepLowersTheLoss) {
  for (const char* norm : {"none", "batch", "layer"}) {
    const auto model = built({{"hidden", Units{6, 5}}, {"norm", norm}, {"activation", "tanh"}});
    EXPECT_LT(model->worst_gradient_error(kBatch), 3e-2) << norm;  // float32 differences
    const double before = model->loss(kBatch);
    model->train_step(kBatch, 0.05);
    EXPECT_LT(model->loss(kBatch), before) << norm;
  }
}

TEST(Tabular, DropoutIsForTraining) {
  const OptionValues options{{"hidden", Units{64}}, {"dropout", 0.5}};
  const auto training = built(options);
  const double first = training->loss(kBatch);
  training->train_step(kBatch, 0);
  EXPECT_NE(training->loss(kBatch), first);
  EXPECT_EQ(built(options, Mode::kEval)->loss(kBatch), built({{"hidden", Units{64}}}, Mode::kEval)->loss(kBatch));
}

// Logits are the first feature, so that classes are known.
std::unique_ptr<ModelDriver> evaluating(const OptionValues& options) {
  auto model = std::make_unique<ModelDriver>(module(), options.with({"hidden", Units{}}));
  model->feature("features", DType::kFloat32, {-1, 1});
  model->label("label", DType::kInt64, {-1}, 2);
  model->build(Mode::kEval);
  model->set_variable("deep/logits/kernel", Tensor({1, 1}, {1.f}));
  return model;
}

// Three of the 8 rows are of class 1, with the logits 2, 1, -1. Those of class 0 have 3, -2, -3, -4, -5.
const ModelBatch kRows = {{"features", Tensor({8, 1}, {2.f, 1.f, -1.f, 3.f, -2.f, -3.f, -4.f, -5.f})},
                          {"label", Tensor({8}, std::vector<std::int64_t>{1, 1, 1, 0, 0, 0, 0, 0})}};

TEST(Tabular, AnEvaluationHasTheMetricsOfTables) {
  const OptionValues binary{{"loss", "binary"}};
  const auto metric = [&](const char* name) { return evaluating(binary)->metric_over(name, {kRows}); };
  EXPECT_THAT(evaluating(binary)->metrics(), ElementsAre("accuracy", "log_loss", "auc", "auc_precision_recall",
                                                         "balanced_accuracy", "f1", "confusion_matrix"));
  // class 1: 2 right of 3; class 0: 4 right of 5
  EXPECT_NEAR(metric("accuracy"), 6.0 / 8, 1e-12);
  EXPECT_NEAR(metric("balanced_accuracy"), (2.0 / 3 + 4.0 / 5) / 2, 1e-12);
  EXPECT_NEAR(metric("f1"), 2 * 2 / (3 + 3.0), 1e-12);
  EXPECT_NEAR(metric("auc"), 12.0 / 15, 1e-9) << "12 of 15 pairs are in order";
  double loss = 0;
  for (const double x : {2.0, 1.0, -1.0}) loss += std::log1p(std::exp(-x)) / 8;
  for (const double x : {3.0, -2.0, -3.0, -4.0, -5.0}) loss += std::log1p(std::exp(x)) / 8;
  EXPECT_NEAR(metric("log_loss"), loss, 1e-6);
  EXPECT_NEAR(evaluating({{"loss", "binary"}, {"positive_class", "0"}})->metric_over("f1", {kRows}), 8 / 10.0, 1e-12);
}

// All probabilities are below 1/500. Three of the four pairs are in order.
TEST(Tabular, TheAreaUnderTheCurveTellsProbabilitiesOfARareClassApart) {
  const ModelBatch rare = {{"features", Tensor({4, 1}, {-8.f, -7.5f, -7.f, -6.5f})},
                           {"label", Tensor({4}, std::vector<std::int64_t>{0, 1, 0, 1})}};
  EXPECT_NEAR(evaluating({{"loss", "binary"}})->metric_over("auc", {rare}), 3.0 / 4, 1e-9);
  const ModelBatch certain = {{"features", Tensor({2, 1}, {-200.f, 200.f})},
                              {"label", Tensor({2}, std::vector<std::int64_t>{0, 1})}};
  EXPECT_NEAR(evaluating({{"loss", "binary"}})->metric_over("auc", {certain}), 1, 1e-9);
}

// As in scikit-learn: the AUC of one class is undefined. So is F1 of a positive class that no row has. The balanced
// accuracy is the mean over the classes that there are.
TEST(Tabular, MetricsOfAClassWithoutARowAreUndefinedAndNotZero) {
  const auto metric = [&](const char* name, std::int64_t label) {
    const ModelBatch one = {{"features", Tensor({3, 1}, {2.f, -1.f, -2.f})},
                            {"label", Tensor({3}, std::vector<std::int64_t>{label, label, label})}};
    return evaluating({{"loss", "binary"}})->metric_over(name, {one});
  };
  for (const char* name : {"auc", "auc_precision_recall", "f1"}) EXPECT_TRUE(std::isnan(metric(name, 0))) << name;
  EXPECT_TRUE(std::isnan(metric("auc", 1)));
  EXPECT_NEAR(metric("auc_precision_recall", 1), 1, 1e-9);
  EXPECT_NEAR(metric("f1", 1), 2 / 4.0, 1e-12);
  EXPECT_NEAR(metric("balanced_accuracy", 0), 2.0 / 3, 1e-12);
  EXPECT_NEAR(metric("balanced_accuracy", 1), 1.0 / 3, 1e-12);
  EXPECT_NEAR(metric("accuracy", 0), 2.0 / 3, 1e-12);
}

TEST(Tabular, AMetricIsTheSameInAnyBatches) {
  ModelBatch first, second;
  for (const auto& [name, tensor] : kRows) {
    const std::size_t half = tensor.size() / 2;
    first[name] = second[name] = Tensor(tensor.dtype(), name == "label" ? belay::Dims{4} : belay::Dims{4, 1});
    const std::size_t bytes = belay::TensorView(tensor.view()).bytes() / 2;
    std::memcpy(first[name].view().data, tensor.view().data, bytes);
    std::memcpy(second[name].view().data, static_cast<const char*>(tensor.view().data) + bytes, bytes);
    ASSERT_EQ(half, 4u);
  }
  for (const char* name : {"f1", "balanced_accuracy", "auc", "log_loss"})
    EXPECT_NEAR(evaluating({{"loss", "binary"}})->metric_over(name, {first, second}),
                evaluating({{"loss", "binary"}})->metric_over(name, {kRows}), 1e-12)
        << name;
}

TEST(Tabular, SeveralClassesHaveTheMeanOfTheirF1) {
  ModelDriver model(module(), {{"hidden", Units{}}});
  model.feature("features", DType::kFloat32, {-1, 3});
  model.label("label", DType::kInt64, {-1}, 3);
  model.build(Mode::kEval);
  model.set_variable("deep/logits/kernel", Tensor({3, 3}, {1.f, 0.f, 0.f, 0.f, 1.f, 0.f, 0.f, 0.f, 1.f}));
  const ModelBatch batch = {{"features", Tensor({4, 3}, {1.f, 0.f, 0.f, 0.f, 1.f, 0.f, 1.f, 0.f, 0.f, 0.f, 1.f, 0.f})},
                            {"label", Tensor({4}, std::vector<std::int64_t>{0, 1, 1, 1})}};
  // class 0: 2 * 1 / (1 + 2); class 1: 2 * 2 / (3 + 2); class 2 is nowhere
  EXPECT_NEAR(model.metric_over("f1", {batch}), (2.0 / 3 + 4.0 / 5) / 2, 1e-12);
}

TEST(Tabular, ANumberHasErrorsInItsUnit) {
  ModelDriver model(module(), {{"hidden", Units{}}, {"label_scale", "standard"}});
  model.feature("features", DType::kFloat32, {-1, 1});
  DeclaredLabel label{"label", DType::kFloat32, {-1}};
  label.mean = 100, label.deviation = 10;
  model.label(label);
  model.build(Mode::kEval);
  EXPECT_THAT(model.metrics(), ElementsAre("mean_absolute_error", "root_mean_squared_error", "r2"));
  model.set_variable("deep/logits/kernel", Tensor({1, 1}, {1.f}));
  const ModelBatch batch = {{"features", Tensor({2, 1}, {1.f, -1.f})}, {"label", Tensor({2}, {113.f, 94.f})}};
  EXPECT_THAT(model.values("value", batch), ElementsAre(110, 90));
  EXPECT_NEAR(model.metric_over("root_mean_squared_error", {batch}), std::sqrt((9 + 16) / 2.0), 1e-5);
}

TEST(Tabular, PredictsWithTheOptionsOfTheTrainingAndNoLabels) {
  const OptionValues options{{"hidden", Units{8}}, {"tune_threshold", "f1"}, {"norm", "batch"}};
  const auto training = built(options), evaluation = built(options, Mode::kEval),
             predicting = built(options, Mode::kPredict);
  EXPECT_THAT(predicting->predictions(), ElementsAre("probabilities", "class"));
  EXPECT_EQ(prediction_faults(*training, *evaluation, *predicting, kBatch), "");
  EXPECT_EQ(evaluation->changed_by_evaluation(kBatch), "");
}

}  // namespace tabular_test
