// SPDX-License-Identifier: Apache-2.0
#include <belay/testing/error_of.h>
#include <belay/testing/input_driver.h>
#include <belay/testing/temporary_folder.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "npy_test_files.h"
#include "plugins/inputs/input_test.h"

extern "C" const belay_module belay_module_npy;

namespace npy_input {
namespace {

using belay::DType;
using belay::InputUse;
using belay::testing::error_of;
using belay::testing::InputDriver;
using belay::testing::module_under_test;
using belay::testing::OptionValues;
using belay::testing::TemporaryFolder;
using input_test::error_at_open;
using input_test::expect_laws_of_an_input;
using ::testing::ElementsAre;
using Names = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_npy); }

class Npy : public ::testing::Test {
 protected:
  // Writes n rows {i, 10 i} with label i modulo 3, as uint8.
  OptionValues rows(int n) {
    std::vector<float> x;
    std::vector<std::uint8_t> y;
    for (int i = 0; i < n; ++i) {
      x.push_back(static_cast<float>(i));
      x.push_back(static_cast<float>(10 * i));
      y.push_back(static_cast<std::uint8_t>(i % 3));
    }
    const std::string count = std::to_string(n);
    return {{"features", folder_.write("x.npy", npy_file("<f4", "(" + count + ", 2)", x))},
            {"labels", folder_.write("y.npy", npy_file("|u1", "(" + count + ",)", y))}};
  }
  static std::vector<float> examples_of(const OptionValues& options, std::int64_t shard = 0, std::int64_t shards = 1) {
    return input_test::first_elements<float>(module(), "features", options, shard, shards);
  }
  TemporaryFolder folder_;
};

TEST_F(Npy, DeclaresFeaturesAndLabel) {
  InputDriver input(module(), rows(4).with({"classes", 3}));
  const auto& spec = input.spec();
  ASSERT_EQ(spec.size(), 2u);
  EXPECT_EQ(spec[0].name, "features");
  EXPECT_EQ(spec[0].dtype, DType::kFloat32);
  EXPECT_THAT(spec[0].dims, ElementsAre(-1, 2));
  EXPECT_EQ(spec[1].name, "label");
  EXPECT_EQ(spec[1].dtype, DType::kInt64);
  EXPECT_THAT(spec[1].dims, ElementsAre(-1));
  EXPECT_EQ(spec[1].classes, 3);
  EXPECT_TRUE(spec[1].is_label);
}

TEST_F(Npy, DeliversRowsInOrder) {
  InputDriver input(module(), rows(5).with({"batch_size", 3}).with({"epochs", 1}));
  input.open();
  EXPECT_EQ(input.size(), 5);
  const auto batches = input.all_batches();
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_THAT(batches[0].values<float>("features"), ElementsAre(0, 0, 1, 10, 2, 20));
  EXPECT_THAT(batches[0].values<std::int64_t>("label"), ElementsAre(0, 1, 2));
  EXPECT_THAT(batches[1].values<float>("features"), ElementsAre(3, 30, 4, 40));
}

TEST_F(Npy, KeepsTypesAndShapesUnlessItScales) {
  const std::string images = folder_.write("i.npy", npy_file<std::uint8_t>("|u1", "(2, 1, 2)", {0, 51, 102, 255}));
  InputDriver plain(module(), {{"features", images}});
  plain.open();
  EXPECT_THAT(plain.spec()[0].dims, ElementsAre(-1, 1, 2));
  EXPECT_THAT(plain.next()->values<std::uint8_t>("features"), ElementsAre(0, 51, 102, 255));
  InputDriver scaled(module(), {{"features", images}, {"scale", 1.0 / 51}, {"mean", 1.0}, {"std", 2.0}});
  scaled.open();
  EXPECT_THAT(scaled.next()->values<float>("features"), ElementsAre(-0.5f, 0, 0.5f, 2));
}

TEST_F(Npy, NumbersMayBeLabels) {
  InputDriver input(module(),
                    rows(2).with({"labels", folder_.write("t.npy", npy_file<double>("<f8", "(2,)", {0.5, 2}))}));
  input.open();
  EXPECT_THAT(input.next()->values<double>("label"), ElementsAre(0.5, 2));
}

