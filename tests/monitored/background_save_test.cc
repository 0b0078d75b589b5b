// SPDX-License-Identifier: Apache-2.0
// Checkpoints that are written while training continues. The saver's thread stops before each tensor until the test
// lets it through.
#include <gmock/gmock.h>

#include <filesystem>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/events/event_service.h"
#include "tests/monitored/event_files.h"
#include "tests/monitored/saved_session.h"
#include "tests/monitored/turnstile.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The tensors of a write, each after the turnstile; it notes their addresses.
class SlowTensors final : public SaverTensors {
 public:
  SlowTensors(SaverTensors& tensors, Turnstile& turnstile) : tensors_(tensors), turnstile_(turnstile) {}
  std::uint64_t count() const override { return tensors_.count(); }
  const NamedTensor& get(std::uint64_t i) const override {
    turnstile_.pass();
    const NamedTensor& tensor = tensors_.get(i);
    lie_at.push_back(tensor.tensor.data);
    return tensor;
  }
  void* found(TensorInfo tensor) override { return tensors_.found(std::move(tensor)); }
  mutable std::vector<const void*> lie_at;

 private:
  SaverTensors& tensors_;
  Turnstile& turnstile_;
};

class BackgroundSaves : public SavedSession {
 protected:
  BackgroundSaves() {
    mode = SaveMode::kAsync;
    const SaverUse real = saver_use(*codec);
    saving.saver = real;
    saving.saver.write = [this, real](belay_dir* directory, belay_tensors* tensors) {
      writers.push_back(std::this_thread::get_id());
      if (broken) fail(Code::kInternal, "it is broken");
      SlowTensors slow(*reinterpret_cast<SaverTensors*>(tensors), turnstile);
      real.write(directory, slow.handle());
      written_from = slow.lie_at;
      if (breaks_at_the_end) fail(Code::kInternal, "it broke at the end");
    };
  }
  ~BackgroundSaves() override {
    turnstile.open();  // also where a test has failed
    drop();
  }
  // One step; a requested save comes after it.
  std::int64_t train() { return session().run({add_a, add_b, train_op})[2].scalar<std::int64_t>(); }
  void save_behind_a_step() {
    saver().request();
    train();
  }
  // Until the checkpoint that is being written is there; no hook knows.
  void await_durable() {
    turnstile.open();
    while (!saver().due()) std::this_thread::yield();
  }
  static std::vector<float> floats(DirectSession& s, const char* name) {
    const float* values = s.store().find(name)->value.data<float>();
    return {values, values + kElements};
  }
  // Returns the value of a variable in the newest checkpoint.
  std::vector<float> restored(const char* name) {
    const auto later = open_session();
    make_saver(RunSaverOptions())->restore_latest(*later, run.path());
    return floats(*later, name);
  }

  static constexpr std::int64_t kElements = 1000;
  Turnstile turnstile;
  // The saver; changed while none is written.
  bool broken = false, breaks_at_the_end = false;
  // The saver's thread writes these; the test looks at them while none is written.
  std::vector<std::thread::id> writers;
  std::vector<const void*> written_from;

 private:
  Output adding(const char* name, float what) {
    const Output variable = ops::variable(g, name, Tensor(Dims{kElements}, std::vector<float>(kElements, 0.5f)));
    return ops::assign_add(
        variable,
        ops::constant(g, Tensor(Dims{kElements}, std::vector<float>(kElements, what)), std::string(name) + "_step"),
        std::string("add_") + name);
  }
  const Output add_a = adding("a", 0.1f), add_b = adding("b", 0.3f);
};

TEST_F(BackgroundSaves, WhatIsWrittenIsTheMomentOfTheSnapshotThoughTrainingGoesOnBetweenItsTensors) {
  open();
  for (int i = 0; i < 3; ++i) train();
  save_behind_a_step();
  const auto a = floats(*session().raw_session(), "a"), b = floats(*session().raw_session(), "b");
  for (int tensor = 1; tensor <= 3; ++tensor) {
    turnstile.await_arrivals(tensor);
    train();
    EXPECT_THAT(checkpoints(), Not(Contains("model.ckpt-4")));
    turnstile.let_one_through();
  }
  session().finish_save();
  EXPECT_EQ(session().global_step(), 7);
  EXPECT_NE(floats(*session().raw_session(), "a"), a);
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-4"));
  EXPECT_EQ(restored("a"), a);
  EXPECT_EQ(restored("b"), b);
  EXPECT_THAT(writers, ElementsAre(Not(std::this_thread::get_id())));
}

