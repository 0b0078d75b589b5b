// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/scan.h"

#include <gtest/gtest.h>

#include "tests/manifest/parsed.h"

namespace belay::runtime {
namespace {

using namespace std::string_literals;

// The problem's place and message; empty if the manifest may pass.
std::string refusal(const std::string& text) {
  Diagnostics problems;
  if (within_limits({"f", text}, problems)) return "";
  const Diagnostic d = problems.sorted().at(0);
  return std::to_string(d.at.line) + ":" + std::to_string(d.at.column) + " " + d.message;
}

TEST(Scan, WhatIsWithinTheLimitsPasses) {
  const std::string cases[] = {
      "",
      "\xef\xbb\xbf[a]\nb = 1\n",
      "a = 1\r\nb = 2\r\n",
      "a" + repeated(".a", 63) + " = 1",
      "[a" + repeated(".a", 63) + "]",
      "a = " + repeated("[", 63) + repeated("]", 63),
      repeated("a.b = 1\n", 1000),
      repeated("[a.b]\n", 1000),
      "a = [" + repeated("1.5, ", 1000) + "]",
      "a = [" + repeated("{b.c = 1.5}, ", 1000) + "]",
      "a = \"" + repeated("[.", 1000) + "\"",
      "a = '" + repeated("[.", 1000) + "'",
      "a = \"\"\"\n" + repeated("[.\n", 1000) + "\"\"\"",
      "a = '''\n" + repeated("[.\n", 1000) + "'''",
      "a = \"\\\"" + repeated("[.", 1000) + "\"",
      "# " + repeated("[.", 1000),
      "[a] # " + repeated("[.", 1000),
      "a = 1 # " + repeated("[.", 1000),
      "\"" + repeated("a.", 1000) + "\" = 1",
      "a = 1979-05-27T07:32:00.999999-07:00",
  };
  for (const std::string& text : cases) EXPECT_EQ(refusal(text), "") << text.substr(0, 60);
}

TEST(Scan, KeysOfTooManyPartsAreRefused) {
  const std::string parts = repeated(".a", 64);
  const std::string message = " this key has more than 64 parts";
  EXPECT_EQ(refusal("a" + parts + " = 1"), "1:1" + message);
  EXPECT_EQ(refusal("x = 1\n  a" + parts + " = 1"), "2:3" + message);
  EXPECT_EQ(refusal("[a" + parts + "]"), "1:1" + message);
  EXPECT_EQ(refusal("[[a" + parts + "]]"), "1:1" + message);
  EXPECT_EQ(refusal("x = {a" + parts + " = 1}"), "1:6" + message);
  EXPECT_EQ(refusal("x = {b = 1, a" + parts + " = 1}"), "1:13" + message);
  EXPECT_EQ(refusal("x = [{a" + parts + " = 1}]"), "1:7" + message);
  EXPECT_EQ(refusal("\"q\"" + repeated(" . 'q'", 64) + " = 1"), "1:1" + message);
  EXPECT_EQ(refusal("x = \"\"\"\n\"\"\"\na" + parts + " = 1"), "3:1" + message);
  EXPECT_EQ(refusal("\xef\xbb\xbf[a" + parts + "]"), "1:1" + message);
  EXPECT_EQ(refusal("a" + parts), "1:1" + message);
}

TEST(Scan, NestingThatIsTooDeepIsRefused) {
  const std::string message = " this has more than 64 levels of tables and lists";
  EXPECT_EQ(refusal("a = " + repeated("[", 64)), "1:68" + message);
  EXPECT_EQ(refusal("a = [\n" + repeated("[\n", 64)), "64:1" + message);
  EXPECT_EQ(refusal("a = " + repeated("{a = ", 64)), "1:320" + message);
  EXPECT_EQ(refusal("a = " + repeated("[{a = ", 32)), "1:192" + message);
  EXPECT_EQ(refusal("[a" + repeated(".a", 63) + "]\nb = 1"), "2:1" + message);
  EXPECT_EQ(refusal("[[a" + repeated(".a", 63) + "]]"), "1:1" + message);
  EXPECT_EQ(refusal("a" + repeated(".a", 40) + " = {a" + repeated(".a", 40) + " = 1}"), "1:86" + message);
  EXPECT_EQ(refusal("\xef\xbb\xbf[a" + repeated(".a", 62) + "]\nb.c = 1"), "2:1" + message);
}

TEST(Scan, WhatIsNoTextIsRefused) {
  EXPECT_EQ(refusal("a = 1\nb = \"x\0y\"\n"s), "2:7 this is a NUL byte, and a manifest is text");
  EXPECT_EQ(refusal("a = \"\xff\""), "1:6 the byte \\xff is no UTF-8");
  EXPECT_EQ(refusal("\"é\"=\"\xc0\xaf\""), "1:6 the byte \\xc0 is no UTF-8");
  EXPECT_EQ(refusal("a = \"\xed\xa0\x80\""), "1:6 the byte \\xed is no UTF-8");
  EXPECT_EQ(refusal("\x7f"
                    "ELF\x02\x01\x01\0"s),
            "1:8 this is a NUL byte, and a manifest is text");
}

TEST(Scan, TextsOverAMebibyteAreRefused) {
  EXPECT_EQ(refusal(std::string(kMaxManifestBytes, '#')), "");
  EXPECT_EQ(refusal(std::string(kMaxManifestBytes + 1, '#')), "0:0 this is larger than 1 MiB");
}

// Whatever passes the scan, the parser's tree is no deeper than the limit.
TEST(Scan, TextThatIsNoTomlDoesNoHarm) {
  for (const char* text :
       {"]",     "}}}}", "=",      "...",    "a = ]", "[a",      "[[a]",   "{",  "\"", "'''", "a = \"\\",
        "a = '", ",,,",  "a = [}", "a = {]", "[\"",   "[a\n.b]", "a.b.\n", "\r", "[]", "[[]]"})
    EXPECT_EQ(refusal(text), "") << text;
}

}  // namespace
}  // namespace belay::runtime
