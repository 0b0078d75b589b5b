// SPDX-License-Identifier: Apache-2.0
#include <belay/testing/error_of.h>
#include <belay/testing/input_driver.h>
#include <belay/testing/temporary_folder.h>
#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <set>

#include "plugins/inputs/input_test.h"
#include "tfrecord_test_files.h"

extern "C" const belay_module belay_module_tfrecord;

namespace tfrecord_input {
namespace {

using belay::DType;
using belay::InputUse;
using belay::testing::error_of;
using belay::testing::InputBatch;
using belay::testing::InputDriver;
using belay::testing::module_under_test;
using belay::testing::OptionValues;
using belay::testing::TemporaryFolder;
using input_test::error_at_open;
using input_test::expect_laws_of_an_input;
using input_test::samples_folder;
using ::testing::ElementsAre;
using Files = std::vector<std::string>;
using Integers = std::vector<std::int64_t>;

const belay_module& module() { return module_under_test(belay_module_tfrecord); }

class TfRecordInput : public ::testing::Test {
 protected:
  // Returns n records from `first` on: x = {i, 10 i}, name = "ni", y = i modulo 3.
  static std::string records(int first, int n) {
    std::string bytes;
    for (int i = first; i < first + n; ++i)
      bytes += framed(ExampleBuilder()
                          .floats("x", {static_cast<float>(i), static_cast<float>(10 * i)})
                          .texts("name", {"n" + std::to_string(i)})
                          .ints("y", {i % 3})
                          .bytes());
    return bytes;
  }
  OptionValues file(const std::string& bytes) {
    return {{"files", Files{folder_.write("a.tfrecord", bytes)}},
            {"features.x.dtype", "float32"},
            {"features.x.shape", Integers{2}},
            {"features.y.dtype", "int64"},
            {"label", "y"}};
  }
  // Returns the first elements of x, in the order of one epoch.
  static std::vector<float> examples_of(const OptionValues& options, std::int64_t shard = 0, std::int64_t shards = 1) {
    return input_test::first_elements<float>(module(), "x", options, shard, shards);
  }
  TemporaryFolder folder_;
};

TEST_F(TfRecordInput, DeclaresTheFeaturesAndTheLabel) {
  InputDriver input(module(), file(records(0, 1)).with({"features.name.dtype", "string"}).with({"classes", 3}));
  const auto& spec = input.spec();
  ASSERT_EQ(spec.size(), 3u);
  EXPECT_EQ(spec[0].name, "x");
  EXPECT_EQ(spec[0].dtype, DType::kFloat32);
  EXPECT_THAT(spec[0].dims, ElementsAre(-1, 2));
  EXPECT_FALSE(spec[0].is_label);
  EXPECT_EQ(spec[1].name, "y");
  EXPECT_TRUE(spec[1].is_label);
  EXPECT_THAT(spec[1].dims, ElementsAre(-1));
  EXPECT_EQ(spec[1].classes, 3);
  EXPECT_EQ(spec[2].dtype, DType::kString);
}

TEST_F(TfRecordInput, DeliversTheExamplesOfAllFiles) {
  const Files files{folder_.write("a", records(0, 3)), folder_.write("b.gz", gzipped(records(3, 2)))};
  InputDriver input(module(), file("")
                                  .with({"files", files})
                                  .with({"features.name.dtype", "string"})
                                  .with({"batch_size", 4})
                                  .with({"epochs", 1}));
  input.open();
  EXPECT_EQ(input.size(), 5);
  const auto batches = input.all_batches();
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_THAT(batches[0].values<float>("x"), ElementsAre(0, 0, 1, 10, 2, 20, 3, 30));
  EXPECT_THAT(batches[0].values<std::int64_t>("y"), ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(batches[1].values<float>("x"), ElementsAre(4, 40));
  EXPECT_EQ(batches[0].tensor("name").text(3), "n3");
  EXPECT_EQ(batches[1].tensor("name").text(0), "n4");
}

TEST_F(TfRecordInput, T_103_FeaturesAreMatchedByNameInAnyOrder) {
  const std::string path = folder_.write("a.tfrecord", records(0, 3));
  const OptionValues turned = {{"files", Files{path}},
                               {"features.y.dtype", "int64"},
                               {"features.x.shape", Integers{2}},
                               {"features.x.dtype", "float32"},
                               {"label", "y"}};
  InputDriver train(module(), file(records(0, 3))), again(module(), turned);
  again.learn(train.schema(), InputUse::kTraining);
  EXPECT_EQ(again.difference_from_learned(), "");
  EXPECT_EQ(again.spec()[0].name, "y") << "the host puts them into the training's order";
}

// A default would hide that a file has another name for the feature.
TEST_F(TfRecordInput, T_107_AFeatureThatNoExampleHasIsAWarning) {
  const OptionValues options =
      file(records(0, 3)).with({"features.size.dtype", "float32"}).with({"features.size.default", 0.5});
  InputDriver never(module(), options);
  never.open();
  EXPECT_THAT(never.host().logged(),
              ElementsAre("warning: files: the first 3 examples have no feature \"size\" and get its default; repair "
                          "the files if they call it otherwise"));
  const std::string with = framed(ExampleBuilder().floats("x", {1, 2}).floats("size", {3}).ints("y", {0}).bytes());
  InputDriver once(module(), options.with({"files", Files{folder_.write("b.tfrecord", records(0, 3) + with)}}));
  once.open();
  EXPECT_THAT(once.host().logged(), ElementsAre());
}

TEST_F(TfRecordInput, T_107_FeaturesThatTheTrainingHasNotAreNamed) {
  const OptionValues options = file(records(0, 3)), named = options.with({"class_names", Files{"a", "b", "c"}});
  InputDriver train(module(), named);
  const struct {
    OptionValues options;
    const char* difference;
  } cases[] = {
      {named, ""},
      {options.with({"classes", 3}), ""},
      {options.with({"classes", 2}), "'y' has 2 classes, the training's has 3"},
      {options.with({"class_names", Files{"a", "b", "d"}}), "of its classes 'y' has 'd', unknown to the training"},
      {options.with({"features.name.dtype", "string"}), "the input has 'name', which the training has not"},
      {options.with({"features.id.dtype", "string"}), ""},
      {options.with({"label", ""}), "the input has 'y', which the training has not"},
      {options.with({"features.x.dtype", "uint8"}), "'x' is uint8 [?, 2], the training's is float32 [?, 2]"},
      {options.with({"features.x.shape", Integers{1}}), "'x' is float32 [?, 1], the training's is float32 [?, 2]"},
      {options.with({"features.x.default", 0.5}), "the input keeps 'features.x.default', which the training does not"},
  };
  for (const auto& c : cases) {
    InputDriver eval(module(), c.options);
    eval.learn(train.schema(), InputUse::kEvaluation);
    EXPECT_EQ(eval.difference_from_learned(), c.difference);
  }
}

TEST_F(TfRecordInput, T_107_APredictionNeedsNoLabel) {
  const std::string path = folder_.write("new", framed(ExampleBuilder().floats("x", {7, 8}).bytes()));
  const OptionValues with_label = file(records(0, 3)).with({"files", Files{path}}).with({"epochs", 1}),
                     without = {{"files", Files{path}},
                                {"features.x.dtype", "float32"},
                                {"features.x.shape", Integers{2}},
                                {"label", "y"},
                                {"classes", 3},
                                {"epochs", 1}};
  InputDriver train(module(), file(records(0, 3)));
  for (const OptionValues& options : {with_label, without}) {
    InputDriver predict(module(), options);
    predict.learn(train.schema(), InputUse::kPrediction);
    EXPECT_EQ(predict.difference_from_learned(), "");
    predict.open();
    EXPECT_EQ(predict.spec().size(), 1u);
    EXPECT_THAT(predict.next()->values<float>("x"), ElementsAre(7, 8));
  }
}

TEST_F(TfRecordInput, T_104_KeepsWhatStandsForAFeatureThatIsMissing) {
  InputDriver input(module(), file(records(0, 1))
                                  .with({"features.x.default", 0.5})
                                  .with({"features.y.default", 2})
                                  .with({"features.n.dtype", "int64"})
                                  .with({"features.n.default", 3})
                                  .with({"features.b.dtype", "uint8"})
                                  .with({"features.b.default", 255})
                                  .with({"features.name.dtype", "string"})
                                  .with({"features.name.default", "none"}));
  const auto& values = input.schema().values;
  EXPECT_EQ(values.size(), 3u) << "not of the label";
  EXPECT_THAT(values.at("features.x.default"), ElementsAre(0.5, 0.5));
  EXPECT_THAT(values.at("features.n.default"), ElementsAre(3));
  EXPECT_THAT(values.at("features.b.default"), ElementsAre(255));
  EXPECT_THAT(input.schema().words.at("features.name.default"), ElementsAre("none"));
}

TEST_F(TfRecordInput, TrainAndEvalAreDisjointAndComplete) {
  input_test::expect_split_disjoint_and_complete(examples_of, file(records(0, 40)));
}

TEST_F(TfRecordInput, ShardsAreDisjointAndComplete) {
  input_test::expect_shards_disjoint_and_complete(examples_of, file(records(0, 31)).with({"shuffle", true}), 31);
}

TEST_F(TfRecordInput, KeepsTheLawsOfAnInput) {
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    const std::string bytes = records(0, 1 + static_cast<int>(random() % 30));
    InputDriver input(module(), file(round % 2 == 0 ? bytes : gzipped(bytes))
                                    .with({"features.name.dtype", "string"})
                                    .with({"batch_size", 1 + random() % 9})
                                    .with({"epochs", 1 + random() % 3})
                                    .with({"shuffle", random() % 2 == 0})
                                    .with({"decode_threads", 1 + random() % 5}));
    input.open();
    expect_laws_of_an_input(input);
  }
}

TEST_F(TfRecordInput, WhatOpeningCanSeeIsAnErrorThere) {
  const OptionValues options = file(records(0, 3));
  const std::string path = folder_.file("a.tfrecord");
  const struct {
    OptionValues options;
    std::string error;
  } cases[] = {
      {{}, "INVALID_ARGUMENT: 'files' is required"},
      {{{"files", Files{path}}}, "INVALID_ARGUMENT: 'features' is required"},
      {options.with({"files", Files{}}), "INVALID_ARGUMENT: [B3020] 'files' is empty; name at least one TFRecord file"},
      {options.with({"files", Files{path, folder_.file("a.tfrecords")}}),
       "NOT_FOUND: [B3046] files: there is no file '" + folder_.file("a.tfrecords") +
           "' (did you mean \"a.tfrecord\"?)"},
      {options.with({"files", Files{path, path}}).with({"split", "train"}),
       "INVALID_ARGUMENT: [B3050] files: '" + path + "' (entry 1) and '" + path +
           "' (entry 2) are one file, whose examples would be read twice; leave one out"},
      {options.with({"label", "z"}),
       "INVALID_ARGUMENT: [B3020] label: 'features' has no \"z\"; describe "
       "it there, too"},
      {{{"files", Files{path}}, {"features.y.dtype", "int64"}, {"label", "y"}},
       "INVALID_ARGUMENT: [B3020] 'features' has the label alone; name at least one feature besides"},
      {options.with({"label", "x"}).with({"classes", 3}),
       "INVALID_ARGUMENT: [B3025] 'classes' and 'class_names' are for an int64 label, \"x\" is float32"},
      {options.with({"split", "eval"}).with({"eval_fraction", 0.1}),
       "FAILED_PRECONDITION: [B3027] split: the files have 3 records and none of them is for \"eval\"; change "
       "'eval_fraction'"},
      {options.with({"files", Files{folder_.write("empty", "")}}),
       "FAILED_PRECONDITION: [B3021] files: '" + folder_.file("empty") + "' holds no records"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_at_open(module(), c.options), c.error);
}

TEST_F(TfRecordInput, ABadRecordIsFoundWhileTraining) {
  const std::string odd = framed(ExampleBuilder().floats("x", {1}).ints("y", {0}).bytes());
  std::string damaged = records(2, 1);
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  const std::string path = folder_.file("b");
  const struct {
    std::string bytes;
    std::string error;
  } cases[] = {
      {records(0, 2) + odd,
       "INVALID_ARGUMENT: '" + path + "' record 2: [B3024] feature \"x\" has 1 values, its shape [2] needs 2"},
      {records(0, 2) + framed("garbage"),
       "DATA_LOSS: '" + path + "' record 2: [B3022] it is no tf.train.Example: its bytes are no such message"},
      {records(0, 2) + damaged, "DATA_LOSS: [B3023] '" + path +
                                    "' record 2 is damaged: its checksum is wrong; fetch the file "
                                    "again"},
      {records(0, 3), "DATA_LOSS: '" + path + "' record 2: [B3007] it has label 2; with 2 classes labels are 0 to 1"},
  };
  const std::string other = folder_.write("a", records(0, 4));
  for (const auto& c : cases) {
    folder_.write("b", c.bytes);
    for (const int threads : {1, 3}) {
      InputDriver input(
          module(),
          file("").with({"files", Files{path, other}}).with({"classes", 2}).with({"decode_threads", threads}));
      input.open();
      for (int again = 0; again < 2; ++again) EXPECT_EQ(error_of([&] { input.next(); }), c.error);
    }
  }
}

TEST_F(TfRecordInput, T_110_ALabelThatIsNoClassIsFoundWhenAnEvaluationIsOpened) {
  const OptionValues options = file(records(0, 3)).with({"classes", 2});
  for (const int threads : {1, 3}) {
    InputDriver train(module(), options), eval(module(), options.with({"decode_threads", threads}));
    eval.learn(train.schema(), InputUse::kEvaluation);
    EXPECT_EQ(error_of([&] { eval.open(); }),
              "INVALID_ARGUMENT: '" + folder_.file("a.tfrecord") +
                  "' record 2: [B3007] it has label 2; with 2 classes labels are 0 to 1");
  }
}

TEST_F(TfRecordInput, AValueThatIsNotFiniteIsRefusedInEvaluations) {
  const float nan = std::nanf("");
  const std::string bad = framed(ExampleBuilder().floats("x", {1, nan}).ints("y", {0}).bytes());
  for (const int threads : {1, 3}) {
    const OptionValues options = file(records(0, 2) + bad).with({"decode_threads", threads});
    InputDriver train(module(), options), eval(module(), options);
    eval.learn(train.schema(), InputUse::kEvaluation);
    eval.open();
    EXPECT_EQ(error_of([&] { eval.next(); }), "INVALID_ARGUMENT: '" + folder_.file("a.tfrecord") +
                                                  "' record 2 has nan in element 1 of \"x\"; repair it, or leave the "
                                                  "example out");
  }
}

// It is not a mistake of the manifest, and its batch names it.
TEST_F(TfRecordInput, ADamagedRecordOfAnEvaluationIsFoundByItsBatch) {
  const OptionValues options = file(records(0, 2) + framed("garbage")).with({"classes", 2});
  InputDriver train(module(), options), eval(module(), options);
  eval.learn(train.schema(), InputUse::kEvaluation);
  eval.open();
  EXPECT_EQ(error_of([&] { eval.next(); }),
            "DATA_LOSS: '" + folder_.file("a.tfrecord") +
                "' record 2: [B3022] it is no tf.train.Example: its bytes are no such message");
}

TEST(TfRecordOfPenguins, IsReadAsItWasWritten) {
  const std::string folder = samples_folder() + "/tfrecord/";
  const struct {
    const char* file;
    std::int64_t examples;
  } cases[] = {{"penguin_train_data_tfrecord-00000-of-00001.gz", 234},
               {"penguin_eval_data_tfrecord-00000-of-00001.gz", 100}};
  for (const auto& c : cases) {
    BELAY_NEEDS_SAMPLES(folder + c.file);
    InputDriver input(module(), {{"files", Files{folder + c.file}},
                                 {"features.culmen_length_mm.dtype", "float32"},
                                 {"features.culmen_depth_mm.dtype", "float32"},
                                 {"features.flipper_length_mm.dtype", "float32"},
                                 {"features.body_mass_g.dtype", "float32"},
                                 {"features.species.dtype", "int64"},
                                 {"label", "species"},
                                 {"classes", 3},
                                 {"batch_size", 1000},
                                 {"epochs", 1}});
    input.open();
    EXPECT_EQ(input.size(), c.examples);
    const InputBatch batch = *input.next();
    EXPECT_EQ(batch.rows(), c.examples);
    for (const char* name : {"culmen_length_mm", "culmen_depth_mm", "flipper_length_mm", "body_mass_g"})
      for (const float value : batch.values<float>(name)) EXPECT_TRUE(value >= 0 && value <= 1) << name << value;
    std::set<std::int64_t> species;
    for (const std::int64_t label : batch.values<std::int64_t>("species")) species.insert(label);
    EXPECT_THAT(species, ElementsAre(0, 1, 2));
  }
}

}  // namespace
}  // namespace tfrecord_input
