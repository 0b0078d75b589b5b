// SPDX-License-Identifier: Apache-2.0
// The log of a run for people, its end by a signal or a time limit, and its short runs.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

using Names = std::vector<std::string>;

class LogTest : public RunTest {
 protected:
  // The lines of `text` from the one with `headline` on that are rows of its block, without their times.
  static Names rows_below(const std::string& text, const std::string& headline) {
    Names rows;
    bool inside = false;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (inside && line.rfind("info   ", 0) != 0) break;
      if (inside) rows.push_back(line.substr(7));
      inside = inside || line.find(headline) != std::string::npos;
    }
    return rows;
  }
  static std::vector<nlohmann::json> objects(const std::string& text) {
    std::vector<nlohmann::json> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
};

TEST_F(LogTest, OffATerminalARunIsABlockAtTheStartProgressAndABlockAtTheEnd) {
  const std::string manifest = regression();
  const ProcessResult r = belay({"run", manifest});
  ASSERT_EQ(r.status, 0) << r.err;
  const std::string said = told(r);
  EXPECT_THAT(said, HasSubstr("info attempt 1: a new training, to step 50\n"));
  const Names begin = rows_below(said, "attempt 1: ");
  ASSERT_THAT(begin, SizeIs(6)) << said;
  EXPECT_EQ(begin[0], "model       linear, 5 trainable parameters in 2 variables");
  EXPECT_EQ(begin[1], "data        numbers, 1000 examples, batches of 16, 63 an epoch");
  EXPECT_EQ(begin[2], "optimizer   sgd, learning rate 0.01");
  EXPECT_THAT(begin[3], MatchesRegex("machine     1 thread, x86-64-v[234], seed 42"));
  EXPECT_THAT(begin[4],
              MatchesRegex("disk        a checkpoint takes [0-9]+ bytes, 5 are kept: [0-9]+ bytes; .* are free"));
  EXPECT_EQ(begin[5], "memory      saving takes 32 bytes more, for a copy of the variables");
  const Names lines = lines_with(said, " progress: step ");
  EXPECT_THAT(lines, SizeIs(11));
  for (const std::string& line : lines) {
    EXPECT_THAT(line, HasSubstr(", loss "));
    EXPECT_THAT(line, HasSubstr(" (average "));
    EXPECT_THAT(line, HasSubstr(", mean_absolute_error "));
    EXPECT_THAT(line, HasSubstr(", learning_rate 0.01"));
  }
  EXPECT_THAT(lines.back(), StartsWith("info progress: step 50/50 (100%), "));
  const Names end = rows_below(said, "ended at step 50 (50 steps in ");
  ASSERT_GE(end.size(), 3u) << said;
  EXPECT_THAT(end[0], MatchesRegex("speed       [0-9.e+]+ steps/s, saving and evaluations included"));
  EXPECT_EQ(end[end.size() - 2],
            "next start  trains no further: raise [run] max_steps above 50, or give --from-scratch");
  EXPECT_EQ(end.back(), "try         belay report DIR/run") << "there is nothing to evaluate or to predict on";
  EXPECT_THAT(r.err, MatchesRegex("([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3} info .*\n)+"));
}