TEST_F(BackgroundSaves, AfterSaveComesOnTheSessionsThreadAtTheFirstBoundaryBehindDurability) {
  Probe& x = add_probe("x");
  std::thread::id told;
  x.in["after_save"] = [&] {
    told = std::this_thread::get_id();
    EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-1"));
  };
  open();
  new_events();
  save_behind_a_step();
  train();
  EXPECT_THAT(new_events(),
              ElementsAre("x.before_run", "x.after_run", "x.before_save 1", "x.before_run", "x.after_run"));
  EXPECT_EQ(saver().saved_step(), -1);
  EXPECT_EQ(saver().taken_step(), 1);
  await_durable();
  EXPECT_THAT(new_events(), IsEmpty());
  EXPECT_EQ(saver().saved_step(), -1) << "the hooks have not heard of it";
  train();
  EXPECT_THAT(new_events(), ElementsAre("x.before_run", "x.after_run", "x.after_save 1"));
  EXPECT_EQ(told, std::this_thread::get_id());
  EXPECT_EQ(x.saved_path, run.path() + "/model.ckpt-1");
  EXPECT_EQ(saver().saved_step(), 1);
  EXPECT_FALSE(saver().due());
}

TEST_F(BackgroundSaves, AHookThatAsksToStopAfterASaveStopsTheRunThen) {
  add_probe("x").stop_after_save = true;
  open();
  save_behind_a_step();
  EXPECT_FALSE(session().should_stop());
  await_durable();
  train();
  EXPECT_TRUE(session().should_stop());
}

TEST_F(BackgroundSaves, ASaveThatIsDueWaitsForTheOneBeforeAndSaysSoOnce) {
  add_probe("x");
  int said = 0;
  on_log = [&](std::string_view line) {
    if (line.find("step 2 is to be saved while the checkpoint of step 1 is still being written") == line.npos) return;
    ++said;
    turnstile.open();
  };
  open();
  new_events();
  save_behind_a_step();
  turnstile.await_arrivals(1);
  save_behind_a_step();
  session().finish_save();
  EXPECT_THAT(new_events(), ElementsAre("x.before_run", "x.after_run", "x.before_save 1", "x.before_run", "x.after_run",
                                        "x.after_save 1", "x.before_save 2", "x.after_save 2"));
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-1", "model.ckpt-2"));
  EXPECT_EQ(said, 1);
}

TEST_F(BackgroundSaves, ASavesMemoryIsThatOfBeforeTheFirstStep) {
  turnstile.open();
  open();
  std::vector<std::vector<const void*>> from;
  for (int i = 0; i < 2; ++i) {
    save_behind_a_step();
    session().finish_save();
    from.push_back(written_from);
  }
  ASSERT_EQ(from[0].size(), 3u);
  EXPECT_EQ(from[0], from[1]);
}

TEST_F(BackgroundSaves, TheMemoryIsThereBeforeTheFirstStepWhereverTheRunSavesByItself) {
  saving.checkpoint.save_secs = 0.0;
  saving.checkpoint.save_steps = 0;
  open();
  EXPECT_EQ(saver().memory().copy, 0u);
  saving.checkpoint.keep_best = 1;
  open();
  const std::uint64_t best = saver().memory().copy;
  saving.checkpoint.keep_best = 0;
  saving.checkpoint.save_steps = 1;
  open();
  EXPECT_GT(best, 0u);
  EXPECT_EQ(saver().memory().copy, best);
}

// `end` and the checkpoint of the end see the one that was under way as done.
TEST_F(BackgroundSaves, TheEndWaitsForTheCheckpointUnderWay) {
  std::vector<std::string> at_end;
  add_probe("x").in["end"] = [&] {
    at_end = checkpoints();
    session().raw_session()->store().assign("global_step", Tensor(std::int64_t{2}));
    saver().save_requested_by_hook();
  };
  open();
  new_events();
  save_behind_a_step();
  turnstile.await_arrivals(1);
  std::thread opener([&] { turnstile.open(); });
  session().close();
  opener.join();
  EXPECT_THAT(at_end, ElementsAre("model.ckpt-1"));
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-1", "model.ckpt-2"));
  EXPECT_THAT(new_events(), ElementsAre("x.before_run", "x.after_run", "x.before_save 1", "x.after_save 1", "x.end",
                                        "x.before_save 2", "x.after_save 2"));
  EXPECT_EQ(writers.back(), std::this_thread::get_id()) << "nothing trains beside the end";
}

