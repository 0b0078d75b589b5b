// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/directory/checkpoint_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/tensor_bytes.h"
#include "runtime/checkpoint/write/pinned.h"
#include "tests/checkpoint/run_directory_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A run: saves by step, and what then lies in the directory.
class CheckpointSeriesTest : public RunDirectoryTest {
 protected:
  CheckpointSeries& series() {
    if (!series_) begin();
    return *series_;
  }
  // A new process over the same directory.
  void begin(std::int64_t max_to_keep = 5) {
    series_.emplace(files_, *run_, clock_, log_, CheckpointSettings{.max_to_keep = max_to_keep});
    series_->recover();
  }
  std::string save(std::int64_t step) {
    clock_.advance(FakeClock::kSecond);
    const std::string path = series().save(StepContent(step).content(), saver_.use());
    series().retain();
    return path;
  }
  // Checkpoints in the directory.
  std::vector<std::string> on_disk() const {
    std::vector<std::string> names;
    for (const std::string& name : run_->entries())
      if (name.starts_with("model.ckpt")) names.push_back(name.substr(11));
    return names;
  }
  // By the list, and by the state file, which must agree.
  std::vector<std::string> listed() {
    std::vector<std::string> names, stored;
    for (const std::string& name : series().names()) names.push_back(name.substr(11));
    for (const auto& kept : parse_checkpoint_state(read_file(dir_ / "checkpoint")).kept)
      stored.push_back(kept.path.substr(11));
    EXPECT_EQ(names, stored);
    return names;
  }
  // The state file names that one, as after a crash before it was written, or an edit by hand.
  void set_current(std::int64_t step) {
    CheckpointState state = parse_checkpoint_state(read_file(dir_ / "checkpoint"));
    state.current = checkpoint_name(step);
    std::erase_if(state.kept, [&](const auto& k) { return *step_of_checkpoint(k.path) > step; });
    write_file(dir_ / "checkpoint", format_checkpoint_state(state));
  }
  std::string current() const { return parse_checkpoint_state(read_file(dir_ / "checkpoint")).current; }

  std::optional<CheckpointSeries> series_;
};

// A saver of one file, which writes something else if it is told to.
class SpoiledSaver {
 public:
  SpoiledSaver() {
    saver_.write = [this](Directory& directory, TensorSource& tensors) {
      File file = directory.create("values");
      written_.clear();
      for (std::uint64_t i = 0; i < tensors.count(); ++i) {
        const auto [name, value] = tensors.get(i);
        written_.push_back({std::string(name), value.dtype(), value.dims()});
        if (changes_what_it_gets && i == 0) *static_cast<char*>(const_cast<void*>(value.data())) ^= 1;
        std::string bytes(static_cast<const char*>(value.data()), value.bytes());
        if (spoils && i == 0) bytes[0] ^= 1;
        file.write(bytes.data(), bytes.size());
      }
      file.close();
    };
    saver_.read = [this](Directory& directory, TensorSink& tensors) {
      ++reads;
      const File file = directory.open("values");
      std::uint64_t at = 0;
      for (std::size_t i = 0; i < written_.size(); ++i) {
        const TensorInfo& t = written_[i];
        const std::uint64_t bytes = *byte_size(t.dtype, t.dims);
        void* memory = forgets && i == 0 ? nullptr : tensors.found(t.name, t.dtype, t.dims);
        if (memory != nullptr) file.read_at(at, memory, bytes);
        if (memory != nullptr && changes_what_it_read) *static_cast<char*>(memory) ^= 1;
        at += bytes;
      }
    };
  }
  SaverUse use() { return saver_.use(); }

  bool spoils = false, changes_what_it_gets = false, forgets = false, changes_what_it_read = false;
  int reads = 0;

 private:
  ScriptedSaver saver_;
  std::vector<TensorInfo> written_;
};

