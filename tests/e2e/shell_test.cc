// SPDX-License-Identifier: Apache-2.0
// Completion and the manual page.
#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Shell : public RunTest {
 protected:
  // The completions that are offered for the last of the words.
  static std::vector<std::string> offered(std::vector<std::string> words) {
    words.insert(words.begin(), {"complete", std::to_string(words.size()), "belay"});
    std::vector<std::string> lines;
    const ProcessResult r = belay(words);
    std::istringstream text(r.out);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  // The completions of bash itself, for a line that is typed up to its end.
  std::string in_bash(const std::string& line) {
    write_file(temp / "line.sh", "source " BELAY_SOURCE_DIR "/cmake/shell/belay.bash\nPATH=" BELAY_BINARY_DIR
                                 "/bin:$PATH\nexport BELAY_PLUGIN_PATH=" +
                                     tested_build() + "/plugins\nCOMP_LINE='" + line +
                                     "'\nCOMP_POINT=${#COMP_LINE}\n_belay\n"
                                     "for c in \"${COMPREPLY[@]}\"; do printf '%s,' \"$c\"; done > " +
                                     (temp / "out"));
    EXPECT_EQ(std::system(("bash " + (temp / "line.sh")).c_str()), 0);
    return contents(temp / "out");
  }
  // The line that zsh makes of a typed one with a Tab after it, in the test's folder.
  std::string in_zsh(const std::string& line) {
    const std::string command = "cd " + temp.path() + " && BELAY_PLUGIN_PATH=" + tested_build() +
                                "/plugins PATH=" BELAY_BINARY_DIR "/bin:$PATH timeout 60 zsh -f " BELAY_SOURCE_DIR
                                "/tests/e2e/complete.zsh " BELAY_SOURCE_DIR "/cmake/shell '" +
                                line + "' out";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return contents(temp / "out");
  }
};

// As README has it: nothing but the program of a build.
TEST_F(Shell, TheProgramOfABuildFindsItsPlugins) {
  const std::string out = temp / "out", command = "env -i HOME=/nonexistent " + tested_belay() + " plugins >" + out;
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_THAT(contents(out), HasSubstr(" mlp "));
}

TEST_F(Shell, CommandsOptionsAndTheirValuesAreOffered) {
  EXPECT_THAT(offered({"ch"}), ElementsAre("check", "checkpoint"));
  EXPECT_THAT(offered({"run", "m.toml", "--dr"}), ElementsAre("--dry-run"));
  EXPECT_THAT(offered({"run", "--log-format", ""}), ElementsAre("json", "text"));
  EXPECT_THAT(offered({"checkpoint", "v"}), ElementsAre("verify"));
  EXPECT_THAT(offered({"new", "sche"}), ElementsAre("schedule"));
  EXPECT_THAT(offered({"help", "exit"}), ElementsAre("exit-codes", "exit-statuses"));
  EXPECT_THAT(offered({"run", "m"}), ElementsAre()) << "a file";
}

TEST_F(Shell, KeysBehindSetAndNamesOfPluginsAreOffered) {
  EXPECT_THAT(offered({"run", "--set", "run.max"}), ElementsAre("run.max_steps="));
  EXPECT_THAT(offered({"run", "--set", "optimizer.learning_rate.sch"}),
              ElementsAre("optimizer.learning_rate.schedule="));
  EXPECT_THAT(offered({"run", "--set", "model.plugin=ml"}), ElementsAre("model.plugin=mlp"));
  EXPECT_THAT(offered({"describe", "early_st"}), ElementsAre("early_stopping"));
  EXPECT_THAT(offered({"describe", "hook:early_st"}), ElementsAre("hook:early_stopping"));
  EXPECT_THAT(offered({"replay", "run", "--hook", "early_st"}), ElementsAre("early_stopping"));
  EXPECT_THAT(offered({"checkpoint", "convert", "--saver", "safet"}), ElementsAre("safetensors"));
}

TEST_F(Shell, WordsThatAKeyOrAnOptionMayBeAreOffered) {
  EXPECT_THAT(offered({"run", "--set", "checkpoint.save="}),
              ElementsAre("checkpoint.save=async", "checkpoint.save=sync"));
  EXPECT_THAT(offered({"run", "--set", "eval.at_start="}), ElementsAre("eval.at_start=false", "eval.at_start=true"));
  EXPECT_THAT(offered({"run", "--set", "run.seed="}), ElementsAre());
  EXPECT_THAT(offered({"run", "--log-format=j"}), ElementsAre("--log-format=json"));
  EXPECT_THAT(offered({"predict", "--output="}), ElementsAre()) << "a file";
}

