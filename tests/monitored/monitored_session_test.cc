#include "runtime/monitored/monitored_session.h"

#include <atomic>
#include <stdexcept>
#include <thread>

#include "tests/monitored/counting_session.h"

namespace belay::runtime::testing {
namespace {

class MonitoredSessionTest : public CountingSessionTest {};

// ----- the timelines
// ---------------------------------------------------------------------------------------------------

TEST_F(MonitoredSessionTest, WithoutHooksTheVariablesAreInitialized) {
  open();
  EXPECT_EQ(session().raw_session()->global_step(), 0);
  EXPECT_EQ(train(), 1);
  EXPECT_FALSE(session().should_stop());
  EXPECT_FALSE(session().restored());
}

TEST_F(MonitoredSessionTest, HooksAreCalledInTheirOrderInEveryPhase) {
  add_probe("x");
  add_probe("y");
  open();
  EXPECT_EQ(new_events(), (Timeline{"x.begin", "y.begin", "x.after_create_session", "y.after_create_session"}));
  session().scope([&] {
    EXPECT_EQ(new_events(), Timeline{});  // all of the creation is the constructor's
    train();
    EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run", "x.after_run", "y.after_run"}));
    train();
    new_events();
  });
  EXPECT_EQ(new_events(), (Timeline{"x.end", "y.end"}));
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kClosed);
  EXPECT_EQ(session().end_reason().text, "the session was closed");
}

TEST_F(MonitoredSessionTest, WhatAHookAskedTheCoordinatorToStopForIsTheReason) {
  Probe& x = add_probe("x");
  x.in_session = [](Session& s) { s.coordinator().request_stop("nothing is left to do"); };
  open();
  session().scope([&] { EXPECT_TRUE(session().should_stop()); });
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kStopRequested);
  EXPECT_EQ(session().end_reason().text, "nothing is left to do");
}

TEST_F(MonitoredSessionTest, BeginMayAddToTheGraphAndTheSessionIsReadyAfterwards) {
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

TEST_F(MonitoredSessionTest, ARunGivesTheCallersValuesInTheOrderOfItsFetches) {
  const Output fed = ops::placeholder(g, DType::kFloat32, {}, "fed");
  open();
  const FetchedValues values = session().run({train_op, fed, step}, {{fed, Tensor(3.5f)}});
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0].scalar<std::int64_t>(), 1);
  EXPECT_EQ(values[1].scalar<float>(), 3.5f);
  EXPECT_EQ(values[2].scalar<std::int64_t>(), 0);
}

TEST_F(MonitoredSessionTest, AHooksStopEndsTheLoopAndIsTheReason) {
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

TEST_F(MonitoredSessionTest, AStopFromAnotherThreadEndsTheLoop) {
  open();
  std::thread([&] { session().request_stop("SIGTERM"); }).join();
  session().request_stop("too late to be the reason");
  EXPECT_TRUE(session().should_stop());
  EXPECT_EQ(train(), 1);  // the flag ends the loop, not the run
  session().close();
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kStopRequested);
  EXPECT_EQ(session().end_reason().text, "SIGTERM");
}

// ----- closing
// ---------------------------------------------------------------------------------------------------------

TEST_F(MonitoredSessionTest, AfterCloseNothingIsOpen) {
  add_probe("x");
  open();
  const std::shared_ptr<DirectSession> raw = session().raw_session();
  EXPECT_EQ(session().graph(), &graph);
  session().close();
  new_events();
  session().close();
  EXPECT_EQ(new_events(), Timeline{});
  EXPECT_TRUE(session().closed());
  EXPECT_TRUE(raw->closed());
  EXPECT_TRUE(session().should_stop());
  EXPECT_EQ(session().graph(), nullptr);
  EXPECT_EQ(session().raw_session(), nullptr);
  EXPECT_EQ(error_of([&] { train(); }), "FAILED_PRECONDITION: Run called on a closed session");
  EXPECT_EQ(error_of([&] { session().run_step_fn([](StepFnContext&) { return std::any(); }); }),
            "FAILED_PRECONDITION: Run called on a closed session");
  session().interrupt(Error(Code::kCancelled, "SIGINT"));
  session().resume();
}

TEST_F(MonitoredSessionTest, TheGraphIsOpenAgainIfItWasOpenBefore) {
  open();
  EXPECT_TRUE(graph.finalized());
  session().close();
  EXPECT_FALSE(graph.finalized());
}

