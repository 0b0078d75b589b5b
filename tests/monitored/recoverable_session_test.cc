#include "runtime/monitored/recoverable_session.h"

#include "tests/monitored/monitored_fixture.h"
#include "tests/monitored/scripted_layer.h"

namespace belay::runtime::testing {
namespace {

// Sessions that run as scripted; every creation, run, close, recovery and pause is noted.
class RecoverableSessionTest : public ::testing::Test {
 protected:
  // Number n is the session that is made n-th, from 1.
  using At = std::function<void(int n)>;

  RecoverableSession make(RecoveryPolicy policy = {}) {
    return RecoverableSession([this] { return create(); }, policy,
                              [this](double seconds) { pauses.push_back(seconds); },
                              [this](const Error& e, std::int64_t n) {
                                recoveries.push_back(std::to_string(n) + " " + code_name(e.code()) + ": " + e.what());
                              });
  }
  std::unique_ptr<SessionLayer> create() {
    const int n = ++created;
    events.push_back("create " + std::to_string(n));
    if (at_create) at_create(n);
    ScriptedLayer::Script script;
    script.run = [this, n] {
      events.push_back("run " + std::to_string(n));
      if (at_run) at_run(n);
    };
    script.should_stop = [this, n] {
      if (at_should_stop) at_should_stop(n);
      return stop;
    };
    script.close = [this, n] {
      events.push_back("close " + std::to_string(n));
      if (at_close) at_close(n);
    };
    return std::make_unique<ScriptedLayer>(script);
  }
  // Fails at the sessions up to the n-th.
  static At failing_until(int last, Code code, const std::string& text) {
    return [=](int n) {
      if (n <= last) fail(code, text);
    };
  }

