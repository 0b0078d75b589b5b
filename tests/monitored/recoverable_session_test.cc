// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/recoverable_session.h"

#include "tests/monitored/recoverable_fixture.h"

namespace belay::runtime::testing {
namespace {

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
  EXPECT_TRUE(session.should_stop());  // and close will give the reason
  EXPECT_EQ(created, 2);
}

TEST_F(RecoverableSessionTest, AStopOfTheInnerSessionIsAStop) {
  RecoverableSession session = make();
  stop = true;
  EXPECT_TRUE(session.should_stop());
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
    make({.max_recoveries = 10, .recovery_backoff_secs = c.backoff_secs});
    EXPECT_EQ(pauses, c.pauses);
  }
}

TEST_F(RecoverableSessionTest, RecoveriesOfRunsAndOfCreationsCountTogether) {
  at_run = failing_until(1, Code::kAborted, "run");
  at_create = [](int n) {
    if (n >= 2) fail(Code::kUnavailable, "creation");
  };
  RecoverableSession session = make({.max_recoveries = 3, .recovery_backoff_secs = 1});
  EXPECT_EQ(error_of([&] { session.run({}); }), "INTERNAL: [B5086] gave up after 3 recoveries in a row: creation");
  EXPECT_EQ(events, (Timeline{"create 1", "run 1", "close 1", "create 2", "create 3", "create 4"}));
  EXPECT_EQ(error_of([&] { session.run({}); }), "FAILED_PRECONDITION: [B5070] Run called on a closed session");
  EXPECT_TRUE(session.should_stop());
}

TEST_F(RecoverableSessionTest, NoRecoveryAtAllMayBeAsked) {
  at_run = failing_until(1, Code::kAborted, "preempted");
  RecoverableSession session = make({.max_recoveries = 0, .recovery_backoff_secs = 1});
  EXPECT_EQ(error_of([&] { session.run({}); }), "INTERNAL: [B5086] gave up after 0 recoveries in a row: preempted");
}

TEST_F(RecoverableSessionTest, ARunThatReturnsStartsTheCountAnew) {
  RecoverableSession session = make({.max_recoveries = 2, .recovery_backoff_secs = 1});
  for (int round = 0; round < 5; ++round) {
    at_run = failing_until(created + 1, Code::kAborted, "preempted");
    session.run({});
  }
  EXPECT_EQ(session.recoveries(), 10);
  EXPECT_EQ(pauses, std::vector<double>(5, 1));
}

// An input that is lost at its third batch, always: each session makes the runs of the one before it once more.
TEST_F(RecoverableSessionTest, T_142_RunsThatAreOnlyMadeAgainAreNoProgress) {
  RecoverableSession session = make({.max_recoveries = 3, .recovery_backoff_secs = 1});
  int runs_of_session = 0, last = 0;
  at_run = [&](int n) {
    if (n != last) runs_of_session = 0;
    last = n;
    if (++runs_of_session == 3) fail(Code::kAborted, "batch 3 is lost");
  };
  EXPECT_EQ(error_of([&] {
              for (int i = 0; i < 100; ++i) session.run({});
            }),
            "INTERNAL: [B5086] gave up after 3 recoveries in a row: batch 3 is lost");
  EXPECT_EQ(created, 4);
  EXPECT_EQ(pauses, (std::vector<double>{1, 2}));
}

TEST_F(RecoverableSessionTest, AnErrorThatLeavesARunIsNoProgress) {
  RecoverableSession session = make({.max_recoveries = 2, .recovery_backoff_secs = 1});
  at_run = [](int n) { fail(n == 2 ? Code::kInternal : Code::kAborted, "no"); };
  EXPECT_EQ(error_of([&] { session.run({}); }), "INTERNAL: no");
  at_run = failing_until(100, Code::kAborted, "preempted");
  EXPECT_EQ(error_of([&] { session.run({}); }), "INTERNAL: [B5086] gave up after 2 recoveries in a row: preempted");
}

TEST_F(RecoverableSessionTest, AnErrorOfThePauseLeavesTheRun) {
  at_run = failing_until(100, Code::kAborted, "preempted");
  RecoverableSession session([this] { return create(); }, {},
                             [](double) { fail(Code::kCancelled, "interrupted by SIGINT"); });
  EXPECT_EQ(error_of([&] { session.run({}); }), "CANCELLED: interrupted by SIGINT");
}

TEST_F(RecoverableSessionTest, CloseDropsTheSessionInEveryCase) {
  at_close = failing_until(1, Code::kUnknown, "of a thread");
  RecoverableSession session = make();
  EXPECT_EQ(error_of([&] { session.close(); }), "UNKNOWN: of a thread");
  EXPECT_TRUE(session.should_stop());
  session.close();
  EXPECT_EQ(error_of([&] { session.run({}); }), "FAILED_PRECONDITION: [B5070] Run called on a closed session");
  EXPECT_EQ(error_of([&] { session.run_step_fn([](StepFnContext&) { return std::any(); }); }),
            "FAILED_PRECONDITION: [B5070] Run called on a closed session");
  EXPECT_EQ(events, (Timeline{"create 1", "close 1"}));
}

}  // namespace
}  // namespace belay::runtime::testing
