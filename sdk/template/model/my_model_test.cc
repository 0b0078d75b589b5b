// Drives the model on the real engine. It runs twice: with the model linked in, and with the .so.
#include <belay/testing/model_driver.h>
#include <belay/testing/testing.h>
#include <gtest/gtest.h>

#include <memory>

extern "C" const belay_module belay_module_my_model;

namespace {

using namespace belay::testing;
using belay::DType;
using belay::Mode;
using belay::Tensor;

const ModelBatch kBatch = {{"x", Tensor({3, 2}, {1.f, 2.f, -1.f, 0.5f, 3.f, -2.f})},
                           {"y", Tensor({3}, std::vector<std::int64_t>{0, 1, 2})}};

std::unique_ptr<ModelDriver> built(Mode mode) {
  auto model = std::make_unique<ModelDriver>(module_under_test(belay_module_my_model),
                                             OptionValues{{"hidden", 4}, {"classes", 3}});
  model->feature("x", DType::kFloat32, {-1, 2});
  model->label("y", DType::kInt64, {-1});
  model->build(mode);
  return model;
}

TEST(MyModel, HasTheOutputsOfAClassifier) {
  const auto model = built(Mode::kEval);
  EXPECT_EQ(model->predictions(), (std::vector<std::string>{"probabilities", "class"}));
  EXPECT_EQ(model->metrics(), std::vector<std::string>{"accuracy"});
  EXPECT_EQ(model->spec("probabilities"), "float32 [?, 3]");
}

TEST(MyModel, PredictsWithTheVariablesOfTheTrainingAndNoLabels) {
  const auto predicting = built(Mode::kPredict);
  EXPECT_EQ(foreign_variables(*built(Mode::kTrain), *predicting), "");
  EXPECT_EQ(predicting->values("class", kBatch).size(), 3u);
}

TEST(MyModel, PredictsWhatAnEvaluationHas) {
  EXPECT_EQ(prediction_faults(*built(Mode::kTrain), *built(Mode::kEval), *built(Mode::kPredict), kBatch), "");
}

TEST(MyModel, AnEvaluationChangesNoVariable) { EXPECT_EQ(built(Mode::kEval)->changed_by_evaluation(kBatch), ""); }

TEST(MyModel, GradientsAgreeWithFiniteDifferences) {
  EXPECT_LT(built(Mode::kTrain)->worst_gradient_error(kBatch), 1e-2);
}

TEST(MyModel, AStepLowersTheLoss) {
  const auto model = built(Mode::kTrain);
  const double before = model->loss(kBatch);
  model->train_step(kBatch, 0.05);
  EXPECT_LT(model->loss(kBatch), before);
}

}  // namespace
