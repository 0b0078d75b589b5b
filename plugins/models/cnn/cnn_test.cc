// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "belay/testing/model_driver.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_cnn;

namespace cnn_test {

using namespace belay::testing;
using belay::Dims;
using belay::DType;
using belay::Mode;
using belay::Tensor;
using Numbers = std::vector<std::int64_t>;

const belay_module& module() { return module_under_test(belay_module_cnn); }

// Three images of 6 x 5 with two channels.
const Dims kImages = {3, 6, 5, 2};
ModelBatch batch() {
  Tensor x(DType::kFloat32, kImages);
  for (std::size_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>((i * 37 + i / 11) % 19) / 9.5f - 1;
  return {{"x", x}, {"y", Tensor({3}, std::vector<std::int64_t>{0, 2, 1})}};
}

OptionValues small(const OptionValues& more = {}) {
  OptionValues options{
      {"filters", Numbers{4, 5}}, {"kernel_size", 3}, {"dense", Numbers{6}}, {"classes", 3}, {"dropout", 0.0}};
  for (const OptionValue& option : more.all()) options = options.with(option);
  return options;
}

std::unique_ptr<ModelDriver> built(const OptionValues& options, const Dims& feature = {-1, 6, 5, 2},
                                   Mode mode = Mode::kTrain) {
  auto model = std::make_unique<ModelDriver>(module(), options);
  model->feature("x", DType::kFloat32, feature);
  model->label("y", DType::kInt64, {-1});
  model->build(mode);
  return model;
}

std::map<std::string, Dims> trainable(const ModelDriver& model) {
  std::map<std::string, Dims> found;
  for (const belay::VariableInfo& v : model.variables())
    if (v.trainable) found[v.name] = v.dims;
  return found;
}

TEST(Cnn, HasTheLayersThatAreAskedFor) {
  EXPECT_EQ(trainable(*built(small())), (std::map<std::string, Dims>{{"conv_1/kernel", {3, 3, 2, 4}},
                                                                     {"conv_1/bias", {4}},
                                                                     {"conv_2/kernel", {3, 3, 4, 5}},
                                                                     {"conv_2/bias", {5}},
                                                                     {"dense_1/kernel", {5, 6}},
                                                                     {"dense_1/bias", {6}},
                                                                     {"logits/kernel", {6, 3}},
                                                                     {"logits/bias", {3}}}));
}

TEST(Cnn, ItsDefaultsAreTheNetForMnist) {
  EXPECT_EQ(trainable(*built({}, {-1, 28, 28})), (std::map<std::string, Dims>{{"conv_1/kernel", {5, 5, 1, 32}},
                                                                              {"conv_1/bias", {32}},
                                                                              {"conv_2/kernel", {5, 5, 32, 64}},
                                                                              {"conv_2/bias", {64}},
                                                                              {"dense_1/kernel", {3136, 1024}},
                                                                              {"dense_1/bias", {1024}},
                                                                              {"logits/kernel", {1024, 10}},
                                                                              {"logits/bias", {10}}}));
}

TEST(Cnn, GradientsAgreeWithFiniteDifferencesAndAStepLowersTheLoss) {
  for (const char* format : {"NHWC", "NCHW"}) {
    const auto model = built(small({{"data_format", format}, {"activation", "tanh"}}));
    EXPECT_LT(model->worst_gradient_error(batch()), 2e-2) << format;
    const double before = model->loss(batch());
    model->train_step(batch(), 0.05);
    EXPECT_LT(model->loss(batch()), before) << format;
  }
}

// The filters are the same in both orders. The dense layer reads the pixels in another order.
TEST(Cnn, TheOrderOfDimensionsDoesNotMatterToTheConvolutions) {
  const OptionValues pooled = small({{"pool", 5}, {"filters", Numbers{4}}});  // one pixel is left
  const auto nhwc = built(pooled), nchw = built(pooled.with({"data_format", "NCHW"}));
  EXPECT_NEAR(nhwc->loss(batch()), nchw->loss(batch()), 1e-5);
}

TEST(Cnn, TakesFlatExamplesWhereTheImageIsGiven) {
  ModelBatch flat = batch();
  Tensor x(DType::kFloat32, {3, 60});
  std::copy_n(flat.at("x").data<float>(), x.size(), x.data<float>());
  flat["x"] = x;
  const auto model = built(small({{"image", Numbers{6, 5, 2}}}), {-1, 60});
  EXPECT_EQ(model->loss(flat), built(small())->loss(batch()));
}

TEST(Cnn, DropoutIsForTrainingAlone) {
  const OptionValues options = small({{"dropout", 0.5}});
  EXPECT_EQ(built(options, kImages, Mode::kEval)->loss(batch()), built(small(), kImages, Mode::kEval)->loss(batch()));
  EXPECT_NE(built(options)->loss(batch()), built(small())->loss(batch()));
}

TEST(Cnn, AnInputThatIsNoImageIsNamed) {
  EXPECT_EQ(error_of([] {
              built(small(), {-1, 60});
            }),
            "INVALID_ARGUMENT: the feature 'x:0' (float32 [?, 60]) is no image of known size; set image = [height, "
            "width] or [height, width, channels]");
  EXPECT_EQ(
      error_of([] {
        built(small({{"image", Numbers{7, 7}}}), {-1, 60});
      }),
      "INVALID_ARGUMENT: image = [7, 7] has 49 elements, an example of the feature 'x:0' (float32 [?, 60]) has 60");
}

TEST(Cnn, PoolingThatLeavesNothingIsNamed) {
  EXPECT_EQ(error_of([] {
              built(small({{"pool", 4}}));
            }),
            "INVALID_ARGUMENT: node 'pool_2' (MaxPool): a window of height 4 does not fit into 1; use a smaller window "
            "or padding SAME");
}

TEST(Cnn, PredictsWithTheOptionsOfTheTrainingAndNoLabels) {
  const OptionValues options = small({{"dropout", 0.5}});
  const auto training = built(options), evaluating = built(options, kImages, Mode::kEval),
             predicting = built(options, kImages, Mode::kPredict);
  EXPECT_EQ(predicting->predictions(), (std::vector<std::string>{"probabilities", "class"}));
  EXPECT_EQ(prediction_faults(*training, *evaluating, *predicting, batch()), "");
}

}  // namespace cnn_test
