#include "runtime/monitored/coordinated_session.h"

#include <atomic>
#include <thread>

#include "tests/monitored/monitored_fixture.h"
#include "tests/monitored/scripted_layer.h"

namespace belay::runtime::testing {
namespace {

class CoordinatedSessionTest : public MonitoredTest {
 protected:
  CoordinatedSession make(double stop_grace_period_secs = 120) {
    ScriptedLayer::Script script;
    script.run = [this] {
      ++runs;
      if (at_run) at_run();
    };
    script.should_stop = [this] { return inner_stop; };
    script.close = [this] {
      ++closes;
      if (at_close) at_close();
    };
    return CoordinatedSession(std::make_unique<ScriptedLayer>(script), coordinator, stop_grace_period_secs, *log,
                              &laggards);
  }

  std::shared_ptr<Coordinator> coordinator = std::make_shared<Coordinator>(clock, std::vector<Code>{});
  std::function<void()> at_run, at_close;
  bool inner_stop = false;
  int runs = 0;
  int closes = 0;
  std::vector<std::string> laggards;
};

TEST_F(CoordinatedSessionTest, StopsAsSoonAsTheCoordinatorWasAsked) {
  CoordinatedSession session = make();
  EXPECT_FALSE(session.should_stop());
  coordinator->request_stop("enough");
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(&session.coordinator(), coordinator.get());
}

TEST_F(CoordinatedSessionTest, StopsWhenTheInnerSessionDoes) {
  CoordinatedSession session = make();
  inner_stop = true;
  EXPECT_TRUE(session.should_stop());
}

TEST_F(CoordinatedSessionTest, TheStopCheckThrowsWhatAThreadReported) {
  CoordinatedSession session = make();
  for (const Code code : {Code::kUnknown, Code::kAborted, Code::kOutOfRange}) {
    coordinator->clear_stop();
    coordinator->request_stop(Error(code, "of a thread"));
    EXPECT_EQ(error_of([&] { session.should_stop(); }), std::string(code_name(code)) + ": of a thread");
  }
}

TEST_F(CoordinatedSessionTest, ARunGoesOnWhateverTheCoordinatorHolds) {
  CoordinatedSession session = make();
  coordinator->request_stop(Error(Code::kUnknown, "of a thread"));
  session.run({});
  EXPECT_EQ(runs, 1);
}

TEST_F(CoordinatedSessionTest, AnErrorOfTheRunIsNotReportedToTheCoordinator) {
  CoordinatedSession session = make();
  at_run = [] { fail(Code::kInternal, "of the run"); };
  EXPECT_EQ(error_of([&] { session.run({}); }), "INTERNAL: of the run");
  EXPECT_FALSE(coordinator->should_stop());
  EXPECT_FALSE(session.should_stop());
}

// The caller's error, the coordinator's, and the one that comes out.
TEST_F(CoordinatedSessionTest, APreemptionOfAThreadIsTheCauseOfAnyOtherFailure) {
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

TEST_F(CoordinatedSessionTest, CloseStopsAndJoinsTheThreads) {
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
  EXPECT_EQ(laggards, std::vector<std::string>{});
  session.close();
  EXPECT_EQ(closes, 1);
}

TEST_F(CoordinatedSessionTest, CloseThrowsWhatAThreadReportedAndStillClosesTheInnerSession) {
  coordinator->start_thread("failing", [] { fail(Code::kOutOfRange, "the file is too short"); });
  coordinator->wait_for_stop(-1);
  CoordinatedSession session = make();
  EXPECT_EQ(error_of([&] { session.close(); }), "OUT_OF_RANGE: the file is too short");
  EXPECT_EQ(closes, 1);
  session.close();
  EXPECT_EQ(closes, 1);
}

TEST_F(CoordinatedSessionTest, WhatTheInnerCloseThrowsIsALineInTheLog) {
  CoordinatedSession session = make();
  at_close = [] { fail(Code::kInternal, "of the inner session"); };
  session.close();
  EXPECT_TRUE(logged("while the session was closed: of the inner session")) << log_text;
}

TEST_F(CoordinatedSessionTest, ThreadsThatOutliveTheGracePeriodAreNamed) {
  std::atomic<bool> release{false};
  const auto stubborn = coordinator->start_thread("stubborn", [&] {
    while (!release) std::this_thread::yield();
  });
  CoordinatedSession session = make(0.001);
  session.close();
  EXPECT_EQ(closes, 1);
  EXPECT_EQ(laggards, (std::vector<std::string>{"stubborn"}));
  EXPECT_TRUE(logged("threads are still running after the grace period: stubborn")) << log_text;
  release = true;
  EXPECT_TRUE(stubborn->join_for(10'000'000'000));
}

TEST_F(CoordinatedSessionTest, AfterCloseARunIsRefused) {
  CoordinatedSession session = make();
  session.close();
  EXPECT_EQ(error_of([&] { session.run({}); }), "FAILED_PRECONDITION: Run called on a closed session");
  EXPECT_EQ(error_of([&] { session.run_step_fn([](StepFnContext&) { return std::any(); }); }),
            "FAILED_PRECONDITION: Run called on a closed session");
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace belay::runtime::testing
