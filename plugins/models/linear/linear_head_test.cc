// SPDX-License-Identifier: Apache-2.0
// The configured head (belay/configured_head.h), with values that were computed by hand. The kernel is the unit matrix,
// so the features are the logits.
#include <gmock/gmock.h>

#include <cmath>

#include "belay/testing/model_driver.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_linear;

namespace linear_head_test {

using namespace belay::testing;
using belay::DeclaredLabel;
using belay::DType;
using belay::Mode;
using belay::Tensor;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const belay_module& module() { return module_under_test(belay_module_linear); }

const double kLn3 = std::log(3.0), kSeldom = -std::log(0.25), kOften = -std::log(0.75);

DeclaredLabel two_classes() {
  DeclaredLabel label{"y", DType::kInt64, {-1}, 2};
  label.class_names = {"no", "yes"};
  label.class_counts = {3, 1};
  return label;
}
DeclaredLabel numbers() {
  DeclaredLabel label{"y", DType::kFloat32, {-1}};
  label.mean = 10, label.deviation = 2;
  return label;
}

// A model whose outputs are its features.
std::unique_ptr<ModelDriver> built(const OptionValues& options, const DeclaredLabel& label, std::int64_t outputs,
                                   Mode mode = Mode::kTrain, bool weighted = false) {
  auto model = std::make_unique<ModelDriver>(module(), options);
  model->feature("x", DType::kFloat32, {-1, outputs});
  model->label(label);
  if (weighted) model->label("weight", DType::kFloat32, {-1});
  model->build(mode);
  Tensor unit(DType::kFloat32, {outputs, outputs});
  for (std::int64_t i = 0; i < outputs; ++i) unit.data<float>()[i * outputs + i] = 1;
  model->set_variable("linear/kernel", unit);
  return model;
}

// The second class has the probability 3/4 in each row; labels no, yes, yes, no.
const ModelBatch kBatch = {{"x", Tensor({4, 2}, {0.f, static_cast<float>(kLn3), 0.f, static_cast<float>(kLn3), 0.f,
                                                 static_cast<float>(kLn3), 0.f, static_cast<float>(kLn3)})},
                           {"y", Tensor({4}, std::vector<std::int64_t>{0, 1, 1, 0})}};

TEST(ConfiguredHead, LabelSmoothingSpreadsAPartOfTheLabelInTraining) {
  const double hard = (kSeldom + kOften) / 2;  // of the four rows, and of the two classes of a row
  EXPECT_NEAR(built({}, two_classes(), 2)->loss(kBatch), hard, 1e-6);
  ModelBatch yes = kBatch;
  yes["y"] = Tensor({4}, std::vector<std::int64_t>{1, 1, 1, 1});
  const OptionValues smooth{{"label_smoothing", 0.2}};
  EXPECT_NEAR(built(smooth, two_classes(), 2)->loss(yes), 0.8 * kOften + 0.2 * hard, 1e-6);
  EXPECT_NEAR(built(smooth, two_classes(), 2, Mode::kEval)->loss(yes), kOften, 1e-6);
}

TEST(ConfiguredHead, WeightsOfClassesAreFactorsOfTheTrainingsLoss) {
  const OptionValues by_name{{"class_weights.no", 3}}, by_number{{"class_weights.0", 3.0}};
  const double expected = (3 * kSeldom + kOften + kOften + 3 * kSeldom) / 4;
  EXPECT_NEAR(built(by_name, two_classes(), 2)->loss(kBatch), expected, 1e-6);
  DeclaredLabel nameless{"y", DType::kInt64, {-1}, 2};
  EXPECT_NEAR(built(by_number, nameless, 2)->loss(kBatch), expected, 1e-6);
  EXPECT_NEAR(built(by_name, two_classes(), 2, Mode::kEval)->loss(kBatch), (kSeldom + kOften) / 2, 1e-6);
}

TEST(ConfiguredHead, BalancedWeightsAreExamplesByClassesTimesCount) {
  // 4 / (2 * 3) and 4 / (2 * 1)
  const auto model = built({{"class_weights.[0]", "balanced"}}, two_classes(), 2);
  EXPECT_NEAR(model->loss(kBatch), (2.0 / 3 * kSeldom + 2 * kOften + 2 * kOften + 2.0 / 3 * kSeldom) / 4, 1e-6);
  DeclaredLabel three = two_classes();
  three.classes = 3, three.class_names = {"no", "yes", "never"}, three.class_counts = {3, 1, 0};
  EXPECT_NO_THROW(built({{"class_weights.[0]", "balanced"}}, three, 3)) << "a class without examples";
}

TEST(ConfiguredHead, WeightsOfClassesThatCannotBeMeantAreRefused) {
  const auto error = [](const OptionValues& options, const DeclaredLabel& label, std::int64_t n = 2) {
    return error_of([&] { built(options, label, n); });
  };
  EXPECT_THAT(error({{"class_weights.yes", 0}, {"class_weights.no", 0}}, two_classes()),
              HasSubstr("class_weights: each class has the weight 0, so nothing would be trained"));
  EXPECT_THAT(error({{"class_weights.yse", 2}}, two_classes()),
              HasSubstr("the label has no class \"yse\" (did you mean \"yes\"?); it has: \"no\", \"yes\""));
  EXPECT_THAT(error({{"class_weights.yes", -1}}, two_classes()),
              HasSubstr("class_weights.yes must be a number from 0"));
  EXPECT_THAT(error({{"class_weights.[0]", "even"}}, two_classes()), HasSubstr("must be \"balanced\" or a table"));
  DeclaredLabel uncounted = two_classes();
  uncounted.class_counts.clear();
  EXPECT_THAT(error({{"class_weights.[0]", "balanced"}}, uncounted), HasSubstr("which the input did not keep"));
  EXPECT_THAT(error({{"class_weights.[0]", "balanced"}}, numbers(), 1),
              HasSubstr("'class_weights' is for cross_entropy and binary, and the loss is squared"));
}

TEST(ConfiguredHead, ALabelCalledWeightWeighsExamples) {
  const auto training = built({}, two_classes(), 2, Mode::kTrain, true);
  ModelBatch batch = kBatch;
  batch["weight"] = Tensor({4}, {2.f, 1.f, 0.f, 0.f});
  EXPECT_NEAR(training->loss(batch), (2 * kSeldom + kOften) / 4, 1e-6) << "the mean over the examples";
  const auto evaluating = built({}, two_classes(), 2, Mode::kEval, true);
  EXPECT_NEAR(evaluating->metric_over("accuracy", {batch}), 1.0 / 3, 1e-12);
  const auto number = built({}, numbers(), 1, Mode::kEval, true);
  const ModelBatch rows = {{"x", Tensor({3, 1}, {1.f, 2.f, 9.f})},
                           {"y", Tensor({3}, {3.f, 3.f, 3.f})},
                           {"weight", Tensor({3}, {3.f, 1.f, 0.f})}};
  EXPECT_NEAR(number->loss(rows), (3 * 4 + 1) / 3.0, 1e-5);
  EXPECT_NEAR(number->metric_over("mean_absolute_error", {rows}), (3 * 2 + 1) / 4.0, 1e-12);
}

// Predictions are yes in each row.
TEST(ConfiguredHead, MetricsOfATrainingsBatchAreWeightedAsThoseOfAnEvaluation) {
  const auto training = built({}, two_classes(), 2, Mode::kTrain, true);
  ModelBatch batch = kBatch;
  batch["weight"] = Tensor({4}, {2.f, 1.f, 0.f, 3.f});
  EXPECT_NEAR(training->value("accuracy", batch), 1.0 / 6, 1e-6);
  EXPECT_NEAR(built({}, two_classes(), 2)->value("accuracy", kBatch), 0.5, 1e-6);
  const auto by_threshold = built({{"threshold", 0.8}}, two_classes(), 2, Mode::kTrain, true);
  EXPECT_NEAR(by_threshold->value("accuracy", batch), 5.0 / 6, 1e-6) << "of the predictions, which are no";

  const auto number = built({}, numbers(), 1, Mode::kTrain, true);
  const ModelBatch rows = {{"x", Tensor({3, 1}, {1.f, 2.f, 9.f})},
                           {"y", Tensor({3}, {3.f, 3.f, 3.f})},
                           {"weight", Tensor({3}, {3.f, 1.f, 0.f})}};
  EXPECT_NEAR(number->value("mean_absolute_error", rows), (3 * 2 + 1) / 4.0, 1e-6);

  const DeclaredLabel label{"y", DType::kFloat32, {-1, 2}};
  const auto logit = static_cast<float>(kLn3);
  const auto several = built({{"loss", "multi_label"}}, label, 2, Mode::kTrain, true);
  EXPECT_NEAR(several->value("accuracy", {{"x", Tensor({2, 2}, {logit, -logit, logit, -logit})},
                                          {"y", Tensor({2, 2}, {1.f, 0.f, 0.f, 0.f})},
                                          {"weight", Tensor({2}, {1.f, 3.f})}}),
              (2 + 3) / 8.0, 1e-6);
}

TEST(ConfiguredHead, OfABatchWithoutWeightTheLossIsZeroAndItsMetricsAreUndefined) {
  ModelBatch batch = kBatch;
  batch["weight"] = Tensor({4}, {0.f, 0.f, 0.f, 0.f});
  const auto training = built({}, two_classes(), 2, Mode::kTrain, true);
  EXPECT_EQ(training->loss(batch), 0);
  EXPECT_TRUE(std::isnan(training->value("accuracy", batch)));
  EXPECT_TRUE(std::isnan(built({}, two_classes(), 2, Mode::kEval, true)->metric_over("accuracy", {batch})));
  ModelBatch other = kBatch;
  other["weight"] = Tensor({4}, {1.f, 1.f, 0.f, 0.f});
  EXPECT_NEAR(built({}, two_classes(), 2, Mode::kEval, true)->metric_over("accuracy", {batch, other}), 0.5, 1e-12);
}

TEST(ConfiguredHead, BinaryHasOneLogit) {
  const auto model = built({{"loss", "binary"}}, two_classes(), 1);
  const auto logit = static_cast<float>(kLn3);
  const ModelBatch batch = {{"x", Tensor({2, 1}, {logit, -logit})},
                            {"y", Tensor({2}, std::vector<std::int64_t>{1, 1})}};
  EXPECT_NEAR(model->loss(batch), (kOften + kSeldom) / 2, 1e-6);
  EXPECT_THAT(model->values("probabilities", batch), ElementsAre(DoubleNear(0.25, 1e-6), DoubleNear(0.75, 1e-6),
                                                                 DoubleNear(0.75, 1e-6), DoubleNear(0.25, 1e-6)));
  EXPECT_THAT(model->values("class", batch), ElementsAre(1, 0));
  DeclaredLabel three{"y", DType::kInt64, {-1}, 3};
  EXPECT_THAT(error_of([&] {
                built({{"loss", "binary"}}, three, 3);
              }),
              HasSubstr("\"binary\" is for 2 classes, and the label has 3; choose cross_entropy"));
  EXPECT_THAT(error_of([&] { built({{"loss", "binary"}}, numbers(), 1); }), HasSubstr("leave label_type out"));
}

TEST(ConfiguredHead, MultiLabelIsASigmoidForEachLabel) {
  const DeclaredLabel label{"y", DType::kFloat32, {-1, 2}};
  const auto logit = static_cast<float>(kLn3);
  const ModelBatch batch = {{"x", Tensor({2, 2}, {logit, -logit, logit, -logit})},
                            {"y", Tensor({2, 2}, {1.f, 0.f, 0.f, 0.f})}};
  const auto model = built({{"loss", "multi_label"}}, label, 2);
  EXPECT_NEAR(model->loss(batch), (3 * kOften + kSeldom) / 4, 1e-6);
  EXPECT_THAT(model->values("classes", batch), ElementsAre(1, 0, 1, 0));
  EXPECT_EQ(built({{"loss", "multi_label"}, {"threshold", 0.8}}, label, 2)->values("classes", batch),
            (std::vector<double>{0, 0, 0, 0}));
  EXPECT_NEAR(built({{"loss", "multi_label"}}, label, 2, Mode::kEval)->metric_over("accuracy", {batch}), 0.75, 1e-12);
}

const ModelBatch kNumbers = {{"x", Tensor({3, 1}, {1.f, 2.f, 6.f})}, {"y", Tensor({3}, {1.5f, 2.f, 3.f})}};

TEST(ConfiguredHead, LossesOfNumbersAreTheirFormulas) {
  // the errors are 0.5, 0 and 3
  EXPECT_NEAR(built({}, numbers(), 1)->loss(kNumbers), 9.25 / 3, 1e-6);
  EXPECT_NEAR(built({{"loss", "absolute"}}, numbers(), 1)->loss(kNumbers), 3.5 / 3, 1e-6);
  EXPECT_NEAR(built({{"loss", "huber"}}, numbers(), 1)->loss(kNumbers), (0.125 + 2.5) / 3, 1e-6);
  EXPECT_NEAR(built({{"loss", "huber"}, {"delta", 2.0}}, numbers(), 1)->loss(kNumbers), (0.125 + 4) / 3, 1e-6);
}

TEST(ConfiguredHead, AScaledLabelComesBackInItsUnit) {
  const auto standard = built({{"label_scale", "standard"}}, numbers(), 1, Mode::kEval);
  const ModelBatch batch = {{"x", Tensor({2, 1}, {1.f, -0.5f})}, {"y", Tensor({2}, {12.f, 8.f})}};
  EXPECT_THAT(standard->values("value", batch), ElementsAre(12, 9));
  EXPECT_NEAR(standard->loss(batch), 0.25 / 2, 1e-6) << "of the scaled label";
  EXPECT_NEAR(standard->metric_over("mean_absolute_error", {batch}), 0.5, 1e-6) << "in the label's unit";

  const auto logarithm = built({{"label_scale", "log"}}, numbers(), 1);
  const ModelBatch rows = {{"x", Tensor({2, 1}, {static_cast<float>(std::log(8.0)), static_cast<float>(-kLn3)})},
                           {"y", Tensor({2}, {7.f, -2.f})}};
  EXPECT_THAT(logarithm->values("value", rows), ElementsAre(DoubleNear(7, 1e-5), DoubleNear(-2, 1e-6)));
  EXPECT_NEAR(logarithm->loss(rows), 0, 1e-10);
  DeclaredLabel known = numbers();
  known.log_mean = 1, known.log_deviation = 0.5;
  const auto both = built({{"label_scale", "log"}}, known, 1);
  const ModelBatch one = {{"x", Tensor({1, 1}, {2.f})}, {"y", Tensor({1}, {static_cast<float>(std::exp(2.0) - 1)})}};
  EXPECT_NEAR(both->value("value", one), std::exp(2.0) - 1, 1e-5) << "1 + 2 * 0.5";
  EXPECT_NEAR(both->loss(one), 0, 1e-10);
  DeclaredLabel unknown{"y", DType::kFloat32, {-1}};
  EXPECT_THAT(error_of([&] {
                built({{"label_scale", "standard"}}, unknown, 1);
              }),
              HasSubstr("needs mean and deviation of the label 'y' (float32 [?])"));
}

TEST(ConfiguredHead, AThresholdDecidesForThePositiveClass) {
  const auto classes = [](const OptionValues& options) {
    return built(options, two_classes(), 2, Mode::kEval)->values("class", kBatch).at(0);
  };
  EXPECT_EQ(classes({}), 1);
  EXPECT_EQ(classes({{"threshold", 0.7}}), 1);
  EXPECT_EQ(classes({{"threshold", 0.8}}), 0);
  EXPECT_EQ(classes({{"threshold", 0.2}, {"positive_class", "no"}}), 0);
  EXPECT_EQ(classes({{"threshold", 0.3}, {"positive_class", "no"}}), 1);
  DeclaredLabel three{"y", DType::kInt64, {-1}, 3};
  EXPECT_THAT(error_of([&] {
                built({{"threshold", 0.3}}, three, 3);
              }),
              HasSubstr("'threshold' is for two classes and for multi_label, and the loss is cross_entropy"));
  EXPECT_THAT(error_of([&] { built({{"positive_class", "Yes"}}, two_classes(), 2); }), HasSubstr("no class \"Yes\""));
}

// Probabilities 1/4 (no), 1/2 (no), 3/4 (yes), 3/4 (no), 1/4 (yes). F1 is 2 / 4 above 1/2 and 4 / 7 below 1/4.
TEST(ConfiguredHead, TheBestThresholdIsFoundByAnEvaluationAndKeptInAVariable) {
  const OptionValues tuned{{"tune_threshold", "f1"}};
  const auto logit = static_cast<float>(kLn3);
  const ModelBatch batch = {{"x", Tensor({5, 2}, {0.f, -logit, 0.f, 0.f, 0.f, logit, 0.f, logit, 0.f, -logit})},
                            {"y", Tensor({5}, std::vector<std::int64_t>{0, 0, 1, 0, 1})}};
  const auto model = built(tuned, two_classes(), 2, Mode::kEval);
  EXPECT_THAT(model->values("class", batch), ElementsAre(0, 0, 1, 1, 0));
  EXPECT_NEAR(model->metric_over("best_f1", {batch}), 4.0 / 7, 1e-12);
  EXPECT_NEAR(built(tuned, two_classes(), 2, Mode::kEval)->metric_over("best_threshold", {batch}), 0, 1e-12);
  EXPECT_EQ(model->changed_by_evaluation(batch), "");
  ModelBatch without_yes = batch;
  without_yes["y"] = Tensor({5}, std::vector<std::int64_t>{0, 0, 0, 0, 0});
  const auto without = built(tuned, two_classes(), 2, Mode::kEval);
  EXPECT_TRUE(std::isnan(without->metric_over("best_threshold", {without_yes}))) << "a threshold of 0 would be set";
  model->set_variable("threshold", Tensor(0.2f));
  EXPECT_THAT(model->values("class", batch), ElementsAre(1, 1, 1, 1, 1));
  const auto training = built(tuned, two_classes(), 2);
  for (const belay::VariableInfo& v : training->variables())
    if (v.name == "threshold") {
      EXPECT_FALSE(v.trainable);
    }
}

TEST(ConfiguredHead, GradientsAgreeWithFiniteDifferences) {
  const ModelBatch& rows = kNumbers;
  for (const char* loss : {"squared", "huber"})
    for (const char* scale : {"none", "standard", "log"}) {
      const auto model = built({{"loss", loss}, {"label_scale", scale}}, numbers(), 1);
      EXPECT_LT(model->worst_gradient_error(rows), 2e-2) << loss << " " << scale;
    }
  for (const char* loss : {"cross_entropy", "binary"}) {
    const std::int64_t n = loss == std::string("binary") ? 1 : 2;
    const auto model = built({{"loss", loss}, {"label_smoothing", 0.1}, {"class_weights.yes", 2}}, two_classes(), n);
    ModelBatch batch = kBatch;
    if (n == 1) batch["x"] = Tensor({4, 1}, {1.f, -1.f, 0.5f, 2.f});
    EXPECT_LT(model->worst_gradient_error(batch), 2e-2) << loss;
  }
}

TEST(ConfiguredHead, OptionsThatContradictTheTaskAreRefused) {
  EXPECT_THAT(error_of([&] {
                built({{"task", "regression"}, {"loss", "cross_entropy"}}, two_classes(), 2);
              }),
              HasSubstr("leave 'task' out"));
  EXPECT_THAT(error_of([&] {
                built({{"label_smoothing", 0.1}}, numbers(), 1);
              }),
              HasSubstr("'label_smoothing' is for classes, and the loss is squared"));
  EXPECT_THAT(error_of([&] {
                built({{"label_scale", "log"}}, two_classes(), 2);
              }),
              HasSubstr("'label_scale' is for squared, absolute and huber, and the loss is cross_entropy"));
}

// The number of a class is none of the data, unless the classes are numbers.
TEST(ConfiguredHead, ClassesWithWordsAreNoNumbersToPredict) {
  DeclaredLabel prices = two_classes(), counts = two_classes();
  prices.class_names = {"0.5", "2"}, counts.class_names = {"0", "1"};
  for (const OptionValues& options : {OptionValues{{"task", "regression"}}, OptionValues{{"loss", "huber"}}}) {
    EXPECT_THAT(error_of([&] { built(options, two_classes(), 1); }),
                HasSubstr("has classes, such as \"no\", and a regression predicts numbers; choose a classification, or "
                          "label_type = \"float\" in csv"));
    EXPECT_THAT(error_of([&] { built(options, prices, 1); }), HasSubstr("has classes, such as \"0.5\""));
    EXPECT_NO_THROW(built(options, counts, 1));
    EXPECT_NO_THROW(built(options, two_classes(), 1, Mode::kEval)) << "an earlier training's";
  }
}

TEST(Linear, ACategoryHasARowOfWeightsForEachId) {
  ModelDriver model(module(), {});
  model.feature("x", DType::kFloat32, {-1, 1});
  model.feature("category.city", DType::kInt64, {-1}, 3);
  model.label(numbers());
  model.build(Mode::kTrain);
  model.set_variable("linear/kernel", Tensor({1, 1}, {2.f}));
  model.set_variable("linear/category.city/table", Tensor({3, 1}, {10.f, 20.f, 30.f}));
  model.set_variable("linear/bias", Tensor({1}, {0.5f}));
  const ModelBatch batch = {{"x", Tensor({2, 1}, {1.f, 3.f})},
                            {"category.city", Tensor({2}, std::vector<std::int64_t>{2, 0})},
                            {"y", Tensor({2}, {0.f, 0.f})}};
  EXPECT_THAT(model.values("value", batch), ElementsAre(32.5, 16.5));
}

}  // namespace linear_head_test
