// SPDX-License-Identifier: Apache-2.0
// Whatever fails while a checkpoint is saved: the older ones stay as they were, byte for byte, and the directory can be
// restored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "runtime/checkpoint/directory/leftovers.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "tests/checkpoint/run_directory_fixture.h"

namespace belay::runtime {
namespace {

class SaveFaults : public RunDirectoryTest {
 protected:
  SaveFaults() {
    series_.recover();
    save(10);
    save(20);
  }
  std::string save(std::int64_t step) { return save(StepContent(step)); }
  std::string save(const StepContent& content) {
    const std::string outcome = error_of([&] {
      series_.save(content.content(), saver_.use());
      series_.retain();
    });
    return without_random_digits(outcome);
  }
  // All files below a directory with their bytes.
  std::map<std::string, std::string> bytes_of(const std::string& name) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / name))
      files[entry.path().filename()] = read_file(entry.path());
    return files;
  }
  // The next start of the run finds this; its bits are checked.
  std::int64_t step_after_restart() {
    files_.heal();
    remove_leftovers(*run_, log_);
    for (const std::string& entry : run_->entries())
      EXPECT_TRUE(entry == kStateFileName || step_of_checkpoint(entry)) << entry;
    const auto reader = find_restorable(*run_, log_);
    if (reader == nullptr) return -1;
    EXPECT_EQ(StepContent(reader->state().global_step).difference(*reader, saver_.use()), "");
    return reader->state().global_step;
  }

  CheckpointSeries series_{files_, *run_, clock_, log_, {.max_to_keep = 2}};
};

const Error kFull(Code::kResourceExhausted, "No space left on device");
const Error kBroken(Code::kDataLoss, "Input/output error");

// F4, F7, F8, F9: each call of a save fails once.
TEST_F(SaveFaults, EveryCallOfASaveInTurn) {
  files_.forget_calls();
  save(30);
  const std::size_t calls = files_.calls().size();
  ASSERT_GE(calls, 30u);
  std::int64_t last = 30, step = 40;
  for (std::size_t nth = 1; nth <= calls; ++nth, step += 10) {
    SCOPED_TRACE("call " + std::to_string(nth) + " of " + std::to_string(calls));
    const std::string newest = checkpoint_name(last);
    const auto before = bytes_of(newest);
    files_.fail_any(static_cast<int>(nth), nth % 2 == 0 ? kFull : kBroken);
    const std::string outcome = save(step);
    files_.heal();
    EXPECT_EQ(bytes_of(newest), before);
    const std::int64_t restored = step_after_restart();
    if (outcome == "") {
      EXPECT_EQ(restored, step);
    } else {
      EXPECT_TRUE(restored == last || restored == step) << restored;
    }
    last = restored;
    ASSERT_EQ(save(step += 10), "");  // F6: works again by itself
    last = step;
    EXPECT_EQ(step_after_restart(), last);
  }
}

TEST_F(SaveFaults, EveryCallAndAllAfterIt) {
  files_.forget_calls();
  save(30);
  const std::size_t calls = files_.calls().size();
  std::int64_t last = 30, step = 40;
  for (std::size_t nth = 1; nth <= calls; ++nth, step += 10) {
    SCOPED_TRACE("call " + std::to_string(nth) + " of " + std::to_string(calls) + " and all after it");
    const auto before = bytes_of(checkpoint_name(last));
    files_.fail_any(static_cast<int>(nth), kBroken, HowOften::kForEver);
    const std::string outcome = save(step);
    files_.heal();
    EXPECT_EQ(bytes_of(checkpoint_name(last)), before);
    const std::int64_t restored = step_after_restart();
    EXPECT_TRUE(restored == step || (outcome != "" && restored == last)) << restored;
    last = restored;
  }
}

// The same while a step is saved a second time: the old one or the new one is there, whole.
TEST_F(SaveFaults, EveryCallOfASecondSaveOfAStep) {
  const auto second = [](std::int64_t step) {
    auto content = std::make_unique<StepContent>(step);
    content->content().graph_hash = "second";
    return content;
  };
  files_.forget_calls();
  ASSERT_EQ(save(*second(20)), "");
  const std::size_t calls = files_.calls().size();
  for (const HowOften how_often : {HowOften::kOnce, HowOften::kForEver})
    for (std::size_t nth = 1; nth <= calls; ++nth) {
      SCOPED_TRACE("call " + std::to_string(nth) + " of " + std::to_string(calls));
      ASSERT_EQ(save(20), "");
      files_.fail_any(static_cast<int>(nth), kBroken, how_often);
      const std::string outcome = save(*second(20));
      EXPECT_EQ(step_after_restart(), 20);
      const auto reader = find_restorable(*run_, log_);
      if (outcome == "") {
        EXPECT_EQ(reader->index().graph_hash, "second");
      }
    }
}

