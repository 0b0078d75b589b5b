// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/read_manifest.h"

#include <gtest/gtest.h>

#include "tests/manifest/parsed.h"

namespace belay::runtime {
namespace {

TEST(ReadManifest, AnEmptyManifestMissesAModelAndAnInput) {
  const std::string expected =
      "train.toml: error[B1020]: [model] is missing\n  help: add [model] and plugin = \"NAME\" below\n"
      "train.toml: error[B1020]: [input.train] is missing\n  help: add [input.train] and plugin = \"NAME\" below\n";
  EXPECT_EQ(parsed("").errors, expected);
  EXPECT_EQ(parsed("\xef\xbb\xbf").errors, expected);
  EXPECT_EQ(parsed("# a comment\r\n\r\n").errors, expected);
}

TEST(ReadManifest, TheSmallestManifestNamesAnInputAndAModel) {
  const Parsed result = parsed(kRest);
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.manifest->inputs.at("train").plugin, "idx");
  EXPECT_EQ(result.manifest->model->plugin, "mlp");
  EXPECT_FALSE(result.manifest->scaffold.saver);
  EXPECT_FALSE(result.manifest->cluster);
}

TEST(ReadManifest, WindowsLineEndsAndAByteOrderMarkAreFine) {
  EXPECT_EQ(parsed("\xef\xbb\xbf[input.train]\r\nplugin = \"idx\"\r\n[model]\r\nplugin = \"mlp\"\r\n").errors, "");
}

TEST(ReadManifest, InputsHaveNames) {
  const Parsed result = parsed(kRest + "[input.eval]\nplugin = 'csv'\n[input.eval_extra-1]\nplugin = 'x'\n");
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.manifest->inputs.size(), 3u);
  EXPECT_EQ(result.manifest->inputs.at("eval").plugin, "csv");
}

TEST(ReadManifest, AScaffoldHasASaverAndInitFunctions) {
  const Parsed one =
      parsed(kRest + "[scaffold]\nsaver = { plugin = 'safetensors' }\ninit_fn = { plugin = 'warm_start' }\n");
  EXPECT_EQ(one.errors, "");
  EXPECT_EQ(one.manifest->scaffold.saver->plugin, "safetensors");
  EXPECT_EQ(one.manifest->scaffold.init_fn.at(0).plugin, "warm_start");
  const Parsed two = parsed(kRest + "[[scaffold.init_fn]]\nplugin = 'a'\n[[scaffold.init_fn]]\nplugin = 'b'\n");
  EXPECT_EQ(two.errors, "");
  EXPECT_EQ(two.manifest->scaffold.init_fn.at(1).plugin, "b");
}

TEST(ReadManifest, HooksKeepTheirOrder) {
  const Parsed result = parsed(kRest + "[[hooks]]\nplugin = 'b'\n[[hooks]]\nplugin = 'a'\n[[hooks]]\nplugin = 'b'\n");
  EXPECT_EQ(result.errors, "");
  std::string order;
  for (const PluginUse& hook : result.manifest->hooks) order += hook.plugin;
  EXPECT_EQ(order, "bab");
}

TEST(ReadManifest, OperationsAreAList) {
  const Parsed result = parsed(kRest + "[[ops]]\nplugin = 'mish'\n[[ops]]\nfile = 'my.so'\n");
  EXPECT_EQ(result.errors, "");
  ASSERT_EQ(result.manifest->ops.size(), 2u);
  EXPECT_EQ(result.manifest->ops[0].plugin, "mish");
  EXPECT_EQ(result.manifest->ops[1].file, result.manifest->directories.first + "/my.so");
}

