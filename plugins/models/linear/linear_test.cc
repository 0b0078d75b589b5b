// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "belay/testing/model_driver.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_linear;

namespace linear_test {

using namespace belay::testing;
using belay::DType;
using belay::Mode;
using belay::Tensor;

const belay_module& module() { return module_under_test(belay_module_linear); }

const ModelBatch kClasses = {{"x", Tensor({3, 2}, {1.f, 2.f, -1.f, 0.5f, 3.f, -2.f})},
                             {"y", Tensor({3}, std::vector<std::int64_t>{0, 1, 2})}};
const ModelBatch kNumbers = {{"x", Tensor({3, 2}, {1.f, 2.f, -1.f, 0.5f, 3.f, -2.f})},
                             {"y", Tensor({3}, {5.f, 0.f, -1.f})}};

std::unique_ptr<ModelDriver> built(const OptionValues& options, DType label, Mode mode = Mode::kTrain) {
  auto model = std::make_unique<ModelDriver>(module(), options);
  model->feature("x", DType::kFloat32, {-1, 2});
  model->label("y", label, {-1});
  model->build(mode);
  return model;
}

TEST(Linear, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([] {
              ModelDriver model(module(), {{"classes", -1}});
            }),
            "INVALID_ARGUMENT: 'classes' is -1, must be >= 0");
  EXPECT_EQ(error_of([] {
              ModelDriver model(module(), {{"task", "both"}});
            }),
            "INVALID_ARGUMENT: 'task' is \"both\", must be one of: auto, classification, regression");
}

TEST(Linear, AnIntegerLabelIsAClass) {
  const auto model = built({{"classes", 3}}, DType::kInt64);
  EXPECT_EQ(model->predictions(), (std::vector<std::string>{"probabilities", "class"}));
  EXPECT_EQ(model->metrics(), std::vector<std::string>{"accuracy"});
  EXPECT_EQ(model->spec("probabilities"), "float32 [?, 3]");
  EXPECT_EQ(model->spec("class"), "int64 [?]");
  EXPECT_EQ(model->spec("loss"), "float32 []");
}

// They may be rows of 0 and 1, or several classes at once.
TEST(Linear, T_130_SeveralIntegersForAnExampleAreNoClass) {
  const auto build = [](const OptionValues& options, DType dtype) {
    ModelDriver model(module(), options);
    model.feature("x", DType::kFloat32, {-1, 2});
    model.label("y", dtype, {-1, 3});
    model.build(Mode::kTrain);
    return model.predictions();
  };
  for (const DType dtype : {DType::kInt64, DType::kUInt8}) {
    const std::string error = error_of([&] { build({{"classes", 3}}, dtype); });
    EXPECT_NE(error.find(" has 3 integers where a classification takes one class; give the number of the class alone"),
              error.npos)
        << error;
    EXPECT_EQ(build({{"task", "regression"}}, dtype), std::vector<std::string>{"value"});
  }
  EXPECT_EQ(build({}, DType::kFloat32), std::vector<std::string>{"value"}) << "three numbers";
}

TEST(Linear, AByteOrABooleanIsAClassAsWell) {
  const ModelBatch bytes = {*kClasses.find("x"), {"y", Tensor({3}, std::vector<std::uint8_t>{0, 1, 2})}};
  EXPECT_NEAR(built({{"classes", 3}}, DType::kUInt8)->loss(bytes), std::log(3.0), 1e-6);
  const ModelBatch bools = {*kClasses.find("x"), {"y", Tensor({3}, std::vector<bool>{false, true, true})}};
  EXPECT_NEAR(built({{"classes", 2}}, DType::kBool)->loss(bools), std::log(2.0), 1e-6);
}

TEST(Linear, AFractionIsANumberToPredict) {
  const auto model = built({}, DType::kFloat32, Mode::kEval);
  EXPECT_EQ(model->predictions(), std::vector<std::string>{"value"});
  EXPECT_EQ(model->metrics(), (std::vector<std::string>{"mean_absolute_error", "r2"}));
  EXPECT_EQ(model->spec("value"), "float32 [?, 1]");
}

TEST(Linear, BeginsAtZero) {
  EXPECT_NEAR(built({{"classes", 3}}, DType::kInt64)->loss(kClasses), std::log(3.0), 1e-6);
  EXPECT_NEAR(built({}, DType::kFloat32)->loss(kNumbers), 26.0 / 3, 1e-5);
}

