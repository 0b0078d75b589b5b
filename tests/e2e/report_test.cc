// SPDX-License-Identifier: Apache-2.0
// belay report, belay compare and the drawings of belay graph, through the real program.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ReportTest : public RunTest {
 protected:
  // Two attempts: to step 30, and on to 50.
  void train() {
    const std::string session = "[session]\nsave_summaries_steps = 5\n";
    ASSERT_EQ(belay({"run", regression("", session, 30)}).status, 0);
    ASSERT_EQ(belay({"run", regression("", session, 50)}).status, 0);
  }
  // The first run, and one at another rate beside it.
  void train_another() {
    train();
    const ProcessResult r =
        belay({"run", regression("", "", 50), "--set", "run.dir=" + other(), "--set", "optimizer.learning_rate=0.02"});
    ASSERT_EQ(r.status, 0) << r.err;
  }
  std::string other() const { return temp / "other"; }
  std::string page() const { return contents(run_dir() + "/report.html"); }
};

TEST_F(ReportTest, WritesThePageIntoTheRunsDirectoryAndASummary) {
  train();
  const ProcessResult r = belay({"report", run_dir() + "/"}, {"LC_ALL=C"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_THAT(r.out, StartsWith(run_dir() + ": finished at step 50\n"));
  EXPECT_THAT(r.out, ContainsRegex("\n  attempts +2 in [0-9.]+ s; 1 finished at step 30, 2 continued from 30\n"));
  EXPECT_THAT(r.out, ContainsRegex("\n  model +[0-9]+ parameters, [0-9.]+ FLOPs an example forward\n"));
  EXPECT_THAT(r.out, ContainsRegex("\n  checkpoints +[0-9]+; last model.ckpt-50\n"));
  EXPECT_THAT(r.out, ContainsRegex("\n  changed +attempt 2: run.max_steps was 30, is 50\n"));
  EXPECT_THAT(
      r.out, ContainsRegex("\n  metric +best +at step +last +at step\n  loss +[0-9.e-]+ +[0-9]+ +[0-9.e-]+ +[0-9]+\n"));
  EXPECT_THAT(r.out, HasSubstr("\n  loss\n"));
  EXPECT_THAT(r.out, ContainsRegex(" \\|[ *]*\\*"));
  EXPECT_THAT(r.out, HasSubstr("\nthe page: " + run_dir() + "/report.html\n"));
  for (const char* part : {"<h1>", ">Attempts and time</h2>", ">Checkpoints</h2>", ">Model</h2>", ">Manifest</h2>",
                           "<code>run.max_steps</code>", "model.ckpt-50"})
    EXPECT_THAT(page(), HasSubstr(part));
  EXPECT_THAT(belay({"report", run_dir()}, {"LC_ALL=C.UTF-8"}).out, HasSubstr(" |\xe2"));
}

TEST_F(ReportTest, TouchesNothingElse) {
  train();
  const auto before = listing(run_dir());
  ASSERT_EQ(belay({"report", run_dir(), "--output", temp / "elsewhere.html"}).status, 0);
  EXPECT_EQ(listing(run_dir()), before);
  EXPECT_THAT(contents(temp / "elsewhere.html"), StartsWith("<!DOCTYPE html>"));
}

TEST_F(ReportTest, ATornFileIsAWarningAndADamagedOneStatus1AndBothHaveAPage) {
  train();
  for (const auto& entry : std::filesystem::directory_iterator(run_dir()))
    if (entry.path().string().find("tfevents") != std::string::npos)
      std::filesystem::resize_file(entry.path(), entry.file_size() - 3);
  const ProcessResult torn = belay({"report", run_dir()});
  EXPECT_EQ(torn.status, 0);
  EXPECT_THAT(torn.err, HasSubstr("warning: '"));
  EXPECT_THAT(page(), HasSubstr("ends within the record at byte"));
  for (const auto& entry : std::filesystem::directory_iterator(run_dir()))
    if (entry.path().string().find("tfevents") != std::string::npos)
      std::fstream(entry.path(), std::ios::in | std::ios::out).put('\x7f');
  const ProcessResult damaged = belay({"report", run_dir()});
  EXPECT_EQ(damaged.status, 1);
  EXPECT_THAT(damaged.err, HasSubstr("error: '"));
  EXPECT_THAT(page(), HasSubstr("damaged: "));
}

TEST_F(ReportTest, CheckpointsWithoutEventsAreAPageToo) {
  train();
  for (const auto& entry : std::filesystem::directory_iterator(run_dir()))
    if (entry.path().string().find("tfevents") != std::string::npos) std::filesystem::remove(entry.path());
  const ProcessResult r = belay({"report", run_dir()});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr(": without events of its training, at step 50\n"));
  EXPECT_THAT(page(), HasSubstr(">Checkpoints</h2>"));
}

TEST_F(ReportTest, WhatCannotBeDoneIsSaidWithItsCure) {
  const std::string empty = temp / "empty";
  std::filesystem::create_directory(empty);
  const struct {
    std::vector<std::string> args;
    std::string expected;
  } cases[] = {
      {{"report"}, "belay report takes a run's directory, none was given"},
      {{"report", empty}, "holds neither event files (events.out.tfevents.*) nor checkpoints; name a run's directory"},
      {{"report", temp / "none"}, "there is no '" + (temp / "none") + "'; name a run's directory, which is `run.dir`"},
      {{"report", empty, empty}, "a page about several runs is in none of their directories; name it by --output FILE"},
      {{"compare", empty}, "belay compare takes two or more runs' directories, 1 was given"},
      {{"compare", empty, empty, "--metric", "("}, "--metric is \"(\", which is no regular expression"},
      {{"graph", regression(), "--dot", "--svg"}, "--json, --dot and --svg are three formats"},
      {{"graph", regression(), "--dot", "--plan"}, "a drawing has no --plan"},
      {{"graph", regression(), "--nodes"}, "--nodes is for a drawing; add --dot or --svg"},
  };
  for (const auto& c : cases) {
    const ProcessResult r = belay(c.args);
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_THAT(r.err, HasSubstr(c.expected));
  }
}

TEST_F(ReportTest, T_118_TheLastLossOfARunThatDivergedIsNoNumberSinceItsStep) {
  ASSERT_EQ(belay({"run", regression("nan_at_batch = 5\n")}).status, 4);
  const ProcessResult r = belay({"report", run_dir()}, {"LC_ALL=C"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, ContainsRegex("\n  loss +[0-9.e-]+ +[0-9]+ +NaN +since 6\n"));
}

TEST_F(ReportTest, T_131_StepsThatAreInNoCheckpointAreCounted) {
  ASSERT_EQ(belay({"run", regression("", "", 30)}).status, 0);
  EXPECT_THAT(belay({"report", run_dir()}).out, ContainsRegex("\n  checkpoints +[0-9]+; last model.ckpt-30\n"));
  write_file(run_dir() + "/model.ckpt-50", "in the way");
  ASSERT_EQ(belay({"run", regression("", "", 50)}).status, 7);
  EXPECT_THAT(belay({"report", run_dir()}).out,
              ContainsRegex("\n  checkpoints +[0-9]+; last model.ckpt-30, 20 steps before the end\n"));
  EXPECT_THAT(page(), HasSubstr("last, 20 steps before the end"));
}

TEST_F(ReportTest, APageThatCannotBeWrittenIsStatus7AndTheSummaryIsThere) {
  train();
  const ProcessResult r = belay({"report", run_dir(), "--output", temp / "none/page.html"});
  EXPECT_EQ(r.status, 7);
  EXPECT_THAT(r.out, HasSubstr("finished at step 50"));
  EXPECT_THAT(r.out, Not(HasSubstr("the page: ")));
  EXPECT_THAT(r.err, HasSubstr("the page is not written: "));
  EXPECT_THAT(r.err, HasSubstr("--output FILE writes it elsewhere"));
}

// Not also what each hook and input has without being told.
TEST_F(ReportTest, APluginOfOneRunOnlyIsListedByWhatItsTableSays) {
  const std::string more =
      "[[hooks]]\nplugin = \"nan_guard\"\nevery_n_steps = 5\n[input.eval]\nplugin = \"numbers\"\nepochs = 1\n";
  ASSERT_EQ(belay({"run", regression()}).status, 0);
  ASSERT_EQ(belay({"run", regression("", more), "--set", "run.dir=" + other()}).status, 0);
  const auto json = nlohmann::json::parse(belay({"compare", run_dir(), other(), "--json"}).out);
  std::vector<std::string> keys;
  for (const auto& key : json["manifest"]) keys.push_back(key["key"]);
  EXPECT_THAT(keys, ::testing::IsSupersetOf({"hooks.nan_guard.plugin", "hooks.nan_guard.every_n_steps",
                                             "input.eval.plugin", "input.eval.epochs"}));
  for (const char* key : {"hooks.nan_guard.on_error", "input.eval.prefetch"}) EXPECT_THAT(keys, Not(Contains(key)));
}

TEST_F(ReportTest, ComparedRunsAreRankedAndOnlyWhatDiffersIsListed) {
  train_another();
  const ProcessResult r = belay({"compare", run_dir(), other()});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr(run_dir() + "    finished at step 50\n"));
  EXPECT_THAT(r.out, ContainsRegex("\nmetric +run +best +at step +last +at step\nloss  "));
  EXPECT_THAT(r.out, ContainsRegex("\nkey +run +value\noptimizer.learning_rate +" + run_dir() + " +0.01\n +" + other() +
                                   " +0.02\n"));
  EXPECT_THAT(r.out, Not(HasSubstr("run.seed")));
  EXPECT_THAT(r.out, Not(HasSubstr("run.dir")));
  const auto json = nlohmann::json::parse(belay({"compare", run_dir(), other(), "--json"}).out, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["runs"].size(), 2u);
  EXPECT_EQ(json["runs"][0]["attempts"], 2);
  EXPECT_EQ(json["runs"][1]["status"], "finished");
  const auto& loss = json["metrics"][0];
  EXPECT_EQ(loss["name"], "loss");
  EXPECT_EQ(loss["better"], "min");
  EXPECT_LE(loss["runs"][0]["best"]["value"], loss["runs"][1]["best"]["value"]);
  bool rate = false;
  for (const auto& key : json["manifest"])
    if (key["key"] == "optimizer.learning_rate") rate = key["values"] == nlohmann::json({"0.01", "0.02"});
  EXPECT_TRUE(rate) << json["manifest"];
  EXPECT_THAT(belay({"compare", run_dir(), other(), "--metric", "lo.s"}).out, HasSubstr("\nloss  "));
  EXPECT_THAT(belay({"compare", run_dir(), other(), "--metric", "oss"}).out, HasSubstr("\nno metric to compare\n"));
}

TEST_F(ReportTest, RunsThatDifferInTheirSeedAreComparedByMeanAndDeviation) {
  std::vector<std::string> words = {"compare"};
  for (const char* seed : {"1", "2", "3"}) {
    words.push_back(temp / (std::string("seed") + seed));
    const ProcessResult r = belay(
        {"run", regression("", "", 10), "--set", "run.dir=" + words.back(), "--set", std::string("run.seed=") + seed});
    ASSERT_EQ(r.status, 0) << r.err;
  }
  EXPECT_THAT(belay(words).out, ContainsRegex("\n3 runs that differ in run.seed: .*seed1, .*seed2, .*seed3\n"
                                              "metric +best, mean +deviation +last, mean +deviation +runs\n"
                                              "loss +[0-9.e-]+ +[0-9.e-]+ +[0-9.e-]+ +[0-9.e-]+ +3\n"));
  words.push_back("--json");
  const auto json = nlohmann::json::parse(belay(words).out, nullptr, false);
  ASSERT_TRUE(json.is_object());
  ASSERT_EQ(json["repeated"].size(), 1u);
  EXPECT_EQ(json["repeated"][0]["keys"], nlohmann::json{"run.seed"});
  EXPECT_EQ(json["repeated"][0]["runs"].size(), 3u);
  EXPECT_EQ(json["repeated"][0]["metrics"][0]["last"]["runs"], 3);
}

TEST_F(ReportTest, AReportAboutSeveralRunsNamesEach) {
  train_another();
  const ProcessResult r = belay({"report", run_dir(), other(), "--output", temp / "both.html"});
  EXPECT_EQ(r.status, 0) << r.err;
  const std::string html = contents(temp / "both.html");
  EXPECT_THAT(html, HasSubstr("<h1>2 runs</h1>"));
  EXPECT_THAT(html, HasSubstr("</span>" + other() + ": best "));
}

TEST_F(ReportTest, AGraphIsSummedUpByLayersAndDrawn) {
  const ProcessResult text = belay({"graph", regression()});
  EXPECT_THAT(text.out, ContainsRegex("\n  layer +operations +output +parameters +FLOPs\n"));
  EXPECT_THAT(text.out, ContainsRegex("\n  all +[0-9]+ +[0-9.]+\n"));
  const auto json = nlohmann::json::parse(belay({"graph", regression(), "--json"}).out, nullptr, false);
  std::int64_t parameters = 0;
  for (const auto& layer : json.at("layers")) parameters += layer.at("parameters").get<std::int64_t>();
  EXPECT_EQ(parameters, json.at("trainable_parameters"));
  const ProcessResult dot = belay({"graph", regression(), "--dot"});
  EXPECT_EQ(dot.status, 0) << dot.err;
  EXPECT_THAT(dot.out, ContainsRegex("^digraph \".*train.toml\" \\{\n(.*\n)*  n0 -> n1\n"));
  EXPECT_THAT(belay({"graph", regression(), "--dot", "--nodes"}).out, HasSubstr("ApplyGradientDescent"));
  EXPECT_THAT(belay({"graph", regression(), "--svg"}).out, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
  EXPECT_EQ(listing(temp.path()), std::vector<std::string>{"train.toml"});
}

}  // namespace
}  // namespace belay::runtime::testing
