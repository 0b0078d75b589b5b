// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/line_chart.h"

#include <gmock/gmock.h>

#include <limits>

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

LineChart chart(std::vector<DrawnPoint> points) {
  LineChart c;
  c.title = "a < b";
  c.lines.push_back({"the <line>", std::move(points)});
  return c;
}

TEST(LineChart, TicksAreRoundNumbers) {
  EXPECT_THAT(round_ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(round_ticks(-0.3, 0.3, 3),
              ElementsAre(::testing::DoubleNear(-0.2, 1e-9), 0, ::testing::DoubleNear(0.2, 1e-9)));
  EXPECT_THAT(round_ticks(1, 1, 5), ElementsAre());
  EXPECT_THAT(round_ticks(0, std::numeric_limits<double>::infinity(), 5), ElementsAre());
}

TEST(LineChart, NamesAreEscapedAndPointsSayTheirStep) {
  const std::string svg = svg_of(chart({{0, 1, 1, 1}, {10, 2, 2, 2}}));
  EXPECT_THAT(svg, HasSubstr("aria-label=\"a &lt; b\""));
  EXPECT_THAT(svg, HasSubstr("<title>the &lt;line&gt; 2 at step 10</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("<line>")));
  EXPECT_THAT(svg, Not(HasSubstr("class=\"band")));
}

TEST(LineChart, ValuesOfVeryDifferentSizesAreDrawnByTheirLogarithms) {
  EXPECT_FALSE(is_logarithmic(chart({{0, 1, 1, 1}, {1, 50, 50, 50}})));
  EXPECT_TRUE(is_logarithmic(chart({{0, 1, 1, 1}, {1, 500, 500, 500}})));
  EXPECT_FALSE(is_logarithmic(chart({{0, 0, 0, 0}, {1, 500, 500, 500}})));
  const std::string svg = svg_of(chart({{0, 0.001, 0.001, 0.001}, {1, 500, 500, 500}}));
  for (const char* tick : {">0.001<", ">1<", ">100<"}) EXPECT_THAT(svg, HasSubstr(tick));
}

// Left of the axis there is room for eight characters.
TEST(LineChart, TicksOfLargeAndSmallValuesAreShort) {
  const auto drawn = [](double low, double high) { return svg_of(chart({{0, low, low, low}, {1, high, high, high}})); };
  for (const char* tick : {">9.5e7<", ">1e8<", ">1.05e8<"}) EXPECT_THAT(drawn(9.4e7, 1.06e8), HasSubstr(tick));
  EXPECT_THAT(drawn(0.00098, 0.001), HasSubstr(">0.000985<"));
  EXPECT_THAT(drawn(0.000995, 0.000997), HasSubstr(">9.955e-4<"));
  EXPECT_THAT(drawn(-1.06e8, -9.4e7), HasSubstr(">-1.05e8<"));
}

TEST(LineChart, AMarkSaysWhatHappened) {
  LineChart c = chart({{0, 1, 1, 1}, {10, 2, 1, 3}});
  c.marks.push_back({5, "attempt 2", "attempt 2 continues from step 5"});
  const std::string svg = svg_of(c);
  EXPECT_THAT(svg, HasSubstr("<title>attempt 2 continues from step 5</title>"));
  EXPECT_THAT(svg, HasSubstr(">attempt 2</text>"));
  EXPECT_THAT(svg, HasSubstr("class=\"band c0\""));
}

TEST(LineChart, HoldsWhateverNumbersThereAre) {
  const double most = std::numeric_limits<double>::max();
  for (const auto& points : std::vector<std::vector<DrawnPoint>>{
           {}, {{3, 0, 0, 0}}, {{0, -most, -most, -most}, {1, most, most, most}}, {{0, 5e-324, 5e-324, 5e-324}}}) {
    const std::string svg = svg_of(chart(points));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
    EXPECT_THAT(svg, HasSubstr("</svg>"));
  }
}

}  // namespace
}  // namespace belay::runtime
