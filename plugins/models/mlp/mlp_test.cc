// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "belay/testing/model_driver.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_mlp;

namespace mlp_test {

using namespace belay::testing;
using belay::DType;
using belay::Mode;
using belay::Tensor;
using Units = std::vector<std::int64_t>;

const belay_module& module() { return module_under_test(belay_module_mlp); }

const ModelBatch kBatch = {{"x", Tensor({4, 2}, {1.f, 2.f, -1.f, 0.5f, 3.f, -2.f, 0.25f, 0.75f})},
                           {"y", Tensor({4}, std::vector<std::int64_t>{0, 1, 2, 1})}};

std::unique_ptr<ModelDriver> built(const OptionValues& options, Mode mode = Mode::kTrain, std::uint64_t seed = 42) {
  auto model = std::make_unique<ModelDriver>(module(), options);
  model->feature("x", DType::kFloat32, {-1, 2});
  model->label("y", DType::kInt64, {-1});
  model->build(mode, seed);
  return model;
}

std::vector<float> kernel(const ModelDriver& model) {
  const Tensor t = model.variable("hidden_1/kernel");
  const belay::TensorView view(t.view());
  return {view.data<const float>(), view.data<const float>() + view.size()};
}

TEST(Mlp, RefusesUnusableOptions) {
  struct Case {
    OptionValues options;
    const char* error;
  };
  for (const Case& c : {Case{{{"hidden", Units{8, 0}}}, "INVALID_ARGUMENT: 'hidden' is 0, must be >= 1"},
                        Case{{{"dropout", 1.0}}, "INVALID_ARGUMENT: 'dropout' is 1, must be <= 0.999"},
                        Case{{{"activation", "rely"}},
                             "INVALID_ARGUMENT: 'activation' is \"rely\", must be one of: relu, sigmoid, tanh"}})
    EXPECT_EQ(error_of([&] { ModelDriver model(module(), c.options); }), c.error);
}

TEST(Mlp, TakesAnOperationForItsActivation) {
  const OptionValues by_name = {{"hidden", Units{4}}, {"classes", 3}, {"activation", "tanh"}},
                     by_op = {{"hidden", Units{4}}, {"classes", 3}, {"activation_op", "Tanh"}};
  EXPECT_EQ(built(by_op)->loss(kBatch), built(by_name)->loss(kBatch));
  EXPECT_LT(built(by_op)->worst_gradient_error(kBatch), 1e-2);
  EXPECT_EQ(error_of([] {
              built({{"activation_op", "Mihs"}});
            }),
            "NOT_FOUND: node 'hidden_1_activation': no operation is called 'Mihs'");
}

TEST(Mlp, HasTheLayersThatAreAskedFor) {
  const auto model = built({{"hidden", Units{5, 7}}, {"classes", 3}});
  std::map<std::string, belay::Dims> found;
  for (const belay::VariableInfo& v : model->variables())
    if (v.trainable) found[v.name] = v.dims;
  EXPECT_EQ(found, (std::map<std::string, belay::Dims>{{"hidden_1/kernel", {2, 5}},
                                                       {"hidden_1/bias", {5}},
                                                       {"hidden_2/kernel", {5, 7}},
                                                       {"hidden_2/bias", {7}},
                                                       {"logits/kernel", {7, 3}},
                                                       {"logits/bias", {3}}}));
  EXPECT_EQ(model->spec("probabilities"), "float32 [?, 3]");
}

TEST(Mlp, WithoutHiddenLayersItIsLinear) {
  const auto model = built({{"hidden", Units{}}, {"classes", 3}});
  for (const belay::VariableInfo& v : model->variables()) EXPECT_EQ(v.name.find("hidden"), std::string::npos) << v.name;
}

TEST(Mlp, GradientsAgreeWithFiniteDifferencesAndAStepLowersTheLoss) {
  for (const char* activation : {"relu", "sigmoid", "tanh"}) {
    const auto model = built({{"hidden", Units{6, 5}}, {"classes", 3}, {"activation", activation}});
    EXPECT_LT(model->worst_gradient_error(kBatch), 2e-2) << activation;  // float32 differences
    const double before = model->loss(kBatch);
    model->train_step(kBatch, 0.05);
    EXPECT_LT(model->loss(kBatch), before) << activation;
  }
}

TEST(Mlp, InitialValuesAreAFunctionOfTheSeed) {
  const OptionValues options{{"hidden", Units{16}}, {"classes", 3}};
  const std::vector<float> first = kernel(*built(options));
  EXPECT_EQ(kernel(*built(options)), first);
  EXPECT_NE(kernel(*built(options, Mode::kTrain, 43)), first);
}

TEST(Mlp, DropoutIsForTrainingAndOtherAtEachStep) {
  const OptionValues options{{"hidden", Units{64}}, {"classes", 3}, {"dropout", 0.5}};
  const auto training = built(options);
  const double first = training->loss(kBatch);
  EXPECT_EQ(training->loss(kBatch), first);  // the same step
  training->train_step(kBatch, 0);
  EXPECT_NE(training->loss(kBatch), first);
  const auto evaluating = built(options, Mode::kEval);
  EXPECT_EQ(evaluating->loss(kBatch), built({{"hidden", Units{64}}, {"classes", 3}}, Mode::kEval)->loss(kBatch));
}

TEST(Mlp, PredictsWithTheOptionsOfTheTrainingAndNoLabels) {
  const OptionValues options{{"hidden", Units{64}}, {"classes", 3}, {"dropout", 0.5}};
  const auto training = built(options), evaluating = built(options, Mode::kEval),
             predicting = built(options, Mode::kPredict);
  EXPECT_EQ(predicting->predictions(), (std::vector<std::string>{"probabilities", "class"}));
  EXPECT_EQ(prediction_faults(*training, *evaluating, *predicting, kBatch), "");
  EXPECT_EQ(error_of([&] { predicting->spec("y"); }), "NOT_FOUND: the graph has no 'y'");
}

}  // namespace mlp_test
