// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/paths.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "tests/manifest/parsed.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

using namespace std::string_literals;

TEST(Paths, AreMadeAbsoluteAgainstTheManifestsDirectory) {
  const struct {
    std::string text, expected;
  } cases[] = {
      {"runs/mnist", "/m/runs/mnist"},
      {"./hook.so", "/m/hook.so"},
      {".//.//hook.so", "/m/hook.so"},
      {".", "/m"},
      {"./", "/m"},
      {"../x", "/x"},
      {"..", "/"},
      {"../../../x", "/x"},
      {"./.././/x/../y", "/x/../y"},
      {"..x/.y", "/m/..x/.y"},
      {"/etc", "/etc"},
      {"${DATA}/mnist", "/data/mnist"},
      {"a/${DATA}", "/m/a//data"},
      {"x${EMPTY}y", "/m/xy"},
      {"$(rm -rf /)", "/m/$(rm -rf /)"},
      {"`id`", "/m/`id`"},
      {"$DATA $$ %n %s", "/m/$DATA $$ %n %s"},
      {"price$USD", "/m/price$USD"},
      {"$1", "/m/$1"},
      {"~user/x", "/m/~user/x"},
      {"a~", "/m/a~"},
      {"with space", "/m/with space"},
  };
  for (const auto& c : cases) {
    Diagnostics problems;
    EXPECT_EQ(expand_path(c.text, {"/m"}, test_environment(), {}, problems), c.expected);
    EXPECT_EQ(problems.text(), "");
  }
  Diagnostics problems;
  EXPECT_EQ(expand_path("x", {"/"}, test_environment(), {}, problems), "/x");
}

TEST(Paths, WhatAVariableHoldsIsNotExpandedAgain) {
  Diagnostics problems;
  const Environment env = test_environment({{"A", "${B}"}, {"B", "no"}});
  EXPECT_EQ(expand_path("/${A}", {"/m"}, env, {}, problems), "/${B}");
}

TEST(Paths, ThatCannotBeToldAreProblems) {
  const struct {
    std::string text, expected;
  } cases[] = {
      {"${HOME}/x",
       "f:3:7: error[B1017]: the environment variable HOME is not set\n  help: set it before the run: export "
       "HOME=...\n"},
      {"${A}${B}",
       "f:3:7: error[B1017]: the environment variable A is not set\n"
       "  help: set it before the run: export A=...\n"
       "f:3:7: error[B1017]: the environment variable B is not set\n"
       "  help: set it before the run: export B=...\n"},
      {"${",
       "f:3:7: error[B1018]: \"${\" begins a variable, but no name and '}' follow\n"
       "  help: write ${NAME}: letters, digits and '_'\n"},
      {"${}",
       "f:3:7: error[B1018]: \"${\" begins a variable, but no name and '}' follow\n"
       "  help: write ${NAME}: letters, digits and '_'\n"},
      {"${1A}",
       "f:3:7: error[B1018]: \"${\" begins a variable, but no name and '}' follow\n"
       "  help: write ${NAME}: letters, digits and '_'\n"},
      {"~/x", "f:3:7: error[B1018]: \"~\" is not expanded\n  help: write ${HOME}/x\n"},
      {"~", "f:3:7: error[B1018]: \"~\" is not expanded\n  help: write ${HOME}\n"},
      {"$HOME/x", "f:3:7: error[B1018]: \"$HOME\" is not expanded\n  help: write ${HOME}\n"},
      {"/a/$B_1", "f:3:7: error[B1018]: \"$B_1\" is not expanded\n  help: write ${B_1}\n"},
      {"$(HOME)/x", "f:3:7: error[B1018]: \"$(HOME)\" is not expanded\n  help: write ${HOME}\n"},
      {"", "f:3:7: error[B1019]: this path is empty\n  help: write a path, or take the key away\n"},
      {"${EMPTY}", "f:3:7: error[B1019]: this path is empty\n  help: write a path, or take the key away\n"},
      {"a\0b"s, "f:3:7: error[B1019]: a path must not hold a NUL\n  help: take the character out\n"},
  };
  for (const auto& c : cases) {
    Diagnostics problems;
    EXPECT_EQ(expand_path(c.text, {"/m"}, test_environment(), {"f", 3, 7}, problems), std::nullopt);
    EXPECT_EQ(problems.text(), c.expected);
  }
}

TEST(Paths, OfAVariableThatIsNotSetTheNearestOneThatIsSetIsNamed) {
  ::setenv("BELAY_PATHS_TESTDIR", "/data", 1);
  ::unsetenv("BELAY_PATHS_TEST_DIR");
  Diagnostics problems;
  EXPECT_EQ(expand_path("${BELAY_PATHS_TEST_DIR}/x", {"/m"}, process_environment(), {"f", 3, 7}, problems),
            std::nullopt);
  ::unsetenv("BELAY_PATHS_TESTDIR");
  EXPECT_EQ(problems.text(),
            "f:3:7: error[B1017]: the environment variable BELAY_PATHS_TEST_DIR is not set\n"
            "  help: did you mean ${BELAY_PATHS_TESTDIR}, which is set? Else set it before the run: export "
            "BELAY_PATHS_TEST_DIR=...\n");
  Diagnostics far;
  EXPECT_EQ(expand_path("${BELAY_PATHS_TEST_DIR}/x", {"/m"}, process_environment(), {"f", 3, 7}, far), std::nullopt);
  EXPECT_EQ(far.text(),
            "f:3:7: error[B1017]: the environment variable BELAY_PATHS_TEST_DIR is not set\n"
            "  help: set it before the run: export BELAY_PATHS_TEST_DIR=...\n");
}

TEST(Paths, TheDirectoryOfAManifestIsAbsolute) {
  EXPECT_EQ(directory_of("/a/b/train.toml"), "/a/b");
  EXPECT_EQ(directory_of("/train.toml"), "/");
  EXPECT_EQ(directory_of("train.toml"), std::filesystem::current_path().string());
  EXPECT_EQ(directory_of("x/train.toml"), std::filesystem::current_path().string() + "/x");
}

TEST(Paths, TheDirectoryOfAManifestHasNoLinks) {
  TempDir dir;
  const std::string real = std::filesystem::canonical(dir.path()).string();
  std::filesystem::create_directories(dir / "deep/er");
  std::filesystem::create_directory_symlink("deep/er", dir / "link");
  EXPECT_EQ(directory_of(dir / "link/train.toml"), real + "/deep/er");
  Diagnostics problems;
  EXPECT_EQ(expand_path("../x", {directory_of(dir / "link/train.toml")}, test_environment(), {}, problems),
            real + "/deep/x");
}

TEST(Paths, TheProcessEnvironmentIsTheProcesss) {
  ::setenv("BELAY_PATHS_TEST", "x", 1);
  EXPECT_EQ(process_environment()("BELAY_PATHS_TEST"), "x");
  ::unsetenv("BELAY_PATHS_TEST");
  EXPECT_EQ(process_environment()("BELAY_PATHS_TEST"), std::nullopt);
}

}  // namespace
}  // namespace belay::runtime