TEST_F(CheckpointSeriesTest, T_143_WhatASaverDoesNotReadBackAsItWasIsRefusedWithTheFirstSave) {
  SpoiledSaver saver;
  const auto failure = [&](std::int64_t step) {
    return error_of([&] { series().save(StepContent(step).content(), saver.use()); });
  };
  saver.spoils = true;
  const std::string said =
      "DATA_LOSS: [B4002] cannot save '" + (dir_ / "model.ckpt-1") +
      "': [B4024] saver 'scripted' did not read back what it was given to write, so nothing could be "
      "restored from it: ";
  const std::string error = failure(1);
  EXPECT_THAT(error, ::testing::StartsWith(said));
  EXPECT_THAT(error, ::testing::HasSubstr("tensor 'dense/kernel' has the CRC32C "));
  EXPECT_THAT(on_disk(), IsEmpty());
  saver.spoils = false;
  saver.forgets = true;
  EXPECT_THAT(failure(1), ::testing::HasSubstr("': the saver 'scripted' did not find tensor 'dense/kernel'"));
  EXPECT_THAT(on_disk(), IsEmpty());
  saver.forgets = false;
  saver.changes_what_it_read = true;
  EXPECT_THAT(failure(1), ::testing::HasSubstr("tensor 'dense/kernel' has the CRC32C "));
  EXPECT_THAT(on_disk(), IsEmpty());
  // Until one is read back as it was.
  saver.changes_what_it_read = false;
  EXPECT_EQ(failure(1), "");
  EXPECT_THAT(on_disk(), ElementsAre("1"));
}

// The sum of the read is right, and the memory is not.
TEST_F(CheckpointSeriesTest, T_143_WhatASaverChangesAfterItsReadIsFoundByARestore) {
  SpoiledSaver saver;
  const StepContent content(1);
  series().save(content.content(), saver.use());
  const auto reader =
      CheckpointReader::open(posix_file_system().open_directory(dir_ / "model.ckpt-1"), CheckFiles::kWhenRead);
  EXPECT_EQ(content.difference(*reader, saver.use()), "");
  saver.changes_what_it_read = true;
  EXPECT_THAT(error_of([&] { content.difference(*reader, saver.use()); }),
              ::testing::HasSubstr("tensor 'dense/kernel' has the CRC32C "));
}

TEST_F(CheckpointSeriesTest, T_143_TheFirstSaveAndEachSixteenthAfterItAreReadBack) {
  SpoiledSaver saver;
  std::vector<std::int64_t> read_back;
  for (std::int64_t step = 1; step <= 40; ++step) {
    const int before = saver.reads;
    series().save(StepContent(step).content(), saver.use());
    if (saver.reads != before) read_back.push_back(step);
  }
  EXPECT_THAT(read_back, ElementsAre(1, 1 + kSavesPerReadBack, 1 + 2 * kSavesPerReadBack));
  begin();
  saver.reads = 0;
  series().save(StepContent(41).content(), saver.use());
  EXPECT_EQ(saver.reads, 1) << "another process";
}

TEST_F(CheckpointSeriesTest, T_143_ASaverThatWritesIntoWhatItIsGivenIsRefusedWithEachSave) {
  SpoiledSaver saver;
  series().save(StepContent(1).content(), saver.use());
  saver.changes_what_it_gets = true;
  for (const std::int64_t step : {2, 3}) {
    EXPECT_EQ(error_of([&] { series().save(StepContent(step).content(), saver.use()); }),
              "INTERNAL: [B4002] cannot save '" + (dir_ / "model.ckpt-") + std::to_string(step) +
                  "': saver 'scripted': [B4031] it changed variable 'dense/kernel' while it wrote it; a saver gets the "
                  "variables to read, not to write");
    EXPECT_THAT(on_disk(), ElementsAre("1"));
  }
}

TEST_F(CheckpointSeriesTest, CKST_06_ASaveReturnsItsPathAndBecomesCurrentByItsName) {
  EXPECT_EQ(save(10), dir_ / "model.ckpt-10");
  EXPECT_EQ(read_file(dir_ / "checkpoint"),
            "model_checkpoint_path: \"model.ckpt-10\"\n"
            "all_model_checkpoint_paths: \"model.ckpt-10\"\n"
            "all_model_checkpoint_timestamps: 1704067201\n");
}

