// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "belay/testing/model_driver.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_sequential;

namespace sequential_test {

using namespace belay::testing;
using belay::Dims;
using belay::DType;
using belay::Mode;
using belay::Tensor;
using ::testing::ElementsAre;
using Integers = std::vector<std::int64_t>;

const belay_module& module() { return module_under_test(belay_module_sequential); }

// One layer by its type and settings.
struct LayerOptions {
  std::string type;
  std::vector<OptionValue> settings;
};

OptionValues stack(const std::vector<LayerOptions>& layers) {
  OptionValues options;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string prefix = "layers." + std::to_string(i) + ".";
    options = options.with({prefix + "type", layers[i].type});
    for (OptionValue setting : layers[i].settings) {
      setting.name = prefix + setting.name;
      options = options.with(setting);
    }
  }
  return options;
}

struct Data {
  DType dtype = DType::kFloat32;
  Dims dims;  // the feature's
  std::int64_t ids = 0;
  Dims label_dims{-1};
  std::int64_t classes = 3;
};

std::unique_ptr<ModelDriver> built(const OptionValues& options, const Data& data, Mode mode = Mode::kTrain) {
  auto model = std::make_unique<ModelDriver>(module(), options);
  model->feature("x", data.dtype, data.dims, data.ids);
  model->label("y", DType::kInt64, data.label_dims, data.classes);
  model->build(mode);
  return model;
}

std::string error_at_build(const OptionValues& options, const Data& data) {
  return error_of([&] { built(options, data); });
}

// Returns two examples with smooth, different values, or with ids if the feature has ids.
ModelBatch batch_of(const Data& data) {
  Dims dims = data.dims;
  dims[0] = 2;
  Tensor x(data.dtype, dims);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (data.dtype == DType::kFloat32) x.data<float>()[i] = static_cast<float>((i * 37 % 23) / 11.0 - 1);
    if (data.dtype == DType::kInt32)
      x.data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 3 % static_cast<std::size_t>(data.ids));
  }
  Dims label_dims = data.label_dims;
  label_dims[0] = 2;
  Tensor y(DType::kInt64, label_dims);
  for (std::size_t i = 0; i < y.size(); ++i)
    y.data<std::int64_t>()[i] = static_cast<std::int64_t>(i % static_cast<std::size_t>(data.classes));
  return {{"x", x}, {"y", y}};
}

const Data kRows{DType::kFloat32, {-1, 4}, 0, {-1}, 3};
const Data kImages{DType::kFloat32, {-1, 6, 6, 2}, 0, {-1}, 3};
const Data kSequences{DType::kFloat32, {-1, 3, 4}, 0, {-1}, 3};
const Data kText{DType::kInt32, {-1, 5}, 7, {-1, 5}, 7};
const LayerOptions kDense3{"dense", {{"units", 3}}};

TEST(Sequential, HasTheLayersInTheirOrder) {
  const auto model = built(stack({{"reshape", {{"shape", Integers{6, 6, 2}}}},
                                  {"conv", {{"filters", 4}, {"size", Integers{3, 2}}, {"activation", "relu"}}},
                                  {"batch_norm", {}},
                                  {"max_pool", {{"size", 2}}},
                                  {"flatten", {}},
                                  {"dense", {{"units", 5}, {"use_bias", false}, {"name", "wide"}}},
                                  {"dropout", {{"rate", 0.5}}},
                                  kDense3}),
                           {DType::kFloat32, {-1, 72}, 0, {-1}, 3});
  std::map<std::string, Dims> found;
  for (const belay::VariableInfo& v : model->variables())
    if (v.trainable) found[v.name] = v.dims;
  EXPECT_EQ(found, (std::map<std::string, Dims>{{"conv_1/kernel", {3, 2, 2, 4}},
                                                {"conv_1/bias", {4}},
                                                {"batch_norm_1/scale", {4}},
                                                {"batch_norm_1/offset", {4}},
                                                {"wide/kernel", {16, 5}},
                                                {"dense_2/kernel", {5, 3}},
                                                {"dense_2/bias", {3}}}));
  EXPECT_EQ(model->spec("probabilities"), "float32 [?, 3]");
  EXPECT_THAT(model->metrics(), ElementsAre("accuracy"));
}

