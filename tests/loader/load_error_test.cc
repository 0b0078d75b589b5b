// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/load_error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace belay::runtime {
namespace {

TEST(LoadError, IsKindFileReasonAndFix) {
  const LoadError e(LoadErrorKind::kNotRegular, "/a/b.so", "is a FIFO, not a file", "give the .so file of a plugin");
  EXPECT_STREQ(e.what(), "[B2003] not_regular: '/a/b.so' is a FIFO, not a file\n  help: give the .so file of a plugin");
  EXPECT_EQ(e.headline(), "[B2003] not_regular: '/a/b.so' is a FIFO, not a file");
  EXPECT_EQ(e.code(), Code::kFailedPrecondition);
  EXPECT_STREQ(LoadError(LoadErrorKind::kNotFound, "", "nothing", "").what(), "[B2001] not_found: nothing");
}

TEST(LoadError, KeepsHostileNamesOnOneLine) {
  const LoadError e(LoadErrorKind::kNotElf, "/a\n\x1b[31m\xff.so", "is\nbad", "do\tnothing");
  EXPECT_STREQ(e.what(), "[B2005] not_elf: '/a\\n\\x1b[31m\\xff.so' is\\nbad\n  help: do\\tnothing");
}

TEST(LoadError, EveryKindHasAName) {
  std::set<std::string> names;
  for (int k = 0; k <= static_cast<int>(LoadErrorKind::kDuplicate); ++k)
    names.insert(kind_name(static_cast<LoadErrorKind>(k)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(LoadErrorKind::kDuplicate) + 1);
  EXPECT_EQ(names.count("unknown"), 0u);
}

}  // namespace
}  // namespace belay::runtime
