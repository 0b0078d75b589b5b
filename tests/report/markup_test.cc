// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/markup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace belay::runtime {
namespace {

TEST(Markup, WhatAFileHoldsIsNeverMarkup) {
  EXPECT_EQ(html("<script>alert(\"1\")</script>&'"), "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;");
  EXPECT_EQ(html("a\x1b[2J\xff"), "a\\x1b[2J\\xff");
  EXPECT_EQ(html("one\ntwo"), "one\\ntwo");
  EXPECT_EQ(html("one\n<two>", true), "one\n&lt;two&gt;");
}

TEST(Markup, NumbersAreForPeople) {
  EXPECT_EQ(rounded_number(0.0612345678), "0.061235");
  EXPECT_EQ(grouped_number(0), "0");
  EXPECT_EQ(grouped_number(203530), "203,530");
  EXPECT_EQ(grouped_number(-1234567), "-1,234,567");
  EXPECT_EQ(short_count(999), "999");
  EXPECT_EQ(short_count(999.7), "1.0 k");
  EXPECT_EQ(short_count(2'350'000), "2.4 M");
  EXPECT_EQ(short_count(350'000), "350 k");
  EXPECT_EQ(duration_text(8.24), "8.2 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7500), "2 h 5 min");
  EXPECT_EQ(duration_text(180'000), "2 d 2 h");
  EXPECT_EQ(duration_text(std::nan("")), "?");
  EXPECT_EQ(moment_text(1'769'860'800), "2026-01-31 12:00:00");
  EXPECT_EQ(moment_text(1e300), "");
}

TEST(Markup, ACoordinateHasOneDigitBehindThePoint) {
  std::string out;
  for (const double at : {1.0, 2.25, -0.04, std::nan(""), std::numeric_limits<double>::infinity()}) {
    add_coordinate(out, at);
    out += ' ';
  }
  EXPECT_EQ(out, "1 2.3 -0 0 1e+06 ");
}

TEST(Markup, Base64HasItsPadding) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

}  // namespace
}  // namespace belay::runtime
