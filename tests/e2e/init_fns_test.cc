// SPDX-License-Identifier: Apache-2.0
// Init functions of a manifest, one after the other, and the content of the checkpoint then.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Floats = std::vector<float>;

class InitFnsTest : public RunTest {
 protected:
  // A linear regression of four features whose weights stay as they begin, in the folder `name`.
  std::string unmoved(const std::string& name, const std::string& init_fns) const {
    const std::string path = temp / (name + ".toml");
    write_file(path, "[run]\ndir = \"" + name +
                         "\"\nmax_steps = 1\n[input.train]\nplugin = \"numbers\"\n[model]\nplugin = \"linear\"\n"
                         "[optimizer]\nname = \"sgd\"\nlearning_rate = 0.0\n" +
                         init_fns);
    return path;
  }
  static std::string init_fn(const std::string& plugin, const std::string& options) {
    return "[[scaffold.init_fn]]\nplugin = \"" + plugin + "\"\n" + options;
  }
  // Reads the checkpoint of that step.
  Floats variable(const std::string& run, const std::string& name, int step = 1) const {
    const std::string file = weights(temp / run, step);
    std::uint64_t length = 0;
    if (file.size() < sizeof(length)) return {};
    std::memcpy(&length, file.data(), sizeof(length));
    const auto entry = nlohmann::json::parse(file.substr(8, length)).at(name);
    const std::size_t begin = entry.at("data_offsets").at(0), end = entry.at("data_offsets").at(1);
    Floats values((end - begin) / sizeof(float));
    std::memcpy(values.data(), file.data() + 8 + length + begin, end - begin);
    return values;
  }
  void run(const std::string& manifest) const {
    const ProcessResult r = belay({"run", manifest});
    ASSERT_EQ(r.status, 0) << r.err;
  }
};

TEST_F(InitFnsTest, ComposeInTheManifestsOrder) {
  run(regression());  // 50 steps, into "run"
  const Floats trained = variable("run", "linear/kernel", 50);
  ASSERT_EQ(trained.size(), 4u);
  const std::string warm = init_fn("warm_start", "from = \"run\"\n");
  const std::string all = init_fn("assign", "vars = [\"linear\"]\nconstant = 0.25\n");
  const std::string bias = init_fn("assign", "name = \"bias\"\nvars = [\".*/bias\"]\nconstant = -2\n");

  run(unmoved("first", warm + bias));
  EXPECT_EQ(variable("first", "linear/kernel"), trained);
  EXPECT_THAT(variable("first", "linear/bias"), ElementsAre(-2.f));
  run(unmoved("second", warm + bias + all));
  EXPECT_THAT(variable("second", "linear/kernel"), Each(0.25f));
  EXPECT_THAT(variable("second", "linear/bias"), ElementsAre(0.25f));
  run(unmoved("third", all + bias + warm));
  EXPECT_EQ(variable("third", "linear/kernel"), trained);
  EXPECT_EQ(variable("third", "linear/bias"), variable("run", "linear/bias", 50));
}