TEST_F(BackgroundSaves, BehindAnErrorTheCheckpointUnderWayArrivesAndNoHookHearsOfIt) {
  Probe& x = add_probe("x");
  open();
  new_events();
  save_behind_a_step();
  turnstile.await_arrivals(1);
  x.in["before_run"] = [] { fail(Code::kInternal, "no more"); };
  std::thread opener([&] { turnstile.open(); });
  EXPECT_EQ(error_of([&] { session().scope([&] { train(); }); }),
            "INTERNAL: hook \"x\" in before_run at step 2: no more");
  opener.join();
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-1"));
  EXPECT_EQ(saver().saved_step(), 1);
  EXPECT_THAT(new_events(),
              ElementsAre("x.before_run", "x.after_run", "x.before_save 1", "x.before_run", "x.on_error"));
}

TEST_F(BackgroundSaves, ARecoveryWaitsForTheCheckpointUnderWayAndGoesOnFromIt) {
  Probe& x = add_probe("x");
  MonitoredSessionOptions options;
  options.on_recovery = [&](const Error&, std::int64_t) { turnstile.open(); };
  open("", std::move(options));
  train();
  save_behind_a_step();
  const auto a = floats(*session().raw_session(), "a");
  turnstile.await_arrivals(1);
  train();
  new_events();
  bool failed = false;
  x.in["before_run"] = [&] {
    if (!std::exchange(failed, true)) fail(Code::kAborted, "preempted");
  };
  EXPECT_EQ(train(), 3) << "from step 2, which was still being written when the session failed";
  EXPECT_EQ(session().recoveries(), 1);
  EXPECT_THAT(new_events(), ElementsAre("x.before_run", "x.load_state", "x.after_create_session", "x.after_save 2",
                                        "x.before_run", "x.after_run"));
  EXPECT_EQ(restored("a"), a);
}

// Nothing of it is in what the session is made of again.
TEST_F(BackgroundSaves, ARecoveryBesideASaveThatFailsGoesOnFromTheCheckpointBefore) {
  Probe& x = add_probe("x");
  MonitoredSessionOptions options;
  options.on_recovery = [&](const Error&, std::int64_t) { turnstile.open(); };
  open("", std::move(options));
  save_behind_a_step();
  for (int tensor = 1; tensor <= 3; ++tensor) {
    turnstile.await_arrivals(tensor);
    turnstile.let_one_through();
  }
  session().finish_save();
  const auto a = floats(*session().raw_session(), "a");
  breaks_at_the_end = true;
  save_behind_a_step();
  turnstile.await_arrivals(4);
  train();
  new_events();
  bool failed = false;
  x.in["before_run"] = [&] {
    if (!std::exchange(failed, true)) fail(Code::kAborted, "preempted");
    EXPECT_EQ(floats(*session().raw_session(), "a"), a);
  };
  EXPECT_EQ(train(), 2) << "from step 1: step 2 was being written, and failed";
  EXPECT_EQ(session().recoveries(), 1);
  EXPECT_THAT(new_events(), Not(Contains("x.after_save 2")));
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-1"));
  EXPECT_TRUE(logged("the checkpoint of step 2 was not written (on_save_error = \\\"continue\\\"): cannot save '"));
  EXPECT_EQ(restored("a"), a);
}

TEST_F(BackgroundSaves, AFailedSaveIsSaidAtTheNextBoundaryAndTrainingGoesOn) {
  add_probe("x");
  turnstile.open();
  open();
  new_events();
  broken = true;
  save_behind_a_step();
  await_durable();
  train();
  EXPECT_TRUE(logged("the checkpoint of step 1 was not written (on_save_error = \\\"continue\\\"): cannot save '"));
  EXPECT_THAT(saver().save_error(), HasSubstr("it is broken"));
  EXPECT_EQ(saver().taken_step(), -1);
  EXPECT_THAT(new_events(), Not(Contains("x.after_save 1")));
  broken = false;
  save_behind_a_step();
  session().finish_save();
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-3"));
  EXPECT_EQ(saver().save_error(), "");
}

TEST_F(BackgroundSaves, AFailedSaveEndsTheRunThereWhereItIsTo) {
  saving.checkpoint.on_save_error = OnSaveError::kStop;
  saving.checkpoint.save_failures = 1;
  turnstile.open();
  open();
  broken = true;
  save_behind_a_step();
  await_durable();
  EXPECT_THAT(error_of([&] { train(); }), HasSubstr("model.ckpt-1': it is broken"));
}