TEST(ReadManifest, MistakesAreShown) {
  const struct {
    std::string text, expected;
  } cases[] = {
      {"[modle]\nplugin = 'a'\n[input.train]\nplugin = 'a'\n",
       "train.toml:1:2: error[B1004]: unknown section [modle]\n  [modle]\n   ^~~~~\n  help: did you mean [model]?\n"},
      {"[hook]\n" + kRest,
       "train.toml:1:2: error[B1004]: unknown section [hook]\n  [hook]\n   ^~~~\n"
       "  help: did you mean [[hooks]]?\n"},
      {"max_steps = 5\n" + kRest,
       "train.toml:1:1: error[B1003]: unknown key \"max_steps\" above the sections\n  max_steps = 5\n  ^~~~~~~~~\n"
       "  help: this key belongs to [run]\n"},
      {"frobnicate = 5\n" + kRest,
       "train.toml:1:1: error[B1003]: unknown key \"frobnicate\" above the sections\n  frobnicate = 5\n  ^~~~~~~~~~\n"
       "  help: a manifest has run, plugins, input, model, optimizer, scaffold, checkpoint, eval, predict, session, "
       "hooks, "
       "metrics, exporters, ops, cluster\n"},
      {"[model]\nplugin = 'a'\n[input.trian]\nplugin = 'a'\n",
       "train.toml:3:8: error[B1027]: nothing reads [input.trian]\n  [input.trian]\n         ^~~~~\n"
       "  help: did you mean \"train\"?\n"},
      {"[model]\nplugin = 'a'\n[train]\nplugin = 'a'\n[[callback]]\nplugin = 'a'\n",
       "train.toml: error[B1020]: [input.train] is missing\n  help: add [input.train] and plugin = \"NAME\" below\n"
       "train.toml:3:2: error[B1004]: unknown section [train]\n  [train]\n   ^~~~~\n  help: did you mean "
       "[input.train]?\n"
       "train.toml:5:3: error[B1004]: unknown section [[callback]]\n  [[callback]]\n    ^~~~~~~~\n"
       "  help: write [[hooks]]: one for each\n"},
      {"[eval]\nevery_steps = 5\n[input.Test]\nplugin = 'a'\n" + kRest,
       "train.toml:3:8: error[B1027]: nothing reads [input.Test]\n  [input.Test]\n         ^~~~\n"
       "  help: did you mean \"eval\"?\n"},
      {"[input.trian]\nbatch_size = 5\n" + kRest,
       "train.toml:1:8: error[B1027]: nothing reads [input.trian]\n  [input.trian]\n         ^~~~~\n"
       "  help: did you mean \"train\"?\n"},
      {"[RUN]\n" + kRest,
       "train.toml:1:2: error[B1004]: unknown section [RUN]\n  [RUN]\n   ^~~\n  help: did you mean [run]?\n"},
      {"[model]\nplugin = 'a'\n[input]\nplugin = 'a'\n",
       "train.toml: error[B1020]: [input.train] is missing\n  help: add [input.train] and plugin = \"NAME\" below\n"
       "train.toml:4:1: error[B1028]: \"plugin\" is in [input], which holds named inputs\n  plugin = 'a'\n  ^~~~~~\n"
       "  help: write [input.train] above it\n"},
      {"[[model]]\nplugin = 'a'\n[input.train]\nplugin = 'a'\n",
       "train.toml:1:3: error[B1012]: model must be a table, found a list\n  [[model]]\n    ^~~~~\n"
       "  help: write it once, with single brackets: [model] and its keys below\n"},
      {"run = 5\n" + kRest,
       "train.toml:1:1: error[B1012]: run must be a table, found 5\n  run = 5\n  ^~~\n  help: write [run] and its keys "
       "below\n"},
      {"[hooks]\nplugin = 'a'\n" + kRest,
       "train.toml:1:2: error[B1012]: hooks must be a list of tables, found a table\n  [hooks]\n   ^~~~~\n"
       "  help: begin each hook with [[hooks]]\n"},
      {"[op]\nplugin = 'a'\n" + kRest,
       "train.toml:1:2: error[B1004]: unknown section [op]\n  [op]\n   ^~\n  help: did you mean [[ops]]?\n"},
      {"[ops]\nplugin = 'a'\n" + kRest,
       "train.toml:1:2: error[B1012]: ops must be a list of tables, found a table\n  [ops]\n   ^~~\n"
       "  help: begin each operation with [[ops]]\n"},
      {"hooks = ['a']\n" + kRest,
       "train.toml:1:10: error[B1012]: hooks.0 must be a table, found the string \"a\"\n  hooks = ['a']\n           "
       "^~~\n"
       "  help: write { plugin = \"a\" }\n"},
      {"[scaffold]\nsaver = 'safetensors'\n" + kRest,
       "train.toml:2:9: error[B1012]: scaffold.saver must be a table, found the string \"safetensors\"\n  saver = "
       "'safetensors'\n"
       "          ^~~~~~~~~~~~~\n  help: write { plugin = \"safetensors\" }\n"},
      {"[scaffold]\nsavre = {}\nx = 1\n" + kRest,
       "train.toml:2:1: error[B1003]: unknown key \"savre\" in [scaffold]\n  savre = {}\n  ^~~~~\n  help: did you mean "
       "\"saver\"?\n"
       "train.toml:3:1: error[B1003]: unknown key \"x\" in [scaffold]\n  x = 1\n  ^\n  help: [scaffold] has saver, "
       "init_fn, "
       "init_op, local_init, ready, ready_for_local_init, summary_op\n"},
      {"[[hooks]]\nplugin = 'a'\nname = 'n'\n[[hooks]]\nplugin = 'b'\nname = 'n'\n" + kRest,
       "train.toml:4:1: error[B1025]: hooks.1 has the name \"n\" of an earlier hook\n  [[hooks]]\n  ^~~~~~~~~\n"
       "  help: a hook's state is kept under its name: give it another\n"},
      {"[input.\"a b\"]\nplugin = 'a'\n" + kRest,
       "train.toml:1:8: error[B1024]: the name of an input has letters, digits, '_', '-' and '.', at most 63\n  "
       "[input.\"a b\"]\n         ^~~~~\n  help: give it another name\n"},
      {"[cluster]\ninterface = 'eth0'\n" + kRest,
       "train.toml:1:1: error[B1021]: [cluster] names no plugin\n  [cluster]\n  ^~~~~~~~~\n"
       "  help: add plugin = \"NAME\", or file = \"./NAME.so\"; `belay plugins` lists the names\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(parsed(c.text).errors, c.expected) << c.text;
}

std::string place_of(const Parsed& result, const std::string& key) {
  const Location at = result.manifest.value().at(key);
  return at.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

const std::string kPlaced = "[run]\nthreads = 2\n[optimizer]\nlearning_rate = { schedule = 'constant' }\n" + kRest;

TEST(ReadManifest, ThePlacesOfSectionsAndKeysAreKept) {
  const Parsed result = parsed(kPlaced, {"session.precision='bf16'"});
  EXPECT_EQ(place_of(result, "run.threads"), "train.toml:2:11");
  EXPECT_EQ(place_of(result, "optimizer"), "train.toml:3:1");
  EXPECT_EQ(place_of(result, "optimizer.learning_rate.schedule"), "train.toml:4:30");
  EXPECT_EQ(place_of(result, "session.precision"), "--set session.precision:0:19");
}

TEST(ReadManifest, AKeyThatIsNotWrittenIsPlacedAtItsTableAndElseAtTheFile) {
  const Parsed result = parsed(kPlaced);
  EXPECT_EQ(place_of(result, "run.seed"), "train.toml:1:1");
  EXPECT_EQ(place_of(result, "optimizer.learning_rate.power"), "train.toml:4:17");
  EXPECT_EQ(place_of(result, "session.precision"), "train.toml:0:0");
}

TEST(ReadManifest, PlacesMakeNoDifferenceBetweenManifests) {
  const Manifest manifest = parsed("[run]\nthreads = 2\n" + kRest).manifest.value();
  EXPECT_EQ(manifest, parsed("# moved\n\n[run]\n  threads = 2\n" + kRest).manifest.value());
  EXPECT_EQ(manifest, parsed(kRest, {"run.threads=2"}).manifest.value());
  EXPECT_NE(manifest, parsed("[run]\nthreads = 3\n" + kRest).manifest.value());
}

TEST(ReadManifest, EverythingWrongIsReportedAtOnce) {
  const Parsed result = parsed(
      "[run]\nmax_step = 5\nseed = \"1\"\nthreads = -1\n[optimizer]\nclip_norm = -2\n[model]\nhidden = [1, "
      "'a']\n[[hooks]]\n"
      "plugin = 'a'\non_error = 'x'\n");
  EXPECT_EQ(
      result.errors,
      "train.toml: error[B1020]: [input.train] is missing\n  help: add [input.train] and plugin = \"NAME\" below\n"
      "train.toml:2:1: error[B1003]: unknown key \"max_step\" in [run]\n  max_step = 5\n  ^~~~~~~~\n"
      "  help: did you mean \"max_steps\"?\n"
      "train.toml:3:8: error[B1012]: run.seed must be an integer, found the string \"1\"\n  seed = \"1\"\n         "
      "^~~\n"
      "  help: write it without quotes: seed = 1\n"
      "train.toml:4:11: error[B1013]: run.threads must be from 0 to 1024, found -1\n  threads = -1\n            ^~\n"
      "train.toml:6:13: error[B1013]: optimizer.clip_norm must be at least 0, found -2\n"
      "  clip_norm = -2\n              ^~\n"
      "train.toml:7:1: error[B1021]: [model] names no plugin\n  [model]\n  ^~~~~~~\n"
      "  help: add plugin = \"NAME\", or file = \"./NAME.so\"; `belay plugins` lists the names\n"
      "train.toml:8:10: error[B1023]: model.hidden mixes kinds of values\n  hidden = [1, 'a']\n           ^~~~~~~~\n"
      "  help: a list holds booleans, numbers, strings, or tables and lists\n"
      "train.toml:11:12: error[B1014]: hooks.0.on_error must be one of stop, disable; found \"x\"\n  on_error = 'x'\n"
      "             ^~~\n");
  // The right parts are read, so that the loader can continue to look for mistakes.
  ASSERT_TRUE(result.manifest);
  EXPECT_EQ(result.manifest->hooks.at(0).plugin, "a");
}

}  // namespace
}  // namespace belay::runtime