TEST_F(CheckpointSeriesTest, SAVER_21_KeepsTheNewestByNumber) {
  begin(2);
  save(1);
  EXPECT_THAT(listed(), ElementsAre("1"));
  save(2);
  EXPECT_THAT(listed(), ElementsAre("1", "2"));
  save(3);
  EXPECT_THAT(listed(), ElementsAre("2", "3"));
  EXPECT_THAT(on_disk(), ElementsAre("2", "3"));
}

TEST_F(CheckpointSeriesTest, SAVER_22_SavingAgainMovesToTheEnd) {
  begin(2);
  save(1), save(2), save(3);
  save(2);
  EXPECT_THAT(listed(), ElementsAre("3", "2"));
  EXPECT_EQ(current(), "model.ckpt-2");
  save(1);
  EXPECT_THAT(listed(), ElementsAre("2", "1"));
  EXPECT_THAT(on_disk(), ElementsAre("1", "2"));
}

TEST_F(CheckpointSeriesTest, MGR_02_ALowerLimitRemovesSeveralAtOnceButOnlyAfterASave) {
  begin(0);
  for (std::int64_t step = 1; step <= 5; ++step) save(step);
  begin(3);
  EXPECT_THAT(on_disk(), ElementsAre("1", "2", "3", "4", "5"));
  save(6);
  EXPECT_THAT(listed(), ElementsAre("4", "5", "6"));
  EXPECT_THAT(on_disk(), ElementsAre("4", "5", "6"));
}

TEST_F(CheckpointSeriesTest, SAVER_27_ZeroKeepsAllAndListsAll) {
  begin(0);
  for (std::int64_t step = 1; step <= 8; ++step) save(step);
  EXPECT_EQ(listed().size(), 8u);
  EXPECT_EQ(on_disk().size(), 8u);
}

TEST_F(CheckpointSeriesTest, SAVER_32_ANewProcessContinuesWithWhatStillExists) {
  begin(3);
  save(1), save(2), save(3);
  std::filesystem::remove_all(dir_ / "model.ckpt-1");
  begin(3);
  EXPECT_THAT(series().names(), ElementsAre("model.ckpt-2", "model.ckpt-3"));
  EXPECT_THAT(log_.lines, ElementsAre("debug checkpoint: model.ckpt-1 is in the state file but no longer there"));
  save(4);
  EXPECT_THAT(listed(), ElementsAre("2", "3", "4"));
}

TEST_F(CheckpointSeriesTest, CKST_13_TimesOfEarlierAttemptsAreKept) {
  save(1);
  begin();
  save(2);
  const CheckpointState state = parse_checkpoint_state(read_file(dir_ / "checkpoint"));
  EXPECT_EQ(state.kept[0].saved_at, 1704067201);
  EXPECT_EQ(state.kept[1].saved_at, 1704067202);
}

TEST_F(CheckpointSeriesTest, T_09b_NamesAreKeptInRetentionHoweverTheyAreWritten) {
  begin(3);
  save(1), save(2), save(3);
  const std::string folder = std::filesystem::path(dir_.path()).filename();
  write_file(dir_ / "checkpoint", "model_checkpoint_path: \"./model.ckpt-3\" all_model_checkpoint_paths: \"" +
                                      (dir_ / "model.ckpt-1/") + "\" all_model_checkpoint_paths: \"../" + folder +
                                      "//model.ckpt-2\" all_model_checkpoint_paths: \"model.ckpt-3/\"");
  begin(3);
  EXPECT_THAT(series().names(), ElementsAre("model.ckpt-1", "model.ckpt-2", "model.ckpt-3"));
  series().restored("model.ckpt-3");
  save(4);
  EXPECT_THAT(listed(), ElementsAre("2", "3", "4"));
  EXPECT_THAT(on_disk(), ElementsAre("2", "3", "4"));
}

// Killed between the checkpoint's rename and the state file.
TEST_F(CheckpointSeriesTest, T_56b_ANewerWholeOneIsListedAsNotCurrentAndCounts) {
  begin(3);
  save(1), save(2), save(3);
  set_current(2);
  begin(3);
  EXPECT_THAT(series().names(), ElementsAre("model.ckpt-1", "model.ckpt-2", "model.ckpt-3"));
  EXPECT_THAT(log_.lines,
              ElementsAre("info checkpoint: model.ckpt-3 is newer than model.ckpt-2, which the state file names: it "
                          "stays, is not current, and is replaced when its step is saved again"));
  EXPECT_EQ(current(), "model.ckpt-2");
  series().restored("model.ckpt-2");
  series().retain();
  EXPECT_THAT(on_disk(), ElementsAre("1", "2", "3"));
  save(4);
  EXPECT_THAT(listed(), ElementsAre("2", "3", "4"));
  save(5), save(6);
  EXPECT_THAT(on_disk(), ElementsAre("4", "5", "6"));
}