TEST(Sequential, EveryLayerIsTrained) {
  const struct {
    const char* what;
    std::vector<LayerOptions> layers;
    Data data;
  } cases[] = {
      {"dense", {{"dense", {{"units", 6}, {"activation", "tanh"}}}, kDense3}, kRows},
      {"activation", {{"dense", {{"units", 6}}}, {"activation", {{"function", "sigmoid"}}}, kDense3}, kRows},
      {"layer_norm", {{"dense", {{"units", 6}}}, {"layer_norm", {}}, kDense3}, kRows},
      {"conv",
       {{"conv", {{"filters", 3}, {"size", 3}, {"strides", 2}, {"padding", "SAME"}, {"activation", "tanh"}}},
        {"flatten", {}},
        kDense3},
       kImages},
      {"dilated conv", {{"conv", {{"filters", 2}, {"size", 3}, {"dilations", 2}}}, {"flatten", {}}, kDense3}, kImages},
      {"max_pool",
       {{"conv", {{"filters", 3}, {"size", 3}}}, {"max_pool", {{"size", 2}}}, {"flatten", {}}, kDense3},
       kImages},
      {"avg_pool",
       {{"conv", {{"filters", 3}, {"size", 3}}},
        {"avg_pool", {{"size", Integers{2, 3}}, {"strides", 1}, {"padding", "SAME"}}},
        {"flatten", {}},
        kDense3},
       kImages},
      {"global_avg_pool", {{"conv", {{"filters", 5}, {"size", 3}}}, {"global_avg_pool", {}}, kDense3}, kImages},
      {"batch_norm", {{"conv", {{"filters", 3}, {"size", 3}}}, {"batch_norm", {}}, {"flatten", {}}, kDense3}, kImages},
      {"lstm", {{"lstm", {{"units", 5}}}, kDense3}, kSequences},
      {"stacked gru",
       {{"gru", {{"units", 5}, {"return_sequences", true}}}, {"gru", {{"units", 4}}}, kDense3},
       kSequences},
      {"language model",
       {{"embedding", {{"width", 4}}}, {"lstm", {{"units", 5}, {"return_sequences", true}}}, {"dense", {{"units", 7}}}},
       kText},
  };
  for (const auto& c : cases) {
    const auto model = built(stack(c.layers), c.data);
    const ModelBatch batch = batch_of(c.data);
    EXPECT_LT(model->worst_gradient_error(batch), 2e-2) << c.what;  // float32 differences
    const double before = model->loss(batch);
    for (int step = 0; step < 10; ++step) model->train_step(batch, 0.05);
    EXPECT_LT(model->loss(batch), before) << c.what;
  }
}

TEST(Sequential, DropoutIsForTraining) {
  const OptionValues with = stack({{"dense", {{"units", 64}}}, {"dropout", {{"rate", 0.5}}}, kDense3});
  const OptionValues without = stack({{"dense", {{"units", 64}}}, {"dropout", {{"rate", 0}}}, kDense3});
  const ModelBatch batch = batch_of(kRows);
  EXPECT_EQ(built(with, kRows, Mode::kEval)->loss(batch), built(without, kRows, Mode::kEval)->loss(batch));
  EXPECT_NE(built(with, kRows)->loss(batch), built(without, kRows)->loss(batch));
}

TEST(Sequential, TrainingAndEvaluationHaveTheSameVariables) {
  const OptionValues options = stack({{"dense", {{"units", 4}}}, {"dropout", {}}, {"batch_norm", {}}, kDense3});
  const auto names = [&](Mode mode) {
    std::vector<std::string> all;
    for (const belay::VariableInfo& v : built(options, kRows, mode)->variables()) all.push_back(v.name);
    return all;
  };
  EXPECT_EQ(names(Mode::kTrain), names(Mode::kEval));
}

TEST(Sequential, ALabelOfNumbersMakesARegression) {
  ModelDriver model(module(), stack({{"dense", {{"units", 1}}}}));
  model.feature("a", DType::kFloat32, {-1});
  model.feature("b", DType::kFloat32, {-1, 2});
  model.label("y", DType::kFloat32, {-1});
  model.build(Mode::kTrain);
  EXPECT_EQ(model.spec("value"), "float32 [?, 1]");
  EXPECT_EQ(model.spec("dense_1/kernel"), "float32 [3, 1]");  // both features
}

TEST(Sequential, DefaultsMakeTheLayersThatSayNothingElse) {
  const std::vector<LayerOptions> plain = {{"dense", {{"units", 6}}}, {"dense", {{"units", 3}, {"use_bias", true}}}};
  const OptionValues options =
      stack(plain).with({"defaults.dense.activation", "relu"}).with({"defaults.dense.use_bias", false});
  const auto model = built(options, kRows);
  std::set<std::string> names;
  for (const belay::VariableInfo& v : model->variables())
    if (v.trainable) names.insert(v.name);
  EXPECT_EQ(names, (std::set<std::string>{"dense_1/kernel", "dense_2/kernel", "dense_2/bias"}));
  EXPECT_EQ(model->spec("dense_1/Relu"), "float32 [?, 6]");
  const OptionValues written = stack({{"dense", {{"units", 6}, {"activation", "relu"}, {"use_bias", false}}},
                                      {"dense", {{"units", 3}, {"activation", "relu"}}}});
  EXPECT_EQ(model->loss(batch_of(kRows)), built(written, kRows)->loss(batch_of(kRows)));
}

