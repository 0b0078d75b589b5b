// SPDX-License-Identifier: Apache-2.0
// Recovery: section 9 of the contract.
#include "runtime/monitored/layers/recoverable_session.h"

#include <any>
#include <atomic>
#include <thread>

#include "tests/monitored/counting_session.h"
#include "tests/monitored/recoverable_fixture.h"

namespace belay::runtime::testing {
namespace {

class RecoverableConformance : public CountingSessionTest {
 protected:
  // A thread of the session reports this error.
  void thread_fails(Code code) {
    coordinator().start_thread("loader", [code] { fail(code, "of a thread"); });
    coordinator().wait_for_stop(-1);
  }
  std::int64_t hooked_step(StepFnContext& context) {
    FetchSet set({train_op});
    RunCall call;
    call.fetches = &set;
    const auto run = context.run_with_hooks(call);
    return TensorView(run.result(set, 0)).scalar<std::int64_t>();
  }
  // A step function that uses only the context's session.
  std::int64_t raw_step() {
    return std::any_cast<std::int64_t>(session().run_step_fn([&](StepFnContext& context) {
      return std::any(context.session().handle().run({train_op})[0].scalar<std::int64_t>());
    }));
  }
};

TEST_F(RecoverableConformance, RECOV_01_GraphAndRawSessionPassThroughAllLayers) {
  open();
  EXPECT_EQ(session().graph(), &graph);
  EXPECT_EQ(&session().raw_session()->graph(), &graph);
  EXPECT_EQ(session().raw_session()->global_step(), 0);
}

TEST_F(RecoverableConformance, RECOV_04_APreemptionThatAThreadReportedIsRecoveredAtTheNextStopCheck) {
  add_probe("x");
  open();
  train();
  coordinator().start_thread("loader", [] { fail(Code::kAborted, "of a thread"); });
  coordinator().wait_for_stop(-1);
  EXPECT_EQ(train(), 2);
  new_events();
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(new_events(), (Timeline{"x.after_create_session"}));
  EXPECT_EQ(train(), 1);
  session().close();
}

TEST_F(RecoverableConformance, RECOV_05_AnotherErrorOfAThreadStopsTheLoopAndLeavesClose) {
  add_probe("x");
  open();
  const std::shared_ptr<DirectSession> raw = session().raw_session();
  EXPECT_EQ(train(), 1);
  thread_fails(Code::kUnknown);
  EXPECT_EQ(train(), 2);
  EXPECT_TRUE(session().should_stop());
  EXPECT_EQ(session().raw_session(), raw);
  EXPECT_EQ(session().recoveries(), 0);
  EXPECT_EQ(error_of([&] { session().close(); }), "UNKNOWN: of a thread");
}

TEST_F(RecoverableConformance, RECOV_06_ACancelledRunBesideAPreemptedThreadIsRepeated) {
  open();
  train();
  coordinator().start_thread("loader", [] { fail(Code::kUnavailable, "of a thread"); });
  coordinator().wait_for_stop(-1);
  session().interrupt(Error(Code::kCancelled, "the peer is gone"));
  EXPECT_EQ(train(), 1);
  EXPECT_EQ(session().recoveries(), 1);
}

TEST_F(RecoverableConformance, RECOV_08_AnotherErrorOfAThreadLetsAStepFunctionReturn) {
  open();
  const std::shared_ptr<DirectSession> raw = session().raw_session();
  thread_fails(Code::kUnknown);
  EXPECT_EQ(std::any_cast<std::int64_t>(
                session().run_step_fn([&](StepFnContext& context) { return std::any(hooked_step(context)); })),
            1);
  EXPECT_TRUE(session().should_stop());
  EXPECT_EQ(session().raw_session(), raw);
  EXPECT_EQ(error_of([&] { session().close(); }), "UNKNOWN: of a thread");
}

TEST_F(RecoverableConformance, RECOV_09_AThreadsPreemptionIsTheCauseOfAStepThatFails) {
  open();
  thread_fails(Code::kAborted);
  int calls = 0;
  session().run_step_fn([&](StepFnContext&) -> std::any {
    if (++calls == 1) fail(Code::kCancelled, "stuck");
    return {};
  });
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(session().should_stop());
}

TEST_F(RecoverableConformance, RECOV_10_AStepFunctionOfRawRunsReturnsAndTheNextStopCheckRecovers) {
  open();
  const std::shared_ptr<DirectSession> first = session().raw_session();
  raw_step();
  thread_fails(Code::kAborted);
  EXPECT_EQ(raw_step(), 2);
  EXPECT_EQ(session().raw_session(), first);
  EXPECT_FALSE(session().should_stop());
  EXPECT_NE(session().raw_session(), first);
  EXPECT_EQ(session().recoveries(), 1);
  EXPECT_EQ(raw_step(), 1);  // of the new session
}

// TensorFlow's test passes without a recovery; this one counts the calls and looks at the session they got.
TEST_F(RecoverableConformance, RECOV_12_AStuckStepFunctionOfRawRunsIsRepeatedOnTheNewSession) {
  open();
  raw_step();
  thread_fails(Code::kAborted);
  session().interrupt(Error(Code::kCancelled, "stuck"));  // the raw run hangs until somebody cancels it
  std::vector<DirectSession*> given;
  const std::any result = session().run_step_fn([&](StepFnContext& context) {
    given.push_back(&context.session());
    return std::any(context.session().handle().run({train_op})[0].scalar<std::int64_t>());
  });
  EXPECT_EQ(std::any_cast<std::int64_t>(result), 1);
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[1], session().raw_session().get());
  EXPECT_EQ(session().recoveries(), 1);
  EXPECT_FALSE(session().should_stop());
}

class RecoverableLayerConformance : public RecoverableSessionTest {};

TEST_F(RecoverableLayerConformance, RECOV_14_WhileItRecoversAPreemptionInCloseIsSwallowedAndAnotherErrorIsNot) {
  at_run = failing_until(1, Code::kAborted, "preempted");
  at_close = failing_until(1, Code::kUnavailable, "of a thread");
  RecoverableSession session = make();
  session.run({});
  EXPECT_EQ(created, 2);
  at_run = failing_until(2, Code::kAborted, "preempted");
  at_close = failing_until(2, Code::kDataLoss, "of a thread");
  EXPECT_EQ(error_of([&] { session.run({}); }), "DATA_LOSS: of a thread");
  EXPECT_EQ(created, 2);
  EXPECT_TRUE(session.should_stop());  // nothing is open
}

TEST_F(RecoverableConformance, RECOV_14_TheSwallowedErrorIsAWarningInTheLog) {
  open();
  thread_fails(Code::kUnavailable);
  session().interrupt(Error(Code::kAborted, "of the run"));
  EXPECT_EQ(train(), 1);
  EXPECT_TRUE(logged("while the session was closed: of a thread")) << log_text;
}

TEST_F(RecoverableConformance, RECOV_15_AHooksStopIsForgottenByARecoveryAndTheProgramsIsNot) {
  Probe& x = add_probe("x");
  x.look = [&](RunContext& context, const RunValues&) { context.request_stop("once"); };
  open();
  train();
  EXPECT_TRUE(session().should_stop());
  x.look = {};
  // A recovery while the flag is up: out of a step function, which looks at no flag.
  int calls = 0;
  session().run_step_fn([&](StepFnContext&) -> std::any {
    if (++calls == 1) fail(Code::kAborted, "lost");
    return {};
  });
  EXPECT_FALSE(session().should_stop());
  session().request_stop("SIGTERM");
  calls = 0;
  session().run_step_fn([&](StepFnContext&) -> std::any {
    if (++calls == 1) fail(Code::kAborted, "lost");
    return {};
  });
  EXPECT_TRUE(session().should_stop());
}

TEST_F(RecoverableConformance, RECOV_16_ARecoveryWaitsForThreadsAtMostTheGracePeriod) {
  MonitoredSessionOptions options;
  options.settings.stop_grace_period_secs = 0.001;
  open(options);
  std::atomic<bool> release{false};
  const auto stubborn = coordinator().start_thread("stubborn", [&] {
    while (!release) std::this_thread::yield();
  });
  session().interrupt(Error(Code::kAborted, "lost"));
  EXPECT_EQ(train(), 1);
  EXPECT_EQ(session().unjoined(), (std::vector<std::string>{"stubborn"}));
  release = true;
  EXPECT_TRUE(stubborn->join_for(10'000'000'000));
}

TEST_F(RecoverableConformance, RECOV_16_AThreadThatEndsInTimeIsJoinedBeforeTheNewSessionIsMade) {
  std::atomic<bool> ended{false};
  std::vector<bool> ended_at_init;
  scaffold.host_init = [&](const SessionScaffold&, DirectSession&) { ended_at_init.push_back(ended); };
  open();
  Coordinator& c = coordinator();
  c.start_thread("obedient", [&] {
    c.wait_for_stop(-1);
    ended = true;
  });
  session().interrupt(Error(Code::kAborted, "lost"));
  train();
  EXPECT_EQ(ended_at_init, (std::vector<bool>{false, true}));
}

TEST_F(RecoverableLayerConformance, PROSE_09_TheConstructorCreatesAtOnce) {
  RecoverableSession session = make();
  EXPECT_EQ(events, (Timeline{"create 1"}));
  EXPECT_EQ(session.recoveries(), 0);
  EXPECT_FALSE(session.should_stop());
}

TEST_F(RecoverableLayerConformance, PROSE_09_AfterAPreemptionTheRunIsRepeatedOnANewSession) {
  for (const Code code : {Code::kAborted, Code::kUnavailable}) {
    created = 0;
    events = recoveries = {};
    at_run = failing_until(1, code, "preempted");
    RecoverableSession session = make();
    session.run({});
    EXPECT_EQ(events, (Timeline{"create 1", "run 1", "close 1", "create 2", "run 2"}));
    EXPECT_EQ(session.recoveries(), 1);
    EXPECT_EQ(recoveries, (Timeline{std::string("1 ") + code_name(code) + ": preempted"}));
  }
}

TEST_F(RecoverableLayerConformance, PROSE_09_AStepFunctionIsRepeatedLikeARun) {
  at_run = failing_until(1, Code::kAborted, "preempted");
  RecoverableSession session = make();
  const std::any result = session.run_step_fn([](StepFnContext&) { return std::any(); });
  EXPECT_EQ(std::any_cast<std::string>(result), "result");
  EXPECT_EQ(events, (Timeline{"create 1", "run 1", "close 1", "create 2", "run 2"}));
}

TEST_F(RecoverableLayerConformance, PROSE_09_APreemptionInTheCreationIsTriedAgain) {
  at_create = failing_until(2, Code::kUnavailable, "not there yet");
  RecoverableSession session = make();
  EXPECT_EQ(events, (Timeline{"create 1", "create 2", "create 3"}));
  EXPECT_EQ(recoveries, (Timeline{"1 UNAVAILABLE: not there yet", "2 UNAVAILABLE: not there yet"}));
}

TEST_F(RecoverableLayerConformance, QUIRK_10_RecoveriesInARowAreBounded) {
  at_run = failing_until(100, Code::kAborted, "preempted");
  RecoverableSession session = make({.max_recoveries = 3, .recovery_backoff_secs = 1});
  EXPECT_EQ(error_of([&] { session.run({}); }), "INTERNAL: [B5086] gave up after 3 recoveries in a row: preempted");
  EXPECT_EQ(created, 4);
  EXPECT_EQ(session.recoveries(), 3);
  EXPECT_EQ(pauses, (std::vector<double>{1, 2}));
}

TEST_F(RecoverableLayerConformance, QUIRK_10_TheFirstRecoveryIsAtOnceAndThePauseDoublesUpToAMinute) {
  at_run = failing_until(9, Code::kAborted, "preempted");
  RecoverableSession session = make();
  session.run({});
  EXPECT_EQ(pauses, (std::vector<double>{1, 2, 4, 8, 16, 32, 60, 60}));
}

TEST_F(RecoverableLayerConformance, QUIRK_10_RecoveriesInTheCreationAreBounded) {
  at_create = failing_until(100, Code::kAborted, "preempted");
  EXPECT_EQ(error_of([&] { make({.max_recoveries = 2, .recovery_backoff_secs = 1}); }),
            "INTERNAL: [B5086] gave up after 2 recoveries in a row: preempted");
  EXPECT_EQ(created, 3);
}

}  // namespace
}  // namespace belay::runtime::testing
