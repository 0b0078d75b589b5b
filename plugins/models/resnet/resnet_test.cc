// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "belay/testing/model_driver.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_resnet;

namespace resnet_test {

using namespace belay::testing;
using belay::Dims;
using belay::DType;
using belay::Mode;
using belay::Tensor;
using Numbers = std::vector<std::int64_t>;

const belay_module& module() { return module_under_test(belay_module_resnet); }

ModelBatch batch() {
  Tensor x(DType::kFloat32, {4, 6, 6});
  for (std::size_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>((i * 37 + i / 11) % 19) / 9.5f - 1;
  return {{"x", x}, {"y", Tensor({4}, std::vector<std::int64_t>{0, 2, 1, 1})}};
}

std::unique_ptr<ModelDriver> built(const OptionValues& options, Mode mode = Mode::kTrain) {
  auto model = std::make_unique<ModelDriver>(module(), options);
  model->feature("x", DType::kFloat32, {-1, 6, 6});
  model->label("y", DType::kInt64, {-1});
  model->build(mode);
  return model;
}
const OptionValues kSmall{{"blocks", Numbers{1, 1}}, {"filters", 3}, {"classes", 3}};

TEST(Resnet, HasTheBlocksThatAreAskedFor) {
  const auto model = built(kSmall);
  std::map<std::string, Dims> kernels;
  for (const belay::VariableInfo& v : model->variables())
    if (v.name.find("kernel") != std::string::npos) kernels[v.name] = v.dims;
  EXPECT_EQ(kernels, (std::map<std::string, Dims>{{"first_conv/kernel", {3, 3, 1, 3}},
                                                  {"stage_1_block_1/a_conv/kernel", {3, 3, 3, 3}},
                                                  {"stage_1_block_1/b_conv/kernel", {3, 3, 3, 3}},
                                                  {"stage_2_block_1/a_conv/kernel", {3, 3, 3, 6}},
                                                  {"stage_2_block_1/b_conv/kernel", {3, 3, 6, 6}},
                                                  {"stage_2_block_1/shortcut_conv/kernel", {1, 1, 3, 6}},
                                                  {"logits/kernel", {6, 3}}}));
}

TEST(Resnet, GradientsAgreeWithFiniteDifferencesAndStepsLowerTheLoss) {
  const auto model = built(kSmall);
  EXPECT_LT(model->worst_gradient_error(batch(), 5), 5e-2);  // float32 differences through relus
  const double before = model->loss(batch());
  for (int step = 0; step < 5; ++step) model->train_step(batch(), 0.05);
  EXPECT_LT(model->loss(batch()), before);
}

// Both graphs have the same variables, so an evaluation finds all that training has made.
TEST(Resnet, EvaluationUsesTheMovingAverages) {
  const auto names = [](const ModelDriver& model) {
    std::set<std::string> all;
    for (const belay::VariableInfo& v : model.variables()) all.insert(v.name);
    return all;
  };
  const auto training = built(kSmall), evaluating = built(kSmall, Mode::kEval);
  EXPECT_EQ(names(*evaluating), names(*training));
  EXPECT_EQ(names(*training).count("first_norm/moving_variance"), 1u);
  const double before = evaluating->loss(batch());
  EXPECT_NE(before, training->loss(batch()));  // a training graph normalizes by the batch's moments
  evaluating->set_variable("first_norm/moving_variance", Tensor({3}, std::vector<float>{9, 9, 9}));
  EXPECT_NE(evaluating->loss(batch()), before);
}

TEST(Resnet, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([] {
              ModelDriver model(module(), {{"momentum", 1.5}});
            }),
            "INVALID_ARGUMENT: 'momentum' is 1.5, must be <= 1");
  EXPECT_EQ(error_of([] {
              ModelDriver model(module(), {{"blocks", Numbers{2, 0}}});
            }),
            "INVALID_ARGUMENT: 'blocks' is 0, must be >= 1");
}

TEST(Resnet, PredictsWithTheOptionsOfTheTrainingAndNoLabels) {
  const auto training = built(kSmall), evaluating = built(kSmall, Mode::kEval),
             predicting = built(kSmall, Mode::kPredict);
  EXPECT_EQ(predicting->predictions(), (std::vector<std::string>{"probabilities", "class"}));
  for (const auto& model : {evaluating.get(), predicting.get()})
    model->set_variable("first_norm/moving_variance", Tensor({3}, std::vector<float>{9, 4, 1}));
  EXPECT_EQ(prediction_faults(*training, *evaluating, *predicting, batch()), "");
}

}  // namespace resnet_test
