// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/meant_value.h"

#include <gtest/gtest.h>

namespace belay::runtime {
namespace {

TEST(MeantValue, WordsForTrueAndFalse) {
  for (const char* yes : {"yes", "On", "TRUE"}) EXPECT_STREQ(boolean_of(yes), "true") << yes;
  for (const char* no : {"No", "off", "False"}) EXPECT_STREQ(boolean_of(no), "false") << no;
  for (const char* neither : {"", "y", "1", "maybe"}) EXPECT_EQ(boolean_of(neither), nullptr) << neither;
}

TEST(MeantValue, NumbersInStrings) {
  const struct {
    WantedValue wanted;
    const char *key, *text, *help;
  } cases[] = {
      {WantedValue::kInteger, "steps", "20", "write it without quotes: steps = 20"},
      {WantedValue::kInteger, "steps", "1e3", "write it without quotes: steps = 1000"},
      {WantedValue::kInteger, "steps", "2.5", ""},
      {WantedValue::kInteger, "steps", "1.5k", "write it out: steps = 1500"},
      {WantedValue::kInteger, "steps", "2M", "write it out: steps = 2000000"},
      {WantedValue::kInteger, "steps", "0.5%", ""},
      {WantedValue::kInteger, "steps", "10m", ""},
      {WantedValue::kInteger, "steps", "all", ""},
      {WantedValue::kInteger, "steps", "", ""},
      {WantedValue::kInteger, "steps", "nan", ""},
      {WantedValue::kInteger, "steps", "99999999999999999999", ""},
      {WantedValue::kNumber, "rate", "1e-3", "write it without quotes: rate = 0.001"},
      {WantedValue::kNumber, "rate", "20%", "write it out: rate = 0.2"},
      {WantedValue::kNumber, "save_secs", "10m", "write it in seconds: save_secs = 600"},
      {WantedValue::kNumber, "save_secs", "90", "write it without quotes: save_secs = 90"},
      {WantedValue::kNumber, "rate", "${RATE}", "${NAME} is replaced in paths only"},
      {WantedValue::kBoolean, "shuffle", "No", "write it without quotes: shuffle = false"},
      {WantedValue::kBoolean, "shuffle", "10", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(help_for_text(c.wanted, c.key, c.text), c.help) << c.key << " " << c.text;
}

TEST(MeantValue, NumbersOfAnotherKind) {
  EXPECT_EQ(help_for_number(WantedValue::kInteger, "steps", 10.0), "write it without a fraction: steps = 10");
  EXPECT_EQ(help_for_number(WantedValue::kInteger, "steps", 1e20), "");
  EXPECT_EQ(help_for_number(WantedValue::kInteger, "steps", 2.5), "");
  EXPECT_EQ(help_for_number(WantedValue::kBoolean, "shuffle", 0), "write shuffle = false");
  EXPECT_EQ(help_for_number(WantedValue::kBoolean, "shuffle", 2), "");
  EXPECT_EQ(help_for_number(WantedValue::kNumber, "rate", 1), "");
}

TEST(MeantValue, WordsThatAreNear) {
  EXPECT_EQ(nearest_word("eval", {"train", "evaluate"}), "evaluate");
  EXPECT_EQ(nearest_word("maximum", {"auto", "min", "max"}), "max");
  EXPECT_EQ(nearest_word("same", {"VALID", "SAME"}), "SAME");
  EXPECT_EQ(nearest_word("float16", {"float32", "bf16"}), "bf16") << "what it means, not what it is like";
  EXPECT_EQ(nearest_word("ma", {"max"}), "max") << "by its distance";
  EXPECT_EQ(nearest_word("a", {"auto"}), "");
  EXPECT_EQ(nearest_word("", {"auto"}), "");
}

}  // namespace
}  // namespace belay::runtime
