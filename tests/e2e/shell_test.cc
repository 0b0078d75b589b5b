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
  // What is offered for the last of the words.
  static std::vector<std::string> offered(std::vector<std::string> words) {
    words.insert(words.begin(), {"complete", std::to_string(words.size()), "belay"});
    std::vector<std::string> lines;
    const ProcessResult r = belay(words);
    std::istringstream text(r.out);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  // Of bash itself, for a line that is typed up to its end.
  std::string in_bash(const std::string& line) {
    write_file(temp / "line.sh", "source " BELAY_SOURCE_DIR "/cmake/shell/belay.bash\nPATH=" BELAY_BINARY_DIR
                                 "/bin:$PATH\nCOMP_LINE='" +
                                     line +
                                     "'\nCOMP_POINT=${#COMP_LINE}\n_belay\n"
                                     "for c in \"${COMPREPLY[@]}\"; do printf '%s,' \"$c\"; done > " +
                                     (temp / "out"));
    EXPECT_EQ(std::system(("bash " + (temp / "line.sh")).c_str()), 0);
    return contents(temp / "out");
  }
};

TEST_F(Shell, CommandsOptionsAndTheirValuesAreOffered) {
  EXPECT_THAT(offered({"ch"}), ElementsAre("check", "checkpoint"));
  EXPECT_THAT(offered({"run", "m.toml", "--dr"}), ElementsAre("--dry-run"));
  EXPECT_THAT(offered({"run", "--log-format", ""}), ElementsAre("json", "text"));
  EXPECT_THAT(offered({"checkpoint", "v"}), ElementsAre("verify"));
  EXPECT_THAT(offered({"new", "sche"}), ElementsAre("schedule"));
  EXPECT_THAT(offered({"help", "exit"}), ElementsAre("exit-statuses"));
  EXPECT_THAT(offered({"run", "m"}), ElementsAre()) << "a file";
}

TEST_F(Shell, KeysBehindSetAndNamesOfPluginsAreOffered) {
  EXPECT_THAT(offered({"run", "--set", "run.max"}), ElementsAre("run.max_steps="));
  EXPECT_THAT(offered({"run", "--set", "optimizer.learning_rate.sch"}),
              ElementsAre("optimizer.learning_rate.schedule="));
  EXPECT_THAT(offered({"run", "--set", "model.plugin=ml"}), ElementsAre("model.plugin=mlp"));
  EXPECT_THAT(offered({"describe", "early_st"}), ElementsAre("early_stopping"));
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
  EXPECT_EQ(in_bash("belay run --set checkpoint.save="), "");
  EXPECT_EQ(in_bash("belay run --log-format "), "json,text,");
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
