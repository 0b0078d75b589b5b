// SPDX-License-Identifier: Apache-2.0
// What `belay` does with manifests: several of them, their origins, their problems as JSON, pages about them.
#include <nlohmann/json.hpp>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Manifests : public RunTest {};

TEST_F(Manifests, ALaterOneIsLaidOverTheEarlierAndTheRunKeepsTheResult) {
  const std::string base = regression();
  std::filesystem::create_directory(temp / "more");
  write_file(temp / "more/experiment.toml", "[run]\nmax_steps = 7\ndir = \"here\"\n");
  const ProcessResult r = belay({"run", base, temp / "more/experiment.toml"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("ended at step 7"));
  EXPECT_THAT(contents(temp / "more/here/manifest.toml"),
              AllOf(HasSubstr("max_steps = 7\n"), HasSubstr("plugin = \"numbers\"\n")));
  EXPECT_FALSE(std::filesystem::exists(run_dir()));
}

TEST_F(Manifests, ShowNamesTheOriginOfEachValue) {
  const ProcessResult r = belay({"show", regression(), "--origin", "--set", "run.seed=3"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(replaced(r.out, temp.path(), "DIR"),
              AllOf(HasSubstr("max_steps = 50  # DIR/train.toml:3\n"), HasSubstr("seed = 3  # --set run.seed\n"),
                    HasSubstr("max_to_keep = 5  # default\n")));
}

TEST_F(Manifests, ProblemsAreJsonOneALineWhereThatIsAskedFor) {
  const std::string path = regression("batch_size = 0\nshuffel = true\n");
  for (const char* command : {"run", "check", "graph"}) {
    const ProcessResult r = belay({command, path, "--diagnostics=json"});
    EXPECT_EQ(r.status, 2) << r.err;
    std::istringstream lines(r.err);
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(nlohmann::json::parse(line)["message"], "\"batch_size\" is 0, must be at least 1");
    EXPECT_EQ(nlohmann::json::parse(line)["code"], "B2033");
    ASSERT_TRUE(std::getline(lines, line));
    const nlohmann::json second = nlohmann::json::parse(line);
    EXPECT_EQ(second["file"], path);
    EXPECT_EQ(second["line"], 8);
    EXPECT_EQ(second["column"], 1);
    EXPECT_EQ(second["length"], 7);
    EXPECT_THAT(second["help"].get<std::string>(), StartsWith("did you mean \"shuffle\"?"));
    EXPECT_FALSE(std::getline(lines, line)) << line;
  }
  const ProcessResult shown = belay({"show", path, "--set", "run.sead=1", "--diagnostics=json"});
  EXPECT_EQ(shown.status, 2);
  EXPECT_EQ(nlohmann::json::parse(shown.err)["file"], "--set run.sead");
}

TEST_F(Manifests, TheCodeOfAProblemIsExplained) {
  const ProcessResult refused = belay({"check", regression(), "--set", "run.sead=1"});
  EXPECT_THAT(refused.err, HasSubstr("--set run.sead: error[B1003]: unknown key \"sead\" in [run]\n"));
  const ProcessResult explained = belay({"explain", "B1003"});
  EXPECT_EQ(explained.status, 0) << explained.err;
  EXPECT_THAT(explained.out, StartsWith("B1003: an unknown key\n"));
  const ProcessResult unknown = belay({"explain", "B103"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there is no code 'B103' (did you mean \"B1"));
}

TEST_F(Manifests, AMisspeltInputIsOneError) {
  write_file(temp / "misspelt.toml",
             "[input.train]\nplugin = \"csv\"\n[input.trian]\nplugin = \"csv\"\npath = \"x.csv\"\n[model]\nplugin = "
             "\"linear\"\n");
  const ProcessResult r = belay({"check", temp / "misspelt.toml"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(lines_with(r.err, "error[B").size(), 1u) << r.err;
  EXPECT_THAT(r.err, HasSubstr("error[B1027]: nothing reads [input.trian]"));
}

TEST_F(Manifests, NamesOfOtherProgramsLeadToOurs) {
  const ProcessResult keys = belay({"check", regression(), "--set", "optimizer.lr=0.1"});
  EXPECT_EQ(keys.status, 2) << keys.err;
  EXPECT_THAT(keys.err, HasSubstr("help: write learning_rate in [optimizer]"));
  const ProcessResult hook = belay({"check", regression("", "[[hooks]]\nplugin = \"EarlyStopping\"\n")});
  EXPECT_EQ(hook.status, 3) << hook.err;
  EXPECT_THAT(hook.err, HasSubstr("help: did you mean \"early_stopping\"? "));
  const ProcessResult schedule =
      belay({"check", regression(), "--set", "optimizer.learning_rate={schedule=\"CosineAnnealingLR\"}"});
  EXPECT_EQ(schedule.status, 3) << schedule.err;
  EXPECT_THAT(schedule.err, HasSubstr("help: write \"cosine_decay\"; "));
  const ProcessResult option = belay({"check", regression("lr = 1\n")});
  EXPECT_EQ(option.status, 2) << option.err;
  EXPECT_THAT(option.err, HasSubstr("help: write learning_rate in [optimizer]; options: "));
}

TEST_F(Manifests, WhatPluginsSayOfTheirOptionsIsShownWhereTheyAreAndAllAtOnce) {
  const ProcessResult created =
      belay({"check", regression("",
                                 "[[hooks]]\nplugin = \"logging_tensor\"\ntensors = [\"loss\"]\nevery_n_iter = 5\n"
                                 "every_n_secs = 5\n[[hooks]]\nplugin = \"stop_at_step\"\nname = \"both\"\n"
                                 "num_steps = 3\nlast_step = 5\n")});
  EXPECT_EQ(created.status, 2) << created.err;
  EXPECT_THAT(lines_with(told(created), "error[B2045]: "), ::testing::SizeIs(2)) << told(created);
  EXPECT_THAT(told(created), HasSubstr("every_n_iter = 5\n                 ^\n"));
  const ProcessResult input =
      belay({"check", regression(), "--set", "input.train.plugin=csv", "--set", "input.train.path=none.csv"});
  EXPECT_EQ(input.status, 2) << input.err;
  EXPECT_THAT(told(input), AllOf(StartsWith("--set input.train.path: error[B3046]: "),
                                 HasSubstr("input.train.path=none.csv\n                   ^~~~~~~~\n")));
  const ProcessResult model =
      belay({"check", regression(), "--set",
             "model={plugin=\"sequential\",layers=[{type=\"flatten\"},{type=\"conv\",filters=2,size=3}]}"});
  EXPECT_EQ(model.status, 2) << model.err;
  EXPECT_THAT(told(model), HasSubstr("'layers.1'"));
  EXPECT_THAT(lines_with(told(model), "^"), ::testing::SizeIs(1));
}

TEST_F(Manifests, HelpPrintsPagesSectionsAndTheOptionsOfCommands) {
  EXPECT_THAT(belay({"help", "manifest"}).out, AllOf(StartsWith("# The manifest\n"), HasSubstr("## `[optimizer]`")));
  EXPECT_THAT(belay({"help", "exit-statuses"}).out, AllOf(StartsWith("## Exit statuses\n"), HasSubstr("| 124 |")));
  EXPECT_THAT(belay({"help", "signals"}).out, StartsWith("## Signals\n"));
  EXPECT_THAT(belay({"help", "metrics"}).out, StartsWith("# The numbers of a run"));
  EXPECT_THAT(belay({"help", "ops"}).out, StartsWith("# Operations"));
  EXPECT_THAT(belay({"help", "clusters"}).out, StartsWith("# The clusters"));
  EXPECT_THAT(belay({"help", "optimizers"}).out, AllOf(StartsWith("## `[optimizer]`\n"), HasSubstr("| `adam` |")));
  EXPECT_THAT(belay({"help", "schedules"}).out,
              AllOf(StartsWith("## `[optimizer.learning_rate]`\n"), HasSubstr("cosine_decay")));
  EXPECT_EQ(belay({"help", "exit-codes"}).out, belay({"help", "exit-statuses"}).out);
  EXPECT_EQ(belay({"help", "resume"}).out, belay({"help", "checkpoints"}).out);
  EXPECT_EQ(belay({"help", "run"}).out, belay({"run", "--help"}).out);
  EXPECT_EQ(belay({"help"}).out, belay({"--help"}).out);
  const ProcessResult r = belay({"help", "signal"});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(
      r.err,
      StartsWith(
          "error[B5005]: belay help has nothing about 'signal' (did you mean \"signals\"?); besides the commands "
          "there are checkpoints, "));
}

}  // namespace
}  // namespace belay::runtime::testing
