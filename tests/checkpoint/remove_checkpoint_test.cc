// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/directory/remove_checkpoint.h"

#include <filesystem>
#include <initializer_list>

#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_file.h"
#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/checkpoint/write/pinned.h"
#include "tests/checkpoint/run_directory_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;

class RemoveCheckpointTest : public RunDirectoryTest {
 protected:
  void save(std::initializer_list<std::int64_t> steps) {
    CheckpointSeries series(files_, *run_, clock_, log_, {});
    series.recover();
    for (const std::int64_t step : steps) {
      clock_.advance(FakeClock::kSecond);
      series.save(StepContent(step).content(), saver_.use());
    }
  }
  std::string why(std::int64_t step) { return why_needed(*run_, checkpoint_name(step), log_); }
  std::string current() const { return read_checkpoint_state(*run_)->current; }
  void break_weights(std::int64_t step) {
    const std::string path = dir_ / (checkpoint_name(step) + "/model.safetensors");
    std::string bytes = read_file(path);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_file(path, bytes);
  }
};

TEST_F(RemoveCheckpointTest, AnOlderOneIsNotNeeded) {
  save({1, 2, 3});
  EXPECT_EQ(why(1), "");
  EXPECT_EQ(why(3), "");
}

TEST_F(RemoveCheckpointTest, TheOnlyOneThatCanBeRestoredIsNeeded) {
  save({1, 2});
  break_weights(2);
  EXPECT_EQ(why(1), "it is the only one of the run that can be restored");
  EXPECT_EQ(why(2), "");  // no run can continue from it
}

TEST_F(RemoveCheckpointTest, APinnedOneIsNeededAlsoIfItIsDamaged) {
  save({1, 2});
  pin(*run_->open_directory("model.ckpt-1"));
  break_weights(1);
  EXPECT_EQ(why(1), "it is pinned");
}

TEST_F(RemoveCheckpointTest, OneOfTheBestIsNeeded) {
  save({1, 2});
  write_file(dir_ / "best", format_best_list({"eval/loss", Better::kSmaller, {{1, 0.5}}}) + "\n");
  EXPECT_EQ(why(1), "it is one of the best by eval/loss");
  EXPECT_EQ(why(2), "");
}

TEST_F(RemoveCheckpointTest, OneWithAFileThatIsNoPartOfItIsNeeded) {
  save({1, 2});
  write_file(dir_ / "model.ckpt-1/notes.txt", "mine");
  EXPECT_EQ(why(1), "it holds 'notes.txt', which is no part of it");
}

TEST_F(RemoveCheckpointTest, WhatIsRemovedIsOffTheListsAndTheNewestWholeOneIsCurrent) {
  save({1, 2, 3});
  write_file(dir_ / "best", format_best_list({"eval/loss", Better::kSmaller, {{3, 0.25}, {1, 0.5}}}) + "\n");
  break_weights(2);
  remove_and_forget(*run_, "model.ckpt-3", log_);
  EXPECT_THAT(run_->entries(), ElementsAre("best", "checkpoint", "model.ckpt-1", "model.ckpt-2"));
  EXPECT_EQ(current(), "model.ckpt-1");
  EXPECT_EQ(read_best_list(*run_)->checkpoints, (std::vector<BestCheckpoint>{{1, 0.5}}));
  EXPECT_TRUE(log_.lines.empty());
}

TEST_F(RemoveCheckpointTest, AnOlderOneLeavesTheCurrentOneCurrent) {
  save({1, 2});
  remove_and_forget(*run_, "model.ckpt-1", log_);
  EXPECT_EQ(current(), "model.ckpt-2");
  EXPECT_EQ(read_checkpoint_state(*run_)->kept.size(), 1u);
}

TEST_F(RemoveCheckpointTest, WithTheLastOneTheStateFileGoes) {
  save({1});
  remove_and_forget(*run_, "model.ckpt-1", log_);
  EXPECT_THAT(run_->entries(), ElementsAre());
}

TEST_F(RemoveCheckpointTest, OneThatCannotBeRemovedGetsItsNameBack) {
  save({1, 2});
  files_.fail(FileCall::kRemove, 1, Error(Code::kPermissionDenied, "cannot remove"));
  EXPECT_EQ(error_of([&] { remove_and_forget(*run_, "model.ckpt-1", log_); }), "PERMISSION_DENIED: cannot remove");
  EXPECT_TRUE(std::filesystem::exists(dir_ / "model.ckpt-1/index"));
  EXPECT_EQ(read_checkpoint_state(*run_)->kept.size(), 2u);
}

}  // namespace
}  // namespace belay::runtime
