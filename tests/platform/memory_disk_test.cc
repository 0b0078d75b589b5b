// SPDX-License-Identifier: Apache-2.0
#include "tests/platform/memory_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "belay/error.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MemoryDiskTest : public ::testing::Test {
 protected:
  void put(std::string_view name, std::string_view content, bool sync_file, bool sync_directory) {
    const auto file = run_->create(name);
    file->write(content.data(), content.size());
    if (sync_file) file->sync();
    file->close();
    if (sync_directory) run_->sync();
  }
  template <class F>
  static std::string refusal(F&& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  // The file as every power loss after all that may leave it; "-" if it has no name.
  std::set<std::string> left(std::string_view name, Unsynced unsynced, int times = 200) {
    std::set<std::string> found;
    for (int i = 0; i < times; ++i) {
      MemoryDisk disk = disk_.after_power_loss(disk_.changes(), unsynced, random_);
      const auto run = disk.open_directory("/run");
      found.insert(run->exists(name) ? run->read(name, 100) : "-");
    }
    return found;
  }

  MemoryDisk disk_;
  std::unique_ptr<OpenDirectory> run_ = disk_.make_directories("/run");
  std::mt19937 random_{1};
};

TEST_F(MemoryDiskTest, IsAFileSystem) {
  put("a", "xyz", false, false);
  run_->make_directory("d")->create("inside")->write("1", 1);
  run_->rename("a", "b");
  disk_.rename("/run/b", "/run/d/b");
  EXPECT_THAT(run_->entries(), ElementsAre("d"));
  EXPECT_EQ(disk_.open_directory("/run/d")->read("b", 10), "xyz");
  EXPECT_EQ(disk_.status("/run/d/b").size, 3u);
  EXPECT_EQ(refusal([&] { run_->make_directory("d"); }), "cannot make directory '/run/d': File exists");
  EXPECT_EQ(refusal([&] { run_->open("none"); }), "cannot open '/run/none': No such file or directory");
  run_->make_directory("e");
  EXPECT_EQ(refusal([&] { run_->rename("e", "d"); }), "cannot rename to '/run/d': Directory not empty");
  run_->remove_tree("d"), run_->remove_tree("e");
  EXPECT_THAT(run_->entries(), IsEmpty());
}

TEST_F(MemoryDiskTest, WhatWasSyncedSurvivesWithItsNameOnlyIfTheDirectoryWasSyncedToo) {
  put("a", "xyz", true, true);
  put("b", "xyz", true, false);
  put("c", "xyz", false, true);  // its directory's sync covers b's name
  for (const Unsynced unsynced : {Unsynced::kLost, Unsynced::kKept, Unsynced::kPrefix, Unsynced::kSubset}) {
    EXPECT_THAT(left("a", unsynced), ElementsAre("xyz"));
    EXPECT_THAT(left("b", unsynced), ElementsAre("xyz"));
  }
  EXPECT_THAT(left("c", Unsynced::kLost), ElementsAre(""));
  EXPECT_THAT(left("c", Unsynced::kKept), ElementsAre("xyz"));
  EXPECT_GE(left("c", Unsynced::kSubset).size(), 4u) << "whole, none of it, a part, zeros";
  put("d", "xyz", true, false);
  EXPECT_THAT(left("d", Unsynced::kLost), ElementsAre("-"));
  EXPECT_THAT(left("d", Unsynced::kSubset), ElementsAre("-", "xyz"));
}

TEST_F(MemoryDiskTest, UnsyncedRenamesComeInAnyOrderAndEachWholly) {
  put("a", "1", true, true);
  put("b", "2", true, true);
  run_->rename("a", "c");
  run_->rename("b", "a");
  EXPECT_THAT(left("a", Unsynced::kSubset), ElementsAre("-", "1", "2"));
  EXPECT_THAT(left("a", Unsynced::kPrefix), ElementsAre("-", "1", "2"));
  EXPECT_THAT(left("c", Unsynced::kLost), ElementsAre("-"));
  run_->sync();
  EXPECT_THAT(left("a", Unsynced::kSubset), ElementsAre("2"));
}

TEST_F(MemoryDiskTest, ACopyIsADiskOfItsOwn) {
  put("a", "1", false, false);
  MemoryDisk copy(disk_);
  run_->remove("a");
  EXPECT_TRUE(copy.exists("/run/a"));
  EXPECT_EQ(copy.changes(), 0u);
}

}  // namespace
}  // namespace belay::runtime