TEST_F(Npy, TrainAndEvalAreDisjointAndComplete) {
  input_test::expect_split_disjoint_and_complete(examples_of, rows(40));
}

TEST_F(Npy, ShardsAreDisjointAndComplete) {
  input_test::expect_shards_disjoint_and_complete(examples_of, rows(31).with({"shuffle", true}), 31);
}

TEST_F(Npy, KeepsTheLawsOfAnInput) {
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    InputDriver input(module(), rows(1 + static_cast<int>(random() % 40))
                                    .with({"batch_size", 1 + random() % 9})
                                    .with({"epochs", 1 + random() % 3})
                                    .with({"shuffle", random() % 2 == 0}));
    input.open();
    expect_laws_of_an_input(input);
  }
}

TEST_F(Npy, WhatIsWrongIsAnErrorAtOpening) {
  const OptionValues options = rows(3);
  const std::string x = folder_.file("x.npy"), other = folder_.write("o.npy", npy_file<float>("<f4", "(2,)", {0, 1})),
                    scalar = folder_.write("s.npy", npy_file<float>("<f4", "()", {1})),
                    empty = folder_.write("e.npy", npy_file<float>("<f4", "(0, 3)", {}));
  const struct {
    OptionValues options;
    std::string error;
  } cases[] = {
      {{}, "INVALID_ARGUMENT: 'features' is required"},
      {{{"features", folder_.file("missing.npy")}},
       "NOT_FOUND: [B3046] features: there is no file '" + folder_.file("missing.npy") + "'"},
      {{{"features", scalar}},
       "INVALID_ARGUMENT: [B3024] features: '" + scalar +
           "' is a single number; an array's first dimension must count the examples"},
      {{{"features", empty}},
       "FAILED_PRECONDITION: [B3021] features: '" + empty +
           "' is empty: its shape is [0, 3]; give an array that has examples"},
      {options.with({"labels", other}), "FAILED_PRECONDITION: [B3026] labels: '" + other + "' has 2 rows, features '" +
                                            x + "' has 3; give two arrays of one set"},
      {{{"features", other}, {"labels", other}, {"classes", 2}},
       "INVALID_ARGUMENT: [B3025] labels: '" + other +
           "' holds '<f4'; 'classes' and 'class_names' are for whole numbers"},
      {options.with({"split", "eval"}).with({"eval_fraction", 0.1}),
       "FAILED_PRECONDITION: [B3027] split: '" + x +
           "' has 3 rows and none of them is for \"eval\"; change 'eval_fraction'"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_at_open(module(), c.options), c.error);
}

TEST_F(Npy, ALabelThatIsNoClassIsFoundWhenATrainingIsOpened) {
  EXPECT_EQ(error_at_open(module(), rows(5).with({"classes", 2})),
            "DATA_LOSS: [B3007] labels: '" + folder_.file("y.npy") +
                "' has label 2 in row 2; with 2 classes labels are 0 to 1");
}

TEST_F(Npy, AValueThatIsNotFiniteIsRefusedInEvaluationsAndPredictionsAndAWarningInATraining) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::string x = folder_.write("x.npy", npy_file<float>("<f4", "(3, 2)", {1, 2, 3, std::nanf(""), -inf, 6}));
  const OptionValues options = {{"features", x}};
  const std::string said = "features: '" + x + "' row 1 has nan in element 1 of \"features\"";
  for (const bool scaled : {false, true}) {
    const OptionValues own = scaled ? options.with({"scale", 0.5}) : options;
    InputDriver train(module(), own);
    for (const InputUse use : {InputUse::kEvaluation, InputUse::kPrediction}) {
      InputDriver other(module(), own);
      other.learn(train.schema(), use);
      other.open();
      EXPECT_EQ(error_of([&] { other.next(); }), "INVALID_ARGUMENT: " + said + "; repair it, or leave the example out");
    }
    train.open();
    for (int batch = 0; batch < 2; ++batch) train.next();
    EXPECT_THAT(
        train.host().logged(),
        ElementsAre("warning: " + said + "; the training continues with it, and no evaluation or prediction would"));
  }
}

