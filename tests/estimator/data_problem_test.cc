// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/problems/data_problem.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

class DataProblem : public ::testing::Test {
 protected:
  DataProblem() {
    OptionInfo option;
    option.name = "path";
    option.type = OptionType::kPath;
    ResolvedPlugin& input = inputs_["train"];
    input.info.options = {option};
    input.options.add("path", OptionValue(path_), OptionType::kPath);
  }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  // With @ for the file's path.
  std::string shown(std::string message) {
    for (std::size_t at = 0; (at = message.find('@')) != message.npos;) message.replace(at, 1, path_);
    Diagnostics problems;
    const bool found = add_data_problems(inputs_, Error(Code::kDataLoss, message), problems);
    EXPECT_EQ(found, !problems.empty());
    std::string text = problems.text();
    for (std::size_t at = 0; (at = text.find(path_)) != text.npos;) text.replace(at, path_.size(), "@");
    return text;
  }

  TempDir temp_;
  const std::string path_ = temp_ / "data";
  std::map<std::string, ResolvedPlugin> inputs_;
};

TEST_F(DataProblem, IsShownWithItsLine) {
  write(
      "\xef\xbb\xbf"
      "a;b\r\n1;\u00e9\u00e9;2\r\n");
  EXPECT_EQ(shown("input \"train\" in next: @:2:3: no number"), "@:2:3: error: no number\n  1;éé;2\n    ^~\n");
  EXPECT_EQ(shown("@:1:1: no name"), "@:1:1: error: no name\n  a;b\n  ^\n");
}

TEST_F(DataProblem, EachPlaceIsOne) {
  write("1,2\n3,4");
  EXPECT_EQ(shown("in next: @:2:3: c\\n@:1:1: b\\nthere are more"),
            "@:1:1: error: b\n  1,2\n  ^\n  help: there are more\n@:2:3: error: c\n  3,4\n    ^\n");
}

TEST_F(DataProblem, AFileOfAPatternIsShownWithItsLine) {
  inputs_["train"].options.add("path", OptionValue(temp_ / "dat*"), OptionType::kPath);
  write("1,2\n3,4");
  EXPECT_EQ(shown("in spec: [B3038] @:2:3: c"), "@:2:3: error[B3038]: c\n  3,4\n    ^\n");
}

TEST_F(DataProblem, AFieldInQuotesIsMarkedWhole) {
  write("\"a, b\",1\n\"open\n");
  EXPECT_EQ(shown("@:1:1: m"), "@:1:1: error: m\n  \"a, b\",1\n  ^~~~~~\n");
  EXPECT_EQ(shown("@:2:1: m"), "@:2:1: error: m\n  \"open\n  ^~~~~\n");
}

TEST_F(DataProblem, WhatNamesNoPlaceIsNone) {
  write("1,2\n");
  for (const char* message : {"@: m", "@:1: m", "@:1:2 m", "@:0:1: m", "@:1:x: m", "@:1:99999999999: m", "@.gz:1:1: m",
                              "/other@:1:1: m", "'@' holds no rows", ""})
    EXPECT_EQ(shown(message), "") << message;
}

TEST_F(DataProblem, AFileWithoutTheLineHasItsPlaceAlone) {
  EXPECT_EQ(shown("@:1:1: m"), "@:1:1: error: m\n");  // there is no file
  write("1,2\n");
  EXPECT_EQ(shown("@:7:1: m"), "@:7:1: error: m\n");
  write("\x1f\x8b packed\n");
  EXPECT_EQ(shown("@:1:1: m"), "@:1:1: error: m\n");
  write(std::string(200'000, 'x') + "\n1,2\n");
  EXPECT_EQ(shown("@:1:1: m"), "@:1:1: error: m\n");
  EXPECT_EQ(shown("@:2:3: m"), "@:2:3: error: m\n  1,2\n    ^\n");
}

}  // namespace
}  // namespace belay::runtime
