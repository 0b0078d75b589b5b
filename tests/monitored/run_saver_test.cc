// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/saving/run_saver.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <limits>

#include "runtime/events/event_service.h"
#include "tests/monitored/event_files.h"
#include "tests/monitored/run_saver_fixture.h"
#include "tests/platform/faulty_file_system.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kSaveSecondNs = 1'000'000'000;

TEST_F(Savers, WriteAtTheBoundaryWhatWasAskedFor) {
  const auto saver = make_saver();
  EXPECT_EQ(saver->at_boundary(*session, hooks), "");
  EXPECT_THAT(checkpoints(), IsEmpty());
  EXPECT_EQ(saver->saved_step(), -1);
  saver->request();
  saver->request();
  EXPECT_TRUE(saver->requested());
  EXPECT_THAT(checkpoints(), IsEmpty());
  set(2.0f, 5);
  saver->at_boundary(*session, hooks);
  EXPECT_FALSE(saver->requested());
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-5"));
  EXPECT_EQ(saver->saved_step(), 5);
  EXPECT_EQ(saver->saved_path(), run.path() + "/model.ckpt-5");
}

TEST_F(Savers, GiveHooksTheirTurnBeforeAndAfter) {
  Probe& a = add_probe("a");
  add_probe("b");
  const auto saver = make_saver();
  a.in["before_save"] = [&] { EXPECT_THAT(checkpoints(), IsEmpty()); };
  a.in["after_save"] = [&] { EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-7")); };
  save(*saver, 1.0f, 7);
  EXPECT_THAT(new_events(), ElementsAre("a.before_save 7", "b.before_save 7", "a.after_save 7", "b.after_save 7"));
}

TEST_F(Savers, NameTheHookThatAsksToStopAfterACheckpoint) {
  add_probe("a");
  add_probe("b").stop_after_save = true;
  add_probe("c").stop_after_save = true;
  const auto saver = make_saver();
  saver->request();
  EXPECT_EQ(saver->at_boundary(*session, hooks), "b");
}

TEST_F(Savers, ADirectoryOfAnotherRunIsReadButNotTaken) {
  save(*make_saver(), 4.0f, 9);
  RunDirectory other = RunDirectory::open(posix_file_system(), temp / "other", clock, *log);
  RunSaverOptions options;
  options.saver = make_saver()->options().saver;
  options.checkpoint.save = mode;
  RunSaver saver(environment, other.directory(), options);
  EXPECT_TRUE(saver.restore_latest(*session, run.path()));
  EXPECT_EQ(saver.saved_step(), -1);
  EXPECT_EQ(saver.saved_path(), "");
}

TEST_F(Savers, KeepTheNewestOnesAlsoAfterARestart) {
  RunSaverOptions options;
  options.checkpoint.max_to_keep = 2;
  {
    const auto saver = make_saver(options);
    for (const std::int64_t step : {1, 2, 3}) save(*saver, 1.0f, step);
  }
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-2", "model.ckpt-3"));
  const auto saver = make_saver(options);
  saver->restore_latest(*session, run.path());
  save(*saver, 1.0f, 4);
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-3", "model.ckpt-4"));
}

TEST_F(Savers, AFailedSaveIsLoggedAndTrainingGoesOn) {
  FaultyFileSystem files(posix_file_system());
  const RunEnvironment on_bad_disk{clock, *log, files, targets, interrupt, environment.session};
  RunDirectory bad = RunDirectory::open(files, temp / "bad", clock, *log);
  RunSaverOptions options;
  options.saver = make_saver()->options().saver;
  options.checkpoint.save = mode;
  RunSaver saver(on_bad_disk, bad.directory(), options);
  add_probe("a");
  files.fail(FileCall::kSync, 1, Error(Code::kDataLoss, "disk on fire"));
  save(saver, 1.0f, 3);
  EXPECT_EQ(saver.saved_step(), -1);
  EXPECT_THAT(saver.save_error(), HasSubstr("disk on fire"));
  EXPECT_TRUE(logged("the checkpoint of step 3 was not written (on_save_error = \\\"continue\\\"): "));
  EXPECT_THAT(new_events(), ElementsAre("a.before_save 3"));
  save(saver, 1.0f, 4);
  EXPECT_EQ(saver.save_error(), "");
  EXPECT_EQ(saver.saved_step(), 4);
}

TEST_F(Savers, ADiskWithoutRoomForACheckpointIsAWarningOnceBeforeTheFirstStep) {
  FaultyFileSystem files(posix_file_system());
  const RunEnvironment on_full_disk{clock, *log, files, targets, interrupt, environment.session};
  RunDirectory full = RunDirectory::open(files, temp / "full", clock, *log);
  RunSaverOptions options;
  options.saver = make_saver()->options().saver;
  RunSaver saver(on_full_disk, full.directory(), options);
  files.say_free(12);
  saver.prepare(*session);
  EXPECT_FALSE(logged("free"));
  files.say_free(11);
  saver.prepare(*session);
  EXPECT_TRUE(logged("a checkpoint of this model takes 12 bytes, and the disk of '" + temp / "full" +
                     "' has 11 free: nothing is saved until there is room"));
  log_text.clear();
  saver.prepare(*session);
  EXPECT_FALSE(logged("free")) << "once";
}

// After the last step no training continues.
TEST_F(Savers, T_63c_AFailedSaveSaysNothingOfATrainingThatGoesOn) {
  FaultyFileSystem files(posix_file_system());
  const RunEnvironment on_bad_disk{clock, *log, files, targets, interrupt, environment.session};
  RunDirectory bad = RunDirectory::open(files, temp / "bad", clock, *log);
  RunSaverOptions options;
  options.saver = make_saver()->options().saver;
  options.checkpoint.save = mode;
  RunSaver saver(on_bad_disk, bad.directory(), options);
  saver.request();
  files.fail(FileCall::kSync, 1, Error(Code::kDataLoss, "disk on fire"));
  saver.begin_end(*session, hooks);
  saver.finish_end();
  EXPECT_TRUE(logged("the checkpoint of step 0 was not written (on_save_error = \\\"continue\\\"): "));
  EXPECT_FALSE(logged("the training continues"));
}

TEST_F(Savers, T_54c_ASaveThatTakesMostOfASignalsGraceIsAWarningOnce) {
  RunSaverOptions options;
  options.signal_grace_secs = 25;
  const auto saver = make_saver(options);
  Probe& a = add_probe("a");
  a.in["before_save"] = [&] { clock.advance(19 * kSaveSecondNs); };
  save(*saver, 1.0f, 1);
  EXPECT_FALSE(logged("signal_grace_secs"));
  a.in["before_save"] = [&] { clock.advance(22 * kSaveSecondNs); };
  save(*saver, 1.0f, 2);
  EXPECT_TRUE(
      logged("a save takes 22.0 s, and after a signal the run has 25 s: its last checkpoint may not be "
             "written; raise signal_grace_secs"));
  log_text.clear();
  save(*saver, 1.0f, 3);
  EXPECT_FALSE(logged("signal_grace_secs")) << "once";
}

TEST_F(Savers, T_54c_WithoutAGraceNoSaveIsTooSlow) {
  const auto saver = make_saver();
  add_probe("a").in["before_save"] = [&] { clock.advance(1000 * kSaveSecondNs); };
  save(*saver, 1.0f, 1);
  EXPECT_FALSE(logged("signal_grace_secs"));
}

TEST_F(Savers, T_54b_EachCheckpointThatIsWrittenOrRestoredIsTold) {
  std::vector<std::string> told;
  RunSaverOptions options;
  options.on_saved = [&](const std::string& path, std::int64_t step) {
    told.push_back(path.substr(run.path().size()) + " " + std::to_string(step));
  };
  save(*make_saver(options), 1.0f, 1);
  make_saver(options)->restore_latest(*session, run.path());
  EXPECT_THAT(told, ElementsAre("/model.ckpt-1 1", "/model.ckpt-1 1"));
}

TEST_F(Savers, AFailedSaveIsThrownWhereTheRunIsToStop) {
  FaultyFileSystem files(posix_file_system());
  const RunEnvironment on_bad_disk{clock, *log, files, targets, interrupt, environment.session};
  RunDirectory bad = RunDirectory::open(files, temp / "bad", clock, *log);
  RunSaverOptions options;
  options.saver = make_saver()->options().saver;
  options.checkpoint.save = mode;
  options.checkpoint.on_save_error = OnSaveError::kStop;
  options.checkpoint.save_failures = 1;
  RunSaver saver(on_bad_disk, bad.directory(), options);
  files.fail(FileCall::kSync, 1, Error(Code::kDataLoss, "disk on fire"));
  saver.request();
  const std::string expected =
      "[B4002] cannot save '" + temp / "bad/model.ckpt-0" + "': saver 'safetensors': disk on fire";
  EXPECT_EQ(error_of([&] { saver.at_boundary(*session, hooks); }), "DATA_LOSS: " + expected);
  EXPECT_EQ(saver.save_error(), expected);
}

TEST_F(Savers, AStateThatIsNotFiniteIsThrownAndNotSaved) {
  const auto saver = make_saver();
  set(std::numeric_limits<float>::infinity(), 3);
  saver->request();
  EXPECT_EQ(error_of([&] { saver->at_boundary(*session, hooks); }),
            "DIVERGED: [B4002] cannot save '" + run.path() +
                "/model.ckpt-3': [B4021] variable 'weight' is not finite: element 0 of [] is inf");
  EXPECT_THAT(checkpoints(), IsEmpty());
  RunSaverOptions options;
  options.checkpoint.refuse_non_finite = false;
  save(*make_saver(options), std::numeric_limits<float>::infinity(), 3);
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-3"));
}

TEST_F(Savers, WhatAHookRaisesBeforeASaveIsThrown) {
  add_probe("a").in["before_save"] = [] { fail(Code::kInternal, "no save today"); };
  const auto saver = make_saver();
  saver->request();
  EXPECT_EQ(error_of([&] { saver->at_boundary(*session, hooks); }),
            "INTERNAL: hook \"a\" in before_save: no save today");
  EXPECT_THAT(checkpoints(), IsEmpty());
}

class LosesItsState final : public Hook {
 public:
  void save_state(StateWriter&) const override { fail(Code::kInternal, "lost it"); }
};

TEST_F(Savers, AHookThatCannotGiveItsStateIsNoFailedSaveButAFailedHook) {
  add_hook("a", std::make_unique<LosesItsState>());
  const auto saver = make_saver();  // continues after a failed save
  saver->request();
  EXPECT_EQ(error_of([&] { saver->at_boundary(*session, hooks); }), "INTERNAL: hook \"a\" in save_state: lost it");
  EXPECT_THAT(checkpoints(), IsEmpty());
}

// The states of hooks are those of before the first end: what an end does to a hook is not of the checkpoint's moment.
TEST_F(Savers, InTheEndARequestIsServedAtOnceWithTheStatesOfBefore) {
  Probe& first = add_probe("first");
  Probe& last = add_probe("last");
  const auto saver = make_saver();
  first.state = 1;
  last.state = 2;
  first.in["end"] = [&] {
    first.state = 100;
    last.state = 200;
  };
  last.in["end"] = [&] { saver->save_requested_by_hook(); };
  set(3.0f, 8);
  saver->begin_end(*session, hooks);
  hooks.end(*session);
  saver->finish_end();
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-8"));
  const std::optional<RestoredRun> restored = make_saver()->restore_latest(*open_session(), run.path());
  EXPECT_EQ(std::get<std::int64_t>(restored->state.hook_states.at("first").entries.at("state")), 1);
  EXPECT_EQ(std::get<std::int64_t>(restored->state.hook_states.at("last").entries.at("state")), 2);
}

TEST_F(Savers, ARequestThatNoBoundaryServedIsServedWhenTheEndBegins) {
  const auto saver = make_saver();
  saver->request();
  saver->begin_end(*session, hooks);
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-0"));
  saver->finish_end();
  saver->save_requested_by_hook();
  EXPECT_TRUE(saver->requested());  // deferred again
}

// NAN-02
TEST_F(Savers, T_16d_AStateThatIsNotFiniteIsThrownBehindTheLastEnd) {
  const auto saver = make_saver();
  add_probe("first").in["end"] = [&] { saver->save_requested_by_hook(); };
  add_probe("last");
  set(std::numeric_limits<float>::infinity(), 3);
  saver->begin_end(*session, hooks);
  hooks.end(*session);
  saver->finish_end();
  EXPECT_THAT(new_events(), ElementsAre("first.end", "first.before_save 3", "last.before_save 3", "last.end"));
  EXPECT_THAT(error_of([&] { saver->check_last_state(); }), ::testing::StartsWith("DIVERGED: [B4002] cannot save"));
  set(1.0f, 3);
  saver->begin_end(*session, hooks);
  EXPECT_NO_THROW(saver->check_last_state());
}

TEST_F(Savers, T_59b_ALostLockEndsTheRunWhateverIsToBeDoneBehindAFailedSave) {
  const auto saver = make_saver();
  add_probe("a");
  saver->request();
  std::filesystem::remove(run.path() + "/lock");
  EXPECT_THROW(saver->at_boundary(*session, hooks), RunInUse);
  EXPECT_THROW(saver->begin_end(*session, hooks), RunInUse);
  EXPECT_THAT(new_events(), IsEmpty()) << "no hook prepares a checkpoint that cannot be written";
  EXPECT_THAT(checkpoints(), IsEmpty());
}

TEST_F(Savers, T_59b_ALockThatIsLostWhileItSavesLeavesNoCheckpoint) {
  const auto saver = make_saver();
  add_probe("a").in["before_save"] = [&] { std::filesystem::remove(run.path() + "/lock"); };
  saver->request();
  EXPECT_THROW(saver->at_boundary(*session, hooks), RunInUse);
  EXPECT_THAT(checkpoints(), IsEmpty());
}

// The next boundary ends the run, without a checkpoint that was asked for.
TEST_F(Savers, T_59b_WhatTheEventFileFindsIsSeenAtTheBoundary) {
  RunEvents events(run.directory(), clock, *log);
  const auto saver = make_saver();
  std::filesystem::remove(run.path() + "/lock");
  EXPECT_FALSE(saver->due());
  events.writer()->add_scalar("loss", 1, 0.5);
  events.writer()->flush();
  EXPECT_TRUE(saver->due());
  EXPECT_THROW(saver->at_boundary(*session, hooks), RunInUse);
}

TEST_F(Savers, TellTheEventFile) {
  RunEvents events(run.directory(), clock, *log);
  RunSaverOptions options;
  options.events = events.writer();
  const auto saver = make_saver(options);
  save(*saver, 1.0f, 4);
  save(*saver, 1.0f, 6);
  events.writer()->flush();
  EXPECT_EQ(read_event_files(run.path()).sessions.at(pb::SessionLog::CHECKPOINT), (std::vector<std::int64_t>{4, 6}));
}

TEST_F(Savers, PluginsAskAndReadThroughTheService) {
  Asking& hook = add_hook("asking", std::make_unique<Asking>());
  const auto saver = make_saver();
  EXPECT_EQ(hook.latest(run.path()), "");
  hook.ask();
  EXPECT_TRUE(saver->requested());
  set(2.5f, 12);
  saver->at_boundary(*session, hooks);
  const std::string path = hook.latest(run.path());
  EXPECT_EQ(path, run.path() + "/model.ckpt-12");
  const Checkpoint checkpoint = hook.open(path);
  ASSERT_EQ(checkpoint.entries().size(), 2u);
  EXPECT_EQ(checkpoint.entries()[0].name, "global_step");
  EXPECT_EQ(TensorView(checkpoint.read("weight").view()).scalar<float>(), 2.5f);
  EXPECT_EQ(error_of([&] { checkpoint.read("bias"); }), "NOT_FOUND: the checkpoint has no tensor 'bias'");
}

// Issue 33, point 6: a warm start of 100,000 variables read the saver's header as often.
TEST_F(Savers, SmallTensorsThatFollowAreReadWithTheOneThatIsAskedFor) {
  Asking& hook = add_hook("asking", std::make_unique<Asking>());
  save(*make_saver(), 2.5f, 12);
  int reads = 0;
  reading.read = [&](belay_dir* directory, belay_tensors* tensors) {
    ++reads;
    detail::Status status;
    status.check(reading.table->read(reading.self, directory, tensors, status));
  };
  const Checkpoint checkpoint = hook.open(run.path() + "/model.ckpt-12");
  EXPECT_EQ(TensorView(checkpoint.read("weight").view()).scalar<float>(), 2.5f);
  EXPECT_EQ(reads, 1) << "no other one follows it";
  EXPECT_EQ(TensorView(checkpoint.read("global_step").view()).scalar<std::int64_t>(), 12);
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(TensorView(checkpoint.read("weight").view()).scalar<float>(), 2.5f);
  EXPECT_EQ(reads, 2);
}

}  // namespace
}  // namespace belay::runtime::testing
