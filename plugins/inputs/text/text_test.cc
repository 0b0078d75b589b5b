// SPDX-License-Identifier: Apache-2.0
#include <belay/testing/input_driver.h>
#include <belay/testing/temporary_folder.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "plugins/inputs/input_test.h"

extern "C" const belay_module belay_module_text;

namespace text_test {

using belay::InputUse;
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
using ::testing::SizeIs;
using Files = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_text); }

class Text : public ::testing::Test {
 protected:
  OptionValues text(const std::string& content) { return {{"files", Files{folder_.write("a.txt", content)}}}; }
  // Returns the first ids of the windows, in the order of one epoch.
  static std::vector<std::int32_t> begins(const OptionValues& options, std::int64_t shard = 0,
                                          std::int64_t shards = 1) {
    return input_test::first_elements<std::int32_t>(module(), "ids", options, shard, shards);
  }
  TemporaryFolder folder_;
};

TEST_F(Text, DeclaresIdsAndTheVocabularysSize) {
  InputDriver input(module(), text("abracadabra").with({"sequence_length", 4}));
  const auto& spec = input.spec();
  ASSERT_THAT(spec, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(spec[i].name, i == 0 ? "ids" : "next_ids");
    EXPECT_EQ(spec[i].dtype, belay::DType::kInt32);
    EXPECT_THAT(spec[i].dims, ElementsAre(-1, 4));
    EXPECT_EQ(spec[i].is_label, i == 1);
    EXPECT_EQ(spec[i].classes, 5);
    EXPECT_THAT(spec[i].class_names, ElementsAre("a", "b", "c", "d", "r"));
  }
}

TEST_F(Text, T_104_TheCharactersAreThoseOfTheWholeTextWhateverTheShard) {
  const OptionValues options = text("aaaaaaaabbbbbbbbccccccccdddddddd").with({"sequence_length", 3});
  for (int shards = 1; shards <= 3; ++shards)
    for (int shard = 0; shard < shards; ++shard) {
      InputDriver input(module(), options);
      input.open(shard, shards);
      EXPECT_THAT(input.spec()[0].class_names, ElementsAre("a", "b", "c", "d")) << shard << shards;
    }
}

TEST_F(Text, NamesTheIdsByTheirCharactersInUtf8) {
  InputDriver input(module(), text("\xe2\x82\xac\n\xc3\xa9z").with({"sequence_length", 2}));
  EXPECT_THAT(input.spec()[0].class_names, ElementsAre("\n", "z", "\xc3\xa9", "\xe2\x82\xac"));
}

