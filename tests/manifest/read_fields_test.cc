// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/read_fields.h"

#include <gtest/gtest.h>

#include "tests/manifest/parsed.h"

namespace belay::runtime {
namespace {

struct Case {
  std::string text, expected;
};

void expect_errors(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(errors_of(c.text), c.expected) << c.text;
}

TEST(ReadFields, UnknownKeysNameTheNearestOne) {
  expect_errors({
      {"[run]\nmax_step = 5",
       "train.toml:2:1: error[B1003]: unknown key \"max_step\" in [run]\n  max_step = 5\n  ^~~~~~~~\n"
       "  help: did you mean \"max_steps\"?\n"},
      {"[plugins]\nfrobnicate = 1",
       "train.toml:2:1: error[B1003]: unknown key \"frobnicate\" in [plugins]\n  frobnicate = 1\n  ^~~~~~~~~~\n"
       "  help: [plugins] has path\n"},
  });
}

TEST(ReadFields, UnknownKeysNameTheSectionThatHasThem) {
  expect_errors({
      {"[session]\nsave_secs = 5",
       "train.toml:2:1: error[B1003]: unknown key \"save_secs\" in [session]\n  save_secs = 5\n  ^~~~~~~~~\n"
       "  help: this key belongs to [checkpoint]\n"},
      {"[run]\nmax_to_kep = 5",
       "train.toml:2:1: error[B1003]: unknown key \"max_to_kep\" in [run]\n  max_to_kep = 5\n  ^~~~~~~~~~\n"
       "  help: did you mean \"max_to_keep\" of [checkpoint]?\n"},
      {"[run]\nlearning_rate = 5",
       "train.toml:2:1: error[B1003]: unknown key \"learning_rate\" in [run]\n  learning_rate = 5\n  ^~~~~~~~~~~~~\n"
       "  help: this key belongs to [optimizer] or [optimizer.learning_rate]\n"},
      {"[run]\noptimizer = {}",
       "train.toml:2:1: error[B1003]: unknown key \"optimizer\" in [run]\n  optimizer = {}\n  ^~~~~~~~~\n"
       "  help: this key belongs to the top of the manifest\n"},
  });
}

TEST(ReadFields, WrongTypesNameBoth) {
  expect_errors({
      {"[run]\nmax_steps = \"10\"",
       "train.toml:2:13: error[B1012]: run.max_steps must be an integer, found the string \"10\"\n  max_steps = "
       "\"10\"\n"
       "              ^~~~\n  help: write it without quotes: max_steps = 10\n"},
      {"[run]\nmax_steps = \"20k\"",
       "train.toml:2:13: error[B1012]: run.max_steps must be an integer, found the string \"20k\"\n  max_steps = "
       "\"20k\"\n"
       "              ^~~~~\n  help: write it out: max_steps = 20000\n"},
      {"[run]\nmax_steps = \"${N}\"",
       "train.toml:2:13: error[B1012]: run.max_steps must be an integer, found the string \"${N}\"\n  max_steps = "
       "\"${N}\"\n"
       "              ^~~~~~\n  help: ${NAME} is replaced in paths only\n"},
      {"[checkpoint]\nsave_secs = \"1h30m\"",
       "train.toml:2:13: error[B1012]: checkpoint.save_secs must be a number, found the string \"1h30m\"\n"
       "  save_secs = \"1h30m\"\n              ^~~~~~~\n  help: write it in seconds: save_secs = 5400\n"},
      {"[run]\nmax_steps = \"ten\"",
       "train.toml:2:13: error[B1012]: run.max_steps must be an integer, found the string \"ten\"\n  max_steps = "
       "\"ten\"\n"
       "              ^~~~~\n"},
      {"[run]\nmax_steps = 10.0",
       "train.toml:2:13: error[B1012]: run.max_steps must be an integer, found 10.0\n  max_steps = 10.0\n"
       "              ^~~~\n  help: write it without a fraction: max_steps = 10\n"},
      {"[run]\nmax_steps = 2.5",
       "train.toml:2:13: error[B1012]: run.max_steps must be an integer, found 2.5\n  max_steps = 2.5\n              "
       "^~~\n"},
      {"[run]\nmax_steps = true",
       "train.toml:2:13: error[B1012]: run.max_steps must be an integer, found true\n  max_steps = true\n"
       "              ^~~~\n"},
      {"[run]\nmax_steps = 2020-01-01",
       "train.toml:2:13: error[B1012]: run.max_steps must be an integer, found the date 2020-01-01\n"
       "  max_steps = 2020-01-01\n              ^~~~~~~~~~\n"},
      {"[run]\nmax_steps = [10]",
       "train.toml:2:13: error[B1012]: run.max_steps must be an integer, found a list\n  max_steps = [10]\n"
       "              ^~~~\n"},
      {"[checkpoint]\nsave_secs = \"1.5\"",
       "train.toml:2:13: error[B1012]: checkpoint.save_secs must be a number, found the string \"1.5\"\n  save_secs = "
       "\"1.5\"\n"
       "              ^~~~~\n  help: write it without quotes: save_secs = 1.5\n"},
      {"[checkpoint]\nrefuse_non_finite = 1",
       "train.toml:2:21: error[B1012]: checkpoint.refuse_non_finite must be true or false, found 1\n"
       "  refuse_non_finite = 1\n                      ^\n  help: write refuse_non_finite = true\n"},
      {"[run]\ndir = 5",
       "train.toml:2:7: error[B1012]: run.dir must be a string, found 5\n  dir = 5\n        ^\n  help: write it in "
       "quotes\n"},
      {"[run]\ndir = \"\"",
       "train.toml:2:7: error[B1015]: run.dir must not be empty\n  dir = \"\"\n        ^~\n"
       "  help: take the key away if it needs no value\n"},
      {"[plugins]\npath = \"x\"",
       "train.toml:2:8: error[B1012]: plugins.path must be a list of strings, found the string \"x\"\n  path = \"x\"\n"
       "         ^~~\n  help: write it in brackets: path = [...]\n"},
      {"[plugins]\npath = [\"x\", 5]",
       "train.toml:2:14: error[B1012]: plugins.path must be a string, found 5\n  path = [\"x\", 5]\n               ^\n"
       "  help: write it in quotes\n"},
      {"[optimizer]\nlearning_rate = \"0.1\"",
       "train.toml:2:17: error[B1012]: optimizer.learning_rate must be a number, found the string \"0.1\"\n"
       "  learning_rate = \"0.1\"\n                  ^~~~~\n  help: write it without quotes: learning_rate = 0.1\n"},
  });
}

TEST(ReadFields, NumbersMustBeFiniteAndInRange) {
  expect_errors({
      {"[run]\nmax_steps = 0",
       "train.toml:2:13: error[B1013]: run.max_steps must be at least 1, found 0\n  max_steps = 0\n              ^\n"},
      {"[run]\nthreads = 1025",
       "train.toml:2:11: error[B1013]: run.threads must be from 0 to 1024, found 1025\n  threads = 1025\n            "
       "^~~~\n"},
      {"[checkpoint]\nsave_secs = -1",
       "train.toml:2:13: error[B1013]: checkpoint.save_secs must be from 0 to 1000000000, found -1\n  save_secs = -1\n"
       "              ^~\n"},
      {"[checkpoint]\nsave_secs = nan",
       "train.toml:2:13: error[B1013]: checkpoint.save_secs must be a finite number, found nan\n  save_secs = nan\n"
       "              ^~~\n"},
      {"[optimizer]\nclip_norm = -inf",
       "train.toml:2:13: error[B1013]: optimizer.clip_norm must be a finite number, found -inf\n  clip_norm = -inf\n"
       "              ^~~~\n"},
  });
}

TEST(ReadFields, WordsAreChecked) {
  expect_errors({
      {"[session]\nprecision = \"bf61\"",
       "train.toml:2:13: error[B1014]: session.precision must be one of float32, bf16; found \"bf61\"\n  precision = "
       "\"bf61\"\n"
       "              ^~~~~~\n  help: did you mean \"bf16\"?\n"},
      {"[checkpoint]\non_save_error = \"panic\"",
       "train.toml:2:17: error[B1014]: checkpoint.on_save_error must be one of continue, pause, stop; found \"panic\"\n"
       "  on_save_error = \"panic\"\n                  ^~~~~~~\n"},
  });
}

TEST(ReadFields, KeysThatMeanNothingHereSayForWhatTheyAre) {
  expect_errors({
      {"[[metrics]]\nkind = \"auc\"\nlabels = \"y\"\npredictions = \"p\"\nk = 2",
       "train.toml:5:1: error[B1016]: metrics.0.k is for kind = \"in_top_k\" only\n  k = 2\n  ^\n  help: take it "
       "away\n"},
  });
}

TEST(ReadFields, AWrongNameDoesNotMakeTheKeysOfTheRightOneWrong) {
  EXPECT_EQ(errors_of("[[metrics]]\nkind = \"in_topk\"\nlabels = \"y\"\npredictions = \"p\"\nk = 2")
                .find("metrics.0.k is for"),
            std::string::npos);
}

TEST(ReadFields, HostileTextIsEscaped) {
  EXPECT_EQ(errors_of("[run]\nmode = \"\\u001b[2J%n\\n\"\n\"\\u001b]0;x\\u0007\" = 1"),
            "train.toml:2:8: error[B1014]: run.mode must be one of train, evaluate, predict, train_and_evaluate, "
            "continuous_eval, export; found \"\\x1b[2J%n\\n\"\n  mode = \"\\u001b[2J%n\\n\"\n         "
            "^~~~~~~~~~~~~~~\ntrain.toml:3:1: error[B1003]: unknown key \"\\x1b]0;x\\x07\" in [run]\n  "
            "\"\\u001b]0;x\\u0007\" = 1\n  ^~~~~~~~~~~~~~~~~~\n  help: [run] has mode, checkpoint, dir, max_steps, "
            "min_steps, seed, threads\n");
}

}  // namespace
}  // namespace belay::runtime
