// SPDX-License-Identifier: Apache-2.0
// The wishes of users in section 29, as far as they are about sessions.
#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "belay/checkpoint.h"
#include "tests/estimator/training_session.h"
#include "tests/monitored/counting_session.h"
#include "tests/monitored/saved_session.h"

namespace belay::runtime::testing {
namespace {

class SessionWishes : public CountingSessionTest {};
class SavingWishes : public SavedSession {};
class ProgramWishes : public TrainingSessionTest {};

TEST_F(SessionWishes, USER_01_ARunWithoutHooksCallsNoneAndStillRecovers) {
  add_probe("x");
  open();
  new_events();
  EXPECT_EQ(session().run_without_hooks({train_op})[0].scalar<std::int64_t>(), 1);
  EXPECT_EQ(new_events(), Timeline{});
  session().interrupt(Error(Code::kAborted, "lost"));
  EXPECT_EQ(session().run_without_hooks({train_op})[0].scalar<std::int64_t>(), 1);
  EXPECT_EQ(session().recoveries(), 1);
  EXPECT_EQ(new_events(), (Timeline{"x.after_create_session"}));
}

TEST_F(SessionWishes, USER_01_ARunWithoutHooksGoesOnBehindAStopRequest) {
  const Output fed = ops::placeholder(g, DType::kFloat32, {}, "fed");
  add_probe("x").look = [](RunContext& context, const RunValues&) { context.request_stop("enough"); };
  open();
  train();
  EXPECT_TRUE(session().should_stop());
  EXPECT_EQ(session().run_without_hooks({fed}, {{fed, Tensor(2.5f)}})[0].scalar<float>(), 2.5f);
}

TEST_F(SessionWishes, USER_01_ARunMayChooseItsHooks) {
  add_probe("x");
  add_probe("y").ask = [&](RunContext&) { return RunArgs{step}; };
  add_probe("z");
  open();
  new_events();
  const HookChoice chosen = hooks.only({"z", "y"});
  EXPECT_EQ(session().run_with(chosen, {train_op})[0].scalar<std::int64_t>(), 1);
  EXPECT_EQ(new_events(), (Timeline{"y.before_run", "z.before_run", "y.after_run", "z.after_run"}));
  train();
  EXPECT_EQ(new_events().size(), 6u);
  EXPECT_EQ(error_of([&] {
              hooks.only({"x", "zz"});
            }),
            "NOT_FOUND: [B5074] the session has no hook 'zz' (did you mean \"z\"?)");
}

TEST_F(SessionWishes, USER_01_ARunWithChosenHooksIsRefusedBehindAStopRequestAsOneWithAllIs) {
  add_probe("x").look = [](RunContext& context, const RunValues&) { context.request_stop("enough"); };
  add_probe("y");
  open();
  train();
  EXPECT_EQ(error_of([&] { session().run_with(hooks.only({"y"}), {step}); }),
            "FAILED_PRECONDITION: [B5071] Run called even after should_stop requested (x: enough)");
}

TEST_F(SessionWishes, USER_01_ARawRunRecoversNothing) {
  open();
  session().interrupt(Error(Code::kAborted, "lost"));
  EXPECT_EQ(error_of([&] { session().raw_session()->handle().run({step}); }), "ABORTED: lost");
  EXPECT_EQ(session().recoveries(), 0);
}

// A checkpoint comes after a step of the hooks; a run at the same time writes none.
TEST_F(SavingWishes, USER_01_ARunWithoutHooksWritesNoCheckpoint) {
  open();
  saver().request();
  session().run_without_hooks({step});
  EXPECT_TRUE(checkpoints().empty());
  train();
  EXPECT_EQ(checkpoints(), (std::vector<std::string>{"model.ckpt-1"}));
}

TEST_F(SessionWishes, USER_02_TheRawSessionIsReachableBeforeAndBehindARecovery) {
  open();
  const std::shared_ptr<DirectSession> first = session().raw_session();
  session().interrupt(Error(Code::kAborted, "lost"));
  train();
  EXPECT_TRUE(first->closed());
  EXPECT_EQ(session().raw_session()->handle().value(Fetch<std::int64_t>(step)), 1);
}

TEST_F(SavingWishes, USER_02_TheSessionSavesWhenItIsAsked) {
  add_probe("x");
  open();
  train();
  train();
  new_events();
  EXPECT_EQ(session().save(), run.path() + "/model.ckpt-2");
  EXPECT_EQ(new_events(), (Timeline{"x.before_save 2", "x.after_save 2"}));
  session().close();
  EXPECT_EQ(error_of([&] { session().save(); }), "FAILED_PRECONDITION: [B5070] Save called on a closed session");
  open();
  EXPECT_EQ(read(), 2);
}

TEST_F(SavingWishes, USER_02_ASaveThatAHookSkippedGivesNoPath) {
  add_probe("x").in["before_save"] = [] { skip_checkpoint("not good enough"); };
  open();
  train();
  EXPECT_EQ(session().save(), "");
  EXPECT_TRUE(checkpoints().empty());
}

TEST_F(SavingWishes, USER_02_ASaveThatFailsSaysWhyThoughTheRunWouldGoOn) {
  open();
  train();
  std::filesystem::remove_all(run.path());
  EXPECT_THAT(error_of([&] { session().save(); }),
              ::testing::StartsWith("DATA_LOSS: [B5087] the checkpoint was not written: "));
  EXPECT_EQ(train(), 2);
}

TEST_F(SavingWishes, USER_02_AHookMayAskToStopBehindASave) {
  add_probe("x").stop_after_save = true;
  open();
  train();
  session().save();
  EXPECT_TRUE(session().should_stop());
  session().close();
  EXPECT_EQ(session().end_reason().text, "x: asked to stop after a checkpoint");
}

TEST_F(SessionWishes, USER_02_ASessionWithoutADirectorySaysThatItCannotSave) {
  open();
  EXPECT_EQ(error_of([&] { session().save(); }),
            "FAILED_PRECONDITION: [B5087] the session has no directory to save into");
}

TEST_F(SessionWishes, USER_03_BeginMayAddToTheGraphAndALaterChangeIsNamed) {
  Probe& x = add_probe("x");
  Output more;
  x.in["begin"] = [&] { more = ops::constant(g, Tensor(7.0f), "more"); };
  std::int64_t step_seen = -1;
  x.in_session = [&](Session& s) { step_seen = s.value(Fetch<std::int64_t>(step)); };
  x.in["after_create_session"] = [&] { EXPECT_TRUE(graph.finalized()); };
  open();
  EXPECT_EQ(step_seen, 0);
  EXPECT_EQ(session().run({more})[0].scalar<float>(), 7.0f);
  EXPECT_EQ(error_of([&] { ops::constant(g, Tensor(1.0f), "late"); }),
            "FAILED_PRECONDITION: Graph is finalized and cannot be modified: node 'late' (Const) was added after the "
            "session was made; add it in begin(), or before the session");
}

TEST_F(ProgramWishes, USER_05_TheLogSaysWhyASessionEnded) {
  const auto ended = [&](const std::function<void(MonitoredTrainingSession&)>& body) {
    log_text.clear();
    try {
      MonitoredTrainingSession session(program.graph, options(""));
      session->scope([&] { body(session); });
    } catch (const Error&) {
    }
    const std::size_t at = log_text.find("the session ended: ");
    return at == std::string::npos ? std::string() : log_text.substr(at, log_text.find('"', at) - at);
  };
  EXPECT_EQ(ended([](MonitoredTrainingSession&) {}), "the session ended: the session was closed");
  EXPECT_EQ(ended([](MonitoredTrainingSession& s) { s->request_stop("the user asked"); }),
            "the session ended: the user asked");
  EXPECT_EQ(ended([](MonitoredTrainingSession&) { fail(Code::kOutOfRange, "the input is used up"); }),
            "the session ended: the input is used up");
  EXPECT_EQ(ended([](MonitoredTrainingSession&) { fail(Code::kDataLoss, "a broken record"); }),
            "the session ended: a broken record");
}

TEST_F(ProgramWishes, USER_05_ASessionThatWasDroppedIsAWarning) {
  { MonitoredTrainingSession session(program.graph, options("")); }
  EXPECT_TRUE(logged("the session was dropped without being closed: no hook's end was called")) << log_text;
}

TEST_F(SessionWishes, USER_05_AHooksStopIsTheReasonWithItsName) {
  Probe& x = add_probe("x");
  x.look = [&](RunContext& context, const RunValues&) {
    if (context.session().value(Fetch<std::int64_t>(step)) == 3) context.request_stop("reached step 3");
  };
  open();
  session().scope([&] {
    while (!session().should_stop()) train();
  });
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kStopRequested);
  EXPECT_EQ(session().end_reason().text, "x: reached step 3");
  EXPECT_EQ(timeline.back(), "x.end");
}

TEST_F(SessionWishes, USER_05_WhatAHookAskedTheCoordinatorToStopForIsTheReason) {
  Probe& x = add_probe("x");
  x.in_session = [](Session& s) { s.coordinator().request_stop("nothing is left to do"); };
  open();
  session().scope([&] { EXPECT_TRUE(session().should_stop()); });
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kStopRequested);
  EXPECT_EQ(session().end_reason().text, "x: nothing is left to do");
}

