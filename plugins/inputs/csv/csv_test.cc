// SPDX-License-Identifier: Apache-2.0
#include <belay/testing/error_of.h>
#include <belay/testing/input_driver.h>
#include <belay/testing/temporary_folder.h>
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "plugins/inputs/input_test.h"

extern "C" const belay_module belay_module_csv;

namespace csv_test {

using belay::testing::error_of;
using belay::testing::InputBatch;
using belay::testing::InputDriver;
using belay::testing::module_under_test;
using belay::testing::OptionValues;
using belay::testing::TemporaryFolder;
using input_test::data_folder;
using input_test::error_at_open;
using input_test::expect_laws_of_an_input;
using ::testing::ElementsAre;
using ::testing::FloatNear;

const belay_module& module() { return module_under_test(belay_module_csv); }

class Csv : public ::testing::Test {
 protected:
  // Returns n rows: i, 10 * i, i modulo 3.
  OptionValues rows(int n) {
    std::string text = "a,b,kind\n";
    for (int i = 0; i < n; ++i)
      text += std::to_string(i) + "," + std::to_string(10 * i) + "," + std::to_string(i % 3) + "\n";
    return {{"path", folder_.write("rows.csv", text)}};
  }
  static std::vector<float> features_of(const OptionValues& options, std::int64_t shard = 0, std::int64_t shards = 1) {
    return input_test::first_elements<float>(module(), "features", options, shard, shards);
  }
  TemporaryFolder folder_;
};

TEST_F(Csv, DeclaresFeaturesAndLabel) {
  InputDriver input(module(), rows(4));
  const auto& spec = input.spec();
  ASSERT_EQ(spec.size(), 2u);
  EXPECT_EQ(spec[0].name, "features");
  EXPECT_EQ(spec[0].dtype, belay::DType::kFloat32);
  EXPECT_THAT(spec[0].dims, ElementsAre(-1, 2));
  EXPECT_EQ(spec[1].name, "label");
  EXPECT_EQ(spec[1].dtype, belay::DType::kInt64);
  EXPECT_THAT(spec[1].dims, ElementsAre(-1));
  EXPECT_TRUE(spec[1].is_label);
}

TEST_F(Csv, NamesTheClassesThatItIsToldOf) {
  const OptionValues options{{"path", folder_.write("pets.csv", "x,pet\n1,dog\n2,cat\n")}};
  InputDriver named(module(), options.with({"classes", std::vector<std::string>{"cat", "dog", "fish"}}));
  EXPECT_EQ(named.spec()[1].classes, 3);
  EXPECT_THAT(named.spec()[1].class_names, ElementsAre("cat", "dog", "fish"));
  named.open();
  EXPECT_THAT(named.next()->values<std::int64_t>("label"), ElementsAre(1, 0));
  InputDriver unnamed(module(), options);
  EXPECT_THAT(unnamed.spec()[1].class_names, ElementsAre("dog", "cat"));
  InputDriver numbered(module(), {{"path", folder_.write("numbers.csv", "x,class\n1,2\n2,0\n")}});
  EXPECT_THAT(numbered.spec()[1].class_names, ElementsAre("0", "1", "2"));
}

TEST_F(Csv, KeepsHowOftenEachClassOccursInTheTrainPart) {
  InputDriver whole(module(), {{"path", folder_.write("pets.csv", "x,pet\n1,dog\n2,cat\n3,dog\n4,dog\n")}});
  EXPECT_THAT(whole.schema().values.at("label.counts"), ElementsAre(3, 1));
  EXPECT_EQ(whole.schema().values.count("label.moments"), 0u);
  const OptionValues parted = rows(60).with({"split", "train"}).with({"eval_fraction", 0.5});
  InputDriver train(module(), parted);
  double rows_of_train = 0;
  for (const double count : train.schema().values.at("label.counts")) rows_of_train += count;
  EXPECT_GT(rows_of_train, 10);
  EXPECT_LT(rows_of_train, 50);
  InputDriver eval(module(), parted.with({"split", "eval"}).with({"epochs", 1}));
  eval.learn(train.schema(), belay::InputUse::kEvaluation);
  EXPECT_EQ(eval.schema().values.at("label.counts"), train.schema().values.at("label.counts"));
  InputDriver alone(module(), parted.with({"split", "eval"}));
  EXPECT_EQ(alone.schema().values.at("label.counts"), train.schema().values.at("label.counts"));
}

TEST_F(Csv, KeepsMeanAndDeviationOfANumberAndOfItsLogarithm) {
  InputDriver input(module(), {{"path", folder_.write("flats.csv", "x,rent\n1,0\n2,2\n")}, {"label_type", "float"}});
  const double half = std::log(3.0) / 2;
  EXPECT_THAT(input.schema().values.at("label.moments"),
              ElementsAre(1, 1, ::testing::DoubleNear(half, 1e-12), ::testing::DoubleNear(half, 1e-12)));
  EXPECT_EQ(input.schema().values.count("label.counts"), 0u);
  const OptionValues every = {
      {"path", folder_.write("more.csv", "x,rent\n1,0\n2,2\n3,9\n")}, {"label_type", "float"}, {"every", 3}, {"at", 2}};
  for (const char* split : {"train", "eval"}) {
    InputDriver part(module(), every.with({"split", split}));
    EXPECT_EQ(part.schema().values.at("label.moments"), input.schema().values.at("label.moments")) << split;
  }
}

TEST_F(Csv, DeliversRowsInOrder) {
  InputDriver input(module(), rows(5).with({"batch_size", 3}).with({"epochs", 1}));
  input.open();
  EXPECT_EQ(input.size(), 5);
  const auto batches = input.all_batches();
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_THAT(batches[0].values<float>("features"), ElementsAre(0, 0, 1, 10, 2, 20));
  EXPECT_THAT(batches[0].values<std::int64_t>("label"), ElementsAre(0, 1, 2));
  EXPECT_THAT(batches[1].values<float>("features"), ElementsAre(3, 30, 4, 40));
  EXPECT_EQ(InputBatch::text_of(batches[1].position), "{1, 0}");
}

TEST_F(Csv, TakesTheColumnsThatAreNamed) {
  InputDriver input(module(), rows(2)
                                  .with({"features", std::vector<std::string>{"kind", "0"}})
                                  .with({"label", "b"})
                                  .with({"label_type", "float"}));
  EXPECT_EQ(input.spec()[1].dtype, belay::DType::kFloat32);
  input.open();
  const InputBatch batch = *input.next();
  EXPECT_THAT(batch.values<float>("features"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(batch.values<float>("label"), ElementsAre(0, 10));
}

TEST_F(Csv, WithoutALabelEveryColumnIsAFeature) {
  InputDriver input(module(), rows(2).with({"label", ""}));
  input.open();
  EXPECT_EQ(input.spec().size(), 1u);
  EXPECT_THAT(input.next()->values<float>("features"), ElementsAre(0, 0, 0, 1, 10, 1));
}

TEST_F(Csv, AnIdComesAlongAsItIsInTheFileAndIsNoFeature) {
  const OptionValues options{{"path", folder_.write("ids.csv", "key,a,kind\n007,1,0\n\"a, b\",2,1\n,3,0\n")},
                             {"id", "key"},
                             {"batch_size", 2}};
  InputDriver input(module(), options);
  ASSERT_EQ(input.spec().size(), 3u);
  EXPECT_THAT(input.spec()[0].dims, ElementsAre(-1, 1));
  EXPECT_EQ(input.spec()[2].name, "id");
  EXPECT_EQ(input.spec()[2].dtype, belay::DType::kString);
  EXPECT_TRUE(input.spec()[2].is_label);
  input.open();
  InputBatch batch = *input.next();
  EXPECT_EQ(batch.tensor("id").text(0), "007");
  EXPECT_EQ(batch.tensor("id").text(1), "a, b");
  EXPECT_THAT(batch.values<float>("features"), ElementsAre(1, 2));
  batch = *input.next();
  EXPECT_EQ(batch.tensor("id").text(0), "");

  InputDriver unlabelled(module(), options.with({"label", ""}).with({"features", std::vector<std::string>{"a"}}));
  ASSERT_EQ(unlabelled.spec().size(), 2u);
  unlabelled.open();
  EXPECT_EQ(unlabelled.next()->tensor("id").text(0), "007");
}

TEST_F(Csv, EachRowHasItsIdWhereverItIsInTheOrder) {
  InputDriver input(module(), rows(40)
                                  .with({"id", "a"})
                                  .with({"features", std::vector<std::string>{"b"}})
                                  .with({"shuffle", true})
                                  .with({"split", "train"})
                                  .with({"epochs", 1})
                                  .with({"decode_threads", 3}));
  input.open();
  int seen = 0;
  for (const InputBatch& batch : input.all_batches())
    for (std::int64_t i = 0; i < batch.rows(); ++i, ++seen)
      EXPECT_EQ(std::stoi(std::string(batch.tensor("id").text(static_cast<std::size_t>(i)))) * 10,
                static_cast<int>(batch.values<float>("features")[static_cast<std::size_t>(i)]));
  EXPECT_EQ(seen, 32);
}

TEST_F(Csv, TrainAndEvalAreDisjointAndComplete) {
  input_test::expect_split_disjoint_and_complete(features_of,
                                                 rows(40).with({"features", std::vector<std::string>{"a"}}));
}

TEST_F(Csv, EvalIsScaledAsTrain) {
  const OptionValues options = rows(20).with({"features", std::vector<std::string>{"a"}});
  const auto train = features_of(options.with({"split", "train"})), eval = features_of(options.with({"split", "eval"}));
  double mean = 0, squares = 0;
  for (const float value : train) mean += value / static_cast<double>(train.size());
  for (const float value : train) squares += (value - mean) * (value - mean) / static_cast<double>(train.size());
  const auto expect_scaled = [&](const char* split, const std::vector<float>& raw) {
    const auto scaled = features_of(options.with({"split", split}).with({"standardize", true}));
    ASSERT_EQ(scaled.size(), raw.size());
    for (std::size_t i = 0; i < raw.size(); ++i)
      EXPECT_THAT(scaled[i], FloatNear(static_cast<float>((raw[i] - mean) / std::sqrt(squares)), 1e-6f));
  };
  expect_scaled("train", train);
  expect_scaled("eval", eval);
}

TEST_F(Csv, ShardsAreDisjointAndComplete) {
  input_test::expect_shards_disjoint_and_complete(
      features_of, rows(31).with({"features", std::vector<std::string>{"a"}}).with({"shuffle", true}), 31);
}

// If an input fitted its scales or classes on its shard alone, each shard would have others.
TEST_F(Csv, T_104_WhatIsFittedIsThatOfAllRowsWhateverTheShard) {
  std::string text = "a,b,kind\n";
  for (int i = 0; i < 31; ++i)
    text += std::to_string(i * i) + "," + std::to_string(7 - i) + ",word" + std::to_string(30 - i) + "\n";
  for (const char* split : {"all", "train"}) {
    const OptionValues options =
        OptionValues{{"path", folder_.write("words.csv", text)}, {"standardize", true}}.with({"split", split});
    InputDriver whole(module(), options);
    whole.open();
    EXPECT_EQ(whole.schema().tensors[1].class_names.size(), 31u);
    for (int shards = 2; shards <= 3; ++shards)
      for (int shard = 0; shard < shards; ++shard) {
        InputDriver part(module(), options);
        part.open(shard, shards);
        EXPECT_EQ(part.schema().values, whole.schema().values) << split << shard << shards;
        EXPECT_EQ(part.schema().tensors[1].class_names, whole.schema().tensors[1].class_names);
        EXPECT_EQ(part.schema().tensors[0].columns, whole.schema().tensors[0].columns);
      }
  }
}

TEST_F(Csv, T_107_ATrainingsColumnThatIsThereTwiceIsNamed) {
  InputDriver train(module(), rows(4));
  InputDriver twice(module(), {{"path", folder_.write("twice.csv", "a,b,a,kind\n1,2,3,0\n")}});
  twice.learn(train.schema(), belay::InputUse::kEvaluation);
  EXPECT_EQ(error_of([&] { twice.spec(); }), "INVALID_ARGUMENT: [B3043] path: '" + folder_.file("twice.csv") +
                                                 "' has the training's column a more than once; rename the ones that "
                                                 "are not meant");
}

// If two columns have one name, each counts by its place among them.
TEST_F(Csv, T_101_ColumnsOfOneNameAreTheFirstAndTheSecondOfIt) {
  const auto open = [&](const char* text, InputDriver* train) {
    auto input = std::make_unique<InputDriver>(
        module(), OptionValues{{"path", folder_.write(train == nullptr ? "train.csv" : "eval.csv", text)}});
    if (train != nullptr) input->learn(train->schema(), belay::InputUse::kEvaluation);
    input->open();
    return input;
  };
  const auto train = open("a,a,b,kind\n1,2,3,x\n4,5,6,y\n", nullptr);
  EXPECT_THAT(train->schema().tensors[0].columns, ElementsAre("a", "a (2)", "b"));
  EXPECT_THAT(open("b,kind,a,a\n3,x,1,2\n", train.get())->next()->values<float>("features"), ElementsAre(1, 2, 3));

  const auto same = open("a,b,a\n1,2,x\n3,4,y\n", nullptr);  // the label is the second "a"
  const auto again = open("a,b,a\n3,4,y\n", same.get());
  const InputBatch batch = *again->next();
  EXPECT_THAT(batch.values<float>("features"), ElementsAre(3, 4));
  EXPECT_THAT(batch.values<std::int64_t>("label"), ElementsAre(1));
}

TEST_F(Csv, T_101_FeaturesByNumberAreTheTrainingsColumnsInAnotherFile) {
  const OptionValues numbers{{"features", std::vector<std::string>{"-4", "2"}}, {"label", "kind"}};
  InputDriver train(module(), numbers.with({"path", folder_.write("train.csv", "a,b,c,kind\n1,2,3,x\n4,5,6,y\n")}));
  train.open();
  EXPECT_THAT(train.schema().tensors[0].columns, ElementsAre("a", "c"));
  InputDriver eval(module(), numbers.with({"path", folder_.write("eval.csv", "kind,c,b,a\ny,6,5,4\n")}));
  eval.learn(train.schema(), belay::InputUse::kEvaluation);
  eval.open();
  EXPECT_THAT(eval.next()->values<float>("features"), ElementsAre(4, 6));
  InputDriver lacks(module(), numbers.with({"path", folder_.write("lacks.csv", "kind,d,b,a\ny,6,5,4\n")}));
  lacks.learn(train.schema(), belay::InputUse::kEvaluation);
  EXPECT_EQ(error_of([&] { lacks.spec(); }), "NOT_FOUND: [B3043] features: '" + folder_.file("lacks.csv") +
                                                 "' has no column \"c\", which the training had; it has kind, d, b, a");
}

TEST_F(Csv, T_101_AnIdByNumberIsTheTrainingsColumnInAnotherFile) {
  const OptionValues numbers{{"id", "0"}, {"label", "kind"}};
  InputDriver train(module(), numbers.with({"path", folder_.write("train.csv", "key,a,kind\nk1,1,x\nk2,2,y\n")}));
  train.open();
  InputDriver predict(module(), numbers.with({"path", folder_.write("new.csv", "a,key\n5,k7\n")}));
  predict.learn(train.schema(), belay::InputUse::kPrediction);
  predict.open();
  const InputBatch batch = *predict.next();
  EXPECT_EQ(batch.tensor("id").text(0), "k7");
  EXPECT_THAT(batch.values<float>("features"), ElementsAre(5));
  InputDriver lacks(module(), numbers.with({"path", folder_.write("lacks.csv", "a\n5\n")}));
  lacks.learn(train.schema(), belay::InputUse::kPrediction);
  EXPECT_EQ(error_of([&] { lacks.spec(); }),
            "NOT_FOUND: [B3043] id: '" + folder_.file("lacks.csv") +
                "' has no column \"key\", which was the training's id; name the column, or leave 'id' out; it has a");
}

TEST_F(Csv, T_107_AFeatureOfTheTrainingIsNoLabel) {
  InputDriver train(module(), {{"path", folder_.write("train.csv", "a,b,kind\n1,2,0\n3,4,1\n")}});
  const auto error = [&](const char* text, belay::InputUse use = belay::InputUse::kEvaluation) {
    InputDriver eval(module(), {{"path", folder_.write("eval.csv", text)}, {"label", "b"}});
    eval.learn(train.schema(), use);
    return error_of([&] { eval.spec(); });
  };
  EXPECT_EQ(error("a,b\n1,2\n"),
            "INVALID_ARGUMENT: [B3043] label: \"b\" is the column b, which is a feature of the training; name the "
            "label's column");
  EXPECT_EQ(error("a,b,kind\n1,2,0\n"), "INVALID_ARGUMENT: [B3043] label: '" + folder_.file("eval.csv") +
                                            "' has \"kind\", which was the training's label, besides \"b\"; leave "
                                            "'label' out");
  EXPECT_EQ(error("a,b\n1,2\n", belay::InputUse::kPrediction), "");
}

TEST_F(Csv, T_107_AFileThatIsMeantOtherwiseIsSaidWithTheOptionThatReadsIt) {
  InputDriver train(module(), {{"path", folder_.write("train.csv", "a,b,kind\n1,2,x\n3,4,y\n")}});
  InputDriver bare(module(), {{"path", folder_.write("bare.csv", "1,2,x\n3,4,y\n")}, {"header", false}});
  const auto error = [&](InputDriver& trained, const char* text, bool header,
                         belay::InputUse use = belay::InputUse::kEvaluation) {
    InputDriver input(module(), {{"path", folder_.write("other.csv", text)}, {"header", header}});
    input.learn(trained.schema(), use);
    const std::string message = error_of([&] { input.spec(); });
    return message.substr(std::min(message.size(), message.rfind("; ")));
  };
  EXPECT_EQ(error(train, "a;b;kind\n1;2;x\n", true), "; delimiter = \";\" takes its first row apart");
  EXPECT_EQ(error(train, "a\tb\tkind\n1\t2\tx\n", true), "; delimiter = \"\\t\" takes its first row apart");
  EXPECT_EQ(error(train, "1,2,x\n3,4,y\n", true),
            "; if its first row is no header, set header = false, and name its columns in 'columns'");
  EXPECT_EQ(error(train, "1,2,x\n3,4,y\n", false), "; 'columns' names those of a file without a header");
  EXPECT_EQ(error(bare, "1,2,x\n3,4,y\n", true), "; if its first row is no header, set header = false");
  EXPECT_EQ(
      error(bare, "b,a\n2,1\n", true, belay::InputUse::kPrediction),
      "; the training's file had no header: header = false, skip_lines = 1 takes the columns of this one by their "
      "places");
}

TEST_F(Csv, T_107_ANameThatIsNotSeenAsItIsHasQuotes) {
  InputDriver train(module(), {{"path", folder_.write("train.csv", "a,b,kind\n1,2,0\n3,4,1\n")}});
  InputDriver eval(module(), {{"path", folder_.write("eval.csv", ",a,\" b\",kind\n0,1,2,0\n")}});
  eval.learn(train.schema(), belay::InputUse::kEvaluation);
  EXPECT_EQ(error_of([&] { eval.spec(); }),
            "NOT_FOUND: [B3043] path: '" + folder_.file("eval.csv") +
                "' lacks the training's column b and has \"\", \" b\", which the training did not have (extra = "
                "\"ignore\" leaves them out)");
}

// Labels that the training read as numbers are numbers when the same file is opened again.
TEST_F(Csv, T_102_LabelsThatAreNumbersWithZerosBeforeThemKeepTheirClasses) {
  const OptionValues rows{{"path", folder_.write("train.csv", "x,kind\n1,00\n2,01\n3,02\n")}};
  InputDriver train(module(), rows);
  train.open();
  EXPECT_THAT(train.schema().tensors[1].class_names, ElementsAre("0", "1", "2"));
  EXPECT_THAT(train.next()->values<std::int64_t>("label"), ElementsAre(0, 1, 2));
  for (const char* text : {"x,kind\n3,02\n2,01\n", "x,kind\n3,2\n2,1\n"}) {
    InputDriver eval(module(), {{"path", folder_.write("eval.csv", text)}});
    eval.learn(train.schema(), belay::InputUse::kEvaluation);
    eval.open();
    EXPECT_THAT(eval.next()->values<std::int64_t>("label"), ElementsAre(2, 1));
  }
  InputDriver more(module(), {{"path", folder_.write("more.csv", "x,kind\n3,03\n")}});
  more.learn(train.schema(), belay::InputUse::kEvaluation);
  EXPECT_THAT(error_of([&] { more.spec(); }),
              ::testing::HasSubstr("label \"03\" is not one of the 3 classes that the training had"));
}

// The train part is the whole file.
constexpr const char* kCustomers =
    "name,age,city,since,kind\nx,20,Bonn,2025-01-01,a\ny,NA,K\u00f6ln,2025-01-03,b\nz,40,Bonn,2025-01-01,a\n";

TEST_F(Csv, ColumnsOfWordsGapsAndDatesHaveTypesThatTheLogStates) {
  InputDriver input(module(), {{"path", folder_.write("x.csv", kCustomers)}, {"batch_size", 3}});
  input.open();
  EXPECT_THAT(
      input.schema().tensors[0].columns,
      ElementsAre("name=x", "name=y", "name=z", "age", "city=Bonn", "city=K\u00f6ln", "since year", "since month sine",
                  "since month cosine", "since weekday sine", "since weekday cosine", "since days"));
  EXPECT_EQ(input.schema().values.at("columns.age.fill"), std::vector<double>{30});
  EXPECT_EQ(input.next()->values<float>("features")[15], 30);
}

TEST_F(Csv, AnotherFileIsReadByTheTypesOfTheTraining) {
  const OptionValues options{{"path", folder_.write("x.csv", kCustomers)},
                             {"columns.name", "id"},
                             {"columns.since", "ignore"},
                             {"columns.age.scale", "minmax"},
                             {"columns.city.deliver", "ids"}};
  InputDriver train(module(), options);
  train.open();
  EXPECT_THAT(train.schema().tensors[0].columns, ElementsAre("age"));
  EXPECT_THAT(train.schema().tensors[1].class_names, ElementsAre("Bonn", "K\u00f6ln", "<unknown>", "<missing>"));
  for (const auto use : {belay::InputUse::kEvaluation, belay::InputUse::kPrediction}) {
    InputDriver other(
        module(),
        {{"path", folder_.write("o.csv", "city,kind,age,since,name\n,a,60,x,n1\nRome,b,,x,n2\nBonn,a,20,,n3\n")},
         {"batch_size", 3}});
    other.learn(train.schema(), use);
    other.open();
    const InputBatch batch = *other.next();
    EXPECT_THAT(batch.values<float>("features"), ElementsAre(2, 0.5, 0));
    EXPECT_THAT(batch.values<std::int64_t>("category.city"), ElementsAre(3, 2, 0));
  }
}

TEST_F(Csv, AColumnOfNumbersWithAWordIsAnErrorAndNoCategory) {
  EXPECT_EQ(error_at_open(module(), {{"path", folder_.write("x.csv", "a,b,kind\n1,2,x\n2,,x\nmuch,3,x\n")}}),
            "DATA_LOSS: [B3038] " + folder_.file("x.csv") +
                ":4:1: column \"a\" is \"much\", not a number; repair the row, or change the column's entry in "
                "'columns'");
}

TEST_F(Csv, WrongEntriesOfColumnsAreNamed) {
  const OptionValues options{{"path", folder_.write("x.csv", kCustomers)}};
  struct Case {
    belay::testing::OptionValue option;
    const char* error;
  };
  const Case cases[] = {
      {{"columns.agee.type", "number"}, "has no column \"agee\" (did you mean \"age\"?)"},
      {{"columns.age.type", "numbr"}, "'columns.age.type' is \"numbr\", must be one of: number, category"},
      {{"columns.age.scal", "log"}, "'columns.age.scal' is unknown (did you mean \"scale\"?)"},
      {{"columns.city.scale", "log"}, "'columns.city.scale' does not belong to type = \"category\""},
      {{"columns.kind.type", "number"}, "columns: \"kind\" is the label's column"},
      {{"columns.since.formats", std::vector<std::string>{"%d.%m"}}, "which lacks %Y"},
      {{"columns.age.missing", "error"}, ":3:3: column \"age\" is \"NA\", which is a gap, and 'missing' is"},
  };
  for (const Case& c : cases)
    EXPECT_THAT(error_at_open(module(), options.with(c.option)), ::testing::HasSubstr(c.error)) << c.error;
}

TEST_F(Csv, SeveralFilesAreOneTableWithThePlacesOfEach) {
  folder_.write("part-1.csv", "a,kind\n1,0\n2,1\n");
  folder_.write("part-2.csv", "a,kind\n3,0\nno,1\n");
  const OptionValues pattern{{"path", folder_.file("part-*.csv")}};
  EXPECT_THAT(error_at_open(module(), pattern),
              ::testing::HasSubstr(folder_.file("part-2.csv") + ":3:1: column \"a\""));
  folder_.write("part-2.csv", "a,kind\n3,0\n");
  EXPECT_THAT(features_of(pattern.with({"epochs", 1})), ElementsAre(1, 2, 3));
  const OptionValues list{{"path", std::vector<std::string>{folder_.file("part-2.csv"), folder_.file("part-1.csv")}}};
  EXPECT_THAT(features_of(list.with({"epochs", 1})), ElementsAre(3, 1, 2));
  folder_.write("part-2.csv", "b,kind\n3,0\n");
  EXPECT_THAT(error_at_open(module(), pattern),
              ::testing::HasSubstr(folder_.file("part-2.csv") + ":1:1: the column is \"b\", and in '"));
  EXPECT_THAT(error_at_open(module(), {{"path", folder_.file("none-*")}}), ::testing::HasSubstr("no file fits"));
}

TEST_F(Csv, AWordForAGapIsNoClassOfTheLabel) {
  const OptionValues options{{"path", folder_.write("x.csv", "x,kind\n1,a\n2,NA\n3,?\n")}};
  EXPECT_EQ(error_at_open(module(), options),
            "DATA_LOSS: [B3039] " + folder_.file("x.csv") +
                ":3:3: the label is \"NA\", which means a missing value; repair or remove the row, or list \"NA\" in "
                "'classes' if it is a class\n" +
                folder_.file("x.csv") +
                ":4:3: the label is \"?\", which means a missing value; repair or remove the row, or list \"?\" in "
                "'classes' if it is a class");
  EXPECT_EQ(error_at_open(module(), options.with({"classes", std::vector<std::string>{"a", "NA", "?"}})), "");
  EXPECT_EQ(error_at_open(module(), options.with({"gaps", std::vector<std::string>{""}})), "");
}

TEST_F(Csv, ARowOfAPredictionNeedsNoLabel) {
  InputDriver train(module(), rows(4));
  InputDriver predict(module(), {{"path", folder_.write("new.csv", "a,b,kind\n1,2,NA\n3,4,\n")}, {"batch_size", 2}});
  predict.learn(train.schema(), belay::InputUse::kPrediction);
  predict.open();
  EXPECT_THAT(predict.next()->values<float>("features"), ElementsAre(1, 2, 3, 4));
  InputDriver eval(module(), {{"path", folder_.file("new.csv")}});
  eval.learn(train.schema(), belay::InputUse::kEvaluation);
  EXPECT_THAT(error_of([&] { eval.spec(); }), ::testing::HasSubstr(":2:5: the label is \"NA\""));
}

TEST_F(Csv, OneFileTwiceInAListIsRefusedWithBothEntries) {
  const std::string file = folder_.write("part-1.csv", "a,kind\n1,0\n2,1\n"), link = folder_.file("link.csv");
  folder_.write("part-2.csv", "a,kind\n3,0\n");
  std::filesystem::create_symlink(file, link);
  const auto error = [&](std::vector<std::string> paths) {
    return error_at_open(module(), {{"path", std::move(paths)}});
  };
  const std::string end = ", whose examples would be read twice; leave one out",
                    path = "INVALID_ARGUMENT: [B3050] path: '";
  const std::string dotted = folder_.path() + "/./part-1.csv", pattern = folder_.file("part-*.csv");
  EXPECT_EQ(error({file, file}), path + file + "' (entry 1) and '" + file + "' (entry 2) are one file" + end);
  EXPECT_EQ(error({file, dotted}), path + file + "' (entry 1) and '" + dotted + "' (entry 2) are one file" + end);
  EXPECT_EQ(error({link, file}), path + link + "' (entry 1) and '" + file + "' (entry 2) are one file" + end);
  EXPECT_EQ(error({pattern, file}),
            path + pattern + "' (entry 1) and '" + file + "' (entry 2) are one file, '" + file + "'" + end);
  EXPECT_EQ(error({folder_.file("*.csv")}),
            path + folder_.file("*.csv") + "' (entry 1) names the file '" + file + "' twice" + end);
  EXPECT_EQ(error({pattern}), "");
}

TEST_F(Csv, AColumnHasGapsOfItsOwn) {
  const OptionValues options{{"path", folder_.write("x.csv", "age,country,kind\n10,NA,a\nno,DE,b\n30,no,a\n,NA,b\n")},
                             {"batch_size", 4},
                             {"columns.age.gaps", std::vector<std::string>{"", "no"}},
                             {"columns.country.gaps", std::vector<std::string>{""}}};
  InputDriver train(module(), options);
  train.open();
  EXPECT_THAT(train.schema().tensors[0].columns, ElementsAre("age", "country=NA", "country=DE", "country=no"));
  EXPECT_THAT(train.next()->values<float>("features"), ElementsAre(10, 1, 0, 0, 20, 0, 1, 0, 30, 0, 0, 1, 20, 1, 0, 0));
  InputDriver eval(module(), {{"path", folder_.write("e.csv", "age,country,kind\nno,NA,a\n")}});
  eval.learn(train.schema(), belay::InputUse::kEvaluation);
  eval.open();
  EXPECT_THAT(eval.next()->values<float>("features"), ElementsAre(20, 1, 0, 0));
  EXPECT_THAT(error_at_open(module(), options.with({"columns.age.gaps", 1})),
              ::testing::HasSubstr("[B3044] 'columns.age.gaps' must be a list of strings"));
}

TEST_F(Csv, AColumnOfOnlyGapsIsNamed) {
  InputDriver input(module(), {{"path", folder_.write("x.csv", "a,b,c,kind\n1,NA,,a\n2,NA,,b\n")},
                               {"columns.b.type", "number"},
                               {"columns.c.type", "category"}});
  input.use_for(belay::InputUse::kTraining);
  input.spec();
  EXPECT_TRUE(input.host().has_logged("columns: b, c have only gaps in the 2 rows of the training"));
  InputDriver guessed(module(), {{"path", folder_.file("x.csv")}});
  guessed.spec();
  EXPECT_TRUE(guessed.host().has_logged("columns: not used: b, c"));
}

TEST_F(Csv, NumbersWithACommaAreNamedWithTheirPlaceSinceTheyAreWords) {
  const std::string path = folder_.write("x.csv", "a;b;c;kind\n1;NA;x;p\n2;\"1,5\";y,1;q\n3;-2,75;x;p\n4;3.5;y;q\n");
  const std::string what = "its cells are numbers with a comma, such as \"1,5\" (" + path +
                           ":3:3), and are words here; write a decimal point, and nothing between thousands";
  const OptionValues options = {{"path", path}, {"delimiter", ";"}};
  InputDriver guessed(module(), options), eval(module(), options);
  guessed.spec();
  EXPECT_TRUE(guessed.host().has_logged("columns: \"b\": " + what)) << "two of three cells";
  eval.use_for(belay::InputUse::kEvaluation);
  eval.spec();
  EXPECT_FALSE(eval.host().has_logged(what));
  InputDriver typed(module(), options.with({"columns.b.type", "category"}));
  typed.spec();
  EXPECT_TRUE(typed.host().has_logged(what));
  InputDriver ignored(module(), options.with({"columns.b.type", "ignore"}));
  ignored.spec();
  EXPECT_FALSE(ignored.host().has_logged("with a comma"));
  EXPECT_THAT(error_at_open(module(), options.with({"columns.b.type", "number"})),
              ::testing::HasSubstr("column \"b\" is \"1,5\", not a number, since it has a comma, where a decimal "
                                   "point is needed"));
  InputDriver two(module(), {{"path", folder_.write("y.csv", "a;b;y\n1,5;2,5;3,5\n2,5;1,5;0,5\n1,0;2,5;3,5\n")},
                             {"delimiter", ";"}});
  two.spec();
  EXPECT_TRUE(
      two.host().has_logged("y.csv:2:1), and are words here; write a decimal point, and nothing between "
                            "thousands; also read as words: b"));
  EXPECT_TRUE(two.host().has_logged("label \"y\": its cells are numbers with a comma, such as \"3,5\" ("));
}

TEST_F(Csv, DatesAndNumbersWithASignAreNamedWithTheirPlace) {
  const std::string path = folder_.write("x.csv", "a,b,y\n1/13/2024,5%,p\n2/29/2024,7 %,q\nNA,$9,p\n02/01/2024,x,q\n");
  InputDriver input(module(), {{"path", path}});
  input.spec();
  EXPECT_TRUE(input.host().has_logged("columns: \"a\": its cells are dates, such as \"1/13/2024\" (" + path +
                                      ":2:1), and are words here; type = \"date\" with formats = [\"%m/%d/%Y\"] reads "
                                      "them; also read as words: b"));
  InputDriver typed(
      module(),
      {{"path", path}, {"columns.a.type", "date"}, {"columns.a.formats", std::vector<std::string>{"%m/%d/%Y"}}});
  typed.spec();
  EXPECT_TRUE(typed.host().has_logged("columns: \"b\": its cells are numbers with a sign, such as \"5%\" (" + path +
                                      ":2:11), and are words here; write digits and a decimal point alone"));
}

TEST_F(Csv, DatesWithATimeAreNamedWithTheFormatThatReadsThem) {
  std::string text = "when,b,y\n";
  for (int i = 10; i < 40; ++i) {
    const std::string n = std::to_string(i);
    text += "12." + std::to_string(1 + i % 12) + ".20" + n + " 03:" + n + "," + n + ",p\n";
  }
  InputDriver input(module(), {{"path", folder_.write("t.csv", text)}});
  input.spec();
  EXPECT_TRUE(
      input.host().has_logged("such as \"12.11.2010 03:10\" (" + folder_.file("t.csv") +
                              ":2:1), and are words here; type = \"date\" with formats = [\"%d.%m.%Y %H:%M\"]"));
  EXPECT_EQ(input.spec()[0].dims.back(), 1) << "they are no bag of their words";
}

TEST_F(Csv, FeaturesThatAreOtherNumbersAsFloat32AreNamedUnlessTheyAreScaled) {
  const std::string path =
      folder_.write("x.csv", "a,at,n,kind\n1,5,16777216,a\n2,1732924801,16777217,b\n3,1732924999,3,a\n4,2,4,b\n");
  const std::string warning = path +
                              ":3:3: feature \"at\" is 1732924801, and becomes 1732924800 as float32; set "
                              "standardize = true, or scale = \"standard\" in the column's entry in 'columns', "
                              "which keeps the differences; other such columns: n";
  const auto has_warned = [&](const OptionValues& more, belay::InputUse use = belay::InputUse::kTraining) {
    InputDriver input(module(), more.with({"path", path}));
    input.use_for(use);
    input.spec();
    return input.host().has_logged(warning);
  };
  EXPECT_TRUE(has_warned({}));
  EXPECT_TRUE(has_warned({{"columns.a.type", "number"}})) << "the others are guessed";
  EXPECT_TRUE(has_warned({{"columns.at.type", "number"}, {"columns.at.scale", "none"}}));
  EXPECT_FALSE(has_warned({}, belay::InputUse::kEvaluation));
  EXPECT_FALSE(has_warned({{"standardize", true}}));
  EXPECT_FALSE(has_warned({{"columns.at.type", "number"}, {"columns.at.scale", "standard"}}));
  EXPECT_FALSE(has_warned({{"columns.at.type", "category"}}));
}

TEST_F(Csv, CodesWithLeadingZerosAreNamedUnlessTheyHaveAType) {
  const std::string path = folder_.write("x.csv", "zip,month,x,kind\n10115,01,0.5,a\n01067,12,0,b\n00911,03,-1,a\n");
  const std::string warning = path +
                              ":3:1: feature \"zip\" is \"01067\", and becomes a number without its leading "
                              "zeros; if it is a code, give it type = \"category\" in 'columns', or else type "
                              "= \"number\"";
  const auto has_warned = [&](const OptionValues& more) {
    InputDriver input(module(), more.with({"path", path}));
    input.use_for(belay::InputUse::kTraining);
    input.spec();
    return input.host().has_logged(warning);
  };
  EXPECT_TRUE(has_warned({}));
  EXPECT_TRUE(has_warned({{"standardize", true}}));
  EXPECT_TRUE(has_warned({{"columns.x.type", "number"}})) << "zip is guessed";
  for (const char* type : {"number", "category", "ignore"}) EXPECT_FALSE(has_warned({{"columns.zip.type", type}}));
  EXPECT_FALSE(has_warned({{"id", "zip"}}));
}

TEST_F(Csv, AHeaderThatSeemsToBeARowIsNamed) {
  const auto is_named = [&](const OptionValues& more) {
    InputDriver input(module(), more.with({"path", folder_.write("h.csv", "5.1,3.5,0\n4.9,3.0,1\n4.7,3.2,0\n")}));
    input.spec();
    return input.host().has_logged(
        "h.csv: the header has numbers as names of columns, such as \"5.1\"; if it is the "
        "first row of the data, set header = false");
  };
  EXPECT_TRUE(is_named({}));
  EXPECT_FALSE(is_named({{"header", false}}));
}

TEST_F(Csv, ClassesThatAreNumbersToPredictAreNamedWithTheirPlace) {
  const auto said_of = [&](const std::string& label, const OptionValues& more = {}) {
    std::string rows = "x,y\n";
    std::string_view rest = label;
    for (int i = 0; !rest.empty(); ++i) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      rows += std::to_string(i) + "," + std::string(rest.substr(0, end)) + "\n";
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    InputDriver input(module(), more.with({"path", folder_.write("l.csv", rows)}));
    input.spec();
    for (const std::string text :
         {" classes that are numbers, such as ", " of them occur, such as ", " are one number"})
      if (input.host().has_logged(text)) return text;
    return std::string();
  };
  EXPECT_NE(said_of("2.5 1 0.75 3"), "");
  EXPECT_NE(said_of("1950 2023 1999"), "");
  EXPECT_EQ(said_of("a 1.0 1"), " are one number");
  EXPECT_NE(said_of("120000 95000 87000"), "") << "more than have names";
  for (const char* good : {"0 1 2 1", "1.0 0.0 2.0", "yes no", "3 7 9 7", "0.5 a b"})
    EXPECT_EQ(said_of(good), "") << good;
  EXPECT_EQ(said_of("2.5 0.75 3", {{"classes", std::vector<std::string>{"3", "2.5", "0.75"}}}), "");
  EXPECT_EQ(said_of("2.5 0.75 3", {{"label_type", "float"}}), "");
  InputDriver input(module(), {{"path", folder_.write("y.csv", "x,y\n1,7\n2,1984\n3,0\n")}});
  input.spec();
  EXPECT_TRUE(
      input.host().has_logged("label \"y\": its numbers are those of 1985 classes, and 3 of them occur, such as "
                              "1984 (" +
                              folder_.file("y.csv") + ":3:3); label_type = \"float\" predicts"));
}

TEST_F(Csv, ALabelThatLosesDigitsIsNamedWithItsLine) {
  InputDriver input(module(), {{"path", folder_.write("x.csv", "a,time\n1,1733000000\n2,1733000064\n3,0.1\n")},
                               {"label_type", "float"}});
  input.spec();
  EXPECT_TRUE(input.host().has_logged(folder_.file("x.csv") +
                                      ":2:3: label \"time\" is 1733000000, and becomes 1732999936 as float32; 1 row is "
                                      "so; subtract a constant, or take a larger unit"));
}

TEST_F(Csv, WeightsThatCannotWeighAreRefused) {
  const auto error = [&](const std::string& weights, const OptionValues& more = {}) {
    std::string text = "a,w,kind\n";
    for (std::size_t i = 0; i < 4; ++i)
      text += std::to_string(i) + "," +
              (weights[i] == '-'   ? "-1"
               : weights[i] == 'n' ? "nan"
                                   : std::string(1, weights[i])) +
              ",0\n";
    return error_at_open(module(), more.with({"path", folder_.write("x.csv", text)}).with({"columns.w", "weight"}));
  };
  EXPECT_EQ(error("0120"), "");
  EXPECT_THAT(error("01-0"), ::testing::HasSubstr("[B3038] " + folder_.file("x.csv") +
                                                  ":4:3: column \"w\" is \"-1\", a weight below 0; repair the row"));
  EXPECT_THAT(error("01n0"), ::testing::HasSubstr(":4:3: column \"w\" is \"nan\", not a number; repair the row"));
  EXPECT_EQ(error("0000"), "INVALID_ARGUMENT: [B3054] columns: all weights of \"w\" in '" + folder_.file("x.csv") +
                               "' are 0 in the 4 rows of split = \"all\"; give rows that count a weight above 0, or "
                               "the column another type");
  EXPECT_THAT(error("1110", {{"split", "eval"}, {"every", 4}, {"at", 3}}),
              ::testing::HasSubstr("are 0 in the 1 rows of split = \"eval\""));
}

TEST_F(Csv, AFileThatIsNoUtf8IsReadWithAWarning) {
  InputDriver input(module(), {{"path", folder_.write("x.csv", "a,kind\n1,b\xe4r\n2,d\xfc\n")}});
  input.open();
  EXPECT_TRUE(input.host().has_logged(folder_.file("x.csv") + ":2:4: this is no UTF-8; "));
  InputDriver whole(module(), {{"path", folder_.write("y.csv", "a,kind\n1,b\u00e4r\n2,\u20ac\n3,\U0001F600\n")}});
  whole.open();
  EXPECT_FALSE(whole.host().has_logged("no UTF-8"));
}

TEST_F(Csv, KeepsTheLawsOfAnInput) {
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    InputDriver input(module(), rows(1 + static_cast<int>(random() % 40))
                                    .with({"batch_size", 1 + random() % 9})
                                    .with({"epochs", 1 + random() % 3})
                                    .with({"shuffle", random() % 2 == 0})
                                    .with({"standardize", random() % 2 == 0})
                                    .with({"decode_threads", 1 + random() % 5}));
    input.open();
    expect_laws_of_an_input(input);
  }
}

TEST_F(Csv, WhatOpeningCanSeeIsAnErrorThere) {
  const OptionValues options = rows(3);
  const std::string path = folder_.file("rows.csv");
  struct Case {
    OptionValues options;
    std::string error;
  };
  const Case cases[] = {
      {{}, "INVALID_ARGUMENT: 'path' is required"},
      {{{"path", ""}}, "INVALID_ARGUMENT: [B3047] path: the file name is empty"},
      {{{"path", folder_.file("row.csv")}},
       "NOT_FOUND: [B3046] path: there is no file '" + folder_.file("row.csv") + "' (did you mean \"rows.csv\"?)"},
      {options.with({"delimiter", "::"}),
       "INVALID_ARGUMENT: [B3020] 'delimiter' is \"::\", must be one character such as , ; | or a tab"},
      {options.with({"label", "kindd"}),
       "NOT_FOUND: [B3041] label: '" + path + "' has no column \"kindd\" (did you mean \"kind\"?); it has a, b, kind"},
      {options.with({"features", std::vector<std::string>{"a", "kind"}}),
       "INVALID_ARGUMENT: [B3042] features: \"kind\" is the label's column; leave it out"},
      {options.with({"id", "kind"}),
       "INVALID_ARGUMENT: [B3042] id: \"kind\" is the label's column; if the file has no label, set label = \"\""},
      {options.with({"id", "key"}), "NOT_FOUND: [B3041] id: '" + path + "' has no column \"key\"; it has a, b, kind"},
      {options.with({"id", "a"}).with({"features", std::vector<std::string>{"a"}}),
       "INVALID_ARGUMENT: [B3042] features: \"a\" is the id's column; leave it out"},
      {options.with({"features", std::vector<std::string>{"a", "0"}}),
       "INVALID_ARGUMENT: [B3042] features: \"0\" is there twice; leave one out"},
      {options.with({"split", "tests"}),
       "INVALID_ARGUMENT: 'split' is \"tests\", must be one of: all, train, eval, test"},
      {options.with({"split", "eval"}).with({"eval_fraction", 0.1}),
       "FAILED_PRECONDITION: [B3027] split: '" + path +
           "' has 3 rows and none of them is for \"eval\"; change 'eval_fraction'"},
      {options.with({"split", "eval"}).with({"eval_fraction", 1.0}).with({"standardize", true}),
       "FAILED_PRECONDITION: [B3027] standardize: no row of '" + path +
           "' is for \"train\", by which the features are scaled; change 'eval_fraction'"},
      {{{"path", folder_.write("one.csv", "a\n1\n")}},
       "INVALID_ARGUMENT: [B3052] features: '" + folder_.file("one.csv") +
           "' has no column besides the label; give a file with at least one more, or another 'delimiter'"},
      {{{"path", folder_.write("garbage", std::string("\x89PNG\0\1\2", 7))}},
       "INVALID_ARGUMENT: [B3022] path: '" + folder_.file("garbage") +
           "' is a PNG picture, no CSV file: write its columns as text, in UTF-8"},
  };
  for (const Case& c : cases) EXPECT_EQ(error_at_open(module(), c.options), c.error);
}

TEST_F(Csv, OnlyATrainingLogsTheTypesThatItGuessed) {
  for (const belay::InputUse use : {belay::InputUse::kTraining, belay::InputUse::kEvaluation}) {
    InputDriver input(module(), {{"path", folder_.write("words.csv", "a,y\nred,0\nblue,1\nred,0\n")}});
    input.use_for(use);
    input.spec();
    EXPECT_EQ(input.host().has_logged("types by the rows of the training: \"a\" is category"),
              use == belay::InputUse::kTraining);
  }
}

TEST_F(Csv, ABadRowIsFoundBeforeTheTraining) {
  InputDriver input(module(), {{"path", folder_.write("bad.csv", "a,b\n1,0\n2\n")}});
  for (int again = 0; again < 2; ++again)
    EXPECT_EQ(error_of([&] { input.spec(); }),
              "DATA_LOSS: [B3036] " + folder_.file("bad.csv") +
                  ":3:2: 1 columns, expected 2; a field that holds ',' must be in double quotes");
}

TEST_F(Csv, GarbageIsAnErrorAndNeverACrash) {
  std::mt19937 random(17);
  const std::string letters = "01,.\"\n\r e-+x\t;";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::size_t i = random() % 60; i > 0; --i) text.push_back(letters[random() % letters.size()]);
    error_of([&] {
      InputDriver input(module(), {{"path", folder_.write("x.csv", text)},
                                   {"header", random() % 2 == 0},
                                   {"skip_lines", random() % 3},
                                   {"epochs", 1}});
      input.open();
      input.all_batches();
    });
  }
}

