// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "belay/testing/model_driver.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_autoencoder;

namespace autoencoder_test {

using namespace belay::testing;
using belay::DType;
using belay::Mode;
using belay::Tensor;
using ::testing::ElementsAre;
using Units = std::vector<std::int64_t>;

const belay_module& module() { return module_under_test(belay_module_autoencoder); }

const ModelBatch kBatch = {{"x", Tensor({2, 4}, {0.f, 0.25f, 0.5f, 1.f, 1.f, 0.75f, 0.f, 0.125f})}};

std::unique_ptr<ModelDriver> built(const OptionValues& options, Mode mode = Mode::kTrain) {
  auto model = std::make_unique<ModelDriver>(module(), options);
  model->feature("x", DType::kFloat32, {-1, 4});
  model->build(mode);
  return model;
}

TEST(Autoencoder, RefusesUnusableOptions) {
  const struct {
    OptionValues options;
    const char* error;
  } cases[] = {
      {{{"hidden", Units{8, 0}}}, "INVALID_ARGUMENT: 'hidden' is 0, must be >= 1"},
      {{{"code", 0}}, "INVALID_ARGUMENT: 'code' is 0, must be >= 1"},
      {{{"loss", "mse"}},
       "INVALID_ARGUMENT: 'loss' is \"mse\", must be one of: mean_squared_error, sigmoid_cross_entropy"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_of([&] { ModelDriver model(module(), c.options); }), c.error);
}

TEST(Autoencoder, TheDecoderIsTheEncoderInReverse) {
  const auto model = built({{"hidden", Units{7, 5}}, {"code", 2}});
  std::map<std::string, belay::Dims> found;
  for (const belay::VariableInfo& v : model->variables())
    if (v.trainable && v.dims.size() == 2) found[v.name] = v.dims;
  EXPECT_EQ(found, (std::map<std::string, belay::Dims>{{"encoder_1/kernel", {4, 7}},
                                                       {"encoder_2/kernel", {7, 5}},
                                                       {"code/kernel", {5, 2}},
                                                       {"decoder_2/kernel", {2, 5}},
                                                       {"decoder_1/kernel", {5, 7}},
                                                       {"reconstruction/kernel", {7, 4}}}));
  EXPECT_THAT(model->predictions(), ElementsAre("reconstruction", "code"));
  EXPECT_EQ(model->spec("reconstruction"), "float32 [?, 4]");
  EXPECT_EQ(model->spec("code"), "float32 [?, 2]");
}

TEST(Autoencoder, TheLossIsTheOneThatWasAskedFor) {
  for (const char* loss : {"mean_squared_error", "sigmoid_cross_entropy"}) {
    const auto model = built({{"hidden", Units{3}}, {"code", 2}, {"activation", "tanh"}, {"loss", loss}});
    const std::vector<double> y = model->values("reconstruction", kBatch);
    const belay::TensorView x(kBatch.at("x").view());
    double squares = 0, entropy = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      squares += (y[i] - x.number(i)) * (y[i] - x.number(i)) / 8;
      entropy -= (x.number(i) * std::log(y[i]) + (1 - x.number(i)) * std::log(1 - y[i])) / 8;
    }
    EXPECT_NEAR(model->loss(kBatch), loss[0] == 'm' ? squares : entropy, 1e-5) << loss;
    EXPECT_NEAR(model->value("reconstruction_error", kBatch), squares, 1e-5) << loss;
  }
}

TEST(Autoencoder, GradientsAgreeWithFiniteDifferencesAndStepsLowerTheLoss) {
  for (const char* loss : {"mean_squared_error", "sigmoid_cross_entropy"}) {
    const auto model = built({{"hidden", Units{6}}, {"code", 3}, {"activation", "tanh"}, {"loss", loss}});
    EXPECT_LT(model->worst_gradient_error(kBatch), 2e-2) << loss;  // float32 differences
    const double before = model->loss(kBatch);
    for (int step = 0; step < 20; ++step) model->train_step(kBatch, 0.1);
    EXPECT_LT(model->loss(kBatch), before) << loss;
  }
}

TEST(Autoencoder, EvaluatesAndPredictsWithoutLabels) {
  for (const Mode mode : {Mode::kEval, Mode::kPredict})
    EXPECT_EQ(built({}, mode)->values("reconstruction", kBatch).size(), 8u);
}

TEST(Autoencoder, LabelsAreNotUsed) {
  ModelDriver model(module(), {});
  model.feature("x", DType::kFloat32, {-1, 4});
  model.label("y", DType::kInt64, {-1});
  model.build(Mode::kTrain);
  EXPECT_GT(model.loss(kBatch), 0);
}

TEST(Autoencoder, PredictionIsTheReconstructionAndTheCodeAlone) {
  const OptionValues options{{"hidden", Units{6}}, {"code", 3}};
  const auto training = built(options), evaluating = built(options, Mode::kEval),
             predicting = built(options, Mode::kPredict);
  EXPECT_THAT(predicting->predictions(), ElementsAre("reconstruction", "code"));
  EXPECT_NE(error_of([&] { predicting->loss(kBatch); }), "");
  EXPECT_EQ(prediction_faults(*training, *evaluating, *predicting, kBatch), "");
}

}  // namespace autoencoder_test