TEST_F(InitFnsTest, RandomNumbersFollowTheSeedWhateverRanBefore) {
  const std::string drawn =
      init_fn("assign", "vars = [\".*kernel\"]\ninitializer = \"truncated_normal\"\nstddev = 2\n");
  run(unmoved("one", drawn));
  run(unmoved("two", init_fn("assign", "name = \"before\"\nvars = [\".*\"]\nconstant = 1\n") + drawn));
  EXPECT_EQ(variable("one", "linear/kernel"), variable("two", "linear/kernel"));
  const ProcessResult r = belay({"run", unmoved("seeded", drawn), "--set", "run.seed=7"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_NE(variable("one", "linear/kernel"), variable("seeded", "linear/kernel"));
}

TEST_F(InitFnsTest, AnErrorNamesTheLineOfTheManifestAndTheVariable) {
  run(unmoved("source", init_fn("assign", "vars = [\"linear/kernel\"]\ninitializer = \"random_normal\"\n")));
  const ProcessResult r = belay({"run", unmoved("target", init_fn("warm_start",
                                                                  "from = \"source\"\nscopes = [{ from = \"linear/\", "
                                                                  "to = \"linear/\" }]\ntranspose = [{ vars = "
                                                                  "\"linear/kernel\" }]\n"))});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err,
              HasSubstr("init_fn \"warm_start\" (warm_start.so 1.0.0, target.toml:11) in run: warm start from '" +
                        (temp / "source") +
                        "': variable 'linear/kernel' is float32 [4, 1], tensor 'linear/kernel' of the checkpoint "
                        "is float32 [4, 1], which 'transpose' turns round"));
}

TEST_F(InitFnsTest, AFileOfWordVectorsFillsATableByAVocabulary) {
  write_file(temp / "letters.txt", "abcabcabcabcabcabcabcabcabcabc");
  write_file(temp / "vectors.txt", "2 3\nc 1 2 3\na 4 5 6\n");
  write_file(temp / "tokens.txt", "a\nb\nc\n");
  const std::string manifest = temp / "letters.toml";
  write_file(manifest,
             "[run]\ndir = \"letters\"\nmax_steps = 1\n[input.train]\nplugin = \"text\"\nfiles = [\"letters.txt\"]\n"
             "sequence_length = 4\nbatch_size = 2\n[model]\nplugin = \"lstm\"\nembedding = 3\nhidden = 2\n[optimizer]\n"
             "learning_rate = 0.0\n" +
                 init_fn("embedding_file",
                         "path = \"vectors.txt\"\nformat = \"word2vec_text\"\nvariable = \"embedding/table\"\n"
                         "vocabulary = \"tokens.txt\"\nmissing = 0.5\n"));
  const ProcessResult r = belay({"run", manifest});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(variable("letters", "embedding/table"), ElementsAre(4, 5, 6, 0.5, 0.5, 0.5, 1, 2, 3));
  EXPECT_THAT(r.err, HasSubstr("'embedding/table': 2 of 3 tokens of '" + (temp / "tokens.txt") +
                               "' are among the 2 of '" + (temp / "vectors.txt") + "'"));
  EXPECT_THAT(r.err, HasSubstr("1 not found, which get 0.5: b"));
}

TEST_F(InitFnsTest, ACheckpointOfAnotherSaverIsReadByThatOne) {
  const std::string set = init_fn("assign", "vars = [\"linear/kernel\"]\ninitializer = \"random_normal\"\n");
  run(unmoved("default", set));
  run(unmoved("plain", "[scaffold.saver]\nplugin = \"stdio_saver\"\n" + set));
  ASSERT_EQ(listing(temp / "plain/model.ckpt-1"),
            (std::vector<std::string>{"index", "manifest.toml", "schema.json", "state", "tensors.stdio"}));
  const ProcessResult r = belay({"run", unmoved("warm", init_fn("warm_start", "from = \"plain\"\n"))});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(variable("warm", "linear/kernel"), variable("default", "linear/kernel"));
  EXPECT_THAT(r.err, HasSubstr("warm start from '" + (temp / "plain") + "': 2 variables: linear/bias, linear/kernel"));
}

TEST_F(InitFnsTest, FilesOfOtherProgramsAreReadByTheSaverOfTheirFormat) {
  run(unmoved("first", init_fn("assign", "vars = [\"linear/kernel\"]\ninitializer = \"random_normal\"\n")));
  for (const std::string file : {"weights.npz", "model.ckpt-7.index", "weights.safetensors"}) {
    ASSERT_EQ(belay({"checkpoint", "convert", temp / "first", temp / file}).status, 0) << file;
    const std::string name = "of_" + file;
    const ProcessResult r = belay({"run", unmoved(name, init_fn("warm_start", "from = \"" + file + "\"\n"))});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(variable(name, "linear/kernel"), variable("first", "linear/kernel")) << file;
  }
  // In shards, as large models are published.
  run(unmoved("in_shards", "[scaffold.saver]\nplugin = \"safetensors\"\nshard_bytes = 16\n" +
                               init_fn("warm_start", "from = \"first\"\n")));
  const std::string index = "in_shards/model.ckpt-1/model.safetensors.index.json";
  ASSERT_TRUE(fs::exists(temp / index));
  run(unmoved("of_shards", init_fn("warm_start", "from = \"" + index + "\"\n")));
  EXPECT_EQ(variable("of_shards", "linear/kernel"), variable("first", "linear/kernel"));
  // As TensorFlow calls it.
  run(unmoved("of_prefix", init_fn("warm_start", "from = \"model.ckpt-7\"\n")));
  EXPECT_EQ(variable("of_prefix", "linear/kernel"), variable("first", "linear/kernel"));
}

TEST_F(InitFnsTest, ASaverThatIsNotThereIsNamed) {
  run(unmoved("plain", "[scaffold.saver]\nplugin = \"stdio_saver\"\n"));
  const std::string manifest = unmoved("warm", init_fn("warm_start", "from = \"plain\"\n"));
  const std::string plugins = BELAY_BINARY_DIR "/tests/e2e/plugins";
  write_file(manifest, replaced(contents(manifest), "plugin = \"numbers\"", "file = \"" + plugins + "/numbers.so\""));
  const ProcessResult r = belay({"run", manifest}, {"BELAY_PLUGIN_PATH=" + tested_build() + "/plugins"});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("'" + (temp / "plain/model.ckpt-1") +
                               "' was written by the saver 'stdio_saver': not_found: saver "
                               "\"stdio_saver\" is not found in " +
                               tested_build() + "/plugins"));
}

