// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "belay/testing/model_driver.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_transformer;

namespace transformer_test {

using namespace belay::testing;
using belay::DType;
using belay::Mode;
using belay::Tensor;

const belay_module& module() { return module_under_test(belay_module_transformer); }

using Ids = std::vector<std::int32_t>;
const ModelBatch kBatch = {{"ids", Tensor({2, 3}, Ids{0, 1, 2, 3, 2, 1})},
                           {"next", Tensor({2, 3}, Ids{1, 2, 3, 2, 1, 0})}};
const OptionValues kSmall = {{"layers", 2}, {"heads", 2}, {"width", 8}, {"feed_forward", 12}};

std::unique_ptr<ModelDriver> built(OptionValues options, Mode mode = Mode::kTrain) {
  auto model = std::make_unique<ModelDriver>(module(), options);
  model->feature("ids", DType::kInt32, {-1, 3}, 4);
  model->label("next", DType::kInt32, {-1, 3}, 4);
  model->build(mode);
  return model;
}

TEST(Transformer, RefusesUnusableOptions) {
  struct Case {
    OptionValues options;
    const char* error;
  };
  for (const Case& c : {Case{{{"layers", 0}}, "INVALID_ARGUMENT: 'layers' is 0, must be >= 1"},
                        Case{{{"heads", 3}}, "INVALID_ARGUMENT: 'heads' is 3, must divide 'width', which is 128"},
                        Case{{{"dropout", 1.0}}, "INVALID_ARGUMENT: 'dropout' is 1, must be <= 0.999"}})
    EXPECT_EQ(error_of([&] { ModelDriver model(module(), c.options); }), c.error);
}

TEST(Transformer, RefusesFeaturesThatAreNoIds) {
  ModelDriver model(module(), kSmall);
  model.feature("x", DType::kFloat32, {-1, 3});
  EXPECT_EQ(error_of([&] { model.build(Mode::kPredict); }),
            "INVALID_ARGUMENT: the feature 'x:0' (float32 [?, 3]) must be ids, int32 or int64 [batch, time] with a "
            "known time");
}

TEST(Transformer, HasTheLayersThatAreAskedFor) {
  const auto model = built({{"layers", 1}, {"heads", 2}, {"width", 8}, {"feed_forward", 12}});
  std::map<std::string, belay::Dims> found;
  for (const belay::VariableInfo& v : model->variables())
    if (v.trainable) found[v.name] = v.dims;
  EXPECT_EQ(found, (std::map<std::string, belay::Dims>{{"places", {3, 8}},
                                                       {"embedding/table", {4, 8}},
                                                       {"layer_1/attention_norm/scale", {8}},
                                                       {"layer_1/attention_norm/offset", {8}},
                                                       {"layer_1/qkv/kernel", {8, 24}},
                                                       {"layer_1/qkv/bias", {24}},
                                                       {"layer_1/attention_output/kernel", {8, 8}},
                                                       {"layer_1/attention_output/bias", {8}},
                                                       {"layer_1/feed_forward_norm/scale", {8}},
                                                       {"layer_1/feed_forward_norm/offset", {8}},
                                                       {"layer_1/feed_forward/kernel", {8, 12}},
                                                       {"layer_1/feed_forward/bias", {12}},
                                                       {"layer_1/feed_forward_output/kernel", {12, 8}},
                                                       {"layer_1/feed_forward_output/bias", {8}},
                                                       {"last_norm/scale", {8}},
                                                       {"last_norm/offset", {8}},
                                                       {"logits/kernel", {8, 4}},
                                                       {"logits/bias", {4}}}));
  EXPECT_EQ(model->spec("probabilities"), "float32 [?, 3, 4]");
}

TEST(Transformer, GradientsAgreeWithFiniteDifferencesAndAStepLowersTheLoss) {
  const auto model = built(kSmall);
  // The embeddings are as large as after some training. Near small ones the first normalization is too curved for
  // float32 differences.
  std::vector<float> table(4 * 8);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i * 7 % 11) / 5 - 1;
  model->set_variable("embedding/table", Tensor({4, 8}, table));
  EXPECT_LT(model->worst_gradient_error(kBatch), 2e-2);  // float32 differences
  const double before = model->loss(kBatch);
  model->train_step(kBatch, 0.05);
  EXPECT_LT(model->loss(kBatch), before);
}

TEST(Transformer, APlaceKnowsNothingOfWhatFollows) {
  const auto model = built(kSmall, Mode::kEval);
  const std::vector<double> before = model->values("probabilities", kBatch);
  ModelBatch other = kBatch;
  other["ids"] = Tensor({2, 3}, Ids{0, 1, 0, 3, 2, 1});  // changes the last id of the first example
  const std::vector<double> after = model->values("probabilities", other);
  for (std::size_t i = 0; i < before.size(); ++i)
    if (i / 4 == 2) {
      EXPECT_NE(before[i], after[i]) << i;
    } else {
      EXPECT_EQ(before[i], after[i]) << i;
    }
}

TEST(Transformer, DropoutIsForTrainingAndOtherAtEachStep) {
  const OptionValues options = {{"layers", 2}, {"heads", 2}, {"width", 8}, {"feed_forward", 12}, {"dropout", 0.5}};
  const auto training = built(options);
  const double first = training->loss(kBatch);
  EXPECT_EQ(training->loss(kBatch), first);  // the same step
  training->train_step(kBatch, 0);
  EXPECT_NE(training->loss(kBatch), first);
  EXPECT_EQ(built(options, Mode::kEval)->loss(kBatch), built(kSmall, Mode::kEval)->loss(kBatch));
}

TEST(Transformer, PredictsWithTheOptionsOfTheTrainingAndNoLabels) {
  const OptionValues options = kSmall.with({"dropout", 0.5});
  const auto training = built(options), evaluating = built(options, Mode::kEval),
             predicting = built(options, Mode::kPredict);
  EXPECT_EQ(predicting->predictions(), (std::vector<std::string>{"probabilities", "class"}));
  EXPECT_EQ(predicting->spec("probabilities"), "float32 [?, 3, 4]");
  EXPECT_EQ(predicting->spec("class"), "int64 [?, 3]");
  EXPECT_EQ(prediction_faults(*training, *evaluating, *predicting, kBatch), "");
}

}  // namespace transformer_test
