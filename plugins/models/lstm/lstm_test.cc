// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "belay/testing/model_driver.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_lstm;

namespace lstm_test {

using namespace belay::testing;
using belay::DType;
using belay::Mode;
using belay::Tensor;

const belay_module& module() { return module_under_test(belay_module_lstm); }

using Ids = std::vector<std::int32_t>;
const ModelBatch kBatch = {{"ids", Tensor({2, 3}, Ids{0, 1, 2, 3, 2, 1})},
                           {"next", Tensor({2, 3}, Ids{1, 2, 3, 2, 1, 0})}};
const OptionValues kSmall = {{"embedding", 3}, {"hidden", 4}};

std::unique_ptr<ModelDriver> built(OptionValues options, Mode mode = Mode::kTrain, std::uint64_t seed = 42) {
  auto model = std::make_unique<ModelDriver>(module(), options);
  model->feature("ids", DType::kInt32, {-1, 3}, 4);
  model->label("next", DType::kInt32, {-1, 3}, 4);
  model->build(mode, seed);
  return model;
}

TEST(Lstm, RefusesUnusableOptions) {
  struct Case {
    OptionValues options;
    const char* error;
  };
  for (const Case& c : {Case{{{"hidden", 0}}, "INVALID_ARGUMENT: 'hidden' is 0, must be >= 1"},
                        Case{{{"layers", 0}}, "INVALID_ARGUMENT: 'layers' is 0, must be >= 1"},
                        Case{{{"dropout", 1.0}}, "INVALID_ARGUMENT: 'dropout' is 1, must be <= 0.999"}})
    EXPECT_EQ(error_of([&] { ModelDriver model(module(), c.options); }), c.error);
}

TEST(Lstm, RefusesFeaturesThatAreNoIds) {
  struct Case {
    DType dtype;
    belay::Dims dims;
    std::int64_t classes;
    const char* error;
  };
  for (const Case& c :
       {Case{DType::kFloat32,
             {-1, 3},
             4,
             "INVALID_ARGUMENT: the feature 'ids:0' (float32 [?, 3]) must be ids, int32 or int64 [batch, time] with a "
             "known time"},
        Case{DType::kInt64,
             {-1, -1},
             4,
             "INVALID_ARGUMENT: the feature 'ids:0' (int64 [?, ?]) must be ids, int32 or int64 [batch, time] with a "
             "known time"},
        Case{DType::kInt64,
             {-1, 3},
             0,
             "INVALID_ARGUMENT: the input does not declare how many ids there are for 'ids:0' (int64 [?, 3]); set "
             "vocabulary to their number"}}) {
    ModelDriver model(module(), kSmall);
    model.feature("ids", c.dtype, c.dims, c.classes);
    model.label("next", DType::kInt32, {-1, 3}, 4);
    EXPECT_EQ(error_of([&] { model.build(Mode::kTrain); }), c.error);
  }
}

TEST(Lstm, HasTheLayersThatAreAskedFor) {
  const auto model = built({{"embedding", 3}, {"hidden", 5}, {"layers", 2}});
  std::map<std::string, belay::Dims> found;
  for (const belay::VariableInfo& v : model->variables())
    if (v.trainable) found[v.name] = v.dims;
  EXPECT_EQ(found, (std::map<std::string, belay::Dims>{{"embedding/table", {4, 3}},
                                                       {"lstm_1/kernel", {3, 20}},
                                                       {"lstm_1/recurrent_kernel", {5, 20}},
                                                       {"lstm_1/bias", {20}},
                                                       {"lstm_2/kernel", {5, 20}},
                                                       {"lstm_2/recurrent_kernel", {5, 20}},
                                                       {"lstm_2/bias", {20}},
                                                       {"logits/kernel", {5, 4}},
                                                       {"logits/bias", {4}}}));
  EXPECT_EQ(model->spec("probabilities"), "float32 [?, 3, 4]");
  EXPECT_EQ(model->spec("class"), "int64 [?, 3]");
}

TEST(Lstm, TheVocabularyMayBeSet) {
  const auto model = built({{"vocabulary", 7}, {"embedding", 3}, {"hidden", 4}});
  EXPECT_EQ(model->spec("probabilities"), "float32 [?, 3, 7]");
}

TEST(Lstm, GradientsAgreeWithFiniteDifferencesAndAStepLowersTheLoss) {
  const auto model = built({{"embedding", 3}, {"hidden", 4}, {"layers", 2}});
  EXPECT_LT(model->worst_gradient_error(kBatch), 2e-2);  // float32 differences
  const double before = model->loss(kBatch);
  model->train_step(kBatch, 0.1);
  EXPECT_LT(model->loss(kBatch), before);
}

TEST(Lstm, APlaceKnowsNothingOfWhatFollows) {
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

TEST(Lstm, DropoutIsForTrainingAndOtherAtEachStep) {
  const OptionValues options{{"embedding", 3}, {"hidden", 32}, {"dropout", 0.5}};
  const auto training = built(options);
  const double first = training->loss(kBatch);
  EXPECT_EQ(training->loss(kBatch), first);  // the same step
  training->train_step(kBatch, 0);
  EXPECT_NE(training->loss(kBatch), first);
  EXPECT_EQ(built(options, Mode::kEval)->loss(kBatch),
            built({{"embedding", 3}, {"hidden", 32}}, Mode::kEval)->loss(kBatch));
}

TEST(Lstm, PredictsWithTheOptionsOfTheTrainingAndNoLabels) {
  const OptionValues options{{"embedding", 3}, {"hidden", 32}, {"layers", 2}, {"dropout", 0.5}};
  const auto training = built(options), evaluating = built(options, Mode::kEval),
             predicting = built(options, Mode::kPredict);
  EXPECT_EQ(predicting->predictions(), (std::vector<std::string>{"probabilities", "class"}));
  EXPECT_EQ(predicting->spec("probabilities"), "float32 [?, 3, 4]");
  EXPECT_EQ(predicting->spec("class"), "int64 [?, 3]");
  EXPECT_EQ(prediction_faults(*training, *evaluating, *predicting, kBatch), "");
}

}  // namespace lstm_test