TEST_F(SessionWishes, USER_06_OnErrorReachesEveryHookWhateverOneThrows) {
  add_probe("x").in["on_error"] = [] { fail(Code::kInternal, "of on_error"); };
  Probe& y = add_probe("y");
  open();
  EXPECT_EQ(error_of([&] { session().scope([] { fail(Code::kDataLoss, "the cause"); }); }), "DATA_LOSS: the cause");
  EXPECT_EQ(y.error, "DATA_LOSS: the cause");
}

TEST_F(SessionWishes, USER_06_ClosingInsideTheScopeIsAllowed) {
  add_probe("x");
  open();
  new_events();
  session().scope([&] { session().close(); });
  EXPECT_EQ(new_events(), (Timeline{"x.end"}));
}

TEST_F(SessionWishes, USER_06_AStopFromAnotherThreadEndsTheLoop) {
  open();
  std::thread([&] { session().request_stop("SIGTERM"); }).join();
  session().request_stop("too late to be the reason");
  EXPECT_TRUE(session().should_stop());
  EXPECT_EQ(train(), 1);  // the flag ends the loop, not the run
  session().close();
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kStopRequested);
  EXPECT_EQ(session().end_reason().text, "SIGTERM");
}

// A program's signal handler thread calls stop_now while the step waits for an input that never comes.
TEST_F(ProgramWishes, USER_07_StopNowEndsARunThatWaitsAndTheLastCheckpointIsWritten) {
  const belay::Graph handle = program.graph.handle();
  const ops::QueueRef queue = ops::fifo_queue(handle, 1, {{DType::kFloat32, Dims{}}}, "input");
  const std::vector<Output> batch = ops::dequeue(queue, "next_batch");
  TrainingSessionSetup o = options(temp / "run");
  o.hooks.push_back(probe("x"));
  MonitoredTrainingSession session(program.graph, std::move(o));
  train(session, 3);
  new_events();
  std::thread handler;
  session->scope([&] {
    handler = std::thread([&] { session->stop_now("SIGTERM"); });
    session->run({batch[0], program.train});
    FAIL() << "the run came back";
  });
  handler.join();
  EXPECT_EQ(session->end_reason().kind, EndReason::Kind::kStopRequested);
  EXPECT_EQ(session->end_reason().text, "SIGTERM");
  EXPECT_EQ(session.checkpoint(), temp / "run/model.ckpt-3");  // nothing of the fourth step happened
  EXPECT_EQ(new_events().back(), "x.end");
}

