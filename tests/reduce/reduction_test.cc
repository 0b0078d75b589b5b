// SPDX-License-Identifier: Apache-2.0
#include "runtime/reduce/reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/manifest/toml_document.h"
#include "runtime/reduce/case_folder.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TomlTable table_of(const std::string& text) {
  Diagnostics problems;
  auto root = parse_toml({"m.toml", text}, problems);
  EXPECT_EQ(problems.text(), "");
  return std::get<TomlTable>(root.value().value);
}

constexpr const char* kManifest =
    "[run]\ndir = \"r\"\nmax_steps = 9\nseed = 3\n"
    "[input.train]\nplugin = \"csv\"\npath = \"x.csv\"\n"
    "[model]\nplugin = \"sequential\"\n"
    "[[model.layers]]\ntype = \"dense\"\nunits = 64\n"
    "[[model.layers]]\ntype = \"bad\"\nrate = 2\n"
    "[[model.layers]]\ntype = \"dense\"\nunits = 8\n"
    "[optimizer]\nname = \"sgd\"\nlearning_rate = 0.5\n"
    "[[hooks]]\nplugin = \"one\"\n"
    "[[hooks]]\nplugin = \"two\"\nevery_n_steps = 5\n";

// Whether a case fails follows from the manifest's text, and from its batches and rows.
FailingCase reduced_where(const std::vector<std::string>& needed, std::vector<std::string>* said = nullptr,
                          std::size_t batch = 2, std::size_t row = 5) {
  FailingCase whole{.manifest = table_of(kManifest), .batches = {0, 1, 2}, .rows = {0, 1, 2, 3, 4, 5, 6, 7}};
  whole.warm_start = true;
  return reduced(std::move(whole), {.fails =
                                        [&](const FailingCase& c) {
                                          const std::string text = toml_document(c.manifest);
                                          const auto has = [](const auto& list, std::size_t x) {
                                            return std::find(list.begin(), list.end(), x) != list.end();
                                          };
                                          return std::all_of(needed.begin(), needed.end(),
                                                             [&](const std::string& part) {
                                                               return text.find(part) != std::string::npos;
                                                             }) &&
                                                 has(c.batches, batch) && has(c.rows, row);
                                        },
                                    .say =
                                        [&](const std::string& what) {
                                          if (said != nullptr) said->push_back(what);
                                        }});
}

TEST(Reduction, LeavesOutAllThatIsNotNeeded) {
  std::vector<std::string> said;
  const FailingCase smallest = reduced_where({"type = \"bad\"", "learning_rate = 0.5"}, &said);
  EXPECT_EQ(toml_document(smallest.manifest),
            "[run]\ndir = \"r\"\nmax_steps = 9\n\n[input.train]\nplugin = \"csv\"\npath = \"x.csv\"\n\n"
            "[model]\nplugin = \"sequential\"\n\n[[model.layers]]\ntype = \"bad\"\n\n"
            "[optimizer]\nname = \"sgd\"\nlearning_rate = 0.5\n");
  EXPECT_THAT(smallest.batches, ElementsAre(2));
  EXPECT_THAT(smallest.rows, ElementsAre(5));
  EXPECT_FALSE(smallest.warm_start);
  EXPECT_THAT(said, ::testing::Contains("model.layers: 1 of 3 are needed"));
  EXPECT_THAT(said, ::testing::Contains("batches: 1 of 3 are needed"));
}

TEST(Reduction, KeepsTheOptionsOfAHookThatIsNeeded) {
  const FailingCase smallest = reduced_where({"plugin = \"two\"\nevery_n_steps = 5"});
  EXPECT_THAT(toml_document(smallest.manifest), HasSubstr("[[hooks]]\nplugin = \"two\"\nevery_n_steps = 5\n"));
  EXPECT_THAT(toml_document(smallest.manifest), Not(HasSubstr("\"one\"")));
}

TEST(Reduction, MakesTheModelsNumbersSmallerAsFarAsItStillFails) {
  std::vector<std::string> said;
  reduced_where({"units = "}, &said);
  EXPECT_THAT(said, ::testing::Contains("model.layers.0.units: 1 does instead of 8"));
}

TEST(Reduction, OfAListOfTablesAndOfAnEmptyListTheDocumentReadsBackTheSame) {
  const std::string text =
      "a = []\nb = [1, 2.5, \"x\\ny\"]\nc = {}\n[s.t]\nd = true\n[[s.t.u]]\ne = [{ f = 1 }, { f = 2 }]\n\n[[s.t.u]]\n";
  const std::string once = toml_document(table_of(text));
  EXPECT_EQ(toml_document(table_of(once)), once);
  EXPECT_THAT(once, HasSubstr("[[s.t.u]]\n"));
}

InputComponent column(const std::string& name, DType dtype) {
  InputComponent column;
  column.name = name;
  column.dtype = dtype;
  return column;
}

TEST(CaseFolder, FillsInInputStepsDirectoryAndStart) {
  CapturedBatches captured;
  captured.components = {column("image", DType::kFloat32), column("digit", DType::kInt64)};
  captured.components[1].label = true;
  captured.components[1].classes = 10;
  captured.batches.resize(4, {DenseTensor(DType::kFloat32, {3, 2}), DenseTensor(DType::kInt64, {3})});
  ASSERT_TRUE(can_capture(captured.components));
  EXPECT_EQ(captured.rows(), 3U);
  FailingCase failing{.manifest = table_of("[run]\nmax_steps = 900\n[optimizer]\naccumulate = 2\n"),
                      .batches = {0, 1, 2, 3},
                      .rows = {0, 2}};
  failing.warm_start = true;
  EXPECT_EQ(toml_document(written_manifest(failing, captured)),
            "[run]\nmax_steps = 2\ndir = \"run\"\n\n[optimizer]\naccumulate = 2\n\n"
            "[input.train]\nplugin = \"npy\"\nfeatures = \"data.npz:features\"\nlabels = \"data.npz:label\"\n"
            "classes = 10\nbatch_size = 2\n\n[[scaffold.init_fn]]\nplugin = \"warm_start\"\nfrom = \"start\"\n"
            "schema = \"none\"\n");
}

TEST(CaseFolder, ColumnsThatAreNoTwoArraysStayWhereTheyAre) {
  const InputComponent x = column("x", DType::kFloat32), word = column("word", DType::kString);
  EXPECT_TRUE(can_capture({x}));
  EXPECT_FALSE(can_capture({x, x}));
  EXPECT_FALSE(can_capture({word}));
  EXPECT_FALSE(can_capture({}));
}

}  // namespace
}  // namespace belay::runtime