  int created = 0;
  At at_create, at_run, at_should_stop, at_close;
  bool stop = false;
  Timeline events;
  std::vector<double> pauses;
  std::vector<std::string> recoveries;
};

TEST_F(RecoverableSessionTest, IsCreatedAtOnce) {
  RecoverableSession session = make();
  EXPECT_EQ(events, (Timeline{"create 1"}));
  EXPECT_EQ(session.recoveries(), 0);
  EXPECT_FALSE(session.should_stop());
}

TEST_F(RecoverableSessionTest, AfterAPreemptionTheRunIsRepeatedOnANewSession) {
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

TEST_F(RecoverableSessionTest, AStepFunctionIsRepeatedLikeARun) {
  at_run = failing_until(1, Code::kAborted, "preempted");
  RecoverableSession session = make();
  const std::any result = session.run_step_fn([](StepFnContext&) { return std::any(); });
  EXPECT_EQ(std::any_cast<std::string>(result), "result");
  EXPECT_EQ(events, (Timeline{"create 1", "run 1", "close 1", "create 2", "run 2"}));
}

TEST_F(RecoverableSessionTest, AnyOtherErrorLeavesTheRunAndKeepsTheSession) {
  for (const Code code : {Code::kOutOfRange, Code::kStop, Code::kCancelled, Code::kInternal, Code::kDiverged}) {
    created = 0;
    events.clear();
    at_run = failing_until(1, code, "other");
    RecoverableSession session = make();
    EXPECT_EQ(error_of([&] { session.run({}); }), std::string(code_name(code)) + ": other");
    EXPECT_EQ(events, (Timeline{"create 1", "run 1"}));
    EXPECT_FALSE(session.should_stop());
  }
  EXPECT_EQ(recoveries, Timeline{});
}

TEST_F(RecoverableSessionTest, APreemptionInTheCreationIsTriedAgain) {
  at_create = failing_until(2, Code::kUnavailable, "not there yet");
  RecoverableSession session = make();
  EXPECT_EQ(events, (Timeline{"create 1", "create 2", "create 3"}));
  EXPECT_EQ(recoveries, (Timeline{"1 UNAVAILABLE: not there yet", "2 UNAVAILABLE: not there yet"}));
}

TEST_F(RecoverableSessionTest, AnotherErrorOfTheCreationLeavesTheConstructor) {
  at_create = failing_until(1, Code::kInvalidArgument, "bad graph");
  EXPECT_EQ(error_of([&] { make(); }), "INVALID_ARGUMENT: bad graph");
}

TEST_F(RecoverableSessionTest, WhatAThreadReportedMakesANewSessionOrStops) {
  RecoverableSession session = make();
  at_should_stop = failing_until(1, Code::kAborted, "of a thread");
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(events, (Timeline{"create 1", "close 1", "create 2"}));
  EXPECT_FALSE(session.should_stop());
  at_should_stop = failing_until(2, Code::kUnknown, "of a thread");
  EXPECT_TRUE(session.should_stop());  // and close will say why
  EXPECT_EQ(created, 2);
}

TEST_F(RecoverableSessionTest, AStopOfTheInnerSessionIsAStop) {
  RecoverableSession session = make();
  stop = true;
  EXPECT_TRUE(session.should_stop());
}

// ----- bounds
// ----------------------------------------------------------------------------------------------------------

TEST_F(RecoverableSessionTest, TheFirstRecoveryIsAtOnceAndThePauseDoublesUpToAMinute) {
  at_run = failing_until(9, Code::kAborted, "preempted");
  RecoverableSession session = make();
  session.run({});
  EXPECT_EQ(pauses, (std::vector<double>{1, 2, 4, 8, 16, 32, 60, 60}));
}

TEST_F(RecoverableSessionTest, ThePauseStartsAtBackoffSecs) {
  struct Case {
    double backoff_secs;
    std::vector<double> pauses;
  };
  const Case cases[] = {{0.25, {0.25, 0.5, 1}}, {0, {0, 0, 0}}, {45, {45, 60, 60}}, {90, {60, 60, 60}}};
  for (const Case& c : cases) {
    created = 0;
    pauses.clear();
    at_create = failing_until(4, Code::kAborted, "preempted");
    make({.max_recoveries = 10, .backoff_secs = c.backoff_secs});
    EXPECT_EQ(pauses, c.pauses);
  }
}

TEST_F(RecoverableSessionTest, RecoveriesInARowAreBounded) {
  at_run = failing_until(100, Code::kAborted, "preempted");
  RecoverableSession session = make({.max_recoveries = 3, .backoff_secs = 1});
  EXPECT_EQ(error_of([&] { session.run({}); }), "INTERNAL: gave up after 3 recoveries in a row: preempted");
  EXPECT_EQ(created, 4);
  EXPECT_EQ(session.recoveries(), 3);
  EXPECT_EQ(pauses, (std::vector<double>{1, 2}));
}

TEST_F(RecoverableSessionTest, RecoveriesInTheCreationAreBounded) {
  at_create = failing_until(100, Code::kAborted, "preempted");
  EXPECT_EQ(error_of([&] { make({.max_recoveries = 2, .backoff_secs = 1}); }),
            "INTERNAL: gave up after 2 recoveries in a row: preempted");
  EXPECT_EQ(created, 3);
}

TEST_F(RecoverableSessionTest, RecoveriesOfRunsAndOfCreationsCountTogether) {
  at_run = failing_until(1, Code::kAborted, "run");
  at_create = [](int n) {
    if (n >= 2) fail(Code::kUnavailable, "creation");
  };
  RecoverableSession session = make({.max_recoveries = 3, .backoff_secs = 1});
  EXPECT_EQ(error_of([&] { session.run({}); }), "INTERNAL: gave up after 3 recoveries in a row: creation");
  EXPECT_EQ(events, (Timeline{"create 1", "run 1", "close 1", "create 2", "create 3", "create 4"}));
  EXPECT_EQ(error_of([&] { session.run({}); }), "FAILED_PRECONDITION: Run called on a closed session");
  EXPECT_TRUE(session.should_stop());
}

TEST_F(RecoverableSessionTest, NoRecoveryAtAllMayBeAsked) {
  at_run = failing_until(1, Code::kAborted, "preempted");
  RecoverableSession session = make({.max_recoveries = 0, .backoff_secs = 1});
  EXPECT_EQ(error_of([&] { session.run({}); }), "INTERNAL: gave up after 0 recoveries in a row: preempted");
}

TEST_F(RecoverableSessionTest, ARunThatReturnsStartsTheCountAnew) {
  RecoverableSession session = make({.max_recoveries = 2, .backoff_secs = 1});
  for (int round = 0; round < 5; ++round) {
    at_run = failing_until(created + 1, Code::kAborted, "preempted");
    session.run({});
  }
  EXPECT_EQ(session.recoveries(), 10);
  EXPECT_EQ(pauses, std::vector<double>(5, 1));
}

TEST_F(RecoverableSessionTest, AnErrorThatLeavesARunIsNoProgress) {
  RecoverableSession session = make({.max_recoveries = 2, .backoff_secs = 1});
  at_run = [](int n) { fail(n == 2 ? Code::kInternal : Code::kAborted, "no"); };
  EXPECT_EQ(error_of([&] { session.run({}); }), "INTERNAL: no");
  at_run = failing_until(100, Code::kAborted, "preempted");
  EXPECT_EQ(error_of([&] { session.run({}); }), "INTERNAL: gave up after 2 recoveries in a row: preempted");
}

TEST_F(RecoverableSessionTest, AnErrorOfThePauseLeavesTheRun) {
  at_run = failing_until(100, Code::kAborted, "preempted");
  RecoverableSession session([this] { return create(); }, {},
                             [](double) { fail(Code::kCancelled, "interrupted by SIGINT"); });
  EXPECT_EQ(error_of([&] { session.run({}); }), "CANCELLED: interrupted by SIGINT");
}

// ----- closing
// ---------------------------------------------------------------------------------------------------------

TEST_F(RecoverableSessionTest, WhileItRecoversAPreemptionInCloseIsSwallowedAndAnotherErrorIsNot) {
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

TEST_F(RecoverableSessionTest, CloseDropsTheSessionInEveryCase) {
  at_close = failing_until(1, Code::kUnknown, "of a thread");
  RecoverableSession session = make();
  EXPECT_EQ(error_of([&] { session.close(); }), "UNKNOWN: of a thread");
  EXPECT_TRUE(session.should_stop());
  session.close();
  EXPECT_EQ(error_of([&] { session.run({}); }), "FAILED_PRECONDITION: Run called on a closed session");
  EXPECT_EQ(error_of([&] { session.run_step_fn([](StepFnContext&) { return std::any(); }); }),
            "FAILED_PRECONDITION: Run called on a closed session");
  EXPECT_EQ(events, (Timeline{"create 1", "close 1"}));
}

}  // namespace
}  // namespace belay::runtime::testing
