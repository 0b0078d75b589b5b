// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/sets.h"

#include <gtest/gtest.h>

#include "tests/manifest/parsed.h"

namespace belay::runtime {
namespace {

Manifest manifest_of(const std::string& text, const std::vector<std::string>& sets) {
  const Parsed result = parsed(text + kRest, sets, "/m/train.toml");
  EXPECT_EQ(result.errors, "");
  return result.manifest.value();
}

TEST(Sets, OverrideAndAddKeys) {
  const Manifest m = manifest_of("[run]\nseed = 1\n", {"run.seed=7", "checkpoint.save_secs=60", "run.max_steps = 5"});
  EXPECT_EQ(m.run.seed, 7u);
  EXPECT_EQ(m.checkpoint.save_secs, 60);
  EXPECT_EQ(m.run.max_steps, 5);
}

TEST(Sets, TheLastOneWins) { EXPECT_EQ(manifest_of("", {"run.seed=1", "run.seed=2"}).run.seed, 2u); }

TEST(Sets, WhatIsNoTomlIsAText) {
  const struct {
    std::string set, dir;
  } cases[] = {
      {"run.dir=out", "/m/out"},
      {"run.dir=\"out\"", "/m/out"},
      {"run.dir='out'", "/m/out"},
      {"run.dir=/abs/x.y", "/abs/x.y"},
      {"run.dir=./a b", "/m/a b"},
      {"run.dir=${DATA}/x", "/data/x"},
      {"run.dir=2024-runs", "/m/2024-runs"},
      {"run.dir=a=b", "/m/a=b"},
      {"run.dir=a#b", "/m/a#b"},
      {"run.dir=true_story", "/m/true_story"},
      {"run.dir=x\nseed = 5", "/m/x\nseed = 5"},
      {"run.\"dir\"=out", "/m/out"},
      {"run . dir = out", "/m/ out"},
  };
  for (const auto& c : cases) EXPECT_EQ(manifest_of("", {c.set}).run.dir, c.dir) << c.set;
}

TEST(Sets, TakeEveryKindOfValue) {
  const Manifest m =
      manifest_of("", {"checkpoint.refuse_non_finite=false", "optimizer.clip_norm=2.5", "plugins.path=['a', '/b']",
                       "model.hidden=[1, 2]", "optimizer.learning_rate={schedule = 'cosine_decay', decay_steps = 9}",
                       "model.layers.units=3"});
  EXPECT_FALSE(m.checkpoint.refuse_non_finite);
  EXPECT_EQ(m.optimizer.clip_norm, 2.5);
  EXPECT_EQ(m.plugins.path, (std::vector<std::string>{"/m/a", "/b"}));
  EXPECT_EQ(m.model->options[0].value, OptionValue(std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(m.optimizer.learning_rate.schedule, "cosine_decay");
  EXPECT_EQ(m.model->options[1].key, "layers.units");
}

TEST(Sets, ANumberIsAnIndexIntoAList) {
  const Manifest m =
      manifest_of("[[hooks]]\nplugin = 'a'\nn = 1\n[[hooks]]\nplugin = 'b'\n[plugins]\npath = ['x', 'y']\n",
                  {"hooks.0.n=5", "hooks.1.plugin=c", "plugins.path.1=z"});
  EXPECT_EQ(m.hooks[0].options[0].value, OptionValue(std::int64_t{5}));
  EXPECT_EQ(m.hooks[1].plugin, "c");
  EXPECT_EQ(m.plugins.path[1], "/m/z");
}

TEST(Sets, LocationsSayWhichSetItWas) {
  const Manifest m = manifest_of("", {"model.units=5"});
  EXPECT_EQ(m.model->options[0].key_at.file, "--set model.units");
  EXPECT_EQ(m.model->options[0].key_at.line, 0);
  EXPECT_EQ(m.model->options[0].key_at.column, 7);
  EXPECT_EQ(m.model->options[0].value_at.column, 13);
}

TEST(Sets, MistakesAreShownLikeThoseOfTheFile) {
  const struct {
    std::vector<std::string> sets;
    std::string expected;
  } cases[] = {
      {{"run.dirr=out"},
       "--set run.dirr: error[B1003]: unknown key \"dirr\" in [run]\n  run.dirr=out\n      ^~~~\n  help: did you mean "
       "\"dir\"?\n"},
      {{"rnu.dir=out"},
       "--set rnu.dir: error[B1004]: unknown section [rnu]\n  rnu.dir=out\n  ^~~\n  help: did you mean [run]?\n"},
      {{"run.seed=ten"},
       "--set run.seed: error[B1012]: run.seed must be an integer, found the string \"ten\"\n  run.seed=ten\n          "
       " "
       "^~~\n"},
      {{"run.threads=-1"},
       "--set run.threads: error[B1013]: run.threads must be from 0 to 1024, found -1\n  run.threads=-1\n              "
       "^~\n"},
      {{"run.dir=5"},
       "--set run.dir: error[B1012]: run.dir must be a string, found 5\n  run.dir=5\n          ^\n"
       "  help: write it in quotes, inside those of the shell: '\"...\"'\n"},
      {{"run.seed=18446744073709551616"},
       "--set run.seed: error[B1008]: this integer is out of range\n  run.seed=18446744073709551616\n"
       "           ^~~~~~~~~~~~~~~~~~~~\n  help: integers are from -9223372036854775808 to 9223372036854775807\n"},
      {{"plugins.path=[1, "},
       "--set plugins.path: error[B1010]: unfinished array\n  plugins.path=[1, \n                   ^\n"},
      {{"run.dir=\"x"},
       "--set run.dir: error[B1010]: unfinished string\n  run.dir=\"x\n            ^\n"
       "  help: a string ends with the quotes that it begins with\n"},
      {{"run.seed"},
       "--set run.seed: error[B1037]: there is no value\n  run.seed\n  ^~~\n"
       "  help: write --set key.path=value, for instance --set run.max_steps=100\n"},
      {{"=5"},
       "--set : error[B1011]: syntax error (root table): expected keys, tables, whitespace or comments, saw '='\n  "
       "=5\n  ^\n"},
      {{"a b=5"},
       "--set a b: error[B1011]: syntax error (key-value pair): expected '=', saw 'b'\n  a b=5\n    ^\n"
       "  help: write key = value\n"},
      {{" # run.seed=5"},
       "--set  # run.seed: error[B1037]: there is a comment in place of the key\n   # run.seed=5\n  ^\n"
       "  help: write --set key.path=value; a key with a '#' in it is quoted\n"},
      {{"[run]#seed=5"},
       "--set [run]#seed: error[B1037]: there is a comment in place of the key\n  [run]#seed=5\n  ^~~~~\n"
       "  help: write --set key.path=value; a key with a '#' in it is quoted\n"},
      {{"[[hooks]]#=5"},
       "--set [[hooks]]#: error[B1037]: there is a comment in place of the key\n  [[hooks]]#=5\n  ^~~~~~~~~\n"
       "  help: write --set key.path=value; a key with a '#' in it is quoted\n"},
      {{"[run]\ndir=x"},
       "--set [run]\\ndir: error[B1037]: a key is one line\n  [run]\n  ^~~~~\n  help: write --set key.path=value\n"},
      {{"hooks.0.x=1"},
       "--set hooks.0.x: error[B1012]: hooks must be a list of tables, found a table\n  hooks.0.x=1\n  ^~~~~\n"
       "  help: begin each hook with [[hooks]]\n"},
      {{"plugins.path=['a']", "plugins.path.1=b"},
       "--set plugins.path.1: error[B1038]: plugins.path is a list of 1, without an element 1\n  plugins.path.1=b\n"
       "               ^\n  help: elements are 0 to 0\n"},
      {{"plugins.path=['a']", "plugins.path.x=b"},
       "--set plugins.path.x: error[B1038]: plugins.path is a list of 1, without an element x\n  plugins.path.x=b\n"
       "               ^\n  help: elements are 0 to 0\n"},
      {{"run.seed=5", "run.seed.x=1"},
       "--set run.seed.x: error[B1038]: run.seed is 5, so there is no run.seed.x\n  run.seed.x=1\n           ^\n  "
       "help: `belay show` lists the keys\n"},
      {{"run.seed=a", "run.seed=b"},
       "--set run.seed (2): error[B1012]: run.seed must be an integer, found the string \"b\"\n  run.seed=b\n          "
       " ^\n"},
      {{"run=5"},
       "--set run: error[B1012]: run must be a table, found 5\n  run=5\n  ^~~\n"
       "  help: write [run] and its keys below\n"},
      {{"run.dir=\xff"},
       "--set run.dir: error[B1005]: the byte \\xff is no UTF-8\n  run.dir=\\xff\n          ^~~~\n  help: save it "
       "as UTF-8\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(errors_of("", c.sets), c.expected);
}

TEST(Sets, StandInTheReportBesideTheProblemsOfTheFile) {
  EXPECT_EQ(errors_of("[run]\nseed = -1\n", {"run.x=1"}),
            "train.toml:2:8: error[B1013]: run.seed must be at least 0, found -1\n  seed = -1\n         ^~\n"
            "--set run.x: error[B1003]: unknown key \"x\" in [run]\n  run.x=1\n      ^\n"
            "  help: [run] has mode, checkpoint, dir, max_steps, min_steps, seed, threads\n");
}

}  // namespace
}  // namespace belay::runtime