TEST(CsvOfUci, ReadsIris) {
  const std::string path = data_folder() + "/uci/iris.csv";
  BELAY_NEEDS_DATA(path);
  const OptionValues options = {
      {"path", path}, {"skip_lines", 1}, {"header", false}, {"batch_size", 200}, {"epochs", 1}};
  InputDriver input(module(), options);
  input.open();
  const InputBatch batch = *input.next();
  EXPECT_EQ(batch.rows(), 150);
  const auto values = batch.values<float>("features");
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 4), (std::vector<float>{5.1f, 3.5f, 1.4f, 0.2f}));
  double sum = 0;
  for (const float value : values) sum += value;
  EXPECT_NEAR(sum, 2078.7, 0.01);
  std::vector<int> per_class(3);
  for (const std::int64_t label : batch.values<std::int64_t>("label")) ++per_class[static_cast<std::size_t>(label)];
  EXPECT_THAT(per_class, ElementsAre(50, 50, 50));

  InputDriver eval(module(), options.with({"split", "eval"}));
  eval.open();
  EXPECT_EQ(eval.size(), 30);
  EXPECT_EQ(error_of([&] {
              InputDriver(module(), options.with({"header", true})).open();
            }),
            "");  // the first row becomes the header
}

TEST(CsvOfUci, ReadsIrisForRegression) {
  const std::string path = data_folder() + "/uci/iris.csv";
  BELAY_NEEDS_DATA(path);
  InputDriver input(
      module(),
      {{"path", path},
       {"skip_lines", 1},
       {"header", false},
       {"columns", std::vector<std::string>{"sepal_length", "sepal_width", "petal_length", "petal_width", "species"}},
       {"features", std::vector<std::string>{"sepal_length", "sepal_width", "petal_length"}},
       {"label", "petal_width"},
       {"label_type", "float"},
       {"batch_size", 2}});
  input.open();
  const InputBatch batch = *input.next();
  EXPECT_THAT(batch.values<float>("features"), ElementsAre(5.1f, 3.5f, 1.4f, 4.9f, 3.0f, 1.4f));
  EXPECT_THAT(batch.values<float>("label"), ElementsAre(0.2f, 0.2f));
}

TEST(CsvOfUci, ReadsWine) {
  const std::string path = data_folder() + "/uci/wine_data.csv";
  BELAY_NEEDS_DATA(path);
  InputDriver input(module(), {{"path", path}, {"skip_lines", 1}, {"header", false}});
  input.open();
  EXPECT_EQ(input.size(), 178);
  EXPECT_THAT(input.spec()[0].dims, ElementsAre(-1, 13));
}

}  // namespace csv_test