TEST_F(CheckpointSeriesTest, T_56c_ItIsReplacedWhenItsStepComesAgain) {
  begin(3);
  save(1), save(2), save(3);
  set_current(2);
  begin(3);
  series().restored("model.ckpt-2");
  const auto inode = [&] { return run_->status("model.ckpt-3").inode; };
  const std::uint64_t before = inode();
  save(3);
  EXPECT_NE(inode(), before);
  EXPECT_THAT(listed(), ElementsAre("1", "2", "3"));
  EXPECT_EQ(current(), "model.ckpt-3");
}

TEST_F(CheckpointSeriesTest, T_56b_ManyKillsLeaveNoMoreThanAreKept) {
  begin(2);
  save(10);
  for (std::int64_t step = 20; step <= 90; step += 10) {
    const std::string state = read_file(dir_ / "checkpoint");
    save(step + 5);  // and the kill comes before the state file
    write_file(dir_ / "checkpoint", state);
    begin(2);
    series().restored(current());
    save(step);
  }
  EXPECT_EQ(on_disk().size(), 2u);
}

// By hand: what was copied in, or the state file edited to go back, is the same.
TEST_F(CheckpointSeriesTest, T_56d_AHandThatGoesBackIsTreatedAlike) {
  begin(4);
  save(1), save(2), save(3), save(4);
  write_file(dir_ / "checkpoint", "model_checkpoint_path: \"model.ckpt-2\"");
  begin(4);
  EXPECT_THAT(series().names(), ElementsAre("model.ckpt-2", "model.ckpt-3", "model.ckpt-4"));  // 1 is older: not ours
  std::filesystem::rename(dir_ / "model.ckpt-2", dir_ / "the good one");
  write_file(dir_ / "checkpoint", "model_checkpoint_path: \"the good one\"");
  begin(4);
  EXPECT_THAT(series().names(), ElementsAre("model.ckpt-3", "model.ckpt-4"));
}

TEST_F(CheckpointSeriesTest, T_56b_OneThatIsNotWholeIsNotListed) {
  begin(5);
  save(1), save(2), save(3), save(4), save(5);
  set_current(1);
  write_file(dir_ / "model.ckpt-2/index", "garbage");
  std::filesystem::remove(dir_ / "model.ckpt-3/state");
  std::filesystem::resize_file(dir_ / "model.ckpt-4/model.safetensors", 10);
  begin(5);
  EXPECT_THAT(series().names(), ElementsAre("model.ckpt-1", "model.ckpt-5"));
}

// F17. The copy claims to be of step 1.
TEST_F(CheckpointSeriesTest, SAVER_24_WhatIsNotListedIsNeverRemoved) {
  begin(1);
  save(1);
  std::filesystem::copy(dir_ / "model.ckpt-1", dir_ / "model.ckpt-100", std::filesystem::copy_options::recursive);
  std::filesystem::copy(dir_ / "model.ckpt-1", dir_ / "best", std::filesystem::copy_options::recursive);
  write_file(dir_ / "notes.txt", "mine");
  begin(1);
  save(2), save(3);
  EXPECT_THAT(run_->entries(), ElementsAre("best", "checkpoint", "model.ckpt-100", "model.ckpt-3", "notes.txt"));
}

