// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/text/terminal_text.h"

#include <gtest/gtest.h>

#include <string>

namespace belay::runtime {
namespace {

TEST(TerminalText, T_168_JsonForATerminalHasNothingThatItObeys) {
  const std::string json = "{\n \"a\\u001b\": \"k\xc3\xa4se\xc2\x9b[2J\x7f\xe2\x80\xae\"\n}";
  EXPECT_EQ(shown_json(json), "{\n \"a\\u001b\": \"k\xc3\xa4se\\u009b[2J\\u007f\\u202e\"\n}");
  EXPECT_EQ(shown_json(""), "");
}

TEST(TerminalText, T_168_ACsvCellHasNothingThatATerminalObeysButLineEndsAndTabs) {
  const auto cell = [](const std::string& text) {
    std::string out;
    append_csv_cell(out, text);
    return out;
  };
  EXPECT_EQ(cell("loss"), "loss");
  EXPECT_EQ(cell(""), "\"\"");
  EXPECT_EQ(cell("\x1b[2Jloss"), "\\x1b[2Jloss");
  EXPECT_EQ(cell("a\xc2\x9b"), "a\\u009b");
  EXPECT_EQ(cell("a\rb"), "\"a\rb\"");
  EXPECT_EQ(cell("say \"x\",\r\n\tk\xc3\xa4se"), "\"say \"\"x\"\",\r\n\tk\xc3\xa4se\"");
  EXPECT_EQ(cell("\xff"), "\xff");
}

}  // namespace
}  // namespace belay::runtime
