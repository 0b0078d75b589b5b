// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/text/text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace belay::runtime {
namespace {

using namespace std::string_literals;

TEST(Text, EscapesWhatATerminalObeysAndWhatIsNoUtf8) {
  const struct {
    std::string text, expected;
  } cases[] = {
      {"", ""},
      {"loss = 1.5", "loss = 1.5"},
      {"日本 é 😀", "日本 é 😀"},
      {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
      {"\x1b[31mred", "\\x1b[31mred"},
      {"nul\0here"s, "nul\\x00here"},
      {"\x7f", "\\x7f"},
      {"\xc2\x9b"
       "31m",
       "\\u009b31m"},                                // the terminal's other escape
      {"a\xe2\x80\xaegnp.exe", "a\\u202egnp.exe"},   // right to left
      {"\xff\xfe", "\\xff\\xfe"},                    // no UTF-8 at all
      {"\xc0\xaf", "\\xc0\\xaf"},                    // a slash in two bytes
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // half a surrogate pair
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // above U+10FFFF
      {"\xe6\x97", "\\xe6\\x97"},                    // cut
      {"\xe6"
       "abc",
       "\\xe6"
       "abc"},
      {"C:\\dir", "C:\\dir"},
  };
  for (const auto& c : cases) EXPECT_EQ(escaped(c.text), c.expected);
}

TEST(Text, EscapedTextIsAlwaysPlain) {
  std::uint32_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 20; ++i) {
      state = state * 1664525 + 1013904223;
      text += static_cast<char>(state >> 24);
    }
    std::string_view rest = text;
    const std::string out = escaped(text);
    for (rest = out; !rest.empty(); rest.remove_prefix(first_char(rest).size)) {
      ASSERT_TRUE(first_char(rest).valid);
      ASSERT_FALSE(is_control(first_char(rest).value));
    }
  }
}

TEST(Text, WidthCountsWideAndCombiningCharacters) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("日本"), 4u);
  EXPECT_EQ(display_width("e\xcc\x81"), 1u);  // e and an accent
  EXPECT_EQ(display_width("é"), 1u);
  EXPECT_EQ(display_width("\xff"), 1u);
}

TEST(Text, CutsAtWholeCharacters) {
  EXPECT_EQ(cut_to_width("abcdef", 3), "abc");
  EXPECT_EQ(cut_to_width("日本", 3), "日");
  EXPECT_EQ(cut_to_width("日本", 4), "日本");
  EXPECT_EQ(cut_to_width("abc", 0), "");
  EXPECT_EQ(cut_to_width("e\xcc\x81x", 1), "e\xcc\x81");
}

TEST(Text, CountsCharacters) {
  EXPECT_EQ(char_count(""), 0u);
  EXPECT_EQ(char_count("日本x"), 3u);
  EXPECT_EQ(char_count("\xff\xfe"), 2u);
}

TEST(Text, TheNearestNameComesFromTheSdk) {
  EXPECT_EQ(nearest("max_step", std::vector<std::string>{"mode", "max_steps"}), "max_steps");
  EXPECT_EQ(did_you_mean("xyz", std::vector<std::string>{"mode", "max_steps"}), "");
}

TEST(Text, Joins) {
  EXPECT_EQ(joined({}), "");
  EXPECT_EQ(joined({"a"}), "a");
  EXPECT_EQ(joined({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(joined({"a", "b"}, " or "), "a or b");
}

TEST(Text, ATimeIsWrittenWithUnits) {
  const struct {
    const char* text;
    double seconds;
  } cases[] = {{"90", 90},     {"90s", 90}, {"15m", 900}, {"2h", 7200},     {"1h30m", 5400}, {"1d12h", 129600},
               {"0.5h", 1800}, {"", 0},     {"h", 0},     {"2x", 0},        {"-1s", 0},      {"1h-5m", 0},
               {"1e3s", 0},    {"nan", 0},  {"inf", 0},   {"99999999d", 0}, {"2 h", 0}};
  for (const auto& c : cases) EXPECT_EQ(parse_duration(c.text), c.seconds) << c.text;
}

}  // namespace
}  // namespace belay::runtime