TEST_F(CheckpointSeriesTest, AStateFileCannotMakeItRemoveAnythingElse) {
  save(1);
  std::filesystem::create_directory(dir_ / "precious");
  write_file(dir_ / "precious/data", "mine");
  const TempDir elsewhere;
  std::filesystem::copy(dir_ / "model.ckpt-1", elsewhere / "model.ckpt-7", std::filesystem::copy_options::recursive);
  write_file(dir_ / "checkpoint",
             "model_checkpoint_path: \"model.ckpt-1\" all_model_checkpoint_paths: \"precious\" "
             "all_model_checkpoint_paths: \"" +
                 (elsewhere / "model.ckpt-7") +
                 "\" "
                 "all_model_checkpoint_paths: \"../x\" all_model_checkpoint_paths: \"model.ckpt-1\"");
  begin(1);
  EXPECT_THAT(series().names(), ElementsAre("model.ckpt-1"));
  save(2);
  EXPECT_TRUE(std::filesystem::exists(dir_ / "precious/data"));
  EXPECT_TRUE(std::filesystem::exists(elsewhere / "model.ckpt-7/index"));
}

TEST_F(CheckpointSeriesTest, ACheckpointThatHoldsAForeignFileStays) {
  begin(1);
  save(1);
  write_file(dir_ / "model.ckpt-1/results.csv", "mine");
  save(2);
  EXPECT_THAT(on_disk(), ElementsAre("1", "2"));
  EXPECT_THAT(listed(), ElementsAre("2"));
  EXPECT_THAT(log_.lines, ElementsAre("warning checkpoint: model.ckpt-1 is kept and no longer counted: it holds "
                                      "'results.csv', which is no part of it"));
}

TEST_F(CheckpointSeriesTest, ADamagedCheckpointStaysWhereItIs) {
  begin(1);
  save(1);
  write_file(dir_ / "model.ckpt-1/index", "garbage");
  save(2);
  EXPECT_THAT(on_disk(), ElementsAre("1", "2"));
  EXPECT_THAT(listed(), ElementsAre("2"));
}

TEST_F(CheckpointSeriesTest, AMissingOneIsOnlyWorthADebugLine) {
  begin(1);
  save(1);
  std::filesystem::remove_all(dir_ / "model.ckpt-1");
  save(2);
  EXPECT_THAT(listed(), ElementsAre("2"));
  EXPECT_THAT(log_.lines, ElementsAre("debug checkpoint: model.ckpt-1 was to be removed, but is no longer there"));
}

TEST_F(CheckpointSeriesTest, PinnedOnesStayBesideTheNewestUntilTheyAreUnpinned) {
  begin(2);
  save(1), save(2);
  EXPECT_TRUE(pin(*run_->open_directory("model.ckpt-1")));
  EXPECT_FALSE(pin(*run_->open_directory("model.ckpt-1")));
  save(3), save(4), save(5);
  EXPECT_THAT(on_disk(), ElementsAre("1", "4", "5"));
  EXPECT_THAT(listed(), ElementsAre("1", "4", "5"));
  begin(2);  // the mark is on the disk, so another attempt sees it
  save(6);
  EXPECT_THAT(on_disk(), ElementsAre("1", "5", "6"));
  EXPECT_TRUE(unpin(*run_->open_directory("model.ckpt-1")));
  EXPECT_FALSE(unpin(*run_->open_directory("model.ckpt-1")));
  save(7);
  EXPECT_THAT(on_disk(), ElementsAre("6", "7"));
  EXPECT_THAT(log_.lines, IsEmpty());
}

TEST_F(CheckpointSeriesTest, APinnedOneThatIsSavedAgainStaysPinned) {
  begin(1);
  save(1);
  pin(*run_->open_directory("model.ckpt-1"));
  save(1);
  EXPECT_TRUE(is_pinned(*run_, "model.ckpt-1"));
  save(2), save(3);
  EXPECT_THAT(on_disk(), ElementsAre("1", "3"));
  EXPECT_FALSE(is_pinned(*run_, "model.ckpt-3"));
  EXPECT_FALSE(is_pinned(*run_, "model.ckpt-2"));
}

TEST_F(CheckpointSeriesTest, NeitherTheNewestVerifiedNorOneInUseIsRemoved) {
  begin(0);
  save(1), save(2), save(3), save(4);
  begin(1);
  series().restored("model.ckpt-2");  // 3 and 4 were damaged
  series().retain({"model.ckpt-4"});
  EXPECT_THAT(on_disk(), ElementsAre("2", "4"));
  EXPECT_EQ(current(), "model.ckpt-2");
  save(5);
  EXPECT_THAT(on_disk(), ElementsAre("5"));
}