// F8
TEST_F(SaveFaults, AFailedSyncIsNotTriedAgainOnTheSameFile) {
  files_.forget_calls();
  files_.fail(FileCall::kSync, 1, kBroken);
  EXPECT_NE(save(30), "");
  std::string synced;
  for (const std::string& call : files_.calls())
    if (call.starts_with("sync model")) synced += call + ";";
  EXPECT_EQ(std::count(synced.begin(), synced.end(), ';'), 1) << synced;
  EXPECT_EQ(run_->entries(), (std::vector<std::string>{"checkpoint", "model.ckpt-10", "model.ckpt-20"}));
}

// F9
TEST_F(SaveFaults, AFailedSyncOfTheRunDirectoryAnnouncesNothingAndRemovesNothing) {
  const std::string state = read_file(dir_ / "checkpoint");
  files_.fail(FileCall::kSync, 6, kBroken);
  EXPECT_EQ(save(30), "DATA_LOSS: [B4002] cannot save '" + (dir_ / "model.ckpt-30") +
                          "': Input/output error; the disk does not work, or "
                          "its connection: look at the kernel's messages (dmesg)");
  EXPECT_EQ(read_file(dir_ / "checkpoint"), state);
  EXPECT_EQ(run_->entries(), (std::vector<std::string>{"checkpoint", "model.ckpt-10", "model.ckpt-20"}));
}

TEST_F(SaveFaults, CKST_18_AStateFileThatCannotBeWrittenLeavesTheOldOneAndTheCheckpoint) {
  files_.fail(FileCall::kCreate, 5, kFull);
  EXPECT_EQ(save(30).substr(0, 19), "RESOURCE_EXHAUSTED:");
  EXPECT_EQ(run_->entries(),
            (std::vector<std::string>{"checkpoint", "model.ckpt-10", "model.ckpt-20", "model.ckpt-30"}));
  EXPECT_EQ(step_after_restart(), 20);  // what was announced
  EXPECT_EQ(save(40), "");
  EXPECT_EQ(run_->entries(), (std::vector<std::string>{"checkpoint", "model.ckpt-30", "model.ckpt-40"}));
}

// Power is cut at every call: nothing that comes after it is done. Unlike a call that fails, nothing cleans up.
TEST_F(SaveFaults, AStopAtEveryCallLeavesSomethingToRestore) {
  for (const std::int64_t step : {20, 30}) {  // a second save of a step, and a new one
    for (int nth = 1;; ++nth) {
      SCOPED_TRACE("step " + std::to_string(step) + " call " + std::to_string(nth));
      const TempDir copy;
      std::filesystem::copy(dir_.path(), copy.path(), std::filesystem::copy_options::recursive);
      FaultyFileSystem files(posix_file_system());
      const auto run = files.open_directory(copy.path());
      CheckpointSeries series(files, *run, clock_, log_, {.max_to_keep = 2});
      series.recover();
      files.fail_any(nth, kBroken, HowOften::kForEver);  // all that would clean up fails too
      const StepContent content(step);
      const std::string outcome = error_of([&] {
        series.save(content.content(), saver_.use());
        series.retain();
      });
      const bool done = std::ssize(files.calls()) < nth;
      files.heal();
      remove_leftovers(*run, log_);
      const auto reader = find_restorable(*run, log_);
      ASSERT_NE(reader, nullptr);
      const std::int64_t restored = reader->state().global_step;
      EXPECT_EQ(StepContent(restored).difference(*reader, saver_.use()), "");
      EXPECT_TRUE(restored == step || (restored == 20 && outcome != "")) << restored << " " << outcome;
      if (done) break;
    }
  }
}

// F13: the system takes a part of a write, then no more.
TEST_F(SaveFaults, AFileSizeLimitFailsTheSaveAndNothingElse) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{300, 300};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    _exit(save(30).starts_with("RESOURCE_EXHAUSTED:") ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(run_->entries(), (std::vector<std::string>{"checkpoint", "model.ckpt-10", "model.ckpt-20"}));
  EXPECT_EQ(step_after_restart(), 20);
}

// F11
TEST_F(SaveFaults, AThousandSignalsPerSecondDisturbNoSave) {
  struct sigaction counting {};
  struct sigaction before {};
  counting.sa_handler = [](int) {};  // without SA_RESTART: calls return EINTR
  sigaction(SIGALRM, &counting, &before);
  const itimerval fast{{0, 1000}, {0, 1000}}, off{};
  setitimer(ITIMER_REAL, &fast, nullptr);
  for (std::int64_t step = 30; step <= 60; step += 10) {
    const StepContent content(step, 500'000);
    EXPECT_EQ(save(content), "");
    EXPECT_EQ(content.difference(*CheckpointReader::open(run_->open_directory(checkpoint_name(step))), saver_.use()),
              "");
  }
  setitimer(ITIMER_REAL, &off, nullptr);
  sigaction(SIGALRM, &before, nullptr);
}

// F16
TEST_F(SaveFaults, ADirectoryThatIsGoneIsAnError) {
  std::filesystem::remove_all(dir_.path());
  EXPECT_EQ(save(30), "NOT_FOUND: [B4002] cannot save '" + (dir_ / "model.ckpt-30") + "': cannot make directory '" +
                          (dir_ / "model.ckpt-30.tmp") + "': No such file or directory");
}

}  // namespace
}  // namespace belay::runtime