TEST_F(Npy, DeclaresColumnsAndClassesThatHaveNames) {
  InputDriver input(module(),
                    rows(4).with({"columns", Names{"small", "large"}}).with({"class_names", Names{"a", "b", "c"}}));
  EXPECT_THAT(input.spec()[0].columns, ElementsAre("small", "large"));
  EXPECT_EQ(input.spec()[1].classes, 3);
  EXPECT_THAT(input.spec()[1].class_names, ElementsAre("a", "b", "c"));
  EXPECT_EQ(error_at_open(module(), rows(2).with({"class_names", Names{"a", "b"}}).with({"classes", 3})),
            "INVALID_ARGUMENT: 'classes' is 3, and 'class_names' has 2; leave 'classes' out");
  EXPECT_EQ(error_at_open(module(), rows(2).with({"columns", Names{"a", "b", "c"}})),
            "INVALID_ARGUMENT: [B3024] features: '" + folder_.file("x.npy") +
                "' has the shape [2, 2]; 'columns' names 3 elements of its last dimension");
}

TEST_F(Npy, T_104_KeepsTheScaleOfWhatItDelivers) {
  InputDriver plain(module(), rows(4)), scaled(module(), rows(4).with({"scale", 0.5}).with({"mean", 2.0}));
  EXPECT_EQ(plain.schema().values.count("scale"), 0U);
  EXPECT_THAT(scaled.schema().values.at("scale"), ElementsAre(0.5));
  EXPECT_THAT(scaled.schema().values.at("mean"), ElementsAre(2));
  EXPECT_THAT(scaled.schema().values.at("std"), ElementsAre(1));
  plain.restart();
  plain.learn(scaled.schema(), InputUse::kEvaluation);
  EXPECT_EQ(plain.difference_from_learned(), "what the input keeps as 'mean' is not the training's");
}

TEST_F(Npy, T_110_ALabelThatIsNoClassIsFoundWhenAnEvaluationIsOpened) {
  const OptionValues options = rows(5).with({"classes", 2});
  InputDriver train(module(), options), eval(module(), options);
  eval.learn(train.schema(), InputUse::kEvaluation);
  EXPECT_EQ(error_of([&] { eval.open(); }), "INVALID_ARGUMENT: [B3007] labels: '" + folder_.file("y.npy") +
                                                "' has label 2 in row 2; with 2 classes labels are 0 to 1");
}

TEST_F(Npy, T_104_AScaleIsKeptWithTheTypeThatItIsFor) {
  const OptionValues bytes{{"features", folder_.write("b.npy", npy_file<std::uint8_t>("|u1", "(2, 1)", {0, 255}))},
                           {"scale", 1.0 / 255}};
  InputDriver train(module(), bytes), same(module(), bytes),
      floats(module(), bytes.with({"features", folder_.write("f.npy", npy_file<float>("<f4", "(2, 1)", {0, 1}))}));
  EXPECT_THAT(train.schema().words.at("scale.dtype"), ElementsAre("uint8"));
  for (InputDriver* input : {&same, &floats}) input->learn(train.schema(), InputUse::kEvaluation);
  EXPECT_EQ(same.difference_from_learned(), "");
  EXPECT_EQ(floats.difference_from_learned(), "what the input keeps as 'scale.dtype' is not the training's");
}

TEST_F(Npy, T_104_ATrainingOfAnotherPluginHasNoScaleToMatch) {
  InputDriver eval(module(), rows(4).with({"scale", 0.5}));
  belay::testing::LearnedSchema other = InputDriver(module(), rows(4)).schema();
  eval.learn(other, InputUse::kEvaluation);
  EXPECT_EQ(eval.schema().values.count("scale"), 0U);
  EXPECT_EQ(eval.difference_from_learned(), "");
}

TEST_F(Npy, T_101_ColumnsOfAnotherOrderAreMatchedByName) {
  const OptionValues options = rows(4).with({"columns", Names{"small", "large"}});
  const auto difference = [&](const Names& columns) {
    InputDriver train(module(), options), eval(module(), options.with({"columns", columns}));
    eval.learn(train.schema(), InputUse::kEvaluation);
    return eval.difference_from_learned();
  };
  EXPECT_EQ(difference({"large", "small"}), "");
  EXPECT_EQ(difference({"large", "smal"}),
            "of its columns 'features' lacks 'small' and has 'smal', unknown to the training");
}

