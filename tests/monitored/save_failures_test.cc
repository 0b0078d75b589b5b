// SPDX-License-Identifier: Apache-2.0
// The effects of several failed saves in sequence on a run: on_save_error and save_failures.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "tests/monitored/run_saver_fixture.h"
#include "tests/platform/faulty_file_system.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class SaveFailures : public Savers, public ::testing::WithParamInterface<SaveMode> {
 protected:
  SaveFailures() { mode = GetParam(); }
  RunSaver& open_saver(OnSaveError on_save_error, std::int64_t save_failures) {
    RunSaverOptions options;
    options.saver = make_saver()->options().saver;
    options.checkpoint.save = mode;
    options.checkpoint.on_save_error = on_save_error;
    options.checkpoint.save_failures = save_failures;
    add_probe("a").in["before_save"] = [this] {
      if (++tries <= broken) files.fail(FileCall::kSync, 1, Error(Code::kDataLoss, "disk on fire"));
      if (in_before_save) in_before_save();
    };
    saver.emplace(on_bad_disk, bad.directory(), options);
    return *saver;
  }
  // A save at that step, and the boundary at which the hooks hear of it.
  void save_at(std::int64_t step) {
    save(*saver, 1.0f, step);
    if (mode == SaveMode::kSync) return;
    while (!saver->due() && saver->taken_step() == step) std::this_thread::yield();
    saver->at_boundary(*session, hooks);
  }
  std::int64_t waited_ms() {
    std::int64_t total = 0;
    for (const std::int64_t ms : clock.new_waits_ms()) total += ms;
    return total;
  }

  FaultyFileSystem files{posix_file_system()};
  const RunEnvironment on_bad_disk{clock, *log, files, targets, interrupt, environment.session};
  RunDirectory bad = RunDirectory::open(files, temp / "bad", clock, *log);
  int tries = 0, broken = 0;
  std::function<void()> in_before_save;
  std::optional<RunSaver> saver;
  std::string last_words;  // the last lines of the log about saves that fail
};

INSTANTIATE_TEST_SUITE_P(Save, SaveFailures, ::testing::Values(SaveMode::kAsync, SaveMode::kSync),
                         [](const auto& m) { return m.param == SaveMode::kAsync ? "async" : "sync"; });

TEST_P(SaveFailures, StopEndsTheRunBehindSoManyInARow) {
  open_saver(OnSaveError::kStop, 2);
  broken = 1;
  save_at(1);
  EXPECT_TRUE(
      logged("the checkpoint of step 1 was not written (failure 1 in a row, on_save_error = \\\"stop\\\" after 2): "));
  save_at(2);  // one that succeeds begins the row anew
  EXPECT_EQ(saver->saved_step(), 2);
  broken = 100;
  save_at(3);
  EXPECT_THAT(error_of([&] { save_at(4); }), HasSubstr("model.ckpt-4': saver 'safetensors': disk on fire"));
}

TEST_P(SaveFailures, T_131_EveryTenMinutesTheLogSaysThatNothingIsSaved) {
  constexpr std::int64_t kMinute = 60'000'000'000;
  const auto said = [&] {
    saver->at_boundary(*session, hooks);
    const bool now = logged("no checkpoint was written for ");
    last_words = log_text.substr(std::min(log_text.find("no checkpoint was written for "), log_text.size()));
    log_text.clear();
    return now;
  };
  open_saver(OnSaveError::kContinue, 3);
  save_at(2);
  broken = 100;
  save_at(5);
  clock.advance(9 * kMinute);
  EXPECT_FALSE(saver->due());
  EXPECT_FALSE(said());
  save_at(80);  // another failure does not put it off
  set(1.0f, 90);
  clock.advance(kMinute);
  EXPECT_TRUE(saver->due());
  EXPECT_TRUE(said());
  EXPECT_THAT(last_words,
              StartsWith("no checkpoint was written for 10 min: the newest is of step 2, the training is at "
                         "step 90, and what lies between is lost if the process ends; the last save failed "
                         "with: "));
  EXPECT_THAT(last_words, HasSubstr("disk on fire"));
  EXPECT_FALSE(said()) << "once";
  clock.advance(10 * kMinute);
  EXPECT_TRUE(said());
  EXPECT_THAT(last_words, StartsWith("no checkpoint was written for 20 min: "));
  broken = 0;
  save_at(100);
  EXPECT_EQ(saver->saved_step(), 100);
  clock.advance(20 * kMinute);
  EXPECT_FALSE(saver->due());
  EXPECT_FALSE(said());
}

