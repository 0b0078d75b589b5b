// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/diagnostics.h"

#include <gtest/gtest.h>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

TEST(Diagnostics, NothingIsWrongAtFirst) {
  const Diagnostics problems;
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(problems.text(), "");
}

TEST(Diagnostics, ShowsThePlaceTheLineACaretAndTheHelp) {
  Diagnostics problems;
  problems.add_source("train.toml", "[run]\nmode = \"train\"\nmax_step = 2000\n");
  problems.add({"train.toml", 3, 1}, "[B1003] unknown key", "did you mean \"max_steps\"?");
  EXPECT_EQ(problems.text(),
            "train.toml:3:1: error[B1003]: unknown key\n  max_step = 2000\n  ^~~~~~~~\n  help: did you mean "
            "\"max_steps\"?\n");
}

TEST(Diagnostics, AProblemHasItsCodeApartFromItsMessage) {
  Diagnostics problems;
  problems.add({"f", 1, 1}, "hook \"x\": [B3005] is empty");
  problems.add({"f", 2, 1}, "no code");
  problems.add(Diagnostic{.at = {"f", 3, 1}, .message = "m", .help = "", .code = "B1001"});
  EXPECT_EQ(problems.text(),
            "f:1:1: error[B3005]: hook \"x\": is empty\nf:2:1: error: no code\nf:3:1: error[B1001]: m\n");
  const std::vector<Diagnostic> all = problems.sorted();
  EXPECT_EQ(all[0].code, "B3005");
  EXPECT_EQ(all[0].message, "hook \"x\": is empty");
  EXPECT_EQ(coded_message(all[0]), "[B3005] hook \"x\": is empty");
  EXPECT_EQ(coded_message(all[1]), "no code");
}

TEST(Diagnostics, TheWholeKeyValueOrHeaderIsMarked) {
  const struct {
    std::string line;
    int column;
    std::string marks;
  } cases[] = {
      {"key = 1", 1, "^~~"},
      {"a.key = 1", 1, "^"},
      {"a.key = 1", 3, "  ^~~"},
      {"\"a key\" = 1", 1, "^~~~~~~"},
      {"'a key' = 1", 1, "^~~~~~~"},
      {"a = 12.5e3 # c", 5, "    ^~~~~~"},
      {"a = -1", 5, "    ^~"},
      {"a = 2020-01-01", 5, "    ^~~~~~~~~~"},
      {"a = true", 5, "    ^~~~"},
      {"a=b.csv", 3, "  ^~~~~"},
      {"a = b.csv # c", 5, "    ^~~~~"},
      {"a = \"x\\\"y\" # c", 5, "    ^~~~~~"},
      {"a = 'x\\'", 5, "    ^~~~"},
      {"a = \"\"\"x\"y\"\"\"", 5, "    ^~~~~~~~~"},
      {"a = \"open", 5, "    ^~~~~"},
      {"a = [1, [2], \"]\"] # c", 5, "    ^~~~~~~~~~~~~"},
      {"a = {b = 1}", 5, "    ^~~~~~~"},
      {"a = [1, # c", 5, "    ^~"},
      {"[run]", 1, "^~~~~"},
      {"[[hooks]] # c", 1, "^~~~~~~~~"},
      {"a = [1, 22]", 9, "        ^~"},
      {"a =", 4, "   ^"},  // after the line
      {"", 1, "^"},
  };
  for (const auto& c : cases) {
    Diagnostics problems;
    problems.add_source("f", c.line);
    problems.add({"f", 1, c.column}, "m");
    EXPECT_EQ(problems.text(), "f:1:" + std::to_string(c.column) + ": error: m\n  " + c.line + "\n  " + c.marks + "\n");
  }
}

TEST(Diagnostics, AGivenLengthIsMarkedInstead) {
  Diagnostics problems;
  problems.add_source("f", "日本語 = 1");
  problems.add({"f", 1, 2}, "m", "", 2);
  EXPECT_EQ(problems.text(), "f:1:2: error: m\n  日本語 = 1\n    ^~~~\n");
}

TEST(Diagnostics, TheLengthIsTheOneThatIsUnderlined) {
  Diagnostics problems;
  problems.add_source("f", "max_step = \"\u65e5\u672c\"\n[run]\n");
  problems.add({"f", 1, 1}, "a key");
  problems.add({"f", 1, 12}, "a value");
  problems.add({"f", 1, 16}, "behind the line");
  problems.add({"f", 2, 1}, "a given one", "", 3);
  problems.add({"g", 1, 1}, "of no source");
  std::vector<int> lengths;
  for (const Diagnostic& d : problems.sorted()) lengths.push_back(d.length);
  EXPECT_EQ(lengths, (std::vector<int>{0, 8, 4, 0, 3}));
}

TEST(Diagnostics, ALineOfAnotherFileIsShownAsItIsGiven) {
  Diagnostics problems;
  problems.add_source("f", "a = 1\n");
  problems.add({{"x.csv", 700, 3}, "m", "", 1, "1,a,0"});
  EXPECT_EQ(problems.text(), "x.csv:700:3: error: m\n  1,a,0\n    ^\n");
}

