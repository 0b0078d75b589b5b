// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/find_restorable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "runtime/checkpoint/directory/remove_checkpoint.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/restore_crashes.h"
#include "runtime/checkpoint/write/checkpoint_writer.h"
#include "runtime/platform/files/crc32c.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FindRestorable : public ::testing::Test {
 protected:
  void save(std::int64_t step) { series_.save(StepContent(step).content(), saver_.use()); }
  // Step of what was found; -1: nothing; its bits are checked.
  std::int64_t found() {
    log_.lines.clear();
    const auto reader = find_restorable(*run_, log_);
    if (reader == nullptr) return -1;
    EXPECT_EQ(StepContent(reader->state().global_step).difference(*reader, saver_.use()), "");
    return reader->state().global_step;
  }
  void set_state_file(std::string_view text) { write_file(dir_ / "checkpoint", text); }
  void damage(std::int64_t step) {
    std::filesystem::resize_file(dir_ / (checkpoint_name(step) + "/model.safetensors"), 100);
  }
  std::string cut(std::int64_t step) const {
    return "'" + (dir_ / checkpoint_name(step)) + "': [B4019] model.safetensors has 100 bytes, but the index records " +
           std::to_string(length_);
  }

  TempDir dir_;
  FakeClock clock_;
  RecordingLogger log_;
  SafetensorsSaver saver_;
  std::unique_ptr<OpenDirectory> run_ = posix_file_system().open_directory(dir_.path());
  CheckpointSeries series_{posix_file_system(), *run_, clock_, log_, {}};
  std::size_t length_ = [this] {
    save(10), save(20), save(30);
    return read_file(dir_ / "model.ckpt-10/model.safetensors").size();
  }();
};

TEST_F(FindRestorable, AnEmptyDirectoryHoldsNothing) {
  const TempDir empty;
  const auto run = posix_file_system().open_directory(empty.path());
  EXPECT_EQ(find_restorable(*run, log_), nullptr);
  EXPECT_EQ(latest_checkpoint(*run, log_), "");
  EXPECT_THAT(log_.lines, IsEmpty());
}

TEST_F(FindRestorable, TheStateFileDecides) {
  EXPECT_EQ(found(), 30);
  set_state_file("model_checkpoint_path: \"model.ckpt-10\"");
  EXPECT_EQ(found(), 10);
  set_state_file("model_checkpoint_path: \"" + (dir_ / "model.ckpt-20") + "\"");
  EXPECT_EQ(found(), 20);
  EXPECT_THAT(log_.lines, IsEmpty());
  EXPECT_EQ(latest_checkpoint(*run_, log_), dir_ / "model.ckpt-20");
}

TEST_F(FindRestorable, T_09a_AStateFileMayNameItInAnyWay) {
  const std::string folder = std::filesystem::path(dir_.path()).filename();
  std::filesystem::create_directory_symlink(dir_.path(), dir_ / "same");
  for (const std::string& path :
       {std::string("./model.ckpt-10"), std::string("model.ckpt-10/"), std::string(".//model.ckpt-10//"),
        "../" + folder + "/model.ckpt-10", dir_ / "model.ckpt-10/", dir_ / "./model.ckpt-10",
        dir_ / "model.ckpt-20/../model.ckpt-10", dir_ / "same/model.ckpt-10"}) {
    set_state_file("model_checkpoint_path: \"" + path + "\"");
    EXPECT_EQ(found(), 10) << path;
    EXPECT_THAT(log_.lines, IsEmpty()) << path;
  }
}

// The run's own directory may be named in any way, too.
TEST_F(FindRestorable, T_09a_AnAbsolutePathIsInARunDirectoryThatIsARelativeOne) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir_.path());
  set_state_file("model_checkpoint_path: \"" + (dir_ / "model.ckpt-20") + "\"");
  for (const char* spelling : {".", "./", ".././/"}) {
    const std::string path = std::string(spelling) == ".././/"
                                 ? "../" + std::filesystem::path(dir_.path()).filename().string() + "//"
                                 : spelling;
    run_ = posix_file_system().open_directory(path);
    EXPECT_EQ(found(), 20) << path;
    EXPECT_THAT(log_.lines, IsEmpty()) << path;
  }
  std::filesystem::current_path(before);
}