TEST_F(Npy, T_107_APredictionReadsNoLabels) {
  InputDriver train(module(), rows(4)),
      predict(module(), rows(4).with({"labels", folder_.file("missing.npy")}).with({"epochs", 1}));
  predict.learn(train.schema(), InputUse::kPrediction);
  EXPECT_EQ(predict.difference_from_learned(), "");
  ASSERT_EQ(predict.spec().size(), 1u);
  predict.open();
  EXPECT_THAT(predict.next()->values<float>("features"), ElementsAre(0, 0, 1, 10, 2, 20, 3, 30));
}

TEST_F(Npy, T_102_WhatTheTrainingHasNotIsNamed) {
  InputDriver train(module(), rows(4).with({"class_names", Names{"a", "b", "c"}}));
  const struct {
    OptionValues options;
    const char* difference;
  } cases[] = {
      {rows(4).with({"class_names", Names{"c", "a", "b"}}), ""},
      {rows(4).with({"class_names", Names{"a", "b", "d"}}), "of its classes 'label' has 'd', unknown to the training"},
      {rows(4).with({"class_names", Names{"a", "b", "c", "d"}}),
       "of its classes 'label' has 'd', unknown to the training"},
      {rows(4).with({"classes", 2}), "'label' has 2 classes, the training's has 3"},
      {rows(4).with({"labels", ""}), "the input lacks the label 'label', which the training has"},
      {rows(4).with(
           {"features", folder_.write("b.npy", npy_file<std::uint8_t>("|u1", "(4, 2)", {0, 1, 2, 3, 4, 5, 6, 7}))}),
       "'features' is uint8 [?, 2], the training's is float32 [?, 2]"},
      {rows(4).with({"features", folder_.write("w.npy", npy_file<float>("<f4", "(4, 1)", {0, 1, 2, 3}))}),
       "'features' is float32 [?, 1], the training's is float32 [?, 2]"},
  };
  for (const auto& c : cases) {
    InputDriver eval(module(), c.options);
    eval.learn(train.schema(), InputUse::kEvaluation);
    EXPECT_EQ(eval.difference_from_learned(), c.difference);
  }
}

// The host compares it with the classes of the model.
TEST_F(Npy, KeepsTheRangeOfLabelsIfItDoesNotKnowTheClasses) {
  const std::vector<std::int32_t> labels{3, 1, 7, -2, 7, 5};
  const OptionValues options =
      rows(6).with({"labels", folder_.write("l.npy", npy_file("<i4", "(6,)", labels))}).with({"epochs", 1});
  InputDriver train(module(), options);
  EXPECT_THAT(train.schema().values.at("label.range"), ElementsAre(-2, 3, 7, 2));
  InputDriver eval(module(), rows(6).with({"epochs", 1})), predict(module(), options);
  eval.learn(train.schema(), InputUse::kEvaluation);
  EXPECT_EQ(eval.schema().values.at("label.range"), train.schema().values.at("label.range"));
  predict.learn(train.schema(), InputUse::kPrediction);
  EXPECT_EQ(predict.difference_from_learned(), "");
  EXPECT_EQ(predict.schema().values, train.schema().values);
  InputDriver part(module(), options.with({"every", 2}).with({"at", 0}).with({"split", "train"}));
  EXPECT_THAT(part.schema().values.at("label.range"), ElementsAre(-2, 3, 5, 5)) << "the rows 1, 3 and 5";
  InputDriver classes(module(), rows(6).with({"classes", 3}));
  EXPECT_EQ(classes.schema().values.count("label.range"), 0U);
  const OptionValues numbers =
      rows(6).with({"labels", folder_.write("f.npy", npy_file("<f4", "(6,)", std::vector<float>(6, 0.5F)))});
  InputDriver regression(module(), numbers);
  EXPECT_EQ(regression.schema().values.count("label.range"), 0U);
}

}  // namespace
}  // namespace npy_input