TEST(Sequential, ADefaultThatNoLayerCanHaveIsNamed) {
  const OptionValues layers = stack({kDense3});
  EXPECT_EQ(error_of([&] {
              ModelDriver model(module(), layers.with({"defaults.dens.activation", "relu"}));
            }),
            "INVALID_ARGUMENT: 'defaults.dens': there is no such type (did you mean \"dense\"?); the types are dense, "
            "conv, max_pool, avg_pool, global_avg_pool, flatten, reshape, dropout, batch_norm, layer_norm, activation, "
            "embedding, lstm, gru");
  EXPECT_EQ(error_of([&] {
              ModelDriver model(module(), layers.with({"defaults.dense.activaton", "relu"}));
            }),
            "INVALID_ARGUMENT: 'layers.0' (dense): 'activaton' is unknown (did you mean \"activation\"?); it has name, "
            "units, activation, use_bias");
}

TEST(Sequential, SettingsThatAreWrongAreNamedBeforeTheInputIsOpened) {
  const struct {
    OptionValues options;
    const char* error;
  } cases[] = {
      {{}, "'layers' is required"},
      {stack({{"dens", {{"units", 3}}}}),
       "'layers.0' (dens): there is no such type (did you mean \"dense\"?); the types are dense, conv, max_pool, "
       "avg_pool, global_avg_pool, flatten, reshape, dropout, batch_norm, layer_norm, activation, embedding, lstm, "
       "gru"},
      {stack({kDense3, {"dense", {}}}), "'layers.1' (dense): 'units' is required"},
      {stack({{"dense", {{"units", 3}, {"activation", "rely"}}}}),
       "'layers.0' (dense): 'activation' is \"rely\" (did you mean \"relu\"?), must be one of: none, relu, relu6, "
       "leaky_relu, elu, sigmoid, tanh, softplus"},
      {stack({{"max_pool", {{"sise", 2}}}}), "'layers.0' (max_pool): 'size' is required"},
      {stack({{"flatten", {{"size", 2}}}}), "'layers.0' (flatten): 'size' is unknown; it has name"},
      {stack({{"conv", {{"filters", 3}, {"size", 3}, {"padding", "same"}}}}),
       "'layers.0' (conv): 'padding' is \"same\" (did you mean \"SAME\"?), must be one of: VALID, SAME"},
      {stack({{"dropout", {{"rate", 1.0}}}}), "'layers.0' (dropout): 'rate' is 1, must be from 0 to 0.999"},
      {stack({{"reshape", {{"shape", Integers{28, -1}}}}}),
       "'layers.0' (reshape): 'shape' holds -1, must be >= 1: the dimensions of one example"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(error_of([&] { ModelDriver model(module(), c.options); }), std::string("INVALID_ARGUMENT: ") + c.error);
}

TEST(Sequential, LayersThatDoNotFitAreNamed) {
  const struct {
    std::vector<LayerOptions> layers;
    Data data;
    const char* error;
  } cases[] = {
      {{{"conv", {{"filters", 3}, {"size", 3}}}},
       kRows,
       "'layers.0' (conv): 'x:0' (float32 [?, 4]) is no image [batch, height, width, channels]; put { type = "
       "\"reshape\", shape = [height, width, channels] } before it"},
      {{{"reshape", {{"shape", Integers{3, 2}}}}},
       kRows,
       "'layers.0' (reshape): shape = [3, 2] has 6 elements, an example of 'x:0' (float32 [?, 4]) has 4"},
      {{kDense3},
       kImages,
       "'layers.0' (dense): 'x:0' (float32 [?, 6, 6, 2]) has more than one row for an example; put { type = "
       "\"flatten\" } before it"},
      {{{"embedding", {{"width", 3}}}},
       kRows,
       "'layers.0' (embedding): the input does not declare how many ids 'x:0' (float32 [?, 4]) can have; set 'entries' "
       "to their number"},
      {{{"embedding", {{"width", 3}, {"entries", 5}}}},
       kRows,
       "'layers.0' (embedding): 'x:0' (float32 [?, 4]) is no ids: an embedding is the first layer and takes int32 or "
       "int64"},
      {{{"lstm", {{"units", 3}}}},
       kRows,
       "'layers.0' (lstm): lstm 'lstm_1': 'x:0' (float32 [?, 4]) must have 3 dimensions, batch, time and features, and "
       "its features must be known"},
      {{{"dense", {{"units", 4}}}},
       kRows,
       "'layers.0' (dense): the last layer returns 4 values for each example, the label 'y' (int64 [?]) needs 3; end "
       "with { type = \"dense\", units = 3 }"},
      {{{"lstm", {{"units", 3}, {"return_sequences", true}}}},
       kSequences,
       "'layers.0' (lstm): the last layer returns 'lstm_1/Lstm:0' (float32 [?, 3, 3]), which does not fit the label "
       "'y' (int64 [?]); put { type = \"flatten\" } or an lstm without return_sequences before it"},
      {{{"embedding", {{"width", 3}}}, {"lstm", {{"units", 7}}}},
       kText,
       "'layers.1' (lstm): the last layer returns 'lstm_1/Lstm:1' (float32 [?, 7]), which does not fit the label 'y' "
       "(int64 [?, 5]); give the layers before it return_sequences = true"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(error_at_build(stack(c.layers), c.data), std::string("INVALID_ARGUMENT: ") + c.error);
}

TEST(Sequential, PredictsWithTheOptionsOfTheTrainingAndNoLabels) {
  const struct {
    std::vector<LayerOptions> layers;
    Data data;
    const char* probabilities;
  } cases[] = {
      {{{"dense", {{"units", 64}}}, {"dropout", {}}, {"batch_norm", {}}, kDense3}, kRows, "float32 [?, 3]"},
      {{{"embedding", {{"width", 3}}},
        {"lstm", {{"units", 5}, {"return_sequences", true}}},
        {"dropout", {}},
        {"dense", {{"units", 7}}}},
       kText,
       "float32 [?, 5, 7]"},
  };
  for (const auto& c : cases) {
    const auto training = built(stack(c.layers), c.data), evaluating = built(stack(c.layers), c.data, Mode::kEval),
               predicting = built(stack(c.layers), c.data, Mode::kPredict);
    EXPECT_THAT(predicting->predictions(), ElementsAre("probabilities", "class"));
    EXPECT_EQ(predicting->spec("probabilities"), c.probabilities);
    EXPECT_EQ(prediction_faults(*training, *evaluating, *predicting, batch_of(c.data)), "");
  }
}

TEST(Sequential, LayersThatDoNotFitTheDeclaredLabelAreNamedInEveryMode) {
  for (const Mode mode : {Mode::kTrain, Mode::kEval, Mode::kPredict})
    EXPECT_EQ(error_of([&] {
                built(stack({{"dense", {{"units", 4}}}}), kRows, mode);
              }),
              "INVALID_ARGUMENT: 'layers.0' (dense): the last layer returns 4 values for each example, the label 'y' "
              "(int64 [?]) needs 3; end with { type = \"dense\", units = 3 }");
}

// Builds `layers.0` of one type with the keys that it needs, and an unknown key. The error lists the keys that the
// model reads.
std::set<std::string> keys_read_by(const std::string& type) {
  const std::string error = error_of([&] {
    OptionValues options = {{"layers.0.type", type}, {"layers.0.zzz", 1}};
    for (const char* key : {"units", "filters", "size", "width"})
      options = options.with({std::string("layers.0.") + key, 1});
    options = options.with({"layers.0.shape", std::vector<std::int64_t>{4}});
    options = options.with({"layers.0.function", "relu"});
    ModelDriver model(module(), options);
  });
  std::set<std::string> keys;
  const std::size_t list = error.rfind("; it has ");
  EXPECT_NE(list, error.npos) << error;
  std::istringstream words(error.substr(list + 9));
  for (std::string word; words >> word;) keys.insert(word.substr(0, word.find(',')));
  return keys;
}

TEST(Sequential, N_10_TheKeysThatAreDeclaredForATypeAreThoseThatItReads) {
  const auto note = nlohmann::json::parse(std::string_view(module().note, module().note_size));
  std::map<std::string, std::set<std::string>> declared;
  std::vector<std::string> types;
  for (const auto& option : note["plugins"][0]["options"]) {
    const std::string name = option["name"];
    if (name == "layers[].type") types = option["choices"];
    if (name.rfind("layers[].", 0) != 0 || name == "layers[].type") continue;
    const std::string key = name.substr(9);
    for (const std::string& type :
         option.contains("when") ? option["when"]["type"].get<std::vector<std::string>>() : types)
      declared[type].insert(key);
  }
  std::string list;
  for (const std::string& type : types) list += (list.empty() ? "" : ", ") + type;
  for (const std::string& type : types) EXPECT_EQ(declared[type], keys_read_by(type)) << type;
  EXPECT_EQ(error_of([] {
              ModelDriver model(module(), {{"layers.0.type", "zzz"}});
            }),
            "INVALID_ARGUMENT: 'layers.0' (zzz): there is no such type; the types are " + list);
}

}  // namespace sequential_test
