// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/text/shell_word.h"

#include <gtest/gtest.h>

namespace belay::runtime {
namespace {

TEST(ShellWord, T_121_AWordOfACommandIsQuotedForAShell) {
  EXPECT_EQ(shell_word("runs/a-1.toml"), "runs/a-1.toml");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("input.eval={path=\"$x\"}"), "'input.eval={path=\"$x\"}'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("a\nb's \\"), "$'a\\nb\\'s \\\\'");
}

}  // namespace
}  // namespace belay::runtime
