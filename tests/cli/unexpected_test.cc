// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/watch/unexpected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <system_error>

#include "belay/testing/temporary_folder.h"

namespace belay::runtime {
namespace {

using ::testing::StartsWith;
namespace fs = std::filesystem;

TEST(Unexpected, T_31b_ARemovedCurrentDirectoryIsNoBugOfOurs) {
  const fs::path before = fs::current_path();
  const belay::testing::TemporaryFolder folder;
  fs::create_directory(folder.file("gone"));
  fs::current_path(folder.file("gone"));
  fs::remove(folder.file("gone"));
  std::string text;
  try {
    static_cast<void>(fs::absolute("x.so"));
  } catch (const std::exception& e) {
    text = unexpected_text(e);
  }
  fs::current_path(before);
  EXPECT_EQ(text,
            "the current directory cannot be used: No such file or directory\n"
            "  help: it was probably removed; change to one that exists");
}

TEST(Unexpected, T_31c_WantOfMemoryOrThreadsIsNoBugOfOurs) {
  EXPECT_THAT(unexpected_text(std::bad_alloc()), StartsWith("error: out of memory: "));
  EXPECT_THAT(unexpected_text(std::system_error(EAGAIN, std::generic_category())),
              StartsWith("error: a thread cannot be started: "));
}

TEST(Unexpected, EverythingElseIs) {
  EXPECT_EQ(unexpected_text(std::runtime_error("two\nlines")),
            "belay ended with an unexpected error, which is a bug of ours: two\\nlines");
}

}  // namespace
}  // namespace belay::runtime