TEST_F(MonitoredSessionTest, AGraphThatWasFrozenBeforeStaysSo) {
  Scaffold().finalize(graph);
  open();
  session().close();
  EXPECT_TRUE(graph.finalized());
}

TEST_F(MonitoredSessionTest, OneGraphServesSeveralSessionsOneAfterTheOther) {
  add_probe("x");
  for (int i = 0; i < 3; ++i) {
    open();
    EXPECT_EQ(train(), 1);
    session().close();
  }
}

TEST_F(MonitoredSessionTest, TheDestructorClosesWithoutEnd) {
  add_probe("x");
  open();
  const std::shared_ptr<DirectSession> raw = session().raw_session();
  new_events();
  drop();
  EXPECT_TRUE(raw->closed());
  EXPECT_FALSE(graph.finalized());
  EXPECT_EQ(new_events(), Timeline{});
}

TEST_F(MonitoredSessionTest, ClosingInsideTheScopeIsAllowed) {
  add_probe("x");
  open();
  new_events();
  session().scope([&] { session().close(); });
  EXPECT_EQ(new_events(), (Timeline{"x.end"}));
}

TEST_F(MonitoredSessionTest, AnErrorBehindACloseStillReachesOnErrorAndTheCaller) {
  Probe& x = add_probe("x");
  open();
  new_events();
  EXPECT_EQ(error_of([&] {
              session().scope([&] {
                session().close();
                fail(Code::kInternal, "behind the end");
              });
            }),
            "INTERNAL: behind the end");
  EXPECT_EQ(new_events(), (Timeline{"x.end", "x.on_error"}));
  EXPECT_EQ(x.error, "INTERNAL: behind the end");
}

TEST_F(MonitoredSessionTest, AnErrorOfEndLeavesOutTheLaterHooksAndReleasesEverything) {
  add_probe("x").in["end"] = [] { fail(Code::kDataLoss, "disk full"); };
  add_probe("y");
  open();
  const std::shared_ptr<DirectSession> raw = session().raw_session();
  new_events();
  EXPECT_EQ(error_of([&] { session().scope([&] { train(); }); }), "DATA_LOSS: hook \"x\" in end at step 0: disk full");
  EXPECT_EQ(timeline.back(), "x.end");
  EXPECT_TRUE(session().closed());
  EXPECT_TRUE(raw->closed());
  EXPECT_FALSE(graph.finalized());
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kError);
  EXPECT_EQ(session().end_reason().text, "hook \"x\" in end at step 0: disk full");
}

// ----- errors of the creation
// ------------------------------------------------------------------------------------------

TEST_F(MonitoredSessionTest, AnErrorOfBeginLeavesTheConstructor) {
  add_probe("x").in["begin"] = [] { fail(Code::kInvalidArgument, "no such tensor"); };
  add_probe("y");
  EXPECT_EQ(error_of([&] { open(); }), "INVALID_ARGUMENT: hook \"x\" in begin: no such tensor");
  EXPECT_EQ(new_events(), (Timeline{"x.begin", "x.on_error", "y.on_error"}));
  EXPECT_FALSE(graph.finalized());
}

TEST_F(MonitoredSessionTest, AnErrorOfAfterCreateSessionClosesWhatWasOpenedAndLeavesTheConstructor) {
  std::shared_ptr<DirectSession> raw;
  scaffold.init_fn = [&](const Scaffold&, DirectSession& s) { raw = s.shared_from_this(); };
  add_probe("x").in["after_create_session"] = [] { fail(Code::kInternal, "no"); };
  add_probe("y");
  EXPECT_EQ(error_of([&] { open(); }), "INTERNAL: hook \"x\" in after_create_session: no");
  EXPECT_EQ(new_events(), (Timeline{"x.begin", "y.begin", "x.after_create_session", "x.on_error", "y.on_error"}));
  EXPECT_TRUE(raw->closed());
  EXPECT_FALSE(graph.finalized());
}

TEST_F(MonitoredSessionTest, APreemptionOfAfterCreateSessionMakesAnotherSession) {
  std::vector<std::shared_ptr<DirectSession>> made;
  scaffold.init_fn = [&](const Scaffold&, DirectSession& s) { made.push_back(s.shared_from_this()); };
  Probe& x = add_probe("x");
  x.in["after_create_session"] = [&] {
    if (made.size() == 1) fail(Code::kUnavailable, "not there yet");
  };
  open();
  ASSERT_EQ(made.size(), 2u);
  EXPECT_TRUE(made[0]->closed());
  EXPECT_EQ(session().raw_session(), made[1]);
  EXPECT_EQ(new_events(), (Timeline{"x.begin", "x.after_create_session", "x.after_create_session"}));
}

