// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/toml_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace belay::runtime {
namespace {

TEST(TomlText, NumbersAreShortAndReadBackAsFloats) {
  const struct {
    double number;
    std::string expected;
  } cases[] = {
      {0, "0.0"},
      {-0.0, "-0.0"},
      {1, "1.0"},
      {0.1, "0.1"},
      {1e-8, "1e-08"},
      {1e30, "1e+30"},
      {600, "600.0"},
      {1.0 / 3, "0.3333333333333333"},
      {NAN, "nan"},
      {-INFINITY, "-inf"},
      {INFINITY, "inf"},
      {5e-324, "5e-324"},
      {std::numeric_limits<double>::max(), "1.7976931348623157e+308"},
  };
  for (const auto& c : cases) EXPECT_EQ(toml_number(c.number), c.expected);
}

TEST(TomlText, TextsAreQuotedInOneLine) {
  EXPECT_EQ(toml_string(""), "\"\"");
  EXPECT_EQ(toml_string("a \"b\" \\ c"), "\"a \\\"b\\\" \\\\ c\"");
  EXPECT_EQ(toml_string("a\nb\tc\x1b\x7f"), "\"a\\nb\\tc\\u001b\\u007f\"");
  EXPECT_EQ(toml_string("日本"), "\"日本\"");
  EXPECT_EQ(toml_string("\xe2\x80\xae"), "\"\\u202e\"");
  EXPECT_EQ(toml_string("\xff"), "\"\\ufffd\"");
}

TEST(TomlText, KeysAreQuotedWhereTheyMustBe) {
  EXPECT_EQ(toml_key("max_steps-2"), "max_steps-2");
  EXPECT_EQ(toml_key(""), "\"\"");
  EXPECT_EQ(toml_key("a.b"), "\"a.b\"");
  EXPECT_EQ(toml_key("a b"), "\"a b\"");
  EXPECT_EQ(toml_key("é"), "\"é\"");
}

}  // namespace
}  // namespace belay::runtime