// With status 2, at the option's line, before anything is made.
TEST_F(InitFnsTest, AFileThatIsMissingIsFoundByCheckAndRun) {
  fs::create_directories(temp / "first/model.ckpt-1");
  write_file(temp / "first/model.ckpt-1/index", "");
  write_file(temp / "tokens.txt", "a\n");
  const std::string cannot = ": cannot create init_fn ";
  const struct {
    std::string init_fn, place, said, line;
  } cases[] = {
      {init_fn("warm_start", "from = \"frist\"\n"), ":13:8: error[B2045]",
       "from: there is no checkpoint '" + (temp / "frist") + "' (did you mean \"first\"?); name a run directory, a ",
       "\n  from = \"frist\"\n         ^~~~~~~\n"},
      {init_fn("assign", "vars = [\"linear\"]\nnpy = \"kernel.npy\"\n"), ":14:7: error[B3046]",
       "npy: there is no file '" + (temp / "kernel.npy") + "'", "\n  npy = \"kernel.npy\"\n        ^~~~~~~~~~~~\n"},
      {init_fn("embedding_file",
               "path = \"vectors.txt\"\nformat = \"glove\"\nvariable = \"x\"\nvocabulary = \"tokens.txt\"\n"),
       ":13:8: error[B3046]", "path: there is no file '" + (temp / "vectors.txt") + "'",
       "\n  path = \"vectors.txt\"\n         ^~~~~~~~~~~~~\n"},
  };
  for (const auto& c : cases) {
    const std::string manifest = unmoved("checked", c.init_fn);
    for (const std::string command : {"check", "run"}) {
      const ProcessResult r = belay({command, manifest});
      EXPECT_EQ(r.status, 2) << r.err;
      EXPECT_THAT(r.err, HasSubstr(manifest + c.place + cannot));
      EXPECT_THAT(r.err, HasSubstr(c.said));
      EXPECT_THAT(r.err, HasSubstr(c.line));
      EXPECT_FALSE(fs::exists(temp / "checked")) << command;
    }
  }
}

TEST_F(InitFnsTest, ARunThatGoesOnDoesNotNeedTheFilesThatItBeganWith) {
  run(unmoved("source", init_fn("assign", "vars = [\"linear\"]\nconstant = 3\n")));
  const std::string manifest = unmoved("run", init_fn("warm_start", "from = \"source\"\n"));
  run(manifest);
  fs::remove_all(temp / "source");
  const ProcessResult again = belay({"run", manifest, "--set", "run.max_steps=2"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(variable("run", "linear/bias", 2), ElementsAre(3.f));
  EXPECT_THAT(again.err, HasSubstr("it is not needed: this run continues from a checkpoint"));
  const ProcessResult anew = belay({"run", manifest, "--from-scratch"});
  EXPECT_EQ(anew.status, 2) << anew.err;
  EXPECT_THAT(anew.err, HasSubstr("there is no checkpoint '" + (temp / "source") + "'"));
}

TEST_F(InitFnsTest, ACheckpointOfTheRunWinsAndTheLogSaysSo) {
  const std::string manifest = unmoved("run", init_fn("assign", "vars = [\"linear\"]\nconstant = 3\n"));
  run(manifest);
  const ProcessResult again =
      belay({"run", manifest, "--set", "run.max_steps=2", "--set", "scaffold.init_fn.0.constant=4"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(variable("run", "linear/bias", 2), ElementsAre(3.f));
  EXPECT_EQ(
      lines_with(again.err, "info no init function runs: the variables are those of '" + run_dir() + "/model.ckpt-1'")
          .size(),
      1u)
      << again.err;
}

}  // namespace
}  // namespace belay::runtime::testing
