// SPDX-License-Identifier: Apache-2.0
#include "belay/output_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "belay/testing/temporary_folder.h"

namespace belay {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(OutputFile, IsNewOrKept) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("a.csv");
  EXPECT_EQ(open_output_file(path, true), nullptr);
  EXPECT_EQ(errno, ENOENT);
  folder.write("a.csv", "old text");
  {
    const OutputFile kept = open_output_file(path, true);
    char first[3];
    ASSERT_EQ(std::fread(first, 1, 3, kept.get()), 3u);
    EXPECT_EQ(std::string(first, 3), "old");
  }
  EXPECT_EQ(std::fputs("new", open_output_file(path).get()), 1);
  EXPECT_EQ(text_of(path), "new");
}

TEST(OutputFile, ASymbolicLinkIsNotFollowed) {
  const testing::TemporaryFolder folder;
  const std::string precious = folder.write("precious", "text");
  for (const char* name : {"link", "other.part"}) fs::create_symlink(precious, folder.file(name));
  for (const bool keep : {false, true}) {
    EXPECT_EQ(open_output_file(folder.file("link"), keep), nullptr);
    EXPECT_EQ(errno, ELOOP);
  }
  EXPECT_FALSE(replace_output_file(folder.file("other"), "x"));
  EXPECT_EQ(errno, ELOOP);
  EXPECT_TRUE(replace_output_file(folder.file("link"), "x"));  // the link itself is replaced
  EXPECT_FALSE(fs::is_symlink(folder.file("link")));
  EXPECT_EQ(text_of(precious), "text");
}

}  // namespace
}  // namespace belay
