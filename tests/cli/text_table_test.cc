// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/text/text_table.h"

#include <gtest/gtest.h>

namespace belay::runtime {
namespace {

TEST(TextTable, AlignsColumnsByTheirWidthOnATerminal) {
  TextTable table;
  table.add({"a", "caf\xc3\xa9", "x"});
  table.add({"long", "b", ""});
  table.add({"\xe6\x97\xa5", "c"});
  EXPECT_EQ(table.text("  "), "  a     caf\xc3\xa9  x\n  long  b\n  \xe6\x97\xa5    c\n");
}

TEST(TextTable, LeavesOutColumnsThatAreEmpty) {
  TextTable table;
  table.add({"a", "", "x"});
  table.add({"b", "", "y"});
  EXPECT_EQ(table.text(""), "a  x\nb  y\n");
  EXPECT_EQ(TextTable().text(""), "");
}

TEST(TextTable, KeepsHostileCellsOnTheirLine) {
  TextTable table;
  table.add({"a\nb\x1b[2J"});
  EXPECT_EQ(table.text(""), "a\\nb\\x1b[2J\n");
}

TEST(BytesText, HasTheUnitThatFits) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(bytes_text(1024), "1.0 KiB");
  EXPECT_EQ(bytes_text(3 << 19), "1.5 MiB");
  EXPECT_EQ(bytes_text(std::uint64_t{5} << 30), "5.0 GiB");
  EXPECT_EQ(bytes_text(std::uint64_t{1} << 54), "16384.0 TiB");
}

}  // namespace
}  // namespace belay::runtime
