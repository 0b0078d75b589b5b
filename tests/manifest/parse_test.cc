// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/parse.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/manifest/parsed.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

std::string real(const std::string& path) { return std::filesystem::canonical(path).string(); }

const std::string kExamples = real(BELAY_SOURCE_DIR) + "/tests/manifest/examples/";

TEST(Parse, TheManifestOfTheDesignIsReadWhole) {
  Diagnostics problems;
  const std::string path = kExamples + "design.toml";
  const std::optional<Manifest> m = parse_manifest(path, {}, test_environment(), problems);
  // Clusters come later; all else is right.
  ASSERT_EQ(problems.text(), path +
                                 ":40:1: error: [cluster] is not supported by this version\n"
                                 "  [cluster]                      # absent: one process\n  ^~~~~~~~~\n"
                                 "  help: take the section away: a run is one process\n");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->run.dir, kExamples + "runs/mnist");
  EXPECT_EQ(m->run.max_steps, 2000);
  EXPECT_EQ(m->plugins.path, std::vector<std::string>{kExamples + "build/plugins"});
  const InputSection& train = m->inputs.at("train");
  EXPECT_EQ(train.plugin, "idx");
  EXPECT_EQ(train.prefetch, 2);
  ASSERT_EQ(train.options.size(), 3u);
  // A plugin's option is kept as written: the loader knows which are paths.
  EXPECT_EQ(train.options[0].value, OptionValue("${BELAY_DATA_DIR}/mnist/train-images-idx3-ubyte.gz"));
  EXPECT_EQ(m->inputs.count("eval"), 1u);
  EXPECT_EQ(m->model->options.at(0).value, OptionValue(std::vector<std::int64_t>{128}));
  EXPECT_EQ(m->optimizer.name, "adam");
  EXPECT_EQ(m->scaffold.saver->plugin, "safetensors");
  EXPECT_EQ(m->scaffold.init_fn.at(0).options.at(0).key, "from");
  EXPECT_EQ(m->checkpoint.save_secs, 600);
  EXPECT_EQ(m->session.no_progress_secs, 1800);
  EXPECT_EQ(m->hooks.at(0).name, "losses");
  EXPECT_EQ(m->hooks.at(0).options.at(0).value, OptionValue(std::vector<std::string>{"loss", "accuracy"}));
  EXPECT_EQ(m->cluster->plugin, "gloo");
}

TEST(Parse, TheManifestKnowsItsFileAndDirectory) {
  const Parsed result = parsed(kRest, {}, "/a/b/train.toml");
  EXPECT_EQ(result.manifest->file, "/a/b/train.toml");
  EXPECT_EQ(result.manifest->directory, "/a/b");
}

TEST(Parse, ReadsAFile) {
  TempDir dir;
  std::ofstream(dir / "train.toml") << kRest;
  Diagnostics problems;
  const auto manifest = parse_manifest(dir / "train.toml", {"run.dir=out"}, test_environment(), problems);
  EXPECT_EQ(problems.text(), "");
  EXPECT_EQ(manifest->run.dir, real(dir.path()) + "/out");
}

TEST(Parse, AFileThatCannotBeReadIsOneProblem) {
  TempDir dir;
  const struct {
    std::string path, expected;
  } cases[] = {
      {dir / "no.toml",
       ": error: cannot read the manifest: No such file or directory\n"
       "  help: give the path of a TOML file: belay run train.toml\n"},
      {dir.path(), ": error: cannot read the manifest: Is a directory\n"},
  };
  for (const auto& c : cases) {
    Diagnostics problems;
    EXPECT_FALSE(parse_manifest(c.path, {}, test_environment(), problems));
    EXPECT_EQ(problems.text(), c.path + c.expected);
  }
}

TEST(Parse, TextThatIsNoTomlGivesNoManifest) {
  const Parsed result = parsed("[run\n");
  EXPECT_FALSE(result.manifest);
  EXPECT_EQ(result.errors,
            "train.toml:1:5: error: syntax error (table header): expected ']', saw '\\n'\n  [run\n      ^\n");
}

}  // namespace
}  // namespace belay::runtime