TEST_F(MonitoredSessionTest, APreemptionOfTheInitFnIsTriedAgain) {
  int calls = 0;
  scaffold.init_fn = [&](const Scaffold&, DirectSession&) {
    if (++calls < 4) fail(Code::kAborted, "preempted");
  };
  open();
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(session().recoveries(), 3);
  EXPECT_EQ(clock.new_waits_ms(), (std::vector<std::int64_t>{1000, 2000}));
  EXPECT_EQ(train(), 1);
}

TEST_F(MonitoredSessionTest, AnInterruptEndsThePauseOfARecovery) {
  scaffold.init_fn = [&](const Scaffold&, DirectSession&) {
    interrupt.cancel(Error(Code::kCancelled, "SIGINT"));
    fail(Code::kAborted, "preempted");
  };
  EXPECT_EQ(error_of([&] { open(); }), "CANCELLED: SIGINT");
}

// ----- errors in the scope; the codes by place are in error_matrix_test.cc
// ---------------------------------------------

TEST_F(MonitoredSessionTest, AnErrorCaughtInsideTheScopeEndsNothing) {
  Probe& x = add_probe("x");
  open();
  session().scope([&] {
    x.in["before_run"] = [] { fail(Code::kInternal, "once"); };
    EXPECT_EQ(error_of([&] { train(); }), "INTERNAL: hook \"x\" in before_run at step 0: once");
    x.in.clear();
    EXPECT_FALSE(session().should_stop());
    EXPECT_EQ(train(), 1);
  });
  EXPECT_EQ(timeline.back(), "x.end");
}

TEST_F(MonitoredSessionTest, AnErrorOfTheCallersOwnCodeClosesTheSessionAndComesOut) {
  Probe& x = add_probe("x");
  open();
  new_events();
  EXPECT_THROW(session().scope([] { throw std::invalid_argument("not an Error"); }), std::invalid_argument);
  EXPECT_EQ(new_events(), (Timeline{"x.on_error"}));
  EXPECT_EQ(x.error, "UNKNOWN: not an Error");
  EXPECT_TRUE(session().closed());
}

TEST_F(MonitoredSessionTest, OnErrorReachesEveryHookWhateverOneThrows) {
  add_probe("x").in["on_error"] = [] { fail(Code::kInternal, "of on_error"); };
  Probe& y = add_probe("y");
  open();
  EXPECT_EQ(error_of([&] { session().scope([] { fail(Code::kDataLoss, "the cause"); }); }), "DATA_LOSS: the cause");
  EXPECT_EQ(y.error, "DATA_LOSS: the cause");
}

TEST_F(MonitoredSessionTest, AnOutOfRangeOfTheGraphEndsTheLoop) {
  const Output limited = ops::count_up_to(step, 3, "limited");
  open();
  int runs = 0;
  session().scope([&] {
    for (;;) {
      session().run({limited});
      ++runs;
    }
  });
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kEndOfInput);
}

// ----- recovery
// --------------------------------------------------------------------------------------------------------

TEST_F(MonitoredSessionTest, EveryRecoveryIsTold) {
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
            (Timeline{"1 hook \"x\" in before_run at step 0: lost", "2 hook \"x\" in before_run at step 1: lost"}));
}

// Its plan is the old session's, and the old variables are gone.
TEST_F(MonitoredSessionTest, AFetchSetThatIsKeptServesTheNewSession) {
  FetchSet set({train_op});
  RunCall call;
  call.fetches = &set;
  open();
  const auto train_with_it = [&] {
    const auto result = session().run(call);
    return TensorView(result.result(set, 0)).scalar<std::int64_t>();
  };
  EXPECT_EQ(train_with_it(), 1);
  EXPECT_EQ(train_with_it(), 2);
  session().interrupt(Error(Code::kAborted, "lost"));
  EXPECT_EQ(train_with_it(), 1);
  EXPECT_EQ(session().raw_session()->global_step(), 1);
  open();
  EXPECT_EQ(train_with_it(), 1);
}