// A save that was killed before the state file leaves it; a copy from elsewhere looks the same.
TEST_F(FindRestorable, T_56a_ANewerOneThatTheStateFileDoesNotNameIsNotTheLatest) {
  const std::string state = read_file(dir_ / "checkpoint");
  save(40);
  set_state_file(state);
  EXPECT_EQ(found(), 30);
  EXPECT_THAT(log_.lines, IsEmpty());
  EXPECT_EQ(latest_checkpoint(*run_, log_), dir_ / "model.ckpt-30");
  damage(30);
  EXPECT_EQ(found(), 20);
}

TEST_F(FindRestorable, ACheckpointMayHaveAnyNameIfTheStateFileSaysSo) {
  std::filesystem::rename(dir_ / "model.ckpt-10", dir_ / "the good one");
  set_state_file("model_checkpoint_path: \"the good one\"");
  EXPECT_EQ(found(), 10);
}

TEST_F(FindRestorable, SAVER_15_AMovedRunIsStillARun) {
  std::filesystem::create_directory(dir_ / "moved");
  for (const char* name : {"model.ckpt-10", "model.ckpt-20", "model.ckpt-30", "checkpoint"})
    std::filesystem::rename(dir_ / name, dir_ / (std::string("moved/") + name));
  run_ = posix_file_system().open_directory(dir_ / "moved");
  EXPECT_EQ(found(), 30);
  EXPECT_THAT(log_.lines, IsEmpty());
}

// F21
TEST_F(FindRestorable, AMissingStateFileMeansASearch) {
  std::filesystem::remove(dir_ / "checkpoint");
  EXPECT_EQ(found(), 30);
  EXPECT_THAT(log_.lines, IsEmpty());
}

TEST_F(FindRestorable, CKST_10_AnEmptyOrForeignStateFileIsAWarningAndASearch) {
  const std::string start = "warning checkpoint: the state file cannot be used, so the directory is searched: '" +
                            (dir_ / "checkpoint") + "': ";
  const struct {
    std::string text, reason;
  } cases[] = {
      {"", "[B4011] it names no current checkpoint (model_checkpoint_path)"},
      {"hello world", "[B4012] line 1, column 7: Expected \"{\", found \"world\"."},
      {std::string("\x7f"
                   "ELF\0\1",
                   6),
       "[B4012] line 1, column 1: Expected identifier, got: \\x7f"},
  };
  for (const auto& c : cases) {
    set_state_file(c.text);
    EXPECT_EQ(found(), 30);
    EXPECT_THAT(log_.lines, ElementsAre(start + c.reason));
  }
}

// F22
TEST_F(FindRestorable, NothingOutsideTheDirectoryIsOpened) {
  const TempDir elsewhere;
  std::filesystem::copy(dir_ / "model.ckpt-10", elsewhere / "model.ckpt-99", std::filesystem::copy_options::recursive);
  std::filesystem::permissions(elsewhere / "model.ckpt-99", std::filesystem::perms::none);
  for (const std::string& path : {elsewhere / "model.ckpt-99", std::string("../x"), std::string(".."),
                                  std::string("a/b"), std::string("/etc"), dir_ / "../x", std::string("a\\000b")}) {
    set_state_file("model_checkpoint_path: \"" + path + "\"");
    EXPECT_EQ(found(), 30);
    ASSERT_EQ(log_.lines.size(), 1u);
    EXPECT_EQ(log_.lines[0],
              "warning checkpoint: the state file '" + (dir_ / "checkpoint") + "' names '" +
                  (path == "a\\000b" ? "a\\x00b" : path) +
                  "', which is no entry of this directory; it is not opened, and the directory is searched");
  }
}

TEST_F(FindRestorable, ALinkIsNoCheckpoint) {
  const TempDir elsewhere;
  std::filesystem::copy(dir_ / "model.ckpt-10", elsewhere / "model.ckpt-99", std::filesystem::copy_options::recursive);
  std::filesystem::create_directory_symlink(elsewhere / "model.ckpt-99", dir_ / "model.ckpt-99");
  set_state_file("model_checkpoint_path: \"model.ckpt-99\"");
  EXPECT_EQ(found(), 30);
  EXPECT_THAT(log_.lines,
              ElementsAre("warning checkpoint: a checkpoint is damaged and stays where it is: '" +
                              (dir_ / "model.ckpt-99") + "': it is a symbolic link, a checkpoint is a directory",
                          "warning checkpoint: going back to model.ckpt-30"));
}

// F23
TEST_F(FindRestorable, AStateFileThatNamesAMissingOneMeansASearch) {
  std::filesystem::remove_all(dir_ / "model.ckpt-30");
  EXPECT_EQ(found(), 20);
  EXPECT_THAT(log_.lines, ElementsAre("warning checkpoint: a checkpoint is damaged and stays where it is: '" +
                                          (dir_ / "model.ckpt-30") + "': it is missing",
                                      "warning checkpoint: going back to model.ckpt-20"));
}