TEST(Diagnostics, TheCaretKeepsItsPlace) {
  const struct {
    std::string line;
    int column;
    std::string shown;
  } cases[] = {
      {"\ta = 1", 2, "      a = 1\n      ^\n"},                      // a tab becomes spaces
      {"ab\tc = 1", 4, "  ab  c = 1\n      ^\n"},                    // up to the next stop
      {"\"日本\" = x", 8, "  \"日本\" = x\n           ^\n"},         // wide characters
      {"\"e\xcc\x81\" = x", 8, "  \"e\xcc\x81\" = x\n        ^\n"},  // a combining one
      {"\"\x1b\" = x", 7, "  \"\\x1b\" = x\n           ^\n"},        // an escaped one
      {"\"\xff\" = x", 7, "  \"\\xff\" = x\n           ^\n"},
      {"a = x\r", 5, "  a = x\n      ^\n"},
  };
  for (const auto& c : cases) {
    Diagnostics problems;
    problems.add_source("f", c.line + "\nnext");
    problems.add({"f", 1, c.column}, "m", "", 1);
    EXPECT_EQ(problems.text(), "f:1:" + std::to_string(c.column) + ": error: m\n" + c.shown);
  }
}

TEST(Diagnostics, AByteOrderMarkHasNoColumn) {
  Diagnostics problems;
  problems.add_source("f", "\xef\xbb\xbfkey = 1");
  problems.add({"f", 1, 1}, "m");
  EXPECT_EQ(problems.text(), "f:1:1: error: m\n  key = 1\n  ^~~\n");
}

TEST(Diagnostics, OfALongLineThePartRoundTheCaretIsShown) {
  Diagnostics problems;
  const std::string before(500'000, 'a'), after(500'000, 'b');
  problems.add_source("f", before + " x " + after);
  problems.add({"f", 1, 500'002}, "m");
  EXPECT_EQ(problems.text(), "f:1:500002: error: m\n  ..." + std::string(59, 'a') + " x " + std::string(55, 'b') +
                                 "...\n  " + std::string(63, ' ') + "^\n");
}

TEST(Diagnostics, OfALongValueTheBeginningIsShown) {
  Diagnostics problems;
  problems.add_source("f", "a = \"" + std::string(1000, 'x') + "\"");
  problems.add({"f", 1, 5}, "m");
  EXPECT_EQ(problems.text(),
            "f:1:5: error: m\n  a = \"" + std::string(115, 'x') + "...\n      ^" + std::string(118, '~') + "\n");
}

TEST(Diagnostics, AreSortedByPlace) {
  Diagnostics problems;
  problems.add_source("b.toml", "x\ny\n");
  problems.add_source("--set a", "a=1");
  problems.add({"--set a", 0, 1}, "5");
  problems.add({"b.toml", 2, 1}, "4");
  problems.add({"b.toml", 1, 9}, "3");
  problems.add({"b.toml", 1, 1}, "2");
  problems.add({"b.toml", 0, 0}, "1");
  problems.add({"", 0, 0}, "0");
  problems.add({"b.toml", 2, 1}, "4 again");
  std::string order;
  for (const Diagnostic& d : problems.sorted()) order += d.message + ",";
  EXPECT_EQ(order, "0,1,2,3,4,4 again,5,");
}

TEST(Diagnostics, APlaceThatIsNoneShowsNoLine) {
  Diagnostics problems;
  problems.add_source("f", "text\n");
  problems.add({"f", 0, 0}, "missing");
  problems.add({"", 0, 0}, "general", "help");
  problems.add({"unknown.toml", 3, 4}, "elsewhere");
  EXPECT_EQ(problems.text(), "error: general\n  help: help\nunknown.toml:3:4: error: elsewhere\nf: error: missing\n");
}

TEST(Diagnostics, ASetIsShownAsItWasGiven) {
  Diagnostics problems;
  problems.add_source("--set run.dirr", "run.dirr=out");
  problems.add({"--set run.dirr", 0, 5}, "[B1003] unknown key");
  EXPECT_EQ(problems.text(), "--set run.dirr: error[B1003]: unknown key\n  run.dirr=out\n      ^~~~\n");
}

TEST(Diagnostics, ControlCharactersNeverComeOutRaw) {
  Diagnostics problems;
  problems.add_source("f\x1b", "a\x1b[2J = \"\xc2\x9b\"");
  problems.add({"f\x1b", 1, 1}, "m\n\x1b", "h\n\x1b");
  const std::string text = problems.text();
  EXPECT_EQ(text,
            "f\\x1b:1:1: error: m\\n\\x1b\n"
            "  a\\x1b[2J = \"\\u009b\"\n"
            "  ^~~~~~~~\n"
            "  help: h\\n\\x1b\n");
}

TEST(Diagnostics, LongTextsAreCut) {
  Diagnostics problems;
  problems.add({std::string(1000, 'f'), 0, 0}, std::string(1'000'000, 'm'), "\x1b" + std::string(600, 'h'));
  EXPECT_EQ(problems.text(), std::string(500, 'f') + "...: error: " + std::string(500, 'm') + "...\n  help: \\x1b" +
                                 std::string(496, 'h') + "...\n");
}

TEST(Diagnostics, AfterAHundredOnlyTheNumberIsTold) {
  Diagnostics problems;
  for (int i = 0; i < 5000; ++i) problems.add({"", 0, 0}, "m");
  EXPECT_EQ(problems.size(), 5000u);
  EXPECT_TRUE(problems.full());
  EXPECT_EQ(problems.sorted().size(), 1000u);
  std::string expected;
  for (int i = 0; i < 100; ++i) expected += "error: m\n";
  EXPECT_EQ(problems.text(), expected + "... and 4900 more\n");
}

}  // namespace
}  // namespace belay::runtime