TEST_F(MonitoredSessionTest, RecoveriesWithoutProgressAreBoundedAndPausedByTheClock) {
  MonitoredSessionOptions options;
  options.recovery = {.max_recoveries = 3, .backoff_secs = 0.5};
  Probe& x = add_probe("x");
  open(options);
  x.in["before_run"] = [] { fail(Code::kAborted, "lost"); };
  EXPECT_EQ(error_of([&] { session().scope([&] { train(); }); }),
            "INTERNAL: gave up after 3 recoveries in a row: hook \"x\" in before_run at step 0: lost");
  EXPECT_EQ(clock.new_waits_ms(), (std::vector<std::int64_t>{500, 1000}));
  EXPECT_EQ(timeline.back(), "x.on_error");
  EXPECT_EQ(session().recoveries(), 3);
}

TEST_F(MonitoredSessionTest, AHooksStopIsForgottenByARecoveryAndTheProgramsIsNot) {
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

TEST_F(MonitoredSessionTest, ARecoveryThatFailsLeavesNothingToEnd) {
  Probe& x = add_probe("x");
  bool broken = false;
  scaffold.init_fn = [&](const Scaffold&, DirectSession&) {
    if (broken) fail(Code::kDataLoss, "the initial values are gone");
  };
  open();
  train();
  broken = true;
  x.in["before_run"] = [] { fail(Code::kAborted, "lost"); };
  new_events();
  session().scope([&] {
    EXPECT_EQ(error_of([&] { train(); }), "DATA_LOSS: the initial values are gone");
    EXPECT_TRUE(session().should_stop());
    EXPECT_EQ(error_of([&] { train(); }), "FAILED_PRECONDITION: Run called on a closed session");
  });
  EXPECT_EQ(new_events(), (Timeline{"x.before_run"}));
  EXPECT_TRUE(session().closed());
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kError);
  EXPECT_EQ(session().end_reason().text, "the session could not be made anew after an error");
}

// ----- threads of the session
// ------------------------------------------------------------------------------------------

TEST_F(MonitoredSessionTest, WhatAThreadReportedStopsTheLoopAndLeavesClose) {
  for (const Code code : {Code::kUnknown, Code::kOutOfRange}) {
    HookSet none;
    std::swap(hooks, none);
    Probe& x = add_probe("x");
    open();
    coordinator().start_thread("loader", [&] { fail(code, "of a thread"); });
    coordinator().wait_for_stop(-1);
    new_events();
    EXPECT_EQ(error_of([&] {
                session().scope([&] {
                  EXPECT_EQ(train(), 1);  // the run is not affected
                  EXPECT_TRUE(session().should_stop());
                });
              }),
              std::string(code_name(code)) + ": of a thread");
    EXPECT_EQ(new_events(), (Timeline{"x.before_run", "x.after_run", "x.end"}));
    EXPECT_EQ(x.error, "");
    EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kError);
    EXPECT_EQ(session().end_reason().text, "of a thread");
  }
}