TEST_F(SessionWishes, USER_07_StopNowEndsThePauseBetweenTwoRecoveries) {
  Probe& x = add_probe("x");
  open();
  x.in["before_run"] = [&] { fail(Code::kAborted, "lost"); };
  x.in["after_create_session"] = [&, recoveries = 0]() mutable {
    if (++recoveries == 2) session().stop_now("SIGINT");
  };
  session().scope([&] { train(); });
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kStopRequested);
  EXPECT_EQ(session().end_reason().text, "SIGINT");
  EXPECT_EQ(x.error, "");
}

TEST_F(SessionWishes, USER_07_CloseTakesAnInterruptBackForTheHooksOwnRuns) {
  Probe& x = add_probe("x");
  std::vector<std::int64_t> at_end;
  x.in_session = [&](Session& s) {
    if (timeline.back() == "x.end") at_end.push_back(s.value(Fetch<std::int64_t>(step)));
  };
  open();
  train();
  session().stop_now("SIGTERM");
  session().scope([&] { train(); });
  EXPECT_EQ(at_end, (std::vector<std::int64_t>{1}));
}

TEST_F(SessionWishes, USER_07_AnInterruptRefusesRunsUntilItIsTakenBack) {
  open();
  session().interrupt(Error(Code::kCancelled, "SIGINT"));
  EXPECT_EQ(error_of([&] { train(); }), "CANCELLED: SIGINT");
  session().resume();
  EXPECT_EQ(train(), 1);
}