// F19
TEST_F(FindRestorable, ADamagedOneIsNamedAndLeftAndTheOneBeforeIsUsed) {
  damage(30);
  EXPECT_EQ(found(), 20);
  EXPECT_THAT(log_.lines, ElementsAre("warning checkpoint: a checkpoint is damaged and stays where it is: " + cut(30),
                                      "warning checkpoint: going back to model.ckpt-20"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "model.ckpt-30/index"));
  damage(20);
  EXPECT_EQ(found(), 10);
}

TEST_F(FindRestorable, WhoWentBackByHandIsNotSentForwardWhileThereAreOlderOnes) {
  set_state_file("model_checkpoint_path: \"model.ckpt-20\"");
  damage(20);
  EXPECT_EQ(found(), 10);
  damage(10);
  EXPECT_EQ(found(), 30);
}

// F24
TEST_F(FindRestorable, WhereAllAreDamagedItRefusesAndListsEachWithItsReason) {
  damage(10), damage(20), damage(30);
  try {
    found();
    FAIL();
  } catch (const RestoreError& e) {
    EXPECT_EQ(e.code(), Code::kDataLoss);
    EXPECT_EQ(std::string(e.what()), "[B4034] '" + dir_.path() + "' holds checkpoints, but none can be restored:\n  " +
                                         cut(30) + "\n  " + cut(20) + "\n  " + cut(10) +
                                         "\nnothing was deleted; to begin again at step 0, run with --from-scratch");
  }
  EXPECT_THAT(run_->entries(), ElementsAre("checkpoint", "model.ckpt-10", "model.ckpt-20", "model.ckpt-30"));
}

TEST_F(FindRestorable, AStateFileWithoutItsCheckpointsIsNoFreshStart) {
  for (const std::int64_t step : {10, 20, 30}) std::filesystem::remove_all(dir_ / checkpoint_name(step));
  EXPECT_EQ(error_of([&] { found(); }),
            "DATA_LOSS: [B4034] '" + dir_.path() + "' holds checkpoints, but none can be restored:\n  '" +
                (dir_ / "model.ckpt-30") +
                "': it is missing\nnothing was deleted; to begin again at step 0, run with --from-scratch");
}

TEST_F(FindRestorable, AnEmptyStateFileAloneIsAFreshStart) {
  for (const std::int64_t step : {10, 20, 30}) std::filesystem::remove_all(dir_ / checkpoint_name(step));
  set_state_file("");
  EXPECT_EQ(found(), -1);
}

// F27
TEST_F(FindRestorable, ALaterFormatIsNotPassedOver) {
  const std::string body = R"({"format": 2, "writer": "belay 2.3")";
  write_file(dir_ / "model.ckpt-30/index", body + ",\n \"crc32c\": \"" + crc_text(crc32c(body)) + "\"\n}\n");
  try {
    found();
    FAIL();
  } catch (const RestoreError& e) {
    EXPECT_EQ(e.code(), Code::kFailedPrecondition);
    EXPECT_EQ(std::string(e.what()),
              "[B4034] the checkpoint to restore cannot be read: '" + (dir_ / "model.ckpt-30") +
                  "': index: [B4004] it was written by belay 2.3 in format 2; this is belay " BELAY_VERSION
                  ", which reads format 1: use a newer belay");
  }
}

// The state file is a hint: whatever is in it, a whole checkpoint comes out.
TEST_F(FindRestorable, EveryFlippedByteOfTheStateFileLeadsToAWholeCheckpoint) {
  const std::string whole = read_file(dir_ / "checkpoint");
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      set_state_file(damaged);
      ASSERT_GE(found(), 10) << i << " " << bit;
    }
}

TEST_F(FindRestorable, EveryTruncationOfTheNewestLeadsToTheOneBefore) {
  for (const char* name : {"index", "state", "state.data", "model.safetensors"}) {
    const std::string file = dir_ / "model.ckpt-30/" + name, whole = read_file(file);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      std::filesystem::resize_file(file, n);
      ASSERT_EQ(found(), 20) << name << " " << n;
      ASSERT_EQ(log_.lines.size(), 2u);
      write_file(file, whole);
    }
  }
  EXPECT_EQ(found(), 30);
}

TEST_F(FindRestorable, UnfinishedOnesAreNoCheckpoints) {
  std::filesystem::rename(dir_ / "model.ckpt-30", dir_ / temporary_name("model.ckpt-30"));
  std::filesystem::remove(dir_ / "checkpoint");
  EXPECT_EQ(found(), 20);
}

