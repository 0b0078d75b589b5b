// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/text/coded_message.h"

#include <gtest/gtest.h>

namespace belay::runtime {
namespace {

TEST(CodedMessage, TheCodeOfTheCauseCounts) {
  const struct {
    const char *message, *code, *text;
  } cases[] = {
      {"[B1003] unknown key", "B1003", "unknown key"},
      {"hook \"x\" in begin: [B4102] damaged", "B4102", "hook \"x\" in begin: damaged"},
      {"[B4002] cannot save: [B4021] not finite", "B4021", "cannot save: not finite"},
      {"record 3: [B3034] it has no feature", "B3034", "record 3: it has no feature"},
      {"[B4040] [B3023] cut short", "B3023", "cut short"},
      {"not finite\n  [B4021] in step 3", "B4021", "not finite\n  in step 3"},
      {"no code", "", "no code"},
      {"", "", ""},
  };
  for (const auto& c : cases) {
    const CodedMessage found = take_code(c.message);
    EXPECT_EQ(found.code, c.code);
    EXPECT_EQ(found.text, c.text);
  }
}

TEST(CodedMessage, OtherBracketsAreNoCode) {
  for (const char* message :
       {"the key \"[B1003] x\" is odd", "no file '/data/a [B1003] x.csv'", "no class [B1003] x", "[B103] x",
        "[B10034] x", "[B1003]x", "[B1003]", "[b1003] x", "[A1003] x", "error[B1003]: x"}) {
    EXPECT_EQ(take_code(message).code, "");
    EXPECT_EQ(take_code(message).text, message);
  }
}

TEST(CodedMessage, TheCodeIsThatOfTheFirstLineAndOtherLinesShowTheirs) {
  const CodedMessage found =
      take_code("[B4034] none can be restored:\n  'run/a': [B4018] model.bin is missing\nnothing was deleted");
  EXPECT_EQ(found.code, "B4034");
  EXPECT_EQ(found.text, "none can be restored:\n  B4018: 'run/a': model.bin is missing\nnothing was deleted");
}

TEST(CodedMessage, ATableShowsTheCodeBeforeTheText) {
  EXPECT_EQ(shown_code("index: [B4012] it is no JSON"), "B4012: index: it is no JSON");
  EXPECT_EQ(shown_code("it is no JSON"), "it is no JSON");
  EXPECT_EQ(shown_code("give 'size'\n  hook: [B3020] empty"), "give 'size'\n  B3020: hook: empty");
}

TEST(CodedMessage, ALineOfALevelShowsTheCode) {
  EXPECT_EQ(coded_line("warning", "x: [B4016] cannot be used"), "warning[B4016]: x: cannot be used");
  EXPECT_EQ(coded_line("warning", "cannot be used"), "warning: cannot be used");
  EXPECT_EQ(error_line("[B1003] unknown key"), "error[B1003]: unknown key");
  EXPECT_EQ(error_line("unknown key"), "error: unknown key");
}

}  // namespace
}  // namespace belay::runtime
