// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/monitored_session.h"

#include <atomic>
#include <thread>

#include "tests/monitored/counting_session.h"

namespace belay::runtime::testing {
namespace {

class MonitoredSessionTest : public CountingSessionTest {};

TEST_F(MonitoredSessionTest, OneGraphServesSeveralSessionsOneAfterTheOther) {
  add_probe("x");
  for (int i = 0; i < 3; ++i) {
    open();
    EXPECT_EQ(train(), 1);
    session().close();
  }
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
  EXPECT_EQ(error_of([&] { session().scope([&] { train(); }); }), "DATA_LOSS: hook \"x\" in end at step 1: disk full");
  EXPECT_EQ(timeline.back(), "x.end");
  EXPECT_TRUE(session().closed());
  EXPECT_TRUE(raw->closed());
  EXPECT_FALSE(graph.finalized());
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kError);
  EXPECT_EQ(session().end_reason().text, "hook \"x\" in end at step 1: disk full");
}

TEST_F(MonitoredSessionTest, AnInterruptEndsThePauseOfARecovery) {
  scaffold.host_init = [&](const SessionScaffold&, DirectSession&) {
    interrupt.cancel(Error(Code::kCancelled, "SIGINT"));
    fail(Code::kAborted, "preempted");
  };
  EXPECT_EQ(error_of([&] { open(); }), "CANCELLED: SIGINT");
}

TEST_F(MonitoredSessionTest, AnErrorCaughtInsideTheScopeEndsNothing) {
  Probe& x = add_probe("x");
  open();
  session().scope([&] {
    x.in["before_run"] = [] { fail(Code::kInternal, "once"); };
    EXPECT_EQ(error_of([&] { train(); }), "INTERNAL: hook \"x\" in before_run at step 1: once");
    x.in.clear();
    EXPECT_FALSE(session().should_stop());
    EXPECT_EQ(train(), 1);
  });
  EXPECT_EQ(timeline.back(), "x.end");
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

TEST_F(MonitoredSessionTest, ARecoveryThatFailsLeavesNothingToEnd) {
  Probe& x = add_probe("x");
  bool broken = false;
  scaffold.host_init = [&](const SessionScaffold&, DirectSession&) {
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
    EXPECT_EQ(error_of([&] { train(); }), "FAILED_PRECONDITION: [B5070] Run called on a closed session");
  });
  EXPECT_EQ(new_events(), (Timeline{"x.before_run"}));
  EXPECT_TRUE(session().closed());
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kError);
  EXPECT_EQ(session().end_reason().text, "the session could not be made anew after an error");
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
  EXPECT_EQ(session().unjoined(), std::vector<std::string>{});
}

TEST_F(MonitoredSessionTest, AThreadThatOutlivesTheGracePeriodIsUnjoined) {
  MonitoredSessionOptions options;
  options.settings.stop_grace_period_secs = 0.001;
  open(options);
  std::atomic<bool> release{false};
  const auto stubborn = coordinator().start_thread("stubborn", [&] {
    while (!release) std::this_thread::yield();
  });
  session().close();
  EXPECT_EQ(session().unjoined(), (std::vector<std::string>{"stubborn"}));
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

}  // namespace
}  // namespace belay::runtime::testing