TEST_F(FindRestorable, CKST_08_EntriesAreNamesAndPathsOfElsewhereStayAsTheyAreWritten) {
  set_state_file(
      "model_checkpoint_path: \"./model.ckpt-20\"\nall_model_checkpoint_paths: \"/else/model.ckpt-7\"\n"
      "all_model_checkpoint_paths: \"./model.ckpt-20\"\n");
  const auto state = read_checkpoint_state(*run_);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->current, "model.ckpt-20");
  ASSERT_EQ(state->kept.size(), 2u);
  EXPECT_EQ(state->kept[0].path, "/else/model.ckpt-7");
  EXPECT_EQ(state->kept[1].path, "model.ckpt-20");
}

TEST_F(FindRestorable, CKST_04_ARunDirectoryMayBeNamedByARelativePath) {
  run_ = posix_file_system().open_directory(std::filesystem::relative(dir_.path()).string());
  EXPECT_EQ(found(), 30);
}

TEST_F(FindRestorable, SAVER_06_AStepThatIsSavedAgainIsReadAnew) {
  StepContent other(40);
  other.content().global_step = 30;
  series_.save(other.content(), saver_.use());
  Tensor kernel(DType::kFloat32, {15});
  find_restorable(*run_, log_)->read(saver_.use(), {{"dense/kernel", kernel.view()}});
  EXPECT_EQ(TensorView(kernel).number(0), 40);
}

TEST_F(FindRestorable, SAVER_07_ACheckpointWithoutVariablesIsOne) {
  CheckpointContent nothing;
  nothing.global_step = 40;
  nothing.graph_hash = "5c0e";
  EXPECT_EQ(series_.save(nothing, saver_.use()), dir_ / "model.ckpt-40");
  const std::unique_ptr<CheckpointReader> reader = find_restorable(*run_, log_);
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->state().global_step, 40);
  EXPECT_THAT(reader->tensors(), IsEmpty());
}

TEST_F(FindRestorable, SAVER_03_AnInt64ScalarComesBackExactly) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  const Tensor saved(large);
  CheckpointContent content;
  content.global_step = 40;
  content.graph_hash = "5c0e";
  content.variables = {{"counter", saved.view()}};
  series_.save(content, saver_.use());
  Tensor read(std::int64_t{0});
  find_restorable(*run_, log_)->read(saver_.use(), {{"counter", read.view()}});
  EXPECT_EQ(TensorView(read).scalar<std::int64_t>(), large);
}

// ---- a restore that crashes the process (F29)

TEST_F(FindRestorable, OneThatCrashedTwoStartsInARowIsPassedOverAndNamed) {
  const auto crash = [&](const std::string& name) {
    // In a child, which dies before the destructor.
    const pid_t child = fork();
    if (child == 0) {
      const WatchedRestore restore(*run_, name);
      WatchedRestore::note_crash();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
  };
  crash("model.ckpt-30");
  EXPECT_EQ(found(), 30);
  { const WatchedRestore restore(*run_, "model.ckpt-30"); }  // the process outlives it
  EXPECT_EQ(restore_crashes(*run_, "model.ckpt-30"), 0u);
  crash("model.ckpt-30");
  EXPECT_EQ(found(), 30);
  crash("model.ckpt-30");
  EXPECT_EQ(found(), 20);
  EXPECT_THAT(log_.lines,
              ElementsAre("warning checkpoint: a checkpoint is passed over and stays where it is: '" +
                              (dir_ / "model.ckpt-30") +
                              "': 2 starts crashed while it was restored; to try it again, remove its file 'crashed'",
                          "warning checkpoint: going back to model.ckpt-20"));
  // The mark is no foreign file, and goes with what it is of.
  save(30);
  EXPECT_EQ(found(), 30);
  EXPECT_THAT(log_.lines, IsEmpty());
  crash("model.ckpt-10");
  EXPECT_EQ(foreign_entry(*run_->open_directory("model.ckpt-10")), "");
}

TEST_F(FindRestorable, WithoutARestoreACrashLeavesNoMark) {
  WatchedRestore::note_crash();
  for (const std::int64_t step : {10, 20, 30}) EXPECT_EQ(restore_crashes(*run_, checkpoint_name(step)), 0u);
  EXPECT_EQ(restore_crashes(*run_, "model.ckpt-40"), 0u);
}

}  // namespace
}  // namespace belay::runtime
