// SPDX-License-Identifier: Apache-2.0
#include "belay/mapped_file.h"

#include <gtest/gtest.h>

#include <utility>

#include "belay/testing/error_of.h"
#include "belay/testing/temporary_folder.h"

namespace {

using belay::MappedFile;
using belay::testing::error_of;
using belay::testing::TemporaryFolder;

TEST(MappedFile, GivesTheBytes) {
  const TemporaryFolder folder;
  const std::string text(10000, 'x');
  const MappedFile file("path", folder.write("a", text));
  EXPECT_EQ(file.bytes(), text);
}

TEST(MappedFile, AnEmptyFileHasNoBytes) {
  const TemporaryFolder folder;
  EXPECT_EQ(MappedFile("path", folder.write("a", "")).bytes(), "");
  EXPECT_EQ(MappedFile().bytes(), "");
}

TEST(MappedFile, MovingTakesTheBytesAlong) {
  const TemporaryFolder folder;
  MappedFile a("path", folder.write("a", "aa"));
  MappedFile b(std::move(a));
  EXPECT_EQ(b.bytes(), "aa");
  b = MappedFile("path", folder.write("b", "bbb"));
  EXPECT_EQ(b.bytes(), "bbb");
}

TEST(MappedFile, AFileThatIsMissingIsAnError) {
  const TemporaryFolder folder;
  folder.write("rows.npy", "");
  EXPECT_EQ(error_of([&] { MappedFile("path", folder.file("row.npy")); }),
            "NOT_FOUND: [B3046] path: there is no file '" + folder.file("row.npy") + "' (did you mean \"rows.npy\"?)");
}

}  // namespace
