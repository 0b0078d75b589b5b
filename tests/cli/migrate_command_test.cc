// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/migrate_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/loader/file/cpu_features.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

PluginSearch plugins_of_build(const std::vector<std::string>& manifest_path) {
  FilePolicy policy;
  std::vector<std::string> path = manifest_path;
  path.emplace_back(BELAY_BINARY_DIR "/plugins");
  return {plugin_search_path(path, process_environment()), policy, CpuFeatures()};
}

const std::string kRest = "[model]\nplugin = \"mlp\"\n[input.train]\nplugin = \"digits\"\n";

Migration migrated(const std::string& text, const std::vector<RenamedKey>& renamed = {}) {
  return migrate({"train.toml", text}, renamed, plugins_of_build, process_environment());
}

std::vector<std::string> changes_of(const Migration& migration) {
  std::vector<std::string> out;
  for (const Migration::Change& c : migration.changes)
    out.push_back(std::to_string(c.line) + ": " + c.was + " > " + c.is);
  return out;
}

TEST(Migrate, RenamedKeysAndSectionsAreExchangedAndNothingElse) {
  const std::vector<RenamedKey> renamed = {{"", "snapshots", "checkpoint"}, {"checkpoint", "every", "save_steps"}};
  const Migration m = migrated(
      "# every snapshot counts\r\nversion = 1\n[ snapshots ]  # snapshots\n  every=5 # every\n\"max_to_keep\" = 2\n" +
          kRest,
      renamed);
  EXPECT_EQ(m.text,
            "# every snapshot counts\r\nversion = 1\n[ checkpoint ]  # snapshots\n  save_steps=5 # every\n"
            "\"max_to_keep\" = 2\n" +
                kRest);
  EXPECT_THAT(changes_of(m), ::testing::ElementsAre("3: [snapshots] > [checkpoint]", "4: every > save_steps"));
  EXPECT_TRUE(m.left.empty()) << m.left.text();
}

TEST(Migrate, NamesOfOtherProgramsBecomeOurs) {
  const Migration m = migrated(
      "[trainer]\nmax-steps = 50 # lr\noutput_dir = \"x\"\n[data]\nplugin = \"digits\"\nminibatch = 32\n"
      "[network]\nplugin = \"mlp\"\n[optimizer]\nname = \"adam\"\nlr = 0.1\nmax_grad_norm = 1.0\n"
      "[[callbacks]]\nplugin = \"progress\"\n[[callbacks]]\nplugin = \"history\"\ntensors = [\"loss\"]\n");
  EXPECT_EQ(m.text,
            "[run]\nmax_steps = 50 # lr\ndir = \"x\"\n[input.train]\nplugin = \"digits\"\nbatch_size = 32\n"
            "[model]\nplugin = \"mlp\"\n[optimizer]\nname = \"adam\"\nlearning_rate = 0.1\nclip_norm = 1.0\n"
            "[[hooks]]\nplugin = \"progress\"\n[[hooks]]\nplugin = \"history\"\ntensors = [\"loss\"]\n");
  EXPECT_EQ(m.changes.size(), 10u);
  EXPECT_TRUE(m.left.empty()) << m.left.text();
}

TEST(Migrate, WhatIsRightStaysByteByByte) {
  const std::string text = "\xef\xbb\xbf# a comment\nversion = 1\n[run]\r\nmax_steps = 5\n\n" + kRest;
  const Migration m = migrated(text);
  EXPECT_EQ(m.text, text);
  EXPECT_THAT(m.changes, IsEmpty());
  EXPECT_TRUE(m.left.empty()) << m.left.text();
}

// The name alone does not decide these: the value is of another kind, both names are used, the plugin is not found, or
// it has an option of that name.
TEST(Migrate, WhatANameAloneDoesNotDecideIsLeftAndSaid) {
  const std::string text = "[session]\nverbose = true\n[optimizer]\nname = \"adam\"\nlr = 0.1\nlearning_rate = 0.2\n" +
                           kRest + "[[hooks]]\nplugin = \"no_such_hook\"\nnever = 1\n";
  const Migration m = migrated(text);
  EXPECT_EQ(m.text, text);
  EXPECT_THAT(m.changes, IsEmpty());
  EXPECT_THAT(m.left.text(), HasSubstr("train.toml:2:1: error[B1003]: unknown key \"verbose\" in [session]"));
}

TEST(Migrate, WhatIsDoneInAnotherWayHereIsNotDoneByANameAlone) {
  const std::string text = kRest + "[run]\nrun_name = \"first\"\nmin_epochs = 2\n[optimizer]\nweight_decay = 0.1\n" +
                           "[evaluation]\nplugin = \"digits\"\n";
  const Migration m = migrated(text);
  EXPECT_EQ(m.text, text);
  EXPECT_THAT(m.changes, IsEmpty());
}

