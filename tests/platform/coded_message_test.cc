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
      {"record 3 [B3034] has no feature", "B3034", "record 3 has no feature"},
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
  for (const char* message : {"the key \"[B1003] x\" is odd", "[B103] x", "[B10034] x", "[B1003]x", "[B1003]",
                              "[b1003] x", "[A1003] x", "error[B1003]: x"}) {
    EXPECT_EQ(take_code(message).code, "");
    EXPECT_EQ(take_code(message).text, message);
  }
}

TEST(CodedMessage, ALineOfAnErrorShowsTheCode) {
  EXPECT_EQ(error_line("[B1003] unknown key"), "error[B1003]: unknown key");
  EXPECT_EQ(error_line("unknown key"), "error: unknown key");
}

}  // namespace
}  // namespace belay::runtime
