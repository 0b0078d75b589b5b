// SPDX-License-Identifier: Apache-2.0
// The choices of section 28 that are about sessions and their layers.
#include <any>
#include <chrono>
#include <memory>
#include <vector>

#include "belay/second_or_step_timer.h"
#include "tests/monitored/counting_session.h"

namespace belay::runtime::testing {
namespace {

class SessionQuirks : public CountingSessionTest {};

TEST_F(SessionQuirks, QUIRK_01_AfterARecoveryTheContextsSessionIsTheNewOneAndRuns) {
  open();
  int calls = 0;
  const std::any result = session().run_step_fn([&](StepFnContext& context) -> std::any {
    if (++calls == 1) fail(Code::kAborted, "lost");
    EXPECT_EQ(&context.session(), session().raw_session().get());
    return context.session().handle().run({train_op})[0].scalar<std::int64_t>();
  });
  EXPECT_EQ(std::any_cast<std::int64_t>(result), 1);
}

TEST_F(SessionQuirks, QUIRK_02_ASecondCloseDoesNothingAndARunBehindItSaysSo) {
  add_probe("x");
  open();
  session().close();
  new_events();
  session().close();
  EXPECT_EQ(new_events(), Timeline{});
  EXPECT_EQ(error_of([&] { train(); }), "FAILED_PRECONDITION: [B5070] Run called on a closed session");
}

TEST_F(SessionQuirks, QUIRK_03_ACreationThatFailsLeavesNoSessionBehind) {
  std::vector<std::weak_ptr<DirectSession>> made;
  scaffold.host_init = [&](const SessionScaffold&, DirectSession& s) {
    made.push_back(s.weak_from_this());
    fail(made.size() < 3 ? Code::kAborted : Code::kInternal, "no");
  };
  EXPECT_EQ(error_of([&] { open(); }), "INTERNAL: no");
  ASSERT_EQ(made.size(), 3u);
  for (const auto& session : made) EXPECT_TRUE(session.expired());
  EXPECT_FALSE(graph.finalized());
}

TEST_F(SessionQuirks, QUIRK_04_TheCallersOptionsAreTheSameBeforeAndBehindARun) {
  add_probe("x").ask = [](RunContext&) {
    RunArgs args;
    args.options(RunOptions{RunOptions::Trace::kFull, 5000});
    return args;
  };
  open();
  const CallerOptions options;
  RunMetadata metadata;
  session().run({train_op}, {}, options, &metadata);
  EXPECT_EQ(metadata.options.timeout_ms, 5000);
  EXPECT_EQ(options.timeout_ms, 0);
}

TEST_F(SessionQuirks, QUIRK_05_AHookInstanceIsInASessionOnce) {
  PluginInstance& x = instances.add_hook("x", std::make_unique<Probe>("x", timeline), services, monitor);
  hooks.add(SessionHook(x, *log));
  EXPECT_EQ(error_of([&] { hooks.add(SessionHook(x, *log)); }),
            "INVALID_ARGUMENT: [B5047] hook \"x\" is given twice: make a second instance of it, with another name");
}

TEST(TimerQuirks, QUIRK_06_BothPeriodsTogetherAreWhicheverEndsFirst) {
  SecondOrStepTimer timer(10.0, 100);
  timer.update_last_triggered_step(0, std::chrono::seconds(0));
  EXPECT_TRUE(timer.should_trigger_for_step(1, std::chrono::seconds(10)));
  EXPECT_TRUE(timer.should_trigger_for_step(100, std::chrono::seconds(1)));
  EXPECT_FALSE(timer.should_trigger_for_step(99, std::chrono::seconds(9)));
}

TEST_F(SessionQuirks, QUIRK_10_RecoveriesWithoutProgressAreBoundedAndPausedByTheClock) {
  MonitoredSessionOptions options;
  options.settings = {.max_recoveries = 3, .recovery_backoff_secs = 0.5};
  Probe& x = add_probe("x");
  open(options);
  x.in["before_run"] = [] { fail(Code::kAborted, "lost"); };
  EXPECT_EQ(error_of([&] { session().scope([&] { train(); }); }),
            "INTERNAL: [B5086] gave up after 3 recoveries in a row: hook \"x\" in before_run at step 1: lost");
  EXPECT_EQ(clock.new_waits_ms(), (std::vector<std::int64_t>{500, 1000}));
  EXPECT_EQ(timeline.back(), "x.on_error");
  EXPECT_EQ(session().recoveries(), 3);
}

// A hook loses the session after the same step each time. The steps that are made again in between are no progress.
TEST_F(SessionQuirks, T_142_StepsThatAreOnlyMadeAgainDoNotStartTheCountOfRecoveriesAnew) {
  MonitoredSessionOptions options;
  options.settings = {.max_recoveries = 3, .recovery_backoff_secs = 0.5};
  Probe& x = add_probe("x");
  open(options);
  x.look = [&](RunContext& run, const RunValues&) {
    if (run.number() == 4) fail(Code::kAborted, "lost");
  };
  EXPECT_EQ(error_of([&] {
              session().scope([&] {
                for (;;) train();
              });
            }),
            "INTERNAL: [B5086] gave up after 3 recoveries in a row, none of which came beyond step 4: hook \"x\" in "
            "after_run at "
            "step 4: lost");
  EXPECT_EQ(clock.new_waits_ms(), (std::vector<std::int64_t>{500, 1000}));
  EXPECT_EQ(session().recoveries(), 3);
}

TEST_F(SessionQuirks, T_142_AStepBeyondAllBeforeStartsTheCountAnew) {
  MonitoredSessionOptions options;
  options.settings = {.max_recoveries = 2, .recovery_backoff_secs = 0.5};
  Probe& x = add_probe("x");
  open(options);
  // Each session comes a step further than the one before it, from the first step on.
  int sessions = 1;
  x.look = [&](RunContext& run, const RunValues&) {
    if (run.number() == sessions + 3 && sessions < 8) ++sessions, fail(Code::kUnavailable, "the server is away");
  };
  while (train() < 12) {
  }
  EXPECT_EQ(session().recoveries(), 7);
}

TEST_F(SessionQuirks, QUIRK_14_AStopOfAStepFunctionIsAStopOfTheSession) {
  open();
  int turns = 0;
  while (!session().should_stop()) {  // no scope
    ++turns;
    EXPECT_EQ(error_of([&] {
                session().run_step_fn([](StepFnContext& context) -> std::any { context.request_stop("enough"); });
              }),
              "STOP: enough");
  }
  EXPECT_EQ(turns, 1);
}

TEST_F(SessionQuirks, QUIRK_15_TheStopCheckThrowsAThreadsErrorInNeitherKindOfSession) {
  for (const bool recovers : {true, false}) {
    MonitoredSessionOptions options;
    options.recovers = recovers;
    open(options);
    coordinator().start_thread("loader", [] { fail(Code::kUnknown, "of a thread"); });
    coordinator().wait_for_stop(-1);
    EXPECT_TRUE(session().should_stop());
    EXPECT_EQ(error_of([&] { session().close(); }), "UNKNOWN: of a thread");
  }
}

}  // namespace
}  // namespace belay::runtime::testing
