// SPDX-License-Identifier: Apache-2.0
#include <belay/testing/error_of.h>
#include <belay/testing/input_driver.h>
#include <belay/testing/temporary_folder.h>
#include <gmock/gmock.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "idx_test_files.h"
#include "plugins/inputs/input_test.h"

extern "C" const belay_module belay_module_idx;

namespace idx_test {

using belay::InputUse;
using belay::testing::error_of;
using belay::testing::InputBatch;
using belay::testing::InputDriver;
using belay::testing::module_under_test;
using belay::testing::OptionValues;
using belay::testing::TemporaryFolder;
using idx_test::big_endian;
using idx_test::gzipped;
using idx_test::header;
using idx_test::images;
using idx_test::labels;
using input_test::data_folder;
using input_test::error_at_next;
using input_test::error_at_open;
using input_test::expect_laws_of_an_input;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using Names = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_idx); }

class Idx : public ::testing::Test {
 protected:
  // Writes n images of 2 x 3 with labels 0, 1, 2 ... and returns their options.
  OptionValues pair(int n) {
    std::vector<int> values;
    for (int i = 0; i < n; ++i) values.push_back(i % 10);
    return {{"images", folder_.write("images", images(static_cast<std::uint32_t>(n), 2, 3))},
            {"labels", folder_.write("labels", labels(values))}};
  }
  static std::vector<std::int64_t> labels_of(const std::vector<InputBatch>& batches) {
    std::vector<std::int64_t> all;
    for (const InputBatch& batch : batches)
      for (const std::int64_t label : batch.values<std::int64_t>("label")) all.push_back(label);
    return all;
  }

  TemporaryFolder folder_;
};

TEST_F(Idx, DeclaresFlatOrShapedImages) {
  InputDriver flat(module(), pair(4)), shaped(module(), pair(4).with({"flatten", false}));
  EXPECT_EQ(flat.spec()[0].name, "image");
  EXPECT_EQ(flat.spec()[0].dtype, belay::DType::kFloat32);
  EXPECT_THAT(flat.spec()[0].dims, ElementsAre(-1, 6));
  EXPECT_THAT(shaped.spec()[0].dims, ElementsAre(-1, 2, 3));
  ASSERT_EQ(flat.spec().size(), 2u);
  EXPECT_EQ(flat.spec()[1].name, "label");
  EXPECT_EQ(flat.spec()[1].dtype, belay::DType::kInt64);
  EXPECT_THAT(flat.spec()[1].dims, ElementsAre(-1));
  EXPECT_TRUE(flat.spec()[1].is_label);
  flat.open();
  EXPECT_EQ(flat.size(), 4);
}

TEST_F(Idx, WithoutLabelsThereIsOnlyTheImage) {
  InputDriver input(module(), {{"images", folder_.write("i", images(2, 1, 1))}, {"epochs", 1}});
  input.open();
  EXPECT_EQ(input.spec().size(), 1u);
  EXPECT_EQ(input.next()->rows(), 2);
  EXPECT_FALSE(input.next());
}