TEST_F(CheckpointSeriesTest, NothingIsRemovedWhileNoneIsKnownToBeWhole) {
  begin(0);
  save(1), save(2), save(3);
  begin(1);
  series().retain();
  EXPECT_THAT(on_disk(), ElementsAre("1", "2", "3"));
  EXPECT_EQ(current(), "model.ckpt-3");
}

TEST_F(CheckpointSeriesTest, ANameThatTheStateFileHoldsTwiceIsOneCheckpoint) {
  save(1), save(2);
  write_file(dir_ / "checkpoint",
             "model_checkpoint_path: \"model.ckpt-2\" all_model_checkpoint_paths: \"model.ckpt-1\" "
             "all_model_checkpoint_paths: \"model.ckpt-1\" all_model_checkpoint_paths: \"" +
                 (dir_ / "model.ckpt-1") + "\"");
  begin();
  EXPECT_THAT(series().names(), ElementsAre("model.ckpt-1", "model.ckpt-2"));
}

TEST_F(CheckpointSeriesTest, ARestoredCheckpointJoinsTheListOfABrokenStateFile) {
  save(1), save(2);
  write_file(dir_ / "checkpoint", "garbage");
  begin(1);
  EXPECT_THAT(series().names(), IsEmpty());
  series().restored("model.ckpt-2");
  save(3);
  EXPECT_THAT(on_disk(), ElementsAre("1", "3"));  // 1 is on no list
}

TEST_F(CheckpointSeriesTest, TheStateFileComesAfterTheCheckpointAndRemovalAfterIt) {
  begin(1);
  save(1);
  files_.forget_calls();
  save(2);
  const std::vector<std::string> calls = without_random_digits(files_.calls());
  const auto from = std::find(calls.begin(), calls.end(), "rename model.ckpt-2.tmp -> model.ckpt-2");
  const std::vector<std::string> replace = {"create checkpoint.tmp",
                                            "write checkpoint.tmp",
                                            "sync checkpoint.tmp",
                                            "close checkpoint.tmp",
                                            "rename checkpoint.tmp -> checkpoint",
                                            "sync ."};
  std::vector<std::string> expected = {"rename model.ckpt-2.tmp -> model.ckpt-2", "sync ."};
  expected.insert(expected.end(), replace.begin(), replace.end());
  for (const char* call : {"open_directory model.ckpt-1", "open_directory model.ckpt-1", "open model.ckpt-1/index",
                           "read model.ckpt-1/index", "list model.ckpt-1", "rename model.ckpt-1 -> model.ckpt-1.tmp",
                           "remove_tree model.ckpt-1.tmp"})
    expected.emplace_back(call);
  expected.insert(expected.end(), replace.begin(), replace.end());
  EXPECT_EQ(std::vector<std::string>(from, calls.end()), expected);
}

// F6
TEST_F(CheckpointSeriesTest, TheFirstSaveAfterFailuresSaysHowManyThereWere) {
  save(1);
  files_.fail(FileCall::kWrite, 1, Error(Code::kResourceExhausted, "cannot write 'x': No space left on device"),
              HowOften::kForEver);
  EXPECT_THROW(save(2), Error);
  EXPECT_THROW(save(3), Error);
  files_.heal();
  log_.lines.clear();
  save(4), save(5);
  EXPECT_THAT(log_.lines, ElementsAre("info checkpoint: saved model.ckpt-4 after 2 failed saves"));
}

// F4
TEST_F(CheckpointSeriesTest, AFullDiskIsToldWithWhatIsNeededAndFree) {
  save(1);
  files_.fail(FileCall::kWrite, 1, Error(Code::kResourceExhausted, "cannot write 'x': No space left on device"));
  const std::string text = error_of([&] { save(2); });
  const std::string start = "RESOURCE_EXHAUSTED: [B4002] cannot save '" + (dir_ / "model.ckpt-2") +
                            "': saver 'safetensors': cannot write 'x': No space left on device (the variables and the "
                            "hooks' tensors need 116 bytes, ";
  ASSERT_TRUE(text.starts_with(start)) << text;
  const std::size_t digits = text.find_first_not_of("0123456789", start.size());
  EXPECT_GT(digits, start.size());
  EXPECT_EQ(text.substr(digits), " are free)");
}

