// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/directory/locked_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/checkpoint/checkpoint_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

class LockedDirectories : public ::testing::Test {
 protected:
  std::unique_ptr<LockedDirectory> lock() {
    std::unique_ptr<OpenDirectory> directory = posix_file_system().open_directory(dir_.path());
    RunLock taken = RunLock::take(*directory, clock_, {"node-1", 4711});
    return std::make_unique<LockedDirectory>(std::move(directory), std::move(taken));
  }
  // Every way to write.
  static std::vector<std::function<void()>> writes(LockedDirectory& run, OpenFile& open_file) {
    return {[&] { run.create("new"); },           [&] { run.make_directory("new"); },
            [&] { run.rename("file", "moved"); }, [&] { run.remove("file"); },
            [&] { run.remove_tree("folder"); },   [&] { run.replace("checkpoint", "text"); },
            [&] { open_file.write("more", 4); }};
  }

  TempDir dir_;
  FakeClock clock_;
};

TEST_F(LockedDirectories, AreDirectoriesWhileTheLockIsInPlace) {
  const auto run = lock();
  EXPECT_EQ(run->path(), dir_.path());
  const auto file = run->create("file");
  file->write("text", 4);
  file->sync();
  EXPECT_EQ(file->size(), 4u);
  file->close();
  run->make_directory("folder");
  run->rename("file", "moved");
  run->replace("checkpoint", "state");
  run->sync();
  EXPECT_EQ(run->read("moved", 10), "text");
  EXPECT_THAT(run->entries(), ElementsAre("checkpoint", "folder", "lock", "moved"));
  run->remove("moved");
  run->remove_tree("folder");
  EXPECT_THAT(run->entries(), ElementsAre("checkpoint", "lock"));
  EXPECT_NO_THROW(run->check_lock());
  EXPECT_FALSE(run->lock_lost());
}

TEST_F(LockedDirectories, T_59a_NothingIsWrittenOnceTheLockIsRemovedOrAnothers) {
  for (const bool replaced : {false, true}) {
    SCOPED_TRACE(replaced);
    const auto run = lock();
    const auto file = run->create("file");
    run->make_directory("folder");
    std::filesystem::remove(dir_ / "lock");
    std::unique_ptr<LockedDirectory> other;
    if (replaced) other = lock();
    EXPECT_FALSE(run->lock_lost()) << "no look at it yet";
    const auto before = run->entries();
    for (const auto& write : writes(*run, *file)) {
      try {
        write();
        ADD_FAILURE() << "it wrote";
      } catch (const RunInUse& e) {
        EXPECT_EQ(e.code(), Code::kFailedPrecondition);
        EXPECT_THAT(e.what(), StartsWith("[B5112] the run directory '" + dir_.path() +
                                         "' is no longer this run's: its file 'lock' was removed or replaced"));
      }
    }
    EXPECT_EQ(run->entries(), before);
    EXPECT_EQ(run->read("file", 10), "");
    EXPECT_TRUE(run->lock_lost());
    if (replaced) {
      EXPECT_NO_THROW(other->create("its own"));
    }
    for (const char* name : {"file", "folder", "its own"}) std::filesystem::remove_all(dir_ / name);
  }
}

// No other run is in it; a write fails, with the reason.
TEST_F(LockedDirectories, ADirectoryThatIsGoneIsNoLostLockUnlessThereIsAnotherInItsPlace) {
  std::filesystem::create_directory(dir_ / "run");
  std::unique_ptr<OpenDirectory> directory = posix_file_system().open_directory(dir_ / "run");
  RunLock taken = RunLock::take(*directory, clock_);
  LockedDirectory run(std::move(directory), std::move(taken));
  std::filesystem::remove_all(dir_ / "run");
  EXPECT_NO_THROW(run.check_lock());
  EXPECT_EQ(error_of([&] { run.create("new"); }).substr(0, 10), "NOT_FOUND:");
  std::filesystem::create_directory(dir_ / "run");
  EXPECT_THROW(run.check_lock(), RunInUse);
}

// A lock that comes back is another run's, or was.
TEST_F(LockedDirectories, T_59a_ALostLockIsLostForGood) {
  const auto run = lock();
  std::filesystem::rename(dir_ / "lock", dir_ / "aside");
  EXPECT_THROW(run->check_lock(), RunInUse);
  std::filesystem::rename(dir_ / "aside", dir_ / "lock");
  EXPECT_THROW(run->create("new"), RunInUse);
}

}  // namespace
}  // namespace belay::runtime
