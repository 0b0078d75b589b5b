// SPDX-License-Identifier: Apache-2.0
// The session with a coordinator: section 10 of the contract.
#include "runtime/monitored/layers/coordinated_session.h"

#include <atomic>
#include <thread>

#include "tests/monitored/coordinated_fixture.h"
#include "tests/monitored/counting_session.h"

namespace belay::runtime::testing {
namespace {

class CoordinatedConformance : public CoordinatedSessionTest {};

TEST_F(CoordinatedConformance, COORDS_01_TheRawSessionPassesThrough) {
  graph.finalize();
  const auto raw = std::make_shared<DirectSession>(graph, std::make_shared<VariableStore>(), environment.session);
  CoordinatedSession session(std::make_unique<RawLayer>(raw), coordinator, 120, *log);
  EXPECT_EQ(session.raw(), raw.get());
  session.close();
  EXPECT_EQ(session.raw(), nullptr);
}

TEST_F(CoordinatedConformance, COORDS_04_StopsAsSoonAsTheCoordinatorWasAsked) {
  CoordinatedSession session = make();
  EXPECT_FALSE(session.should_stop());
  coordinator->request_stop("enough");
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(&session.coordinator(), coordinator.get());
}

TEST_F(CoordinatedConformance, COORDS_05_AnErrorOfTheRunIsNotReportedToTheCoordinator) {
  CoordinatedSession session = make();
  at_run = [] { fail(Code::kInternal, "of the run"); };
  EXPECT_EQ(error_of([&] { session.run({}); }), "INTERNAL: of the run");
  EXPECT_FALSE(coordinator->should_stop());
  EXPECT_FALSE(session.should_stop());
}

TEST_F(CoordinatedConformance, COORDS_07_CloseStopsTheThreadsOfASessionThatNeverRan) {
  std::atomic<int> ended{0};
  for (const char* name : {"a", "b"})
    coordinator->start_thread(name, [&] {
      coordinator->wait_for_stop(-1);
      ++ended;
    });
  CoordinatedSession session = make();
  session.close();
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(closes, 1);
  EXPECT_TRUE(coordinator->joined());
}

TEST_F(CoordinatedConformance, PROSE_10_CloseStopsAndJoinsTheThreadsThenClosesTheInnerSession) {
  std::atomic<int> ended{0};
  for (const char* name : {"a", "b"})
    coordinator->start_thread(name, [&] {
      coordinator->wait_for_stop(-1);
      ++ended;
    });
  CoordinatedSession session = make();
  session.run({});
  session.close();
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(closes, 1);
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(coordinator->stop_reason(), "the session is closing");
  EXPECT_EQ(unjoined, std::vector<std::string>{});
  session.close();
  EXPECT_EQ(closes, 1);
}

TEST_F(CoordinatedConformance, COORDS_08_TheErrorOfARunComesOutUnwrapped) {
  class OwnError final : public Error {
   public:
    OwnError() : Error(Code::kInternal, "of the run, at trainer.cc:17") {}
  };
  CoordinatedSession session = make();
  at_run = [] { throw OwnError(); };
  EXPECT_THROW(session.run({}), OwnError);
  EXPECT_EQ(error_of([&] { session.run({}); }), "INTERNAL: of the run, at trainer.cc:17");
  EXPECT_THROW(session.run_step_fn([](StepFnContext&) { return std::any(); }), OwnError);
}

// The caller's error, the coordinator's, and the one that comes out.
TEST_F(CoordinatedConformance, COORDS_09_APreemptionOfAThreadIsTheCauseOfAnyOtherFailure) {
  struct Case {
    Code run, thread;
    std::string out;
  };
  const Case cases[] = {{Code::kCancelled, Code::kAborted, "ABORTED: of a thread"},
                        {Code::kInternal, Code::kUnavailable, "UNAVAILABLE: of a thread"},
                        {Code::kOutOfRange, Code::kAborted, "ABORTED: of a thread"},
                        {Code::kCancelled, Code::kUnknown, "CANCELLED: of the run"},
                        {Code::kInternal, Code::kOutOfRange, "INTERNAL: of the run"},
                        {Code::kAborted, Code::kUnavailable, "ABORTED: of the run"},
                        {Code::kUnavailable, Code::kUnknown, "UNAVAILABLE: of the run"}};
  CoordinatedSession session = make();
  for (const Case& c : cases) {
    coordinator->clear_stop();
    coordinator->request_stop(Error(c.thread, "of a thread"));
    at_run = [&] { fail(c.run, "of the run"); };
    EXPECT_EQ(error_of([&] { session.run({}); }), c.out);
    EXPECT_EQ(error_of([&] { session.run_step_fn([](StepFnContext&) { return std::any(); }); }), c.out);
  }
}

TEST_F(CoordinatedConformance, COORDS_10_TheStopCheckThrowsWhatAThreadReported) {
  CoordinatedSession session = make();
  for (const Code code : {Code::kUnknown, Code::kAborted, Code::kOutOfRange}) {
    coordinator->clear_stop();
    coordinator->request_stop(Error(code, "of a thread"));
    EXPECT_EQ(error_of([&] { session.should_stop(); }), std::string(code_name(code)) + ": of a thread");
  }
}

TEST_F(CoordinatedConformance, COORDS_11_AnOutOfRangeOfAThreadIsAnErrorAndStillClosesTheInnerSession) {
  coordinator->start_thread("failing", [] { fail(Code::kOutOfRange, "the file is too short"); });
  coordinator->wait_for_stop(-1);
  CoordinatedSession session = make();
  EXPECT_EQ(error_of([&] { session.close(); }), "OUT_OF_RANGE: the file is too short");
  EXPECT_EQ(closes, 1);
  session.close();
  EXPECT_EQ(closes, 1);
}

TEST_F(CoordinatedConformance, PROSE_10_WhatTheInnerCloseThrowsIsALineInTheLog) {
  CoordinatedSession session = make();
  at_close = [] { fail(Code::kInternal, "of the inner session"); };
  session.close();
  EXPECT_TRUE(logged("while the session was closed: of the inner session")) << log_text;
}

TEST_F(CoordinatedConformance, PROSE_10_ThreadsThatOutliveTheGracePeriodAreNamed) {
  std::atomic<bool> release{false};
  const auto stubborn = coordinator->start_thread("stubborn", [&] {
    while (!release) std::this_thread::yield();
  });
  CoordinatedSession session = make(0.001);
  session.close();
  EXPECT_EQ(closes, 1);
  EXPECT_EQ(unjoined, (std::vector<std::string>{"stubborn"}));
  EXPECT_TRUE(logged("threads are still running after the grace period: stubborn")) << log_text;
  release = true;
  EXPECT_TRUE(stubborn->join_for(10'000'000'000));
}

TEST_F(CoordinatedConformance, PROSE_10_TheGracePeriodIsTwoMinutesByDefault) {
  EXPECT_EQ(MonitoredSessionOptions().settings.stop_grace_period_secs, 120);
}

class CoordinatorOfASession : public CountingSessionTest {};

TEST_F(CoordinatorOfASession, COORDS_11_NoErrorOfAThreadIsACleanStop) {
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

}  // namespace
}  // namespace belay::runtime::testing