TEST_F(Idx, ScalesBytesToOneUnlessTold) {
  const OptionValues options = {{"images", folder_.write("i", header(8, {1, 3}) + std::string("\0\x33\xff", 3))}};
  struct Case {
    OptionValues options;
    std::vector<float> values;
  };
  const Case cases[] = {
      {options, {0, 0.2f, 1}},
      {options.with({"scale", 1.0}), {0, 51, 255}},
      {options.with({"mean", 0.2}).with({"std", 0.5}), {-0.4f, 0, 1.6f}},
      {options.with({"scale", 2.0}).with({"mean", 2.0}), {-2, 100, 508}},
  };
  for (const Case& c : cases) {
    InputDriver input(module(), c.options);
    input.open();
    const auto values = input.next()->values<float>("image");
    ASSERT_EQ(values.size(), c.values.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_THAT(values[i], FloatEq(c.values[i]));
  }
}

TEST_F(Idx, OtherElementTypesAreNotScaled) {
  InputDriver input(module(),
                    {{"images", folder_.write("i", header(0x0b, {1, 2}) + std::string("\xff\xff\x01\x00", 4))}});
  input.open();
  EXPECT_THAT(input.next()->values<float>("image"), ElementsAre(-1, 256));
}

TEST_F(Idx, AnImageThatIsNotFiniteIsRefusedInAPrediction) {
  const std::string path =
      folder_.write("i", header(0x0d, {2, 1}) + big_endian(0x3f800000, 4) + big_endian(0x7f800000, 4));
  InputDriver train(module(), {{"images", path}}), other(module(), {{"images", path}});
  other.learn(train.schema(), InputUse::kPrediction);
  other.open();
  EXPECT_EQ(error_of([&] { other.next(); }), "INVALID_ARGUMENT: images: '" + path +
                                                 "' record 1 has inf in element 0 of \"image\"; repair it, or leave "
                                                 "the example out");
}

TEST_F(Idx, LabelsMayBeOfAnyWholeType) {
  InputDriver input(module(),
                    {{"images", folder_.write("i", images(2, 1, 1))},
                     {"labels", folder_.write("l", header(0x0c, {2}) + std::string("\0\0\x01\0\0\0\0\x03", 8))},
                     {"classes", 0}});
  input.open();
  EXPECT_THAT(input.next()->values<std::int64_t>("label"), ElementsAre(256, 3));
}

TEST_F(Idx, TheClassesAreAsManyAsTheirNamesElseTen) {
  InputDriver ten(module(), pair(4)), named(module(), pair(4).with({"class_names", Names{"a", "b", "c", "d"}})),
      unchecked(module(), pair(4).with({"classes", 0}));
  EXPECT_EQ(ten.spec()[1].classes, 10);
  EXPECT_THAT(ten.spec()[1].class_names, ElementsAre());
  EXPECT_THAT(named.spec()[1].class_names, ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(unchecked.spec()[1].classes, 0);
}

TEST_F(Idx, T_104_KeepsTheScaleAlsoOneThatIsNotSaid) {
  InputDriver bytes(module(), pair(2)), said(module(), pair(2).with({"scale", 1.0 / 255})),
      other(module(), pair(2).with({"scale", 1.0}));
  EXPECT_THAT(bytes.schema().values.at("scale"), ElementsAre(1.0 / 255));
  EXPECT_THAT(bytes.schema().values.at("mean"), ElementsAre(0));
  EXPECT_THAT(bytes.schema().values.at("std"), ElementsAre(1));
  for (InputDriver* input : {&said, &other}) input->learn(bytes.schema(), InputUse::kEvaluation);
  EXPECT_EQ(said.difference_from_learned(), "");
  EXPECT_EQ(other.difference_from_learned(), "what the input keeps as 'scale' is not the training's");
}

TEST_F(Idx, T_110_ALabelOutOfRangeIsFoundWhenAnEvaluationIsOpened) {
  const std::string i = folder_.write("i", images(3, 2, 2)), l = folder_.write("l", labels({1, 10, 2}));
  InputDriver train(module(), {{"images", i}, {"labels", l}}), eval(module(), {{"images", i}, {"labels", l}});
  eval.learn(train.schema(), InputUse::kEvaluation);
  EXPECT_EQ(error_of([&] { eval.open(); }), "INVALID_ARGUMENT: [B3007] labels: '" + l +
                                                "' has label 10 in record 1; with 10 classes labels are 0 to 9");
}

TEST_F(Idx, T_104_AScaleThatIsSaidIsKeptWithTheTypeThatItIsFor) {
  const OptionValues bytes = pair(2).with({"labels", ""}).with({"scale", 1.0 / 255});
  InputDriver train(module(), bytes),
      wide(module(), bytes.with({"images", folder_.write("wide", header(0x0b, {1, 2, 3}) + std::string(12, '\1'))}));
  EXPECT_THAT(train.schema().words.at("scale.dtype"), ElementsAre("uint8"));
  EXPECT_TRUE(InputDriver(module(), pair(2)).schema().words.empty());
  wide.learn(train.schema(), InputUse::kEvaluation);
  EXPECT_EQ(wide.difference_from_learned(), "what the input keeps as 'scale.dtype' is not the training's");
}

TEST_F(Idx, T_104_AFileOfAnotherElementTypeNeedsAScale) {
  InputDriver train(module(), pair(2).with({"labels", ""}));
  const std::string file = folder_.write("wide", header(0x0b, {1, 2, 3}) + std::string(12, '\1'));
  InputDriver eval(module(), {{"images", file}}), said(module(), {{"images", file}, {"scale", 1.0 / 255}});
  for (InputDriver* input : {&eval, &said}) input->learn(train.schema(), InputUse::kEvaluation);
  EXPECT_EQ(error_of([&] { eval.spec(); }), "INVALID_ARGUMENT: [B3025] images: '" + file +
                                                "' holds int16, which is another type than the training's images had; "
                                                "set 'scale' to the factor of its elements");
  EXPECT_EQ(said.difference_from_learned(), "");
}

TEST_F(Idx, T_101_FlattenedImagesHaveTheTrainingsRowsAndColumns) {
  const auto file = [&](const char* name, std::uint32_t rows, std::uint32_t columns) {
    return OptionValues{{"images", folder_.write(name, images(2, rows, columns))}};
  };
  InputDriver train(module(), file("train", 2, 3)), turned(module(), file("turned", 3, 2)),
      same(module(), file("same", 2, 3));
  for (InputDriver* input : {&turned, &same}) input->learn(train.schema(), InputUse::kPrediction);
  EXPECT_EQ(turned.difference_from_learned(), "what the input keeps as 'flatten.shape' is not the training's");
  EXPECT_EQ(same.difference_from_learned(), "");
}

TEST_F(Idx, T_104_ATrainingOfAnotherPluginHasNoScaleToMatch) {
  InputDriver eval(module(), pair(2));
  belay::testing::LearnedSchema other = InputDriver(module(), pair(2)).schema();
  other.values.clear();
  eval.learn(other, InputUse::kEvaluation);
  EXPECT_EQ(eval.difference_from_learned(), "");
}

TEST_F(Idx, T_107_APredictionReadsNoLabels) {
  InputDriver predict(module(), pair(3).with({"labels", folder_.file("missing")}).with({"epochs", 1}));
  predict.use_for(InputUse::kPrediction);
  predict.open();
  EXPECT_EQ(predict.spec().size(), 1u);
  EXPECT_EQ(predict.next()->rows(), 3);
}

TEST_F(Idx, T_107_ImagesOfAnotherShapeAreNotTheTrainings) {
  InputDriver train(module(), pair(2)),
      eval(module(), pair(2).with({"images", folder_.write("long", images(2, 2, 4))})),
      shaped(module(), pair(2).with({"flatten", false}));
  for (InputDriver* input : {&eval, &shaped}) input->learn(train.schema(), InputUse::kEvaluation);
  EXPECT_EQ(eval.difference_from_learned(), "'image' is float32 [?, 8], the training's is float32 [?, 6]");
  EXPECT_EQ(shaped.difference_from_learned(), "'image' is float32 [?, 2, 3], the training's is float32 [?, 6]");
}

TEST_F(Idx, DeliversInOrderAndEndsAfterTheLastEpoch) {
  InputDriver input(module(), pair(5).with({"batch_size", 2}).with({"epochs", 2}));
  input.open();
  const auto batches = input.all_batches();
  EXPECT_THAT(labels_of(batches), ElementsAre(0, 1, 2, 3, 4, 0, 1, 2, 3, 4));
  std::vector<std::string> positions;
  for (const InputBatch& batch : batches) positions.push_back(InputBatch::text_of(batch.position));
  EXPECT_THAT(positions, ElementsAre("{0, 2}", "{0, 4}", "{1, 0}", "{1, 2}", "{1, 4}", "{2, 0}"));
  EXPECT_FALSE(input.next());
  EXPECT_FALSE(input.next());
}

TEST_F(Idx, ShardsAreDisjointAndComplete) {
  std::multiset<std::int64_t> together;
  for (int shard = 0; shard < 3; ++shard) {
    InputDriver input(module(), pair(10).with({"epochs", 1}).with({"shuffle", true}));
    input.open(shard, 3);
    EXPECT_EQ(input.size(), shard == 0 ? 4 : 3);
    for (const std::int64_t label : labels_of(input.all_batches())) together.insert(label);
  }
  EXPECT_THAT(together, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(Idx, KeepsTheLawsOfAnInput) {
  std::mt19937 random(3);
  for (int round = 0; round < 12; ++round) {
    InputDriver input(module(), pair(1 + static_cast<int>(random() % 30))
                                    .with({"batch_size", 1 + random() % 9})
                                    .with({"epochs", 1 + random() % 3})
                                    .with({"shuffle", random() % 2 == 0})
                                    .with({"decode_threads", 1 + random() % 5}));
    input.open();
    expect_laws_of_an_input(input);
  }
}

TEST_F(Idx, ThreadsDoNotChangeABit) {
  const OptionValues options = pair(40).with({"batch_size", 13}).with({"shuffle", true}).with({"epochs", 2});
  InputDriver one(module(), options), many(module(), options.with({"decode_threads", 7}));
  one.open();
  many.open();
  const auto expected = one.all_batches(), found = many.all_batches();
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(expected[i].difference(found[i]), "");
}

TEST_F(Idx, WhatOpeningCanSeeIsAnErrorThere) {
  const std::string i = folder_.write("i", images(3, 2, 2)), l = folder_.write("l", labels({1, 2}));
  EXPECT_EQ(error_at_open(module(), {{"labels", l}}), "INVALID_ARGUMENT: 'images' is required");
  EXPECT_EQ(error_at_open(module(), {{"images", ""}}), "INVALID_ARGUMENT: [B3047] images: the file name is empty");
  EXPECT_EQ(error_at_open(module(), {{"images", folder_.file("j")}}),
            "NOT_FOUND: [B3046] images: there is no file '" + folder_.file("j") + "'");
  EXPECT_EQ(error_at_open(module(), {{"images", i}, {"labels", l}}), "FAILED_PRECONDITION: [B3026] labels: '" + l +
                                                                         "' has 2 records, images '" + i +
                                                                         "' has 3; give two files of one set");
  EXPECT_EQ(error_at_open(module(), {{"images", l}, {"labels", i}}),
            "INVALID_ARGUMENT: [B3024] labels: '" + i +
                "' has the dimensions [3, 2, 2]; labels have one. Are 'images' and 'labels' swapped?");
  const std::string floats = folder_.write("f", header(0x0d, {3}) + std::string(12, '\0'));
  EXPECT_EQ(error_at_open(module(), {{"images", i}, {"labels", floats}}),
            "INVALID_ARGUMENT: [B3025] labels: '" + floats + "' holds float32; labels are whole numbers");
  EXPECT_EQ(error_at_open(module(), {{"images", i}, {"std", 0.0}}), "INVALID_ARGUMENT: 'std' is 0, must be >= 1e-30");
}

TEST_F(Idx, ALabelOutOfRangeIsFoundWhileTraining) {
  const std::string i = folder_.write("i", images(3, 2, 2)), l = folder_.write("l", labels({1, 10, 2}));
  const OptionValues options = {{"images", i}, {"labels", l}};
  EXPECT_EQ(error_at_next(module(), options),
            "DATA_LOSS: [B3007] labels: '" + l + "' has label 10 in record 1; with 10 classes labels are 0 to 9");
  InputDriver unchecked(module(), options.with({"classes", 0}));
  unchecked.open();
  EXPECT_THAT(unchecked.next()->values<std::int64_t>("label"), ElementsAre(1, 10, 2));
}

TEST_F(Idx, ACutFileIsFoundWhileTraining) {
  const std::string whole = images(3, 2, 2), packed = gzipped(whole);
  const std::string path = folder_.write("i.gz", packed.substr(0, packed.size() - 3));
  EXPECT_EQ(error_at_next(module(), {{"images", path}}),
            "DATA_LOSS: [B3023] images: '" + path +
                "' is damaged after byte 28 of its content: it was cut short; fetch it again");
}

TEST_F(Idx, RefusesAPositionOfOtherData) {
  InputDriver input(module(), pair(5));
  input.open();
  EXPECT_EQ(error_of([&] {
              input.seek({0, 6});
            }),
            "INVALID_ARGUMENT: there is no position 6 in epoch 0: this shard has 5 examples in an epoch; it "
            "was stored with "
            "other data or another number of shards");
}

TEST(IdxOfMnist, ReadsTheRealFiles) {
  const std::string folder = data_folder() + "/mnist/";
  BELAY_NEEDS_DATA(folder + "train-images-idx3-ubyte.gz");
  struct Case {
    std::string name;
    std::int64_t size;
    std::vector<std::int64_t> first_labels;
    std::uint64_t sum;  // of all pixels
    std::vector<int> per_class;
  };
  const Case cases[] = {
      {"train",
       60000,
       {5, 0, 4, 1, 9, 2, 1, 3},
       1567298545,
       {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}},
      {"t10k", 10000, {7, 2, 1, 0, 4, 1, 4, 9}, 264923200, {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}},
  };
  for (const Case& c : cases) {
    InputDriver input(module(), {{"images", folder + c.name + "-images-idx3-ubyte.gz"},
                                 {"labels", folder + c.name + "-labels-idx1-ubyte.gz"},
                                 {"batch_size", 1000},
                                 {"epochs", 1},
                                 {"scale", 1.0}});
    EXPECT_THAT(input.spec()[0].dims, ElementsAre(-1, 784));
    input.open();
    EXPECT_EQ(input.size(), c.size);
    double sum = 0;
    std::vector<int> per_class(10);
    std::vector<std::int64_t> first;
    while (const auto batch = input.next()) {
      const auto labels = batch->values<std::int64_t>("label");
      if (first.empty()) first.assign(labels.begin(), labels.begin() + 8);
      for (const std::int64_t label : labels) ++per_class[static_cast<std::size_t>(label)];
      for (const float pixel : batch->values<float>("image")) sum += static_cast<double>(pixel);
    }
    EXPECT_EQ(first, c.first_labels);
    EXPECT_EQ(per_class, c.per_class);
    EXPECT_EQ(static_cast<std::uint64_t>(sum), c.sum);
  }
}

}  // namespace idx_test