TEST_F(MonitoredSessionTest, APreemptionThatAThreadReportedIsRecoveredAtTheNextStopCheck) {
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

TEST_F(MonitoredSessionTest, ACancelledRunBesideAPreemptedThreadIsRepeated) {
  open();
  train();
  coordinator().start_thread("loader", [] { fail(Code::kUnavailable, "of a thread"); });
  coordinator().wait_for_stop(-1);
  session().interrupt(Error(Code::kCancelled, "the peer is gone"));
  EXPECT_EQ(train(), 1);
  EXPECT_EQ(session().recoveries(), 1);
}

TEST_F(MonitoredSessionTest, CloseEndsAThreadThatWaits) {
  open();
  std::atomic<bool> ended{false};
  Coordinator& c = coordinator();
  c.start_thread("waiter", [&] {
    c.wait_for_stop(-1);
    ended = true;
  });
  session().close();
  EXPECT_TRUE(ended);
  EXPECT_EQ(session().laggards(), std::vector<std::string>{});
}

TEST_F(MonitoredSessionTest, AThreadThatOutlivesTheGracePeriodIsALaggard) {
  MonitoredSessionOptions options;
  options.stop_grace_period_secs = 0.001;
  open(options);
  std::atomic<bool> release{false};
  const auto stubborn = coordinator().start_thread("stubborn", [&] {
    while (!release) std::this_thread::yield();
  });
  session().close();
  EXPECT_EQ(session().laggards(), (std::vector<std::string>{"stubborn"}));
  release = true;
  EXPECT_TRUE(stubborn->join_for(10'000'000'000));
}

TEST_F(MonitoredSessionTest, OfTwoErrorsTheOneInTheScopeLeavesAndTheThreadsIsLogged) {
  open();
  coordinator().start_thread("loader", [] { fail(Code::kDataLoss, "of a thread"); });
  coordinator().wait_for_stop(-1);
  EXPECT_EQ(error_of([&] { session().scope([] { fail(Code::kInternal, "of the scope"); }); }),
            "INTERNAL: of the scope");
  EXPECT_TRUE(logged("besides, while the session was closed: of a thread")) << log_text;
}

// ----- interrupts
// ------------------------------------------------------------------------------------------------------

TEST_F(MonitoredSessionTest, AnInterruptRefusesRunsUntilItIsTakenBack) {
  open();
  session().interrupt(Error(Code::kCancelled, "SIGINT"));
  EXPECT_EQ(error_of([&] { train(); }), "CANCELLED: SIGINT");
  session().resume();
  EXPECT_EQ(train(), 1);
}

// ----- the session that never recovers
// ---------------------------------------------------------------------------------

class SingularSessionTest : public CountingSessionTest {
 protected:
  void open_singular() { own_ = std::make_unique<SingularMonitoredSession>(graph, environment, hooks); }
  MonitoredSession& singular() { return *own_; }

 private:
  std::unique_ptr<SingularMonitoredSession> own_;
};

TEST_F(SingularSessionTest, InitializesAndRuns) {
  open_singular();
  EXPECT_EQ(singular().run({train_op})[0].scalar<std::int64_t>(), 1);
  EXPECT_EQ(singular().graph(), &graph);
  EXPECT_EQ(singular().raw_session()->global_step(), 1);
  singular().close();
  EXPECT_EQ(singular().recoveries(), 0);
  EXPECT_EQ(singular().raw_session(), nullptr);
}

TEST_F(SingularSessionTest, APreemptionIsAnErrorLikeOthers) {
  Probe& x = add_probe("x");
  open_singular();
  x.in["before_run"] = [] { fail(Code::kAborted, "lost"); };
  new_events();
  EXPECT_EQ(error_of([&] { singular().scope([&] { singular().run({train_op}); }); }),
            "ABORTED: hook \"x\" in before_run: lost");
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "x.on_error"}));
}

TEST_F(SingularSessionTest, APreemptionCaughtInsideTheScopeLetsItEndNormally) {
  Probe& x = add_probe("x");
  open_singular();
  x.in["before_run"] = [] { fail(Code::kAborted, "lost"); };
  singular().scope([&] {
    EXPECT_EQ(error_of([&] { singular().run({train_op}); }), "ABORTED: hook \"x\" in before_run: lost");
    EXPECT_FALSE(singular().should_stop());
  });
  EXPECT_EQ(timeline.back(), "x.end");
}

TEST_F(SingularSessionTest, AnEndOfInputEndsTheScope) {
  Probe& x = add_probe("x");
  open_singular();
  x.in["before_run"] = [] { fail(Code::kOutOfRange, "end"); };
  singular().scope([&] { singular().run({train_op}); });
  EXPECT_EQ(singular().end_reason().kind, EndReason::Kind::kEndOfInput);
  EXPECT_EQ(timeline.back(), "x.end");
}

TEST_F(SingularSessionTest, APreemptionInTheCreationLeavesTheConstructor) {
  add_probe("x").in["after_create_session"] = [] { fail(Code::kAborted, "lost"); };
  EXPECT_EQ(error_of([&] { open_singular(); }), "ABORTED: hook \"x\" in after_create_session: lost");
}

TEST_F(SingularSessionTest, TheStopCheckThrowsWhatAThreadReported) {
  open_singular();
  Coordinator& c = from_handle(singular().raw_session()->coordinator);
  c.start_thread("loader", [] { fail(Code::kUnknown, "of a thread"); });
  c.wait_for_stop(-1);
  EXPECT_EQ(error_of([&] { singular().should_stop(); }), "UNKNOWN: of a thread");
  EXPECT_EQ(error_of([&] { singular().close(); }), "UNKNOWN: of a thread");
}

}  // namespace
}  // namespace belay::runtime::testing
