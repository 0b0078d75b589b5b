// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/text/terminal_curve.h"

#include <gtest/gtest.h>

#include <limits>

namespace belay::runtime {
namespace {

TEST(TerminalCurve, AFallingLossInStars) {
  const Curve curve{".", "loss", {{0, 4}, {10, 3}, {20, 2}, {30, 1}, {40, 0}}};
  EXPECT_EQ(terminal_curve(curve, 5, 5, false, "  "),
            "  4 |*\n"
            "    | *\n"
            "    |  *\n"
            "    |   *\n"
            "  0 |    *\n"
            "     0  40\n");
}

TEST(TerminalCurve, BrailleHasTwoByFourDotsInACharacter) {
  const Curve curve{".", "loss", {{0, 3}, {1, 2}, {2, 1}, {3, 0}}};
  // Dots 1 and 5 of the first character, 3 and 8 of the second.
  EXPECT_EQ(terminal_curve(curve, 2, 1, true, ""), "3 |\xe2\xa0\x91\xe2\xa2\x84\n   0 3\n");
}

TEST(TerminalCurve, OneValueOrNone) {
  EXPECT_EQ(terminal_curve({".", "loss", {}}, 10, 3, false, ""), "");
  EXPECT_EQ(terminal_curve({".", "loss", {{1, std::numeric_limits<double>::infinity()}}}, 10, 3, false, ""), "");
  EXPECT_EQ(terminal_curve({".", "loss", {{7, 2}}}, 4, 3, false, ""), "2 |\n  |  *\n2 |\n   7  7\n");
}

TEST(TerminalCurve, ValuesOfVeryDifferentSizesByTheirLogarithms) {
  const std::string text = terminal_curve({".", "loss", {{0, 1000}, {1, 100}, {2, 10}, {3, 1}}}, 4, 4, false, "");
  EXPECT_EQ(text, "1000 |*\n     | *\n     |  *\n   1 |   *\n      0  3   (logarithmic)\n");
}

}  // namespace
}  // namespace belay::runtime
