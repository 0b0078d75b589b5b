// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/directory/leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "runtime/checkpoint/write/checkpoint_writer.h"
#include "tests/checkpoint/checkpoint_fixture.h"
#include "tests/platform/faulty_file_system.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Leftovers : public ::testing::Test {
 protected:
  Leftovers() {
    for (const std::int64_t step : {10, 20, 30})
      write_checkpoint(*run_, StepContent(step).content(), saver_.use(), log_);
  }
  // Whether the newest is whole and has every bit of that step.
  void expect_newest(std::int64_t step) {
    const auto reader = find_restorable(*run_, log_);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(StepContent(step).difference(*reader, saver_.use()), "");
  }

  TempDir dir_;
  RecordingLogger log_;
  SafetensorsSaver saver_;
  std::unique_ptr<OpenDirectory> run_ = posix_file_system().open_directory(dir_.path());
};

TEST_F(Leftovers, UnfinishedOnesAreRemovedWithOneLine) {
  const std::string a = temporary_name("model.ckpt-40"), b = temporary_name("model.ckpt-50");
  std::filesystem::create_directory(dir_ / a);
  write_file(dir_ / a + "/model.safetensors", "half");
  std::filesystem::create_directory(dir_ / b);
  log_.lines.clear();
  remove_leftovers(*run_, log_);
  EXPECT_THAT(log_.lines, ElementsAre("info checkpoint: removed what an interrupted save left in '" + dir_.path() +
                                      "': " + a + ", " + b));
  EXPECT_THAT(run_->entries(), ElementsAre("model.ckpt-10", "model.ckpt-20", "model.ckpt-30"));
  log_.lines.clear();
  remove_leftovers(*run_, log_);
  EXPECT_THAT(log_.lines, IsEmpty());
}

TEST_F(Leftovers, AReplacedCheckpointComesBackWhereItsSuccessorDidNotArrive) {
  const std::string aside = replaced_name("model.ckpt-30"), unfinished = temporary_name("model.ckpt-30");
  std::filesystem::rename(dir_ / "model.ckpt-30", dir_ / aside);
  std::filesystem::create_directory(dir_ / unfinished);
  log_.lines.clear();
  remove_leftovers(*run_, log_);
  EXPECT_THAT(
      log_.lines,
      ElementsAre("info checkpoint: put model.ckpt-30 back: the save that was to replace it did not finish",
                  "info checkpoint: removed what an interrupted save left in '" + dir_.path() + "': " + unfinished));
  expect_newest(30);
}

TEST_F(Leftovers, AReplacedCheckpointGoesWhereItsSuccessorArrived) {
  const std::string aside = replaced_name("model.ckpt-30");
  std::filesystem::copy(dir_ / "model.ckpt-20", dir_ / aside, std::filesystem::copy_options::recursive);
  remove_leftovers(*run_, log_);
  EXPECT_THAT(run_->entries(), ElementsAre("model.ckpt-10", "model.ckpt-20", "model.ckpt-30"));
  expect_newest(30);
}

TEST_F(Leftovers, T_160_AReplacedCheckpointWhoseRemovalHadBegunIsNotPutBack) {
  const std::string aside = replaced_name("model.ckpt-20");
  std::filesystem::rename(dir_ / "model.ckpt-20", dir_ / aside);
  std::filesystem::remove(dir_ / aside + "/index");
  log_.lines.clear();
  remove_leftovers(*run_, log_);
  EXPECT_THAT(run_->entries(), ElementsAre("model.ckpt-10", "model.ckpt-30"));
  EXPECT_THAT(log_.lines,
              ElementsAre("info checkpoint: removed what an interrupted save left in '" + dir_.path() + "': " + aside));
}

TEST_F(Leftovers, T_160_EachFileThatTheHostReplacesIsSweptUpUnfinished) {
  for (const char* name :
       {"attempts", "best", "checkpoint", "evaluations", "finished", "manifest-0012.toml", "manifest.toml"})
    write_file(dir_ / (std::string(name) + ".tmp"), "half");
  for (const char* name : {"mine.tmp", "manifest-x.toml.tmp"}) write_file(dir_ / name, "the user's");
  remove_leftovers(*run_, log_);
  EXPECT_THAT(run_->entries(),
              ElementsAre("manifest-x.toml.tmp", "mine.tmp", "model.ckpt-10", "model.ckpt-20", "model.ckpt-30"));
}

TEST_F(Leftovers, AnUnfinishedStateFileIsRemovedToo) {
  write_file(dir_ / "checkpoint.tmp", "model_check");
  write_file(dir_ / "best.tmp", "{");
  std::filesystem::create_directory(dir_ / "checkpoint.tmp2");
  remove_leftovers(*run_, log_);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "checkpoint.tmp"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "best.tmp"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "checkpoint.tmp2"));
}

TEST_F(Leftovers, WhatCannotBeRemovedIsAWarning) {
  const std::string name = temporary_name("model.ckpt-40");
  std::filesystem::create_directory(dir_ / name);
  FaultyFileSystem files(posix_file_system());
  files.fail(FileCall::kRemove, 2, Error(Code::kPermissionDenied, "cannot remove 'x': Permission denied"));
  const auto run = files.open_directory(dir_.path());
  std::filesystem::create_directory(dir_ / temporary_name("model.ckpt-50"));
  remove_leftovers(*run, log_);
  EXPECT_EQ(log_.lines.size(), 2u);
  EXPECT_EQ(log_.lines[0], "warning checkpoint: cannot clean up after a save: cannot remove 'x': Permission denied");
}

TEST_F(Leftovers, FilesAndNamesOfTheUserStay) {
  const std::string file = temporary_name("model.ckpt-1");
  write_file(dir_ / file, "a file, not a directory");
  std::filesystem::create_directory(dir_ / "model.ckpt-1.tmp-mine");
  std::filesystem::create_directory(dir_ / "notes.tmp");
  remove_leftovers(*run_, log_);
  for (const std::string& name : {file, std::string("model.ckpt-1.tmp-mine"), std::string("notes.tmp")})
    EXPECT_TRUE(std::filesystem::exists(dir_ / name)) << name;
}

}  // namespace
}  // namespace belay::runtime
