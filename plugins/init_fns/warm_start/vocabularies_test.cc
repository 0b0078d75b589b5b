// SPDX-License-Identifier: Apache-2.0
// Tests tables with a row for each token, from a checkpoint with another vocabulary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>

#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_warm_start;

namespace vocabularies_test {

using namespace belay::testing;
using belay::Tensor;
using ::testing::HasSubstr;

const char kOld[] = "runs/old/model.ckpt-5";

OptionValues with_more(OptionValues all, const OptionValues& more) {
  for (const belay::OptionValue& value : more.all()) all = all.with(value);
  return all;
}

class WarmStartVocabularies : public ::testing::Test {
 protected:
  OptionValues options(const std::string& variable = "table", std::int64_t axis = 0) const {
    return {{"from", kOld},
            {"vocabularies.0.variable", variable},
            {"vocabularies.0.new", folder_.file("new.txt")},
            {"vocabularies.0.old", folder_.file("old.txt")},
            {"vocabularies.0.axis", axis}};
  }
  std::unique_ptr<InitFnDriver> driver(const OptionValues& options, Tensor now, const Tensor& stored) const {
    auto init = std::make_unique<InitFnDriver>(module_under_test(belay_module_warm_start), options);
    init->variable("table", std::move(now));
    init->checkpoints().add(kOld, {{"table", stored}});
    return init;
  }
  // The table has four rows, the last without a token. The checkpoint has three.
  std::unique_ptr<InitFnDriver> driver() const {
    return driver(options(), Tensor({4, 2}, {-1.f, -1.f, -2.f, -2.f, -3.f, -3.f, -4.f, -4.f}),
                  Tensor({3, 2}, {1.f, 10.f, 2.f, 20.f, 3.f, 30.f}));
  }
  void write(const std::string& ours, const std::string& theirs) const {
    folder_.write("new.txt", ours);
    folder_.write("old.txt", theirs);
  }

  TemporaryFolder folder_;
};

TEST_F(WarmStartVocabularies, RowsFollowTheirTokensAndNewOnesKeepTheirInitialValues) {
  write("dog\nthe\ncat\n", "the\ncat\nsat\n");
  const auto init = driver();
  init->run();
  EXPECT_EQ(init->text_of("table"), "[[-1, -1], [1, 10], [2, 20], [-4, -4]]");
  EXPECT_EQ(init->logged()[0], "info: warm start from 'runs/old/model.ckpt-5': 1 variable: table (2 of 3 tokens)");
}

TEST_F(WarmStartVocabularies, ColumnsFollowTheirTokensWithAxis1) {
  write("b\r\na", "a\nb\n");
  const auto init =
      driver(options("table", 1), Tensor({2, 3}, {0.f, 0.f, 9.f, 0.f, 0.f, 9.f}), Tensor({2, 2}, {1.f, 2.f, 3.f, 4.f}));
  init->run();
  EXPECT_EQ(init->text_of("table"), "[[2, 1, 9], [4, 3, 9]]");
}

TEST_F(WarmStartVocabularies, WARM_05_OneThatIsForNoChosenVariableIsAnError) {
  write("a\n", "a\n");
  const auto init = driver(options("tabel"), Tensor({2}, {0.f, 0.f}), Tensor({2}, {1.f, 2.f}));
  EXPECT_EQ(error_of([&] { init->run(); }),
            "INVALID_ARGUMENT: warm start from 'runs/old/model.ckpt-5': 'vocabularies.0' is for 'tabel', which is no "
            "chosen variable (did you mean \"table\"?); these are: table");
  // The other variables were processed before the error.
  EXPECT_EQ(init->text_of("table"), "[1, 2]");
}

TEST_F(WarmStartVocabularies, ShapesAndVocabulariesMustFit) {
  const std::string start = "INVALID_ARGUMENT: warm start from 'runs/old/model.ckpt-5': ";
  const std::string old_path = folder_.file("old.txt"), new_path = folder_.file("new.txt");
  write("a\nb\nc\nd\ne\n", "a\n");
  EXPECT_EQ(
      error_of([&] { driver()->run(); }),
      start + "vocabularies.0.new: '" + new_path +
          "' has more tokens than dimension 0 of variable 'table', which is 4; give the vocabulary that belongs to it");
  write("a\n", "a\nb\nc\nd\n");
  EXPECT_EQ(error_of([&] { driver()->run(); }),
            start + "vocabularies.0.old: '" + old_path +
                "' has more tokens than dimension 0 of its tensor, which is 3; give the vocabulary that belongs to it");
  write("a\n", "a\n");
  EXPECT_EQ(error_of([&] {
              driver(options(), Tensor({1, 3}, {0.f, 0.f, 0.f}), Tensor({1, 2}, {0.f, 0.f}))->run();
            }),
            start +
                "variable 'table' is [1, 3], its tensor is [1, 2]; with 'vocabularies.0' they may differ in "
                "dimension 0 alone");
}

TEST_F(WarmStartVocabularies, T_165_AVocabularyOfATerabyteIsRefusedWithoutReadingItAll) {
  for (const char* file : {"new.txt", "old.txt"}) {
    write("a\n", "a\n");
    std::filesystem::resize_file(folder_.file(file), std::uintmax_t{1} << 40);
    EXPECT_THAT(error_of([&] { driver()->run(); }),
                HasSubstr(folder_.file(file) + "' line 2 is longer than 65536 bytes: this is no vocabulary"));
  }
}

TEST_F(WarmStartVocabularies, FilesAreLookedForAtOnceAndRefusedWithTheirLine) {
  EXPECT_THAT(error_of([&] { driver(); }), HasSubstr("NOT_FOUND: [B3046] vocabularies.0.new: there is no file '"));
  write("a\nb\na\n", "a\n");
  EXPECT_EQ(error_of([&] { driver()->run(); }), "DATA_LOSS: vocabularies.0.new: '" + folder_.file("new.txt") +
                                                    "' line 3 is \"a\", as line 1 is; take one of them out");
  write("a\n\nb\n", "a\n");
  EXPECT_EQ(error_of([&] { driver()->run(); }),
            "DATA_LOSS: vocabularies.0.new: '" + folder_.file("new.txt") +
                "' line 2 is empty; each line is the token of one row, so write a name there");
  write("a\n", "");
  EXPECT_EQ(error_of([&] { driver()->run(); }), "FAILED_PRECONDITION: vocabularies.0.old: '" + folder_.file("old.txt") +
                                                    "' is empty; write one token a line into it");
}

TEST_F(WarmStartVocabularies, EachVariableHasOneAndEachEntryItsFiles) {
  write("a\n", "a\n");
  EXPECT_EQ(error_of([&] {
              driver(with_more(options(), {{"vocabularies.1.variable", "table"},
                                           {"vocabularies.1.new", folder_.file("new.txt")},
                                           {"vocabularies.1.old", folder_.file("old.txt")}}),
                     Tensor(0.f), Tensor(0.f));
            }),
            "INVALID_ARGUMENT: 'vocabularies.1' and 'vocabularies.0' are both for 'table'; take one of them out");
  EXPECT_EQ(error_of([&] {
              InitFnDriver init(module_under_test(belay_module_warm_start),
                                {{"from", kOld}, {"vocabularies.0.variable", "table"}});
            }),
            "INVALID_ARGUMENT: 'vocabularies.0': 'new' is required");
}

}  // namespace vocabularies_test
