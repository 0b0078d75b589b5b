// SPDX-License-Identifier: Apache-2.0
#include "tests/platform/faulty_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;

class FaultyFileSystemTest : public ::testing::Test {
 protected:
  static void put(OpenDirectory& directory, std::string_view name, std::string_view content) {
    const auto file = directory.create(name);
    file->write(content.data(), content.size());
    file->sync();
    file->close();
  }

  TempDir dir_;
  FaultyFileSystem files_{posix_file_system()};
  const Error fire_{Code::kDataLoss, "disk on fire"};
};

TEST_F(FaultyFileSystemTest, RemembersEveryCallInOrder) {
  const auto directory = files_.make_directories(dir_ / "run");
  const auto inside = directory->make_directory("ckpt.tmp");
  put(*inside, "a", "xyz");
  inside->sync();
  directory->rename("ckpt.tmp", "ckpt");
  directory->sync();
  directory->try_lock("lock");
  directory->open_directory("ckpt")->read("a", 10);
  directory->entries();
  directory->remove_tree("ckpt");
  directory->remove("lock");
  EXPECT_THAT(files_.calls(), ElementsAre("make_directory .", "make_directory ckpt.tmp", "create ckpt.tmp/a",
                                          "write ckpt.tmp/a", "sync ckpt.tmp/a", "close ckpt.tmp/a", "sync ckpt.tmp",
                                          "rename ckpt.tmp -> ckpt", "sync .", "lock lock", "open_directory ckpt",
                                          "open ckpt/a", "read ckpt/a", "list .", "remove_tree ckpt", "remove lock"));
}

TEST_F(FaultyFileSystemTest, ReplaceSyncsTheFileBeforeTheRenameAndTheDirectoryAfterIt) {
  files_.open_directory(dir_.path())->replace("state", "x");
  EXPECT_THAT(files_.calls(), ElementsAre("open_directory .", "create state.tmp", "write state.tmp", "sync state.tmp",
                                          "close state.tmp", "rename state.tmp -> state", "sync ."));
}

TEST_F(FaultyFileSystemTest, ReplaceThatFailsLeavesTheOldContentAndNoTemporaryFile) {
  for (int n = 1; n <= 5; ++n) {  // create, write, sync, close, rename
    const auto directory = files_.open_directory(dir_.path());
    directory->replace("state", "old");
    files_.fail_any(n, fire_);
    EXPECT_THROW(directory->replace("state", "new"), Error) << n;
    EXPECT_EQ(directory->read("state", 10), "old") << n;
    EXPECT_THAT(directory->entries(), ElementsAre("state")) << n;
  }
}

TEST_F(FaultyFileSystemTest, FailsTheNthCallOfAKindOnce) {
  const auto directory = files_.open_directory(dir_.path());
  files_.fail(FileCall::kSync, 2, fire_);
  put(*directory, "a", "");
  EXPECT_THROW(put(*directory, "b", ""), Error);
  put(*directory, "c", "");
}

TEST_F(FaultyFileSystemTest, FailsForEverUntilHealed) {
  const auto directory = files_.open_directory(dir_.path());
  files_.fail(FileCall::kCreate, 1, fire_, HowOften::kForEver);
  EXPECT_THROW(directory->create("a"), Error);
  EXPECT_THROW(directory->create("a"), Error);
  files_.heal();
  directory->create("a");
}

TEST_F(FaultyFileSystemTest, AFailingCallDoesNothingButAWriteDoesHalf) {
  const auto directory = files_.open_directory(dir_.path());
  put(*directory, "a", "");
  for (const FileCall kind : {FileCall::kRename, FileCall::kRemove, FileCall::kMakeDirectory})
    files_.fail(kind, 1, fire_);
  EXPECT_THROW(directory->rename("a", "b"), Error);
  EXPECT_THROW(directory->remove("a"), Error);
  EXPECT_THROW(directory->make_directory("d"), Error);
  const auto file = directory->create("half");
  files_.fail(FileCall::kWrite, 1, fire_);
  EXPECT_THROW(file->write("12345678", 8), Error);
  EXPECT_EQ(file->size(), 4u);
  EXPECT_THAT(directory->entries(), ElementsAre("a", "half"));
}

TEST_F(FaultyFileSystemTest, ADisksErrorNamesCallAndPath) {
  const auto directory = files_.open_directory(dir_.path());
  files_.fail_any(2, kDiskErrors[0]);
  try {
    put(*directory, "a", "xyz");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kResourceExhausted);
    EXPECT_EQ(e.what(), "cannot write '" + (dir_ / "a") + "': No space left on device");
  }
}

TEST_F(FaultyFileSystemTest, RunsOfTransfersCountAsOne) {
  const auto directory = files_.open_directory(dir_.path());
  files_.forget_calls();
  const auto file = directory->create("a");
  for (int i = 0; i < 3; ++i) file->write("x", 1);
  file->sync();
  file->write("x", 1);
  EXPECT_THAT(files_.calls_without_repeats(), ElementsAre("create a", "write a", "sync a", "write a"));
}

}  // namespace
}  // namespace belay::runtime
