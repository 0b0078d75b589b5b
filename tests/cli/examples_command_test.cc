// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/examples_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "runtime/cli/arguments/command.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExamplesCommandTest : public ::testing::Test {
 protected:
  int run(const std::vector<std::string>& names) {
    return examples_command(names, posix_file_system(), folder_.path(), out_);
  }
  std::string refused(const std::vector<std::string>& names) {
    try {
      run(names);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  }
  static std::string text(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> made() const { return posix_file_system().open_directory(folder_.path())->entries(); }

  TempDir folder_;
  std::ostringstream out_;
};

TEST_F(ExamplesCommandTest, ListsEachManifestOfTheFolder) {
  std::vector<std::string> there, known;
  for (const auto& entry : fs::directory_iterator(BELAY_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".toml") there.push_back(entry.path().stem());
  std::sort(there.begin(), there.end());
  for (const Example& e : examples()) known.emplace_back(e.name);
  EXPECT_THAT(known, ElementsAreArray(there));
  EXPECT_EQ(run({}), 0);
  for (const std::string& name : there) EXPECT_THAT(out_.str(), HasSubstr(name + " "));
  EXPECT_THAT(out_.str(), HasSubstr("  Handwritten-like digits, drawn while training\n"));
  EXPECT_THAT(out_.str(), HasSubstr("  Logistic regression on the iris flowers; needs ./dev data iris\n"));
}

TEST_F(ExamplesCommandTest, ThoseThatNeedNoDataComeFirst) {
  EXPECT_EQ(run({}), 0);
  std::istringstream lines(out_.str());
  std::vector<std::string> first;
  std::string line;
  while (std::getline(lines, line) && line.find("; needs ") == line.npos)
    first.push_back(line.substr(0, line.find(' ')));
  EXPECT_THAT(first, ElementsAreArray({"digits", "digits_autoencoder", "digits_mish", "digits_sequential"}));
  for (; !line.empty(); std::getline(lines, line)) EXPECT_THAT(line, HasSubstr("; needs "));
  EXPECT_THAT(out_.str(), HasSubstr("; needs data that its first lines name\n"));  // of no command of ./dev
}

TEST_F(ExamplesCommandTest, MakesTheManifestWithItsRunBesideIt) {
  EXPECT_EQ(run({"digits", "iris.toml", "digits"}), 0);
  EXPECT_THAT(made(), ElementsAreArray({"digits.toml", "iris.toml"}));
  EXPECT_EQ(out_.str(), "made digits.toml: belay run digits.toml\nmade iris.toml: belay run iris.toml\n");
  std::string expected = text(BELAY_SOURCE_DIR "/examples/digits.toml");
  const std::string there = "\"../runs/digits\"";
  ASSERT_NE(expected.find(there), expected.npos);
  expected.replace(expected.find(there), there.size(), "\"runs/digits\"");
  EXPECT_EQ(text(folder_ / "digits.toml"), expected);
}

TEST_F(ExamplesCommandTest, WhatIsThereIsNotOverwrittenAndNothingElseMade) {
  std::ofstream(folder_ / "iris.toml") << "mine";
  EXPECT_EQ(refused({"digits", "iris"}),
            "[B5007] belay examples: \"iris.toml\" is there already; move it away or remove it");
  EXPECT_EQ(text(folder_ / "iris.toml"), "mine");
  EXPECT_THAT(made(), ElementsAreArray({"iris.toml"}));
}

TEST_F(ExamplesCommandTest, AMisspeltNameLeadsToTheRightOne) {
  EXPECT_THAT(refused({"digit"}), HasSubstr("there is no example \"digit\" (did you mean \"digits\"?)"));
  EXPECT_THAT(made(), IsEmpty());
}

}  // namespace
}  // namespace belay::runtime
