// SPDX-License-Identifier: Apache-2.0
// Several processes learn the same from their data as one does: names of columns, numbers of classes, fitted values.
#include <string>
#include <vector>

#include "tests/e2e/ranks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RanksSchema : public Ranks {
 protected:
  struct Rows {
    int count = 97;
    int kinds = 3;
    int width = 300;         // of the first row
    bool backwards = false;  // so that the classes come in another order
  };
  // Flowers whose kind is told by `length`.
  void write_rows(const std::string& name, const Rows& rows) const {
    constexpr const char* kKinds[] = {"alpha", "beta", "gamma"};
    std::string lines;
    for (int i = 0; i < rows.count; ++i) {
      const int kind = i % rows.kinds;
      const std::string line =
          std::to_string(kind * 4 + i % 7 * 0.1) + "," + std::to_string(rows.width + i * 3) + "," + kKinds[kind] + "\n";
      lines = rows.backwards ? line + lines : lines + line;
    }
    write_file(temp / name, "length,width,kind\n" + lines);
  }
  std::string of_words(const std::string& dir, int steps, int batch, const std::string& file = "flowers.csv") const {
    const std::string path = temp / (dir + ".toml");
    write_file(path, "[run]\ndir = \"" + dir + "\"\nmax_steps = " + std::to_string(steps) +
                         "\nthreads = 1\n[input.train]\nplugin = \"csv\"\npath = \"" + file + "\"\nbatch_size = " +
                         std::to_string(batch) + "\nstandardize = true\nshuffle = true\n[model]\nplugin = \"mlp\"\n" +
                         "hidden = [32]\n[optimizer]\nname = \"momentum\"\nlearning_rate = 0.05\n[cluster]\n" +
                         "plugin = \"gloo\"\n");
    return path;
  }
  std::string of_text(const std::string& dir, int batch) const {
    const std::string path = temp / (dir + ".toml");
    write_file(path,
               "[run]\ndir = \"" + dir +
                   "\"\nmax_steps = 12\nthreads = 1\n[input.train]\nplugin = \"text\"\nfiles = [\"words.txt\"]\n" +
                   "sequence_length = 8\nbatch_size = " + std::to_string(batch) +
                   "\n[model]\nplugin = \"lstm\"\nembedding = 4\nhidden = 8\n[optimizer]\nname = \"sgd\"\n" +
                   "learning_rate = 0.05\n[cluster]\nplugin = \"gloo\"\n");
    return path;
  }
  std::string schema_of(const std::string& dir) const { return contents(temp / (dir + "/schema.json")); }
};

TEST_F(RanksSchema, T_102_OneAndTwoAndOneGoOnWithOneSchemaAndTheSameNumbers) {
  write_rows("flowers.csv", {});
  const std::vector<std::string> changed{"--resume=changed"};
  train(of_words("parts", 30, 32), 1);
  const std::string first = schema_of("parts");
  EXPECT_THAT(first, AllOf(HasSubstr("\"class_names\":[\"alpha\",\"beta\",\"gamma\"]"), HasSubstr("standardize.mean")));
  train(of_words("parts", 60, 16), 2, changed);
  EXPECT_EQ(schema_of("parts"), first);
  train(of_words("parts", 90, 32), 1, changed);
  EXPECT_EQ(schema_of("parts"), first);
  EXPECT_EQ(contents(temp / "parts/model.ckpt-90/schema.json"), first);
  train(of_words("one", 90, 32), 1);
  EXPECT_EQ(schema_of("one"), first);
  expect_near("one", "parts", 90, 1e-4F);
}

// Each rank reads its shard, and fits the whole file.
TEST_F(RanksSchema, T_104_TheFitOfTwoIsThatOfOne) {
  write_rows("flowers.csv", {});
  std::string words;
  for (int i = 0; i < 40; ++i) words += "the quick brown fox jumps over the lazy dog; ";
  write_file(temp / "words.txt", words);
  train(of_words("two", 20, 16), 2);
  train(of_words("one", 20, 32), 1);
  EXPECT_THAT(schema_of("one"), HasSubstr("standardize.deviation"));
  EXPECT_EQ(schema_of("two"), schema_of("one"));
  expect_near("one", "two", 20, 1e-4F);
  train(of_text("text_of_two", 2), 2);
  train(of_text("text_of_one", 4), 1);
  EXPECT_FALSE(schema_of("text_of_one").empty());
  EXPECT_EQ(schema_of("text_of_two"), schema_of("text_of_one"));
}

// Rank 1 alone would call gamma 0.
TEST_F(RanksSchema, T_102_RanksWithFilesOfTheirOwnHaveTheClassesAndScalesOfRank0) {
  write_rows("part-0.csv", {.count = 60});
  write_rows("part-1.csv", {.count = 60, .width = 310, .backwards = true});
  const std::string path = of_words("own", 200, 10, "part-${RANK}.csv");
  write_file(path, replaced(contents(path), "name = \"momentum\"\nlearning_rate = 0.05",
                            "name = \"adam\"\nlearning_rate = 0.05"));
  const std::vector<ProcessResult> results = wait_for_all(start_all(path, 2));
  for (const ProcessResult& r : results) ASSERT_EQ(r.status, 0) << r.err;
  const std::string said = "columns, classes and fitted values are those of rank 0";
  EXPECT_THAT(results[0].err, Not(HasSubstr(said)));
  EXPECT_EQ(lines_with(results[1].err, said).size(), 1U) << results[1].err;
  train(of_words("alone", 1, 10, "part-0.csv"), 1);
  EXPECT_EQ(schema_of("own"), schema_of("alone"));
  const std::string eval = "input.eval={plugin=\"csv\",path=\"part-0.csv\",epochs=1}";
  const ProcessResult right = belay({"evaluate", path, "--set", eval}, {"RANK=0", "WORLD_SIZE=2"});
  const std::string loss = "loss = ";
  ASSERT_THAT(right.out, AllOf(HasSubstr(loss), HasSubstr("accuracy = 1\n"))) << right.err;
  EXPECT_LT(std::stod(right.out.substr(right.out.find(loss) + loss.size())), 0.05) << "half of the labels were others";
}

TEST_F(RanksSchema, T_102_ARankWhoseOwnFileHasFewerClassesIsNamed) {
  write_rows("part-0.csv", {.count = 60});
  write_rows("part-1.csv", {.count = 60, .kinds = 2});
  const std::vector<ProcessResult> results = wait_for_all(start_all(of_words("own", 20, 10, "part-${RANK}.csv"), 2));
  for (const ProcessResult& r : results) EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(results[1].err, AllOf(HasSubstr("[input.train] of rank 1 has \"label\" as "), HasSubstr(" of 2 classes"),
                                    HasSubstr("and rank 0 has \"label\" as "), HasSubstr(" of 3 classes; write in")));
  EXPECT_THAT(results[0].err, HasSubstr("rank 1 has ended or left"));
}

TEST_F(RanksSchema, T_102_AWordThatRank0DidNotHaveIsNamed) {
  write_rows("part-0.csv", {.count = 60, .kinds = 2});
  write_rows("part-1.csv", {.count = 60});
  const std::vector<ProcessResult> results = wait_for_all(start_all(of_words("own", 20, 10, "part-${RANK}.csv"), 2));
  for (const ProcessResult& r : results) EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(results[1].err, HasSubstr("gamma"));
}

}  // namespace
}  // namespace belay::runtime::testing