TEST_F(Text, DeliversWindowsAndWhatFollowsThem) {
  InputDriver input(module(),
                    text("abcdefghij").with({"sequence_length", 3}).with({"batch_size", 2}).with({"epochs", 1}));
  input.open();
  EXPECT_EQ(input.size(), 3);
  const auto batches = input.all_batches();
  ASSERT_THAT(batches, SizeIs(2));
  EXPECT_THAT(batches[0].values<std::int32_t>("ids"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(batches[0].values<std::int32_t>("next_ids"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(batches[1].values<std::int32_t>("ids"), ElementsAre(6, 7, 8));
  EXPECT_THAT(batches[1].values<std::int32_t>("next_ids"), ElementsAre(7, 8, 9));
  EXPECT_EQ(InputBatch::text_of(batches[1].position), "{1, 0}");
}

TEST_F(Text, StrideSaysWhereTheNextWindowBegins) {
  const OptionValues options = text("abcdefghij").with({"sequence_length", 3});
  const struct {
    int stride;
    std::vector<std::int32_t> begins;
  } cases[] = {{1, {0, 1, 2, 3, 4, 5, 6}}, {2, {0, 2, 4, 6}}, {5, {0, 5}}, {7, {0}}, {100, {0}}};
  for (const auto& c : cases) EXPECT_EQ(begins(options.with({"stride", c.stride})), c.begins) << c.stride;
}

TEST_F(Text, FilesAreOneText) {
  const Files files{folder_.write("b.txt", "cd"), folder_.write("a.txt", "ab")};
  InputDriver input(module(), {{"files", files}, {"sequence_length", 3}});
  input.open();
  EXPECT_THAT(input.next()->values<std::int32_t>("ids"), ElementsAre(2, 3, 0));
}

TEST_F(Text, BytesAreTheirOwnIds) {
  InputDriver input(module(), text("\xc3\xa9z").with({"sequence_length", 2}).with({"units", "bytes"}));
  input.open();
  EXPECT_EQ(input.spec()[0].classes, 256);
  ASSERT_THAT(input.spec()[1].class_names, SizeIs(256));
  for (std::size_t i = 0; i < 256; ++i)
    EXPECT_EQ(input.spec()[1].class_names[i], std::string(1, static_cast<char>(static_cast<unsigned char>(i))));
  const InputBatch batch = *input.next();
  EXPECT_THAT(batch.values<std::int32_t>("ids"), ElementsAre(0xc3, 0xa9));
  EXPECT_THAT(batch.values<std::int32_t>("next_ids"), ElementsAre(0xa9, 'z'));
}

TEST_F(Text, EvalIsTheEndAndHasTheIdsOfAll) {
  const OptionValues options =
      text("aaaaaaabcd").with({"sequence_length", 1}).with({"eval_fraction", 0.3}).with({"epochs", 1});
  EXPECT_THAT(begins(options.with({"split", "train"})), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(begins(options.with({"split", "eval"})), ElementsAre(1, 2));
  InputDriver train(module(), options.with({"split", "train"}));
  EXPECT_EQ(train.spec()[0].classes, 4);
}

TEST_F(Text, EvalsOwnFilesHaveTheIdsOfTheTrainingText) {
  const std::string train = folder_.write("train.txt", "abcd"), eval = folder_.write("eval.txt", "dcd");
  const OptionValues options = {{"files", Files{eval}}, {"vocabulary_files", Files{train}}, {"sequence_length", 2}};
  InputDriver input(module(), options);
  input.open();
  EXPECT_EQ(input.spec()[0].classes, 4);
  EXPECT_THAT(input.next()->values<std::int32_t>("ids"), ElementsAre(3, 2));
  folder_.write("eval.txt", "dc\nd\u00e9d");
  EXPECT_EQ(error_at_open(module(), options.with({"vocabulary_files", Files{folder_.write("n.txt", "cd\n")}})),
            "INVALID_ARGUMENT: [B3031] files: " + eval +
                ":2:2: \"\u00e9\" (U+00E9) does not occur in 'vocabulary_files'; add a file that has it");
}

TEST_F(Text, T_102_CharactersHaveTheTrainingsNumbers) {
  InputDriver train(module(), text("abcdabcd").with({"sequence_length", 2})),
      eval(module(), {{"files", Files{folder_.write("eval.txt", "dcd")}}, {"sequence_length", 2}});
  eval.learn(train.schema(), InputUse::kEvaluation);
  EXPECT_EQ(eval.difference_from_learned(), "");
  EXPECT_THAT(eval.spec()[0].class_names, ElementsAre("a", "b", "c", "d"));
  eval.open();
  EXPECT_THAT(eval.next()->values<std::int32_t>("ids"), ElementsAre(3, 2));
  belay::testing::LearnedSchema turned = train.schema();
  for (auto& tensor : turned.tensors) tensor.class_names = {"d", "c", "b", "a"};
  eval.restart();
  eval.learn(turned, InputUse::kEvaluation);
  eval.open();
  EXPECT_THAT(eval.next()->values<std::int32_t>("ids"), ElementsAre(0, 1)) << "also in another order than the code's";
}

TEST_F(Text, T_110_ACharacterThatTrainingDidNotHaveIsNamedWithItsPlace) {
  const std::string path = folder_.write("eval.txt", "ab\na\u00e9b");
  InputDriver train(module(), text("abab\n").with({"sequence_length", 2})), eval(module(), {{"files", Files{path}}});
  eval.learn(train.schema(), InputUse::kEvaluation);
  EXPECT_EQ(error_of([&] { eval.spec(); }),
            "INVALID_ARGUMENT: [B3031] files: " + path +
                ":2:2: \"\u00e9\" (U+00E9) does not occur in the text that the model was trained on; leave it out, "
                "or train with an 'unknown'");
}

TEST_F(Text, T_110_AnUnknownStandsForCharactersThatTrainingDidNotHave) {
  const OptionValues options = {{"sequence_length", 4}, {"unknown", "?"}};
  InputDriver train(module(), options.with({"files", Files{folder_.write("train.txt", "abababab")}})),
      eval(module(), options.with({"files", Files{folder_.write("eval.txt", "axb\u00e9a")}})),
      never(module(), {{"files", Files{folder_.file("eval.txt")}}, {"unknown", "!"}});
  EXPECT_THAT(train.spec()[0].class_names, ElementsAre("?", "a", "b"));
  for (InputDriver* input : {&eval, &never}) input->learn(train.schema(), InputUse::kEvaluation);
  EXPECT_EQ(eval.difference_from_learned(), "");
  eval.open();
  EXPECT_THAT(eval.next()->values<std::int32_t>("ids"), ElementsAre(1, 0, 2, 0));
  EXPECT_EQ(error_of([&] { never.spec(); }),
            "INVALID_ARGUMENT: [B3031] 'unknown' is \"!\" (U+0021), which the training has no id for; set it in "
            "[input.train] "
            "and train again");
}

TEST_F(Text, T_102_OtherUnitsThanTheTrainingsAreRefused) {
  const OptionValues options = text("abcab").with({"sequence_length", 2});
  InputDriver characters(module(), options), bytes(module(), options.with({"units", "bytes"}));
  const auto learned = characters.schema(), learned_bytes = bytes.schema();
  characters.restart();
  characters.learn(learned_bytes, InputUse::kEvaluation);
  EXPECT_EQ(
      error_of([&] { characters.spec(); }),
      "INVALID_ARGUMENT: [B3031] 'units' is \"characters\", and the ids of the training are bytes; leave 'units' out");
  bytes.restart();
  bytes.learn(learned, InputUse::kEvaluation);
  EXPECT_EQ(
      error_of([&] { bytes.spec(); }),
      "INVALID_ARGUMENT: [B3031] 'units' is \"bytes\", and the ids of the training are characters; leave 'units' out");
  bytes.restart();
  bytes.learn(learned_bytes, InputUse::kEvaluation);
  EXPECT_EQ(bytes.difference_from_learned(), "");
}

TEST_F(Text, T_107_APredictionNeedsNoCharacterAfterTheLast) {
  InputDriver train(module(), text("abcab").with({"sequence_length", 3})),
      predict(module(), {{"files", Files{folder_.write("p.txt", "cba")}}, {"sequence_length", 3}, {"epochs", 1}});
  predict.learn(train.schema(), InputUse::kPrediction);
  EXPECT_EQ(predict.difference_from_learned(), "");
  predict.open();
  ASSERT_THAT(predict.spec(), SizeIs(1));
  EXPECT_THAT(predict.next()->values<std::int32_t>("ids"), ElementsAre(2, 1, 0));
  EXPECT_FALSE(predict.next());
}

TEST_F(Text, TheVocabularyIsThatOfAllTextWhateverTheShard) {
  const OptionValues options = text("aaaabbbbccccdddd").with({"sequence_length", 1});
  InputDriver whole(module(), options);
  for (const std::int64_t shards : {1, 2, 3})
    for (std::int64_t shard = 0; shard < shards; ++shard) {
      InputDriver input(module(), options.with({"split", "train"}));
      input.open(shard, shards);
      EXPECT_EQ(input.spec()[0].class_names, whole.spec()[0].class_names) << shard << " of " << shards;
    }
}

TEST_F(Text, TheVocabularyIsWrittenWithTheFirstBatch) {
  const std::string path = folder_.file("vocabulary.json");
  InputDriver input(module(), text("baab").with({"sequence_length", 2}).with({"vocabulary_out", path}));
  input.open();
  EXPECT_FALSE(std::filesystem::exists(path));
  input.next();
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(Text, ShardsAreDisjointAndComplete) {
  input_test::expect_shards_disjoint_and_complete(
      begins,
      text("abcdefghijklmnopqrstuvwxyz").with({"sequence_length", 2}).with({"stride", 1}).with({"shuffle", true}), 24);
}

TEST_F(Text, KeepsTheLawsOfAnInput) {
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    std::string content;
    for (std::size_t i = 8 + random() % 200; i > 0; --i) content.push_back(static_cast<char>('a' + random() % 20));
    InputDriver input(module(), text(content)
                                    .with({"sequence_length", 1 + random() % 7})
                                    .with({"stride", 1 + random() % 5})
                                    .with({"batch_size", 1 + random() % 9})
                                    .with({"epochs", 1 + random() % 3})
                                    .with({"shuffle", random() % 2 == 0}));
    input.open();
    expect_laws_of_an_input(input, 700, 60);
  }
}

TEST_F(Text, WhatIsWrongIsAnErrorAtOpening) {
  const OptionValues options = text("abcdefghij");
  const std::string path = folder_.file("a.txt"), empty = folder_.write("empty.txt", "");
  const struct {
    OptionValues options;
    std::string error;
  } cases[] = {
      {{}, "INVALID_ARGUMENT: 'files' is required"},
      {{{"files", Files{}}}, "INVALID_ARGUMENT: [B3020] 'files' is empty; name at least one file of text"},
      {{{"files", Files{path, folder_.file("b.txt")}}},
       "NOT_FOUND: [B3046] files: there is no file '" + folder_.file("b.txt") + "' (did you mean \"a.txt\"?)"},
      {{{"files", Files{path, path}}, {"split", "eval"}},
       "INVALID_ARGUMENT: [B3050] files: '" + path + "' (entry 1) and '" + path +
           "' (entry 2) are one file, whose examples would be read twice; leave one out"},
      {{{"files", Files{empty}}}, "FAILED_PRECONDITION: [B3021] files: there is no text in them"},
      {options.with({"vocabulary_files", Files{empty}}),
       "FAILED_PRECONDITION: [B3021] vocabulary_files: there is no text in them"},
      {options.with({"units", "words"}), "INVALID_ARGUMENT: 'units' is \"words\", must be one of: characters, bytes"},
      {options.with({"units", "bytes"}).with({"vocabulary_files", Files{path}}),
       "INVALID_ARGUMENT: [B3020] 'vocabulary_files' is for units = \"characters\"; bytes have their own ids"},
      {options.with({"sequence_length", 10}),
       "FAILED_PRECONDITION: [B3027] files: the text has 10 characters; an example takes 11: lower 'sequence_length'"},
      {options.with({"split", "eval"}).with({"sequence_length", 5}).with({"eval_fraction", 0.2}),
       "FAILED_PRECONDITION: [B3027] files: the part for \"eval\" has 2 characters; an example takes 6: lower "
       "'sequence_length', or change 'eval_fraction'"},
      {options.with({"unknown", "??"}), "INVALID_ARGUMENT: [B3020] 'unknown' is \"??\", must be one character"},
      {options.with({"unknown", "?"}).with({"units", "bytes"}),
       "INVALID_ARGUMENT: [B3020] 'unknown' is for units = \"characters\"; each byte has an id"},
      {options.with({"stride", 0}), "INVALID_ARGUMENT: 'stride' is 0, must be >= 1"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_at_open(module(), c.options), c.error);
}

TEST(TextOfShakespeare, HasSixtyFiveCharacters) {
  const std::string path = data_folder() + "/shakespeare/tinyshakespeare.txt";
  BELAY_NEEDS_DATA(path);
  const OptionValues options = {{"files", Files{path}}, {"sequence_length", 64}};
  InputDriver all(module(), options);
  all.open();
  EXPECT_EQ(all.spec()[0].classes, 65);
  EXPECT_EQ(all.size(), (1115394 - 1) / 64);
  const auto ids = all.next()->values<std::int32_t>("ids");
  EXPECT_THAT(std::vector<std::int32_t>(ids.begin(), ids.begin() + 5), ElementsAre(18, 47, 56, 57, 58));  // First
  InputDriver eval(module(), options.with({"split", "eval"}));
  eval.open();
  EXPECT_EQ(eval.spec()[0].classes, 65);
  EXPECT_EQ(eval.size(), (111539 - 1) / 64);
}

}  // namespace text_test
