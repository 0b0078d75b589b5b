// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/parse.h"

#include <gtest/gtest.h>

#include <cstdio>
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
  ASSERT_EQ(problems.text(), "");
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
  EXPECT_EQ(result.manifest->directories.first, "/a/b");
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
       ": error[B1001]: cannot read the manifest: No such file or directory\n"
       "  help: give the path of a TOML file: belay run train.toml\n"},
      {dir.path(), ": error[B1001]: cannot read the manifest: Is a directory\n"},
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
            "train.toml:1:5: error[B1011]: syntax error (table header): expected ']', saw '\\n'\n  [run\n      ^\n"
            "  help: a section begins with [NAME] or [NAME.NAME]; each table of a list with [[NAME]]\n");
}

Manifest laid_over(const std::string& base, const std::string& over, const std::vector<std::string>& sets = {}) {
  Diagnostics problems;
  const std::optional<Manifest> m =
      parse_manifest(std::vector<ManifestSource>{{"/a/base.toml", base + kRest}, {"/b/c/over.toml", over}}, sets,
                     test_environment(), problems);
  EXPECT_EQ(problems.text(), "");
  return *m;
}

TEST(SeveralManifests, TheLastOneWinsKeyByKeyAndSetComesBehindIt) {
  const Manifest m = laid_over("[run]\nmax_steps = 5\nseed = 1\nthreads = 1",
                               "[run]\nseed = 2\nthreads = 2\n[checkpoint]\nmax_to_keep = 3", {"run.threads=4"});
  EXPECT_EQ(m.run.max_steps, 5);
  EXPECT_EQ(m.run.seed, 2u);
  EXPECT_EQ(m.run.threads, 4);
  EXPECT_EQ(m.checkpoint.max_to_keep, 3);
  EXPECT_EQ(m.file, "/a/base.toml");
}

TEST(SeveralManifests, APathIsRelativeToItsOwnFile) {
  const Manifest m = laid_over("[run]\ndir = \"run\"", "[plugins]\npath = [\"mine\"]");
  EXPECT_EQ(m.run.dir, "/a/run");
  EXPECT_EQ(m.plugins.path, std::vector<std::string>{"/b/c/mine"});
  EXPECT_EQ(m.directories.at({"/b/c/over.toml", 1, 1}), "/b/c");
  EXPECT_EQ(m.directories.at({"--set run.dir", 0, 9}), "/a");
}

TEST(SeveralManifests, AnotherPluginHasNoneOfTheOptionsBefore) {
  const auto options_of_model = [](const std::string& over) {
    Diagnostics problems;
    const std::string base = "[input.train]\nplugin = \"idx\"\n[model]\nplugin = \"mlp\"\nhidden = [1]";
    const auto m = parse_manifest(std::vector<ManifestSource>{{"a.toml", base}, {"b.toml", over}}, {},
                                  test_environment(), problems);
    std::string keys = m->model->plugin + m->model->file;
    for (const PluginOption& o : m->model->options) keys += " " + o.key;
    return keys;
  };
  EXPECT_EQ(options_of_model("[model]\ndropout = 0.5"), "mlp hidden dropout");
  EXPECT_EQ(options_of_model("[model]\nplugin = \"mlp\"\ndropout = 0.5"), "mlp hidden dropout");
  EXPECT_EQ(options_of_model("[model]\nplugin = \"cnn\"\ndropout = 0.5"), "cnn dropout");
}

TEST(SeveralManifests, AListTakesThePlaceOfTheOneBefore) {
  const Manifest m = laid_over("[[hooks]]\nplugin = \"a\"\n[[hooks]]\nplugin = \"b\"", "[[hooks]]\nplugin = \"c\"");
  ASSERT_EQ(m.hooks.size(), 1u);
  EXPECT_EQ(m.hooks[0].plugin, "c");
}

TEST(SeveralManifests, AProblemNamesTheFileThatItIsIn) {
  Diagnostics problems;
  parse_manifest(std::vector<ManifestSource>{{"a.toml", "[run]\nseed = 1" + kRest}, {"b.toml", "[run]\nsead = 2"}}, {},
                 test_environment(), problems);
  EXPECT_EQ(
      problems.text(),
      "b.toml:2:1: error[B1003]: unknown key \"sead\" in [run]\n  sead = 2\n  ^~~~\n  help: did you mean \"seed\"?\n");
}

TEST(SeveralManifests, EachThatCannotBeReadIsAProblem) {
  TempDir dir;
  Diagnostics problems;
  EXPECT_FALSE(parse_manifests({dir / "a.toml", dir / "b.toml"}, {}, test_environment(), problems));
  EXPECT_EQ(problems.size(), 2u);
}

TEST(Version, OneIsKnownAndOthersAreRefusedByNumber) {
  EXPECT_EQ(errors_of("version = 1"), "");
  EXPECT_EQ(
      errors_of("version = 2"),
      "train.toml:1:11: error[B1026]: this manifest is of version 2, and this belay reads version 1\n  version = 2\n"
      "            ^\n  help: use the belay that it was written for, or a newer one\n");
  EXPECT_EQ(errors_of("version = \"1\""),
            "train.toml:1:11: error[B1026]: version must be 1, found the string \"1\"\n  version = \"1\"\n"
            "            ^~~\n  help: write version = 1\n");
  EXPECT_EQ(errors_of("versoin = 1"),
            "train.toml:1:1: error[B1003]: unknown key \"versoin\" above the sections\n  versoin = 1\n  ^~~~~~~\n"
            "  help: did you mean \"version\"?\n");
}

TEST(ReadManifest, ADashIsStandardInput) {
  TempDir dir;
  std::ofstream(dir / "m.toml") << "[run]\nseed = 1\n";
  ASSERT_NE(std::freopen((dir / "m.toml").c_str(), "r", stdin), nullptr);
  Diagnostics problems;
  const std::optional<ManifestSource> source = read_manifest("-", problems);
  ASSERT_TRUE(source);
  EXPECT_EQ(source->file, "<stdin>");
  EXPECT_EQ(source->text, "[run]\nseed = 1\n");
  EXPECT_EQ(directory_of(source->file), std::filesystem::canonical(".").string());
}

}  // namespace
}  // namespace belay::runtime
