// SPDX-License-Identifier: Apache-2.0
#include <belay/data_file.h>
#include <belay/testing/error_of.h>
#include <belay/testing/temporary_folder.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace {

using belay::data_file_size;
using belay::testing::error_of;
using belay::testing::TemporaryFolder;

TEST(DataFile, HasASize) {
  const TemporaryFolder folder;
  EXPECT_EQ(data_file_size("path", folder.write("a", "12345")), 5u);
  EXPECT_EQ(data_file_size("path", folder.write("b", "")), 0u);
}

TEST(DataFile, WhatIsNoReadableFileIsAnError) {
  const TemporaryFolder folder;
  folder.write("train.csv", "1");
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  struct Case {
    std::string path, error;  // @: the path
  };
  const Case cases[] = {
      {"", "INVALID_ARGUMENT: [B3047] rows: the file name is empty"},
      {folder.file("tarin.csv"), "NOT_FOUND: [B3046] rows: there is no file '@' (did you mean \"train.csv\"?)"},
      {folder.file("zebra"), "NOT_FOUND: [B3046] rows: there is no file '@'"},
      {folder.file("no/train.csv"),
       "NOT_FOUND: [B3046] rows: there is no file '@': the folder cannot be opened: No such file or directory"},
      {folder.file("train.csv/x"),
       "NOT_FOUND: [B3046] rows: there is no file '@': the folder cannot be opened: Not a directory"},
      {folder.path(), "INVALID_ARGUMENT: [B3047] rows: '@' is a folder; name a file in it"},
      {folder.file("pipe"), "INVALID_ARGUMENT: [B3047] rows: '@' is no regular file"},
      {folder.file(std::string(300, 'x')), "INVALID_ARGUMENT: [B3047] rows: '@' cannot be read: File name too long"},
  };
  for (const Case& c : cases) {
    std::string expected = c.error;
    if (expected.find('@') != std::string::npos) expected.replace(expected.find('@'), 1, c.path);
    EXPECT_EQ(error_of([&] { data_file_size("rows", c.path); }), expected);
  }
}

TEST(DataFile, TwoEntriesOfOneFileAreRefusedByName) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a", "1"), b = folder.write("b", "1"), link = folder.file("c");
  std::filesystem::create_symlink(b, link);
  const auto error = [](const std::vector<std::string>& paths) {
    return error_of([&] { belay::refuse_repeated_files("files", paths); });
  };
  EXPECT_EQ(error({a, b}), "");
  EXPECT_EQ(error({folder.file("none"), folder.file("none")}), "");
  EXPECT_EQ(error({b, a, link}), "INVALID_ARGUMENT: [B3050] files: '" + b + "' (entry 1) and '" + link +
                                     "' (entry 3) are one file, whose examples would be read twice; leave one out");
}

TEST(DataFile, AFileThatMayNotBeReadIsPermissionDenied) {
  if (geteuid() == 0) GTEST_SKIP() << "NOT TESTED: root may read every file";
  const TemporaryFolder folder;
  const std::string path = folder.write("secret", "1");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  EXPECT_EQ(error_of([&] { data_file_size("rows", path); }),
            "PERMISSION_DENIED: [B3047] rows: '" + path + "' cannot be read: Permission denied");
}

}  // namespace