TEST_F(BackgroundSaves, AStateThatIsNotFiniteEndsTheRunAtTheNextBoundary) {
  turnstile.open();
  open();
  session().raw_session()->store().assign(
      "b", Tensor(Dims{kElements}, std::vector<float>(kElements, std::numeric_limits<float>::infinity())));
  save_behind_a_step();
  await_durable();
  EXPECT_THAT(error_of([&] { train(); }), HasSubstr("DIVERGED: [B4002] cannot save"));
  EXPECT_THAT(checkpoints(), IsEmpty());
}

TEST_F(BackgroundSaves, OfAStateThatIsNotFiniteTheEndIsToldBehindEachHooksEnd) {
  add_probe("x");
  turnstile.open();
  open();
  session().raw_session()->store().assign(
      "b", Tensor(Dims{kElements}, std::vector<float>(kElements, std::numeric_limits<float>::infinity())));
  save_behind_a_step();
  EXPECT_THAT(error_of([&] { session().close(); }), HasSubstr("DIVERGED: [B4002] cannot save"));
  EXPECT_THAT(new_events(), Contains("x.end"));
}

TEST_F(BackgroundSaves, OlderCheckpointsGoOnlyBehindANewerOnesAfterSave) {
  saving.checkpoint.max_to_keep = 1;
  std::vector<std::vector<std::string>> told;
  add_probe("x").in["after_save"] = [&] { told.push_back(checkpoints()); };
  turnstile.open();
  open();
  for (int i = 0; i < 2; ++i) {
    save_behind_a_step();
    session().finish_save();
  }
  EXPECT_THAT(told, ElementsAre(ElementsAre("model.ckpt-1"), ElementsAre("model.ckpt-1", "model.ckpt-2")));
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-2"));
}

TEST_F(BackgroundSaves, TheListOfTheBestCountsTheOneThatIsBeingWritten) {
  saving.checkpoint.keep_best = 1;
  open();
  train();
  saver().note_evaluation(1, .5);
  session().save_if_asked();
  turnstile.await_arrivals(1);
  train();
  saver().note_evaluation(2, .6);
  EXPECT_FALSE(saver().requested()) << "it is worse than what is being written";
  train();
  saver().note_evaluation(3, .4);
  EXPECT_TRUE(saver().requested());
  turnstile.open();
  session().save_if_asked();
  session().finish_save();
  std::vector<std::int64_t> best;
  for (const BestCheckpoint& c : best_checkpoints(run.directory())) best.push_back(c.step);
  EXPECT_THAT(best, ElementsAre(3));
}

TEST_F(BackgroundSaves, TheEventFileIsToldAtThatBoundary) {
  RunEvents events(run.directory(), clock, *log);
  saving.events = events.writer();
  open();
  save_behind_a_step();
  turnstile.await_arrivals(1);
  events.writer()->flush();
  EXPECT_THAT(read_event_files(run.path()).sessions[pb::SessionLog::CHECKPOINT], IsEmpty());
  turnstile.open();
  session().finish_save();
  events.writer()->flush();
  EXPECT_THAT(read_event_files(run.path()).sessions[pb::SessionLog::CHECKPOINT], ElementsAre(1));
}

TEST_F(BackgroundSaves, ALostLockEndsTheRunAndLeavesNoCheckpoint) {
  open();
  save_behind_a_step();
  turnstile.await_arrivals(1);
  std::filesystem::remove(run.path() + "/lock");
  turnstile.open();
  while (!saver().due()) std::this_thread::yield();
  EXPECT_THROW(train(), RunInUse);
  EXPECT_THAT(checkpoints(), Not(Contains("model.ckpt-1")));
}

TEST_F(BackgroundSaves, ASaveWhoseTimeDoesNotFitTwiceIntoASignalsGraceIsAWarning) {
  saving.signal_grace_secs = 25;
  turnstile.open();
  Probe& x = add_probe("x");
  x.in["before_save"] = [&] { clock.advance(9'000'000'000); };
  open();
  save_behind_a_step();
  session().finish_save();
  EXPECT_FALSE(logged("signal_grace_secs"));
  x.in["before_save"] = [&] { clock.advance(11'000'000'000); };
  save_behind_a_step();
  session().finish_save();
  EXPECT_TRUE(
      logged("a save takes 11.0 s, and after a signal the run has 25 s, for the one that is being written and for the "
             "last one: its last checkpoint may not be written; raise signal_grace_secs"));
}

TEST_F(BackgroundSaves, AProgramsOwnSaveReturnsWhenItIsDurable) {
  turnstile.open();
  open();
  train();
  EXPECT_EQ(session().save(), run.path() + "/model.ckpt-1");
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-1"));
}

}  // namespace
}  // namespace belay::runtime::testing