TEST(Linear, ComputesWeightsTimesFeaturesPlusBias) {
  const auto model = built({}, DType::kFloat32);
  std::vector<std::string> names;
  for (const belay::VariableInfo& v : model->variables())
    if (v.trainable) names.push_back(v.name);
  ASSERT_EQ(names, (std::vector<std::string>{"linear/bias", "linear/kernel"}));
  model->set_variable("linear/kernel", Tensor({2, 1}, {2.f, -1.f}));
  model->set_variable("linear/bias", Tensor({1}, {0.5f}));
  EXPECT_EQ(model->values("value", kNumbers), (std::vector<double>{0.5, -2.0, 8.5}));
}

TEST(Linear, WithoutABiasThereIsNone) {
  const auto model = built({{"use_bias", false}}, DType::kFloat32);
  for (const belay::VariableInfo& v : model->variables()) EXPECT_NE(v.name, "linear/bias");
}

TEST(Linear, GradientsAgreeWithFiniteDifferencesAndAStepLowersTheLoss) {
  struct Case {
    OptionValues options;
    DType label;
    const ModelBatch* batch;
  };
  for (const Case& c : {Case{{{"classes", 3}}, DType::kInt64, &kClasses}, Case{{}, DType::kFloat32, &kNumbers}}) {
    const auto model = built(c.options, c.label);
    EXPECT_LT(model->worst_gradient_error(*c.batch), 1e-2);
    const double before = model->loss(*c.batch);
    model->train_step(*c.batch, 0.05);
    EXPECT_LT(model->loss(*c.batch), before);
  }
}

TEST(Linear, R2IsOverAWholePass) {
  const auto model = built({}, DType::kFloat32, Mode::kEval);
  // The prediction is 0 everywhere. In any batches the squared errors sum to 25 + 0 + 1, and those about the mean to 26
  // - 16 / 3.
  EXPECT_NEAR(model->metric_over("r2", {kNumbers}), 1 - 26 / (26 - 16.0 / 3), 1e-6);
}

TEST(Linear, ALabelOutsideTheClassesIsAnError) {
  const auto model = built({{"classes", 3}}, DType::kInt64);
  ModelBatch batch = kClasses;
  batch["y"] = Tensor({3}, std::vector<std::int64_t>{0, 3, 2});
  const std::string error = error_of([&] { model->loss(batch); });
  EXPECT_NE(error.find("3"), std::string::npos) << error;
  EXPECT_EQ(error.rfind("INVALID_ARGUMENT: ", 0), 0u) << error;
}

TEST(Linear, PredictsWithTheOptionsOfTheTrainingAndNoLabels) {
  struct Case {
    OptionValues options;
    DType label;
    std::vector<std::string> predictions;
    const ModelBatch* batch;
  };
  for (const Case& c : {Case{{{"classes", 3}}, DType::kInt64, {"probabilities", "class"}, &kClasses},
                        Case{{}, DType::kFloat32, {"value"}, &kNumbers}}) {
    const auto training = built(c.options, c.label), evaluating = built(c.options, c.label, Mode::kEval),
               predicting = built(c.options, c.label, Mode::kPredict);
    EXPECT_EQ(predicting->predictions(), c.predictions);
    EXPECT_EQ(prediction_faults(*training, *evaluating, *predicting, *c.batch), "");
  }
}

TEST(Linear, PredictsAsManyNumbersAsTheLabelIsDeclaredToHave) {
  ModelDriver model(module());
  model.feature("x", DType::kFloat32, {-1, 2});
  model.label("y", DType::kFloat64, {-1, 5});
  model.build(Mode::kPredict);
  EXPECT_EQ(model.spec("value"), "float32 [?, 5]");
}

TEST(Linear, WithoutADeclaredLabelTheTaskMustBeSet) {
  const auto predicting = [](const OptionValues& options) {
    ModelDriver model(module(), options);
    model.feature("x", DType::kFloat32, {-1, 2});
    model.build(Mode::kPredict);
    return model.predictions();
  };
  EXPECT_EQ(error_of([&] { predicting({}); }),
            "INVALID_ARGUMENT: the input declares no label, so the model cannot tell its task: set task to "
            "classification or regression");
  EXPECT_EQ(predicting({{"task", "regression"}}), std::vector<std::string>{"value"});
}

}  // namespace linear_test