TEST_F(Shell, OptionsOfThePluginsThatTheManifestNamesAreOffered) {
  const std::string manifest = temp / "m.toml";
  write_file(manifest,
             "[input.train]\nplugin = \"digits\"\n[model]\nplugin = \"mlp\"\n[optimizer]\nname = \"adam\"\n"
             "[[hooks]]\nplugin = \"early_stopping\"\n");
  EXPECT_THAT(offered({"run", manifest, "--set", "model.hid"}), ElementsAre("model.hidden="));
  EXPECT_THAT(offered({"run", manifest, "--set", "input.train.spl"}), ElementsAre("input.train.split="));
  EXPECT_THAT(offered({"run", manifest, "--set", "input.train.split="}),
              ElementsAre("input.train.split=eval", "input.train.split=train"));
  EXPECT_THAT(offered({"run", manifest, "--set", "optimizer.bet"}),
              ElementsAre("optimizer.beta1=", "optimizer.beta2="));
  EXPECT_THAT(offered({"run", manifest, "--set", "hooks.0.min"}), ElementsAre("hooks.0.min_delta="));
  EXPECT_THAT(offered({"run", manifest, "--set", "cluster.time"}), ElementsAre("cluster.timeout_secs="));
  EXPECT_THAT(offered({"run", manifest, "--set", "model.plugin=cnn", "--set", "model.filt"}),
              ElementsAre("model.filters="));
  EXPECT_THAT(offered({"run", temp / "none.toml", "--set", "model.hid"}), ElementsAre());
  write_file(manifest, "[model]\nplugin = \n");
  EXPECT_THAT(offered({"run", manifest, "--set", "run.max"}), ElementsAre("run.max_steps="));
}

TEST_F(Shell, WhatIsNoCommandLineHasNoCompletion) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"complete"},
                                               {"complete", "x"},
                                               {"complete", "0", "belay"},
                                               {"complete", "3", "belay"}}) {
    const ProcessResult r = belay(args);
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(r.out + r.err, "");
  }
}

TEST_F(Shell, BashGetsWhatItCompletesBehindTheLastEqualsSign) {
  EXPECT_EQ(in_bash("belay ch"), "check,checkpoint,");
  EXPECT_EQ(in_bash("belay run --set run.max"), "run.max_steps=,");
  EXPECT_EQ(in_bash("belay run --set checkpoint.save="), "async,sync,");
  EXPECT_EQ(in_bash("belay run --set run.seed="), "");
  EXPECT_EQ(in_bash("belay run --log-format=j"), "json,");
  EXPECT_EQ(in_bash("belay describe hook:early_st"), "early_stopping,");
  EXPECT_EQ(in_bash("belay run --log-format "), "json,text,");
}

TEST_F(Shell, ZshGetsTheSameAndFilesBehindAnEqualsSign) {
  if (std::system("command -v zsh > /dev/null") != 0) GTEST_SKIP() << "SKIPPED: zsh is not installed";
  write_file(temp / "data.csv", "");
  EXPECT_EQ(in_zsh("belay run --log-format=j"), "belay run --log-format=json ");
  EXPECT_EQ(in_zsh("belay run --set run.max"), "belay run --set run.max_steps=") << "the value follows";
  EXPECT_EQ(in_zsh("belay run --set model.plugin=ml"), "belay run --set model.plugin=mlp ");
  EXPECT_EQ(in_zsh("belay describe hook:early_st"), "belay describe hook:early_stopping ");
  EXPECT_EQ(in_zsh("belay run --set input.train.path=da"), "belay run --set input.train.path=data.csv ");
}

TEST_F(Shell, TheManualPageHasEachCommandOptionAndExitStatus) {
  const std::string page = belay({"man"}).out;
  EXPECT_THAT(page, AllOf(HasSubstr(".TH BELAY 1"), HasSubstr(".B belay run MANIFEST.toml..."),
                          HasSubstr(".B \\-\\-log\\-format text|json"), HasSubstr(".B 124\n"),
                          HasSubstr(".B BELAY_PLUGIN_PATH\n"), Not(HasSubstr("`"))));
  if (std::system("command -v man > /dev/null && command -v groff > /dev/null") != 0)
    GTEST_SKIP() << "SKIPPED: man and groff are not installed, so the page is not read as they do";
  write_file(temp / "belay.1", page);
  EXPECT_EQ(std::system(("man --warnings -l " + (temp / "belay.1") + " > /dev/null 2> " + (temp / "warnings")).c_str()),
            0);
  EXPECT_EQ(contents(temp / "warnings"), "");
}

}  // namespace
}  // namespace belay::runtime::testing