TEST(Migrate, WhatIsLeftInThePluginsTablesIsSaidAsWell) {
  const Migration m = migrated(
      "[model]\nplugin = \"mlp\"\nhidden_units = [3]\n[input.train]\nplugin = \"digits\"\n"
      "[[hooks]]\nplugin = \"EarlyStopping\"\n");
  EXPECT_THAT(m.changes, IsEmpty());
  EXPECT_THAT(
      m.left.text(),
      ::testing::AllOf(HasSubstr("train.toml:3:1: error[B2030]: \"hidden_units\" is not an option of model \"mlp\""),
                       HasSubstr("help: did you mean \"hidden\"?"), HasSubstr("train.toml:7:10: error[B2025]: "),
                       HasSubstr("help: did you mean \"early_stopping\"?")));
}

TEST(Migrate, AnOptimizersOwnKeysAreKnownWhereItIsNotFound) {
  const Migration m = migrated(kRest + "[optimizer]\nname = \"AdamW\"\nlr = 0.1\n");
  EXPECT_THAT(changes_of(m), ::testing::ElementsAre("7: lr > learning_rate"));
  EXPECT_THAT(m.left.text(), HasSubstr("help: did you mean \"adamw\"?"));
}

TEST(Migrate, ALaterVersionAndWhatIsNoTomlAreLeft) {
  const Migration later = migrated("version = 2\n" + kRest);
  EXPECT_THAT(later.left.text(),
              StartsWith("train.toml:1:11: error[B1026]: this manifest is of version 2, and this belay"));
  EXPECT_EQ(migrated("[run\n").text, "[run\n");
  EXPECT_FALSE(migrated("[run\n").left.empty());
}

TEST(Migrate, NoNameOfOursIsTakenForARenamedOne) {
  for (const RenamedKey& r : renamed_keys())
    for (const SectionKeys& section : manifest_keys()) {
      if (section.section != r.section) continue;
      EXPECT_THAT(section.keys, ::testing::Not(::testing::Contains(r.was)));
    }
}

class MigrateCommandTest : public ::testing::Test {
 protected:
  int run(const std::string& output = "") {
    out_.str(""), err_.str("");
    return migrate_command({file_, output}, posix_file_system(), plugins_of_build, out_, err_);
  }
  void write(const std::string& text) const { std::ofstream(file_) << text; }
  static std::string read(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TempDir dir_;
  const std::string file_ = dir_ / "train.toml";
  std::ostringstream out_, err_;
};

TEST_F(MigrateCommandTest, WritesTheFileAndKeepsItAsItWas) {
  const std::string was = "[run]\nmaxsteps = 5  # few\n" + kRest, is = "[run]\nmax_steps = 5  # few\n" + kRest;
  write(was);
  EXPECT_EQ(run(), 0) << err_.str();
  EXPECT_EQ(read(file_), is);
  EXPECT_EQ(read(file_ + ".before"), was);
  EXPECT_EQ(out_.str(), "kept as it was: " + file_ + ".before\n" + file_ + ":2: maxsteps is now max_steps\n");

  EXPECT_EQ(run(), 0);
  EXPECT_EQ(out_.str(), file_ + ": there is nothing to migrate\n");

  write(was);
  EXPECT_THROW(run(), UsageError);  // the file of before is there
  EXPECT_EQ(read(file_), was);
}

TEST_F(MigrateCommandTest, WritesElsewhereAndToStdout) {
  write("[run]\nmaxsteps = 5\n" + kRest);
  EXPECT_EQ(run(dir_ / "new.toml"), 0);
  EXPECT_EQ(read(dir_ / "new.toml"), "[run]\nmax_steps = 5\n" + kRest);
  EXPECT_EQ(run("-"), 0);
  EXPECT_EQ(out_.str(), "[run]\nmax_steps = 5\n" + kRest);
  EXPECT_EQ(err_.str(), file_ + ":2: maxsteps is now max_steps\n");
  EXPECT_EQ(read(file_), "[run]\nmaxsteps = 5\n" + kRest);
  EXPECT_FALSE(posix_file_system().exists(file_ + ".before"));
}

TEST_F(MigrateCommandTest, WhatIsLeftIsStatus2) {
  write("[run]\nmaxsteps = 5\nnonsense = 1\n" + kRest);
  EXPECT_EQ(run(), 2);
  EXPECT_THAT(out_.str(), HasSubstr("maxsteps is now max_steps"));
  EXPECT_THAT(err_.str(), HasSubstr("train.toml:3:1: error[B1003]: unknown key \"nonsense\" in [run]"));
}

}  // namespace
}  // namespace belay::runtime