// A local variable that is filled from a feed is filled at every creation, also where the rest is restored.
TEST_F(SavingWishes, USER_12_LocalInitGetsItsFeedsAtEveryCreation) {
  const Output seen = ops::variable(g, "seen", Tensor(std::int64_t{0}), ops::VariableKind::kLocal);
  const Output fed = ops::placeholder(g, DType::kInt64, {}, "fed");
  scaffold.local_init_op = ops::group(g, {ops::assign(seen, fed)}, "local_init_from_feed");
  scaffold.local_init_feeds = {{fed, Tensor(std::int64_t{9})}};
  open();
  EXPECT_EQ(session().run({seen})[0].scalar<std::int64_t>(), 9);
  train();
  session().save();
  session().interrupt(Error(Code::kAborted, "lost"));
  EXPECT_EQ(session().run({seen})[0].scalar<std::int64_t>(), 9);
  session().close();
  open();
  EXPECT_TRUE(session().restored());
  EXPECT_EQ(session().run({seen})[0].scalar<std::int64_t>(), 9);
}

// What TensorFlow's users do with an iterator's initializer: a callback with feeds for every session that is made.
TEST_F(SavingWishes, USER_12_AfterCreateSessionMayRunAnInitializerWithFeedsInEverySession) {
  const Output v = ops::variable(g, "v", Tensor(0.0f), ops::VariableKind::kLocal);
  const Output fed = ops::placeholder(g, DType::kFloat32, {}, "fed");
  const Output set_v = ops::assign(v, fed, "set_v");
  Probe& x = add_probe("x");
  x.in_session = [&](Session& s) { s.run({set_v}, {{fed, Tensor(5.0f)}}); };
  open();
  EXPECT_EQ(session().run({v})[0].scalar<float>(), 5.0f);
  session().save();
  session().interrupt(Error(Code::kAborted, "lost"));
  EXPECT_EQ(session().run({v})[0].scalar<float>(), 5.0f);
  EXPECT_EQ(session().recoveries(), 1);
}

TEST_F(SessionWishes, USER_18_EveryRecoveryIsToldAndCounted) {
  std::vector<std::string> told;
  MonitoredSessionOptions options;
  options.on_recovery = [&](const Error& e, std::int64_t n) { told.push_back(std::to_string(n) + " " + e.what()); };
  Probe& x = add_probe("x");
  open(options);
  for (int i = 0; i < 2; ++i) {
    x.in["before_run"] = [&] {
      x.in.clear();
      fail(Code::kAborted, "lost");
    };
    train();
  }
  EXPECT_EQ(told,
            (Timeline{"1 hook \"x\" in before_run at step 1: lost", "2 hook \"x\" in before_run at step 2: lost"}));
}

TEST_F(ProgramWishes, USER_18_RecoveriesAreInTheLogAndInTheEventsAndBounded) {
  auto hook = std::make_unique<Probe>("probe", timeline);
  Probe& failing = *hook;
  TrainingSessionSetup o = options(temp / "run");
  o.hooks.push_back(own_hook("probe", std::move(hook)));
  o.session.max_recoveries = 2;
  o.session.recovery_backoff_secs = 7;
  {
    MonitoredTrainingSession session(program.graph, std::move(o));
    failing.in["before_run"] = [] { fail(Code::kUnavailable, "the peer is gone"); };
    clock.new_waits_ms();
    EXPECT_EQ(error_of([&] { session->scope([&] { train(session); }); }),
              "INTERNAL: [B5086] gave up after 2 recoveries in a row: hook \"probe\" in before_run at step 1: the peer "
              "is gone");
    EXPECT_EQ(session->recoveries(), 2);
  }
  EXPECT_EQ(clock.new_waits_ms(), (std::vector<std::int64_t>{7000}));
  EXPECT_TRUE(logged("recovery 2: ")) << log_text;
  EXPECT_EQ(read_event_files(temp / "run").steps.at("recoveries"), (Steps{0, 0}));
}

}  // namespace
}  // namespace belay::runtime::testing