// Each command of the line, given to a shell, works as described.
TEST_F(LogTest, T_121_WhatTheEndSuggestsWorksAsItIsPasted) {
  const std::string dir = temp / "a 'b";
  const std::string manifest = regression("", "[input.eval]\nplugin = \"numbers\"\nepochs = 1\nexamples = 64\n");
  const ProcessResult run = belay({"run", manifest, "--set", "run.dir=\"" + dir + "\"", "--set", "run.max_steps=7"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Names end = rows_below(told(run), "ended at step 7");
  ASSERT_FALSE(end.empty());
  EXPECT_EQ(end.back(),
            "try         belay evaluate DIR/train.toml --set 'run.dir=\"DIR/a '\\''b\"' --set run.max_steps=7; "
            "belay predict DIR/train.toml --set 'run.dir=\"DIR/a '\\''b\"' --set run.max_steps=7; "
            "belay report 'DIR/a '\\''b'");
  const std::string line = replaced(end.back().substr(end.back().find("belay")), "DIR", temp.path());
  write_file(temp / "line.sh", "set -e\nexport BELAY_PLUGIN_PATH=" + tested_plugins() + "\nbelay() { " +
                                   tested_belay() + " \"$@\"; }\n" + line + "\n");
  const std::string shell = "/bin/sh " + (temp / "line.sh") + " > " + (temp / "said") + " 2>&1 < /dev/null";
  EXPECT_EQ(std::system(shell.c_str()), 0) << contents(temp / "said");
  EXPECT_THAT(contents(temp / "said"), HasSubstr("eval at step 7 on 64 examples"));
}

TEST_F(LogTest, T_121_APredictionThatWouldNotEndIsNotSuggested) {
  const std::string endless = "[input.eval]\nplugin = \"numbers\"\n[eval]\nbatches = 2\n";
  const ProcessResult run = belay({"run", regression("", endless)});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(rows_below(told(run), "ended at step 50").back(),
            "try         belay evaluate DIR/train.toml; belay report DIR/run");
}

TEST_F(LogTest, AResumedRunSaysFromWhatAndHowOld) {
  ASSERT_EQ(belay({"run", regression()}).status, 0);
  const std::string said = told(belay({"run", regression("", "", 60)}));
  EXPECT_THAT(lines_with(said, "info attempt 2: continues from model.ckpt-50, "), SizeIs(1)) << said;
  EXPECT_THAT(said, HasSubstr(" s old, to step 60\n"));
}

TEST_F(LogTest, TheExampleOfDigitsHasTwoBlocksAndAtMostTwelveLinesOfProgress) {
  const ProcessResult r =
      belay({"run", std::string(BELAY_SOURCE_DIR) + "/examples/digits.toml", "--set", "run.dir='" + run_dir() + "'",
             "--set", "run.max_steps=100", "--set", "input.eval.examples=500"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Names lines = lines_with(r.err, " progress: step ");
  EXPECT_LE(lines.size(), 12u) << r.err;
  for (const std::string& line : lines) EXPECT_THAT(line, HasSubstr(", loss ")) << line;
  EXPECT_THAT(lines.back(), HasSubstr(" examples/s"));
  EXPECT_THAT(lines_with(r.err, "info attempt 1: "), SizeIs(1));
  EXPECT_THAT(lines_with(r.err, "info ended at step 100 "), SizeIs(1));
}

TEST_F(LogTest, WithFieldsTheNumbersOfALogAreNumbers) {
  const ProcessResult r = belay({"run", regression(), "--log-format=json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const std::vector<nlohmann::json> all = objects(r.err);
  nlohmann::json begin, last, end;
  for (const nlohmann::json& line : all) {
    if (line.value("event", "") == "begin") begin = line;
    if (line.value("event", "") == "end") end = line;
    if (line["source"] == "progress") last = line;
  }
  EXPECT_EQ(begin["attempt"], 1);
  EXPECT_EQ(begin["parameters"], 5);
  EXPECT_EQ(begin["batch_size"], 16);
  EXPECT_EQ(begin["message"], "attempt 1: a new training, to step 50") << "the rows are fields";
  EXPECT_EQ(last["step"], 50);
  EXPECT_EQ(last["max_steps"], 50);
  EXPECT_TRUE(last["loss"].is_number() && last["loss_average"].is_number() && last["learning_rate"].is_number())
      << last;
  EXPECT_EQ(end["step"], 50);
  EXPECT_EQ(end["reason"], "stop_at_step: reached step 50 (last_step = 50)");
  EXPECT_EQ(end["checkpoint"], run_dir() + "/model.ckpt-50");
  EXPECT_TRUE(end["steps_per_sec"].is_number());
}

// Also of a start that has nothing to train and prints what was found before.
TEST_F(LogTest, WithFieldsAnEvaluationIsThereOnce) {
  const std::string input = "[input.eval]\nplugin = \"numbers\"\nexamples = 64\nepochs = 1\n";
  for (const std::string between : {"", "[eval]\nevery_steps = 20\n"}) {
    std::filesystem::remove_all(run_dir());
    for (int start = 0; start < 2; ++start) {
      const ProcessResult r = belay({"run", regression("", input + between), "--log-format=json"});
      ASSERT_EQ(r.status, 0) << r.err;
      int found = 0;
      for (const nlohmann::json& line : objects(r.err))
        if (line.value("event", "") == "evaluation" && line.at("step") == 50) {
          ++found;
          EXPECT_TRUE(line.at("eval/loss").is_number());
        }
      EXPECT_EQ(found, 1) << between << r.err;
    }
  }
}

TEST_F(LogTest, AQuietRunSaysNothingAndAColouredOneIsColoured) {
  EXPECT_EQ(belay({"run", regression(), "-q"}).err, "");
  const ProcessResult coloured = belay({"run", regression("", "", 60), "--color=always"});
  EXPECT_THAT(coloured.err, HasSubstr(" \x1b[32minfo\x1b[0m "));
}

TEST_F(LogTest, BehindAnErrorALineSaysWhatIsSavedAndWhatTheNextStartGoesOnFrom) {
  const std::string saves = "[checkpoint]\nsave_steps = 2\nsave = \"sync\"\n[[hooks]]\nplugin = \"trouble\"\n";
  const std::string thrown = told(belay({"run", regression("", saves + "throw_at_step = 6\n")}));
  EXPECT_THAT(thrown,
              EndsWith("\ninfo saved is DIR/run/model.ckpt-6, from which the next start continues; 1 step is lost\n"));
  std::filesystem::remove_all(run_dir());
  const std::string diverged =
      told(belay({"run", regression("nan_at_batch = 5\n", "[checkpoint]\nsave = \"sync\"\n")}));
  EXPECT_THAT(lines_with(diverged, "error[B5043]: training ended with an error: "), SizeIs(1));
  EXPECT_THAT(diverged,
              EndsWith("\ninfo saved is DIR/run/model.ckpt-0, from which the next start continues; 6 steps are lost\n"
                       "info find the first value that is not finite with: belay replay DIR/run --first-non-finite\n"));
}

TEST_F(LogTest, TheNextStartGoesOnFromTheLastCheckpointThatWasWritten) {
  ASSERT_EQ(belay({"run", regression("", "", 20)}).status, 0);
  write_file(run_dir() + "/model.ckpt-50", "in the way");
  const ProcessResult r = belay({"run", regression()});
  EXPECT_EQ(r.status, 7) << r.err;
  EXPECT_THAT(lines_with(r.err, "next start  continues from model.ckpt-20"), SizeIs(1)) << r.err;
}

TEST_F(LogTest, T_131_TheEndSaysWhichStepsAreNotSaved) {
  const std::string unsaved = "  not saved   the last ";
  ASSERT_THAT(lines_with(belay({"run", regression("", "", 20)}).err, unsaved), SizeIs(0));
  write_file(run_dir() + "/model.ckpt-50", "in the way");
  const ProcessResult r = belay({"run", regression()});
  EXPECT_EQ(r.status, 7) << r.err;
  EXPECT_THAT(lines_with(r.err, unsaved + "30 steps: the newest checkpoint is of step 20"), SizeIs(1)) << r.err;
}

TEST_F(LogTest, WhereTheInputEndedTheNextStartTrainsNoFurther) {
  const ProcessResult r = belay({"run", regression("examples = 64\nepochs = 1\n")});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(lines_with(r.err, "next start  trains no further unless the input has more: raise its epochs"), SizeIs(1))
      << r.err;
}

// The next start does as the end announced.
TEST_F(LogTest, WhereAHookEndedTheRunTheNextStartDoesWhatTheEndSays) {
  const struct {
    const char* hook;
    const char* expected;
  } cases[] = {
      {"plugin = \"threshold_stop\"\ntarget = 1e6\nevery_n_steps = 1",
       "unless threshold_stop is changed: its state is"},
      {"plugin = \"threshold_stop\"\nname = \"goal\"\ntarget = 1e6\nevery_n_steps = 1", "unless goal is changed: its"},
      {"plugin = \"time_limit\"\nseconds = 0.001", "unless time_limit is changed: its state is saved; or give"},
      {"plugin = \"limit_batches\"\nbatches = 3\ncount_earlier_attempts = true", "unless limit_batches is changed"},
      {"plugin = \"stop_file\"\nfile_name = \"finished.txt\"\nremove = false", "as long as what stop_file looks for"},
      {"plugin = \"stop_file\"\nfile_name = \"finished.txt\"", ""},
      {"plugin = \"limit_batches\"\nbatches = 3", ""},
      {"plugin = \"time_limit\"\nseconds = 0.001\ncount_earlier_attempts = false", ""},
  };
  for (const auto& c : cases) {
    std::filesystem::remove_all(run_dir());
    std::filesystem::create_directory(run_dir());
    write_file(run_dir() + "/finished.txt", "");
    const std::string manifest = regression("", "[[hooks]]\n" + std::string(c.hook) + "\n", 100'000);
    const ProcessResult first = belay({"run", manifest});
    ASSERT_EQ(first.status, 0) << first.err;
    const bool stops_again = *c.expected != '\0';
    EXPECT_THAT(lines_with(first.err, stops_again ? "  next start  trains no further " + std::string(c.expected)
                                                  : std::string("  next start  continues from model.ckpt-")),
                SizeIs(1))
        << first.err;
    const ProcessResult second = belay({"run", manifest});
    ASSERT_EQ(second.status, 0) << second.err;
    EXPECT_EQ(second.err.find(" (0 steps in ") != std::string::npos, stops_again) << second.err;
  }
}

TEST_F(LogTest, TheEndSaysWhatTheTimeWentInto) {
  const auto end_of = [&](const std::string& input, const std::string& tables) {
    const ProcessResult r = belay({"run", regression(input, tables, 60), "--from-scratch", "--log-format=json"});
    EXPECT_EQ(r.status, 0) << r.err;
    for (const nlohmann::json& line : objects(r.err))
      if (line.value("event", "") == "end") return line;
    return nlohmann::json();
  };
  const nlohmann::json waited = end_of("delay_secs = 0.02\n", "");
  EXPECT_GT(waited.at("time_shares").at("input_wait"), 0.5) << waited;
  const std::string dawdles = "[[hooks]]\nplugin = \"trouble\"\nname = \"slow\"\ndawdle_in = \"after_run\"\n";
  const nlohmann::json held_up = end_of("", dawdles + "dawdle_secs = 0.02\ndawdle_each = true\n");
  EXPECT_GT(held_up.at("time_shares").at("hooks"), 0.5) << held_up;
  EXPECT_EQ(held_up.at("slowest_hook"), "slow");
  const ProcessResult events = belay({"events", run_dir(), "--tag", "time/hooks/slow", "--csv"});
  EXPECT_THAT(lines_with(events.out, "time/hooks/slow"), SizeIs(1)) << events.out;
}

// The time is looked at every ten seconds. The runs are beside each other, and sleep.
TEST_F(LogTest, WhatSlowsARunDownIsSaidOnceWhileItTrains) {
  const auto manifest = [&](const std::string& name, const std::string& input, const std::string& tables) {
    const std::string path = temp / (name + ".toml");
    write_file(path, contents(regression(input, tables, 100'000)));
    return std::vector<std::string>{"run", path, "--set", "run.dir=" + (temp / name), "--max-time=22s"};
  };
  BelayProcess input(manifest("input", "delay_secs = 0.05\n", ""));
  BelayProcess hook(manifest("hook", "",
                             "[[hooks]]\nplugin = \"trouble\"\nname = \"slow\"\ndawdle_in = \"after_run\"\n"
                             "dawdle_secs = 0.05\ndawdle_each = true\n"));
  // A sanitizer's runtime cannot come after a preloaded library.
  if (!sanitized()) {
    BelayProcess disk(manifest("saves", "", "[checkpoint]\nsave_steps = 1\nsave = \"sync\"\n"),
                      {"LD_PRELOAD=" BELAY_SLOW_DISK});
    const ProcessResult saved = disk.wait();
    EXPECT_EQ(saved.status, 0) << saved.err;
    EXPECT_THAT(lines_with(saved.err, "warning the training waits for its checkpoints "), SizeIs(1)) << saved.err;
  }
  const ProcessResult waited = input.wait();
  EXPECT_EQ(waited.status, 0) << waited.err;
  EXPECT_THAT(lines_with(waited.err, "warning the training waits for its input "), SizeIs(1)) << waited.err;
  const ProcessResult held_up = hook.wait();
  EXPECT_EQ(held_up.status, 0) << held_up.err;
  EXPECT_THAT(lines_with(held_up.err, "warning the hook \"slow\" takes "), SizeIs(1)) << held_up.err;
}

TEST_F(LogTest, ASignalIsAcknowledgedWhileTheStepGoesOn) {
  BelayProcess run({"run", regression("",
                                      "[[hooks]]\nplugin = \"logging_tensor\"\ntensors = [\"global_step\"]\n"
                                      "every_n_iter = 1\n[[hooks]]\nplugin = \"trouble\"\nhang_at_step = 3\n")});
  ASSERT_TRUE(run.wait_for("global_step = 3")) << run.wait().err;
  run.kill(SIGTERM);
  EXPECT_TRUE(run.wait_for("info SIGTERM: the run ends after this step and saves; a second signal ends it at once"));
  run.kill(SIGTERM);
  EXPECT_EQ(run.wait().signal, SIGTERM);
}

TEST_F(LogTest, ATimeBoxSavesAndEndsWithTheStatusThatWasAskedFor) {
  for (const int status : {0, 75}) {
    const std::string input = "delay_secs = 0.01\n", eval = "[input.eval]\nplugin = \"numbers\"\nepochs = 1\n";
    const ProcessResult r =
        belay({"run", regression(input, eval, 100000), "--max-time=1s", "--requeue-status=" + std::to_string(status)});
    EXPECT_EQ(r.status, status) << r.err;
    EXPECT_EQ(r.out, "") << "no evaluation follows";
    const Names ended = lines_with(r.err, "info ended at step ");
    ASSERT_THAT(ended, SizeIs(1)) << r.err;
    EXPECT_THAT(ended[0], HasSubstr(": --max-time is over; last checkpoint "));
    const int step = std::stoi(ended[0].substr(ended[0].find("step ") + 5));
    EXPECT_FALSE(weights(run_dir(), step).empty());
    EXPECT_THAT(lines_with(r.err, "  next start  continues from model.ckpt-" + std::to_string(step)), SizeIs(1))
        << r.err;
    EXPECT_FALSE(std::filesystem::exists(run_dir() + "/finished"));
  }
}

TEST_F(LogTest, ATimeBoxEndsAWaitForTheInput) {
  const ProcessResult r = belay({"run", regression("hang_at_batch = 5\n", "[session]\nstop_grace_period_secs = 0.2\n"),
                                 "--max-time=1s", "--requeue-status=75"});
  EXPECT_EQ(r.status, 75) << r.err;
}

TEST_F(LogTest, AShortRunKeepsNothing) {
  const std::string manifest = regression("", "", 100000);
  ::setenv("TMPDIR", temp.path().c_str(), 1);
  const ProcessResult r = belay({"run", manifest, "--short", "5"});
  ::unsetenv("TMPDIR");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(lines_with(r.err, "info ended at step 5 "), SizeIs(1)) << r.err;
  EXPECT_THAT(told(r), Not(HasSubstr("  next start  ")));
  EXPECT_THAT(told(r), Not(HasSubstr("; last checkpoint ")));
  EXPECT_THAT(lines_with(r.err, "  kept        nothing: --short removes its directory"), SizeIs(1)) << r.err;
  EXPECT_EQ(listing(temp.path()), Names{"train.toml"});
}

// Between two steps and at the end; a manifest that wants fewer batches has them.
TEST_F(LogTest, AShortRunEvaluatesNoMoreBatchesThanItTrains) {
  const std::string eval = "[input.eval]\nplugin = \"numbers\"\nexamples = 1600\nepochs = 1\n[eval]\nevery_steps = 2\n";
  for (const auto& [more, examples] : {std::pair("", "48"), std::pair("batches = 2\n", "32")}) {
    const ProcessResult r = belay({"run", regression("", eval + more, 100000), "--short", "3"});
    EXPECT_EQ(r.status, 0) << r.err;
    for (const char* step : {"2", "3"}) EXPECT_THAT(r.err, HasSubstr("eval: step " + std::string(step) + ": "));
    EXPECT_THAT(lines_with(r.err, " (" + std::string(examples) + " examples in "), SizeIs(2)) << r.err;
    EXPECT_THAT(r.out, HasSubstr("eval at step 3 on " + std::string(examples) + " examples: "));
  }
}

TEST_F(LogTest, AShortRunThatFailsNamesNoCheckpointToGoOnFrom) {
  const ProcessResult r = belay({"run", regression("nan_at_batch = 3\n"), "--short", "5"});
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_THAT(r.err, Not(HasSubstr("the next start continues")));
}

TEST_F(LogTest, AShortRunKeepsNothingWhereASignalEndsIt) {
  for (const int signals : {1, 2}) {
    const std::string manifest = regression("delay_secs = 0.01\n", "", 100000);
    ::setenv("TMPDIR", temp.path().c_str(), 1);
    BelayProcess run({"run", manifest, "--short", "100000"});
    ::unsetenv("TMPDIR");
    ASSERT_TRUE(run.wait_for("saved ")) << run.wait().err;
    EXPECT_EQ(listing(temp.path()).size(), 2u);
    for (int i = 0; i < signals; ++i) run.kill(SIGTERM);
    EXPECT_EQ(run.wait().signal, SIGTERM);
    EXPECT_EQ(listing(temp.path()), Names{"train.toml"}) << signals << " signals";
  }
}

}  // namespace
}  // namespace belay::runtime::testing
