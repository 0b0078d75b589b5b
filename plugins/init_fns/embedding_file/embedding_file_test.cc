// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>

#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_embedding_file;

namespace embedding_file_test {

using namespace belay::testing;
using belay::DType;
using belay::Tensor;

using Lines = std::vector<std::string>;

OptionValues both(OptionValues all, const OptionValues& more) {
  for (const belay::OptionValue& value : more.all()) all = all.with(value);
  return all;
}

class EmbeddingFile : public ::testing::Test {
 protected:
  OptionValues options() const {
    return {{"path", folder_.write("vectors.txt", vectors_)},
            {"format", "glove"},
            {"variable", "table"},
            {"vocabulary", folder_.write("tokens.txt", tokens_)}};
  }
  std::unique_ptr<InitFnDriver> driver(const OptionValues& more = {}) const {
    auto init = std::make_unique<InitFnDriver>(module_under_test(belay_module_embedding_file), both(options(), more));
    init->variable("table", Tensor({4, 2}, {-1.f, -1.f, -2.f, -2.f, -3.f, -3.f, -4.f, -4.f}));
    init->variable("flat", Tensor(DType::kFloat32, {4}));
    init->variable("ids", Tensor(DType::kInt64, {4, 2}));
    init->variable("double", Tensor(DType::kFloat64, {4, 2}));
    return init;
  }
  std::string error(const OptionValues& more = {}) const {
    return error_of([&] { driver(more)->run(); });
  }
  std::string about(const std::string& counts) const {
    return counts + " tokens of '" + folder_.file("tokens.txt") + "' are among the ";
  }

  std::string vectors_ = "the 0.1 0.2\ncat 0.3 0.4\nmat 9 9\n";
  std::string tokens_ = "cat\nsat\nthe\n";
  TemporaryFolder folder_;
};

TEST_F(EmbeddingFile, RowsOfTheVocabularyGetTheirVectorsAndTheOthersKeepTheirValues) {
  const auto init = driver();
  init->run();
  EXPECT_EQ(init->text_of("table"), "[[0.3, 0.4], [-2, -2], [0.1, 0.2], [-4, -4]]");
  EXPECT_EQ(init->logged(), (Lines{"info: 'table': " + about("2 of 3") + "3 of '" + folder_.file("vectors.txt") + "'",
                                   "warning: 1 not found, which keep their initial values: sat",
                                   "info: rows 3 to 3 have no token and keep their initial values"}));
}

TEST_F(EmbeddingFile, TokensThatAreMissingGetTheStatedValue) {
  const auto init = driver({{"missing", 0.5}});
  init->run();
  EXPECT_EQ(init->text_of("table"), "[[0.3, 0.4], [0.5, 0.5], [0.1, 0.2], [-4, -4]]");
  EXPECT_EQ(init->logged()[1], "warning: 1 not found, which get 0.5: sat");
}

TEST_F(EmbeddingFile, ATableMayBeFloat64) {
  const auto init = driver({{"variable", "double"}, {"missing", 1.0}});
  init->run();
  EXPECT_EQ(belay::TensorView(init->value("double")).number(0), static_cast<double>(0.3f));
  EXPECT_EQ(belay::TensorView(init->value("double")).number(3), 1.0);
}

TEST_F(EmbeddingFile, ATokenThatComesAgainIsReportedAndTheFirstVectorCounts) {
  vectors_ = "cat 1 2\nmat 0 0\nmat 5 5\ncat 3 4\n";
  const auto init = driver();
  init->run();
  EXPECT_EQ(init->text_of("table").substr(0, 8), "[[1, 2],");
  EXPECT_EQ(init->logged().back(), "warning: tokens that come again in '" + folder_.file("vectors.txt") +
                                       "', so that the first vector counts: 1, such as \"cat\" at line 4");
}

TEST_F(EmbeddingFile, TheVariableMustBeATableOfThatWidth) {
  EXPECT_EQ(error({{"variable", "tabel"}}),
            "NOT_FOUND: the graph has no variable 'tabel' (did you mean \"table\"?); there are: table, flat, ids, "
            "double");
  EXPECT_EQ(
      error({{"variable", "flat"}}),
      "INVALID_ARGUMENT: variable 'flat' is float32 [4]; a table of vectors is float32 or float64, [rows, numbers "
      "of a vector]");
  EXPECT_EQ(
      error({{"variable", "ids"}}),
      "INVALID_ARGUMENT: variable 'ids' is int64 [4, 2]; a table of vectors is float32 or float64, [rows, numbers "
      "of a vector]");
  vectors_ = "cat 1 2 3\n";
  EXPECT_EQ(error(), "INVALID_ARGUMENT: path: '" + folder_.file("vectors.txt") +
                         "' has vectors of 3 numbers, the rows of the variable have 2; give a file of that width, or "
                         "the model another one");
}

TEST_F(EmbeddingFile, TheVocabularyMustFitIntoTheTableAndMeetTheFile) {
  tokens_ = "a\nb\nc\nd\ne\n";
  EXPECT_EQ(error(), "INVALID_ARGUMENT: vocabulary: '" + folder_.file("tokens.txt") +
                         "' has more tokens than variable 'table' has rows, 4; give the model as many, or a shorter "
                         "vocabulary");
  tokens_ = "Cat\nSat\n";
  EXPECT_EQ(error(), "INVALID_ARGUMENT: 'table': " + about("0 of 2") + "3 of '" + folder_.file("vectors.txt") +
                         "'; give the vocabulary of this file's language and spelling");
  tokens_ = "cat\n\n";
  EXPECT_EQ(error(), "DATA_LOSS: vocabulary: '" + folder_.file("tokens.txt") +
                         "' line 2 is empty; each line is the token of one row, so write a name there");
}

// The file has a hole with a terabyte of zeros.
TEST_F(EmbeddingFile, T_165_FilesOfATerabyteAreRefusedWithoutReadingThemAll) {
  constexpr std::uintmax_t kTerabyte = std::uintmax_t{1} << 40;
  const auto with_hole = [&](const char* option, const std::string& begin) {
    std::filesystem::resize_file(folder_.write(option, begin), kTerabyte);
    return error({{option, folder_.file(option)}});
  };
  EXPECT_EQ(with_hole("vocabulary", "cat\nsat\n"),
            "DATA_LOSS: vocabulary: '" + folder_.file("vocabulary") +
                "' line 3 is longer than 65536 bytes: this is no vocabulary, which has one token a line");
  EXPECT_THAT(with_hole("vocabulary", "a\nb\nc\nd\ne\nf\n"),
              ::testing::HasSubstr("has more tokens than variable 'table'"));
  EXPECT_EQ(
      with_hole("path", "the 0.1 0.2\n"),
      "DATA_LOSS: path: '" + folder_.file("path") +
          "' line 2 is longer than 1048576 bytes: this is no file of word vectors, or it is damaged; fetch it again");
}

TEST_F(EmbeddingFile, FilesAreLookedForWhenItIsCreated) {
  for (const char* option : {"path", "vocabulary"})
    EXPECT_THAT(error_of([&] {
                  driver({{option, folder_.file("none")}});
                }),
                ::testing::StartsWith(std::string("NOT_FOUND: [B3046] ") + option + ": there is no file '"));
  EXPECT_EQ(error_of([] { InitFnDriver init(module_under_test(belay_module_embedding_file)); }),
            "INVALID_ARGUMENT: 'path' is required");
}

}  // namespace embedding_file_test