TEST_F(CheckpointSeriesTest, WhatDoesNotFitIsNotBegunAndSavedWhenThereIsRoom) {
  save(1);
  files_.say_free(115);
  files_.forget_calls();
  EXPECT_EQ(error_of([&] { save(2); }),
            "RESOURCE_EXHAUSTED: [B4001] cannot save '" + (dir_ / "model.ckpt-2") +
                "': the disk has no room for it (the variables and the hooks' tensors need 116 bytes, 115 are free)");
  EXPECT_THAT(files_.calls(), IsEmpty()) << "nothing was touched";
  files_.say_free(116);
  save(2);
  files_.say_free(0);  // some file systems always report this
  save(3);
  EXPECT_THAT(on_disk(), ElementsAre("1", "2", "3"));
}

TEST_F(CheckpointSeriesTest, WhatCannotBeRemovedIsAWarningAndTriedAgain) {
  begin(1);
  save(1);
  files_.fail(FileCall::kRename, 3, Error(Code::kPermissionDenied, "cannot rename 'y': Permission denied"));
  save(2);
  EXPECT_THAT(log_.lines,
              ElementsAre("warning checkpoint: cannot remove the old checkpoint model.ckpt-1: cannot rename "
                          "'y': Permission denied; it stays, and is tried again after each save"));
  EXPECT_THAT(listed(), ElementsAre("1", "2"));
  save(3);
  EXPECT_THAT(on_disk(), ElementsAre("3"));
}

// A checkpoint that is write-protected: its directory can be renamed, but not emptied.
TEST_F(CheckpointSeriesTest, T_58_WhatCannotBeRemovedIsPutBackWithOneWarning) {
  const Error denied(Code::kPermissionDenied, "cannot remove 'y': Permission denied");
  begin(1);
  save(1);
  files_.fail(FileCall::kRemove, 1, denied, HowOften::kForEver);
  for (std::int64_t step = 2; step <= 5; ++step) save(step);
  EXPECT_THAT(on_disk(), ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_THAT(listed(), ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_EQ(StepContent(1).difference(*CheckpointReader::open(run_->open_directory("model.ckpt-1")), saver_.use()), "");
  std::erase_if(log_.lines, [](const std::string& line) { return line.starts_with("debug"); });
  EXPECT_THAT(log_.lines,
              ElementsAre("warning checkpoint: cannot remove the old checkpoint model.ckpt-1: cannot remove 'y': "
                          "Permission denied; it stays, and is tried again after each save"));
  files_.heal();
  save(6);
  EXPECT_THAT(on_disk(), ElementsAre("6"));
}

TEST_F(CheckpointSeriesTest, SAVER_33_AListThatIsTooLongIsShortAfterOneSave) {
  begin(0);
  for (std::int64_t step = 1; step <= 9; ++step) save(step);
  begin(2);
  save(10);
  EXPECT_THAT(listed(), ElementsAre("9", "10"));
  EXPECT_THAT(on_disk(), ElementsAre("10", "9"));
}

TEST_F(CheckpointSeriesTest, MGR_04_CheckpointsOfOtherNamesAreNeitherListedNorRemoved) {
  begin(1);
  save(1);
  std::filesystem::copy(dir_ / "model.ckpt-1", dir_ / "mine-1", std::filesystem::copy_options::recursive);
  save(2), save(3);
  EXPECT_THAT(listed(), ElementsAre("3"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "mine-1/index"));
}

TEST_F(CheckpointSeriesTest, MGR_05_AClockThatIsSetBackChangesNeitherOrderNorWhatIsKept) {
  begin(2);
  save(1), save(2);
  clock_.advance(-3600 * FakeClock::kSecond);
  begin(2);
  save(3);
  EXPECT_THAT(listed(), ElementsAre("2", "3"));
  EXPECT_EQ(current(), "model.ckpt-3");
  EXPECT_THAT(on_disk(), ElementsAre("2", "3"));
}

}  // namespace
}  // namespace belay::runtime