TEST_P(SaveFailures, T_131_ARunThatNeverSavedSaysThatThereIsNoCheckpoint) {
  open_saver(OnSaveError::kContinue, 3);
  broken = 100;
  save_at(5);
  clock.advance(600'000'000'000);
  saver->at_boundary(*session, hooks);
  EXPECT_TRUE(logged("no checkpoint was written for 10 min: there is none, the training is at step 5, and "))
      << log_text;
}

TEST_P(SaveFailures, PauseTrainsOnOnlyOnceACheckpointIsWritten) {
  open_saver(OnSaveError::kPause, 2);
  broken = 4;
  save_at(1);
  EXPECT_EQ(waited_ms(), 0);
  save_at(2);
  // Number 2 failed; then it was tried again after 1, 2 and 4 s.
  EXPECT_EQ(waited_ms(), 7'000);
  EXPECT_EQ(tries, 5);
  EXPECT_EQ(saver->saved_step(), 2);
  EXPECT_EQ(saver->save_error(), "");
  EXPECT_TRUE(logged("the training waits until a checkpoint can be written (on_save_error = \\\"pause\\\")"));
  EXPECT_TRUE(logged("saved model.ckpt-2 after 4 failed saves"));
  EXPECT_TRUE(logged("the training continues"));
  save_at(3);
  EXPECT_EQ(waited_ms(), 0);
}

TEST_P(SaveFailures, PausesWaitsGrowToAMinute) {
  open_saver(OnSaveError::kPause, 1);
  broken = 9;
  save_at(1);
  // 1, 2, 4, ..., 32, and three times 60 s: in pieces, so that the watchdog sees the run alive.
  const std::vector<std::int64_t> waits = clock.new_waits_ms();
  EXPECT_THAT(waits, SizeIs(63 + 3 * 60));
  EXPECT_THAT(waits, Each(1'000));
  EXPECT_EQ(saver->saved_step(), 1);
}

TEST_P(SaveFailures, AStopEndsThePauseAndTheEndTriesOnceMore) {
  open_saver(OnSaveError::kPause, 1);
  broken = 3;
  in_before_save = [this] {
    if (tries == 3) saver->stop_waiting(Error(Code::kStop, "enough"));
  };
  save_at(1);
  EXPECT_EQ(tries, 3);
  EXPECT_TRUE(saver->requested());
  EXPECT_FALSE(logged("the training continues"));
  saver->begin_end(*session, hooks);
  saver->finish_end();
  EXPECT_EQ(saver->saved_step(), 1);
}

TEST_P(SaveFailures, ASignalEndsThePause) {
  open_saver(OnSaveError::kPause, 1);
  broken = 100;
  in_before_save = [this] {
    if (tries == 3) interrupt.cancel(Error(Code::kCancelled, "stopped by SIGTERM"));
  };
  save_at(1);
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(saver->saved_step(), -1);
}

// The training must not wait for what a hook never lets happen.
TEST_P(SaveFailures, AHookThatWantsNoCheckpointOfThisStepEndsThePause) {
  open_saver(OnSaveError::kPause, 1);
  broken = 1;
  in_before_save = [this] {
    if (tries == 2) fail(Code::kSkip, "not this one");
  };
  save_at(1);
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(waited_ms(), 1'000);
  EXPECT_FALSE(saver->requested());
}

// Nothing is left to train.
TEST_P(SaveFailures, TheLastSaveOfARunIsNotWaitedFor) {
  open_saver(OnSaveError::kPause, 1);
  broken = 100;
  saver->request();
  saver->begin_end(*session, hooks);
  saver->finish_end();
  EXPECT_EQ(tries, 1);
  EXPECT_EQ(waited_ms(), 0);
  EXPECT_THAT(saver->save_error(), HasSubstr("disk on fire"));
}

TEST_P(SaveFailures, ARunDoesNotBeginBesideCheckpointsOfAnotherName) {
  save(*make_saver(), 1.0f, 3);
  RunSaverOptions options;
  options.checkpoint.basename = "mnist";
  EXPECT_THAT(error_of([&] { make_saver(options); }),
              HasSubstr("holds checkpoints called 'model.ckpt-STEP', and this run's are called 'mnist-STEP'"));
}

}  // namespace
}  // namespace belay::runtime::testing
