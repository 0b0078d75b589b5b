// SPDX-License-Identifier: Apache-2.0
// MonitoredSession and SingularMonitoredSession: section 6 of the contract.
#include "runtime/monitored/layers/monitored_session.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "tests/monitored/counting_session.h"
#include "tests/monitored/saved_session.h"

namespace belay::runtime::testing {
namespace {

using ::testing::StartsWith;

class MonitoredConformance : public CountingSessionTest {
 protected:
  void thread_fails(Code code) {
    coordinator().start_thread("loader", [code] { fail(code, "of a thread"); });
    coordinator().wait_for_stop(-1);
  }
  void preempted_in_the_fourth_run(Code code);
};

TEST_F(MonitoredConformance, MON_01_WithNoArgumentsTheVariablesAreReadableAtOnce) {
  open();
  EXPECT_EQ(session().run({step})[0].scalar<std::int64_t>(), 0);
  EXPECT_FALSE(session().should_stop());
}

// TensorFlow's StopAtStepHook in eight lines.
class StopAtStep final : public Hook {
 public:
  explicit StopAtStep(std::int64_t last_step) : last_step_(last_step) {}
  void begin(Graph& graph) override { step_ = graph.global_step(); }
  void after_run(RunContext& run, const RunValues&) override {
    const std::int64_t step = run.session().value(step_);
    if (step >= last_step_) run.request_stop("step " + std::to_string(step) + " is reached");
  }

 private:
  const std::int64_t last_step_;
  Fetch<std::int64_t> step_;
};

TEST_F(SavedSession, MON_02_AStopHookEndsTheLoopAtItsStepInASecondSessionToo) {
  add_hook("stop_at_3", std::make_unique<StopAtStep>(3));
  open();
  EXPECT_EQ(train(), 1);
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(train(), 2);
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(read(), 2);  // a run, and no step
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(train(), 3);
  EXPECT_TRUE(session().should_stop());
  session().save();
  session().close();

  hooks = HookSet();
  add_hook("stop_at_5", std::make_unique<StopAtStep>(5));
  open();
  EXPECT_EQ(read(), 3);
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(train(), 4);
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(train(), 5);
  EXPECT_TRUE(session().should_stop());
}

// One process is one rank: what all ranks agree on at a step's boundary, it decides there.
TEST_F(SavedSession, B_13a_AStopStopsAtTheBoundaryOfItsStepHoweverItIsAskedFor) {
  std::int64_t start = 0;
  for (const std::string way : {"run", "coordinator", "thread", "after_save"}) {
    hooks = HookSet();
    if (way == "after_save") add_plugin("checkpoint_saver", {{"save_steps", std::int64_t{2}}});
    Probe& asks = add_probe(way + ".asks");
    Probe& behind = add_probe(way + ".behind");
    asks.ask = [&](RunContext& context) {
      if (way == "thread" && context.session().global_step() == start + 1)
        std::thread([&] { context.session().coordinator().request_stop("enough"); }).join();
      return RunArgs();
    };
    asks.look = [&](RunContext& context, const RunValues&) {
      if (context.session().global_step() != start + 2) return;
      if (way == "run") context.request_stop("enough");
      if (way == "coordinator") context.session().coordinator().request_stop("enough");
      asks.stop_after_save = true;  // this saves the step
    };
    std::int64_t at_end = -1;
    behind.in["end"] = [&] { at_end = session().raw_session()->global_step(); };
    open();
    new_events();
    while (!session().should_stop()) train();
    const Timeline steps = new_events();
    EXPECT_EQ(std::count(steps.begin(), steps.end(), way + ".behind.after_run"), 2) << way;
    session().save();
    session().close();
    EXPECT_EQ(at_end, start + 2) << way;
    start += 2;
  }
}

TEST_F(SavedSession, MON_04_ASessionGoesOnFromTheDirectoryOrFromExactlyTheFile) {
  add_plugin("checkpoint_saver", {{"save_steps", std::int64_t{1}}});
  open();
  train();
  train();
  session().close();
  for (const bool exact : {false, true}) {
    hooks = HookSet();
    open(exact ? run.path() + "/model.ckpt-2" : "");
    EXPECT_TRUE(session().restored());
    EXPECT_EQ(read(), 2);
  }
}

TEST_F(MonitoredConformance, MON_05_APreemptionOfTheInitFnIsTriedAgain) {
  int calls = 0;
  scaffold.host_init = [&](const SessionScaffold&, DirectSession&) {
    if (++calls < 4) fail(Code::kAborted, "preempted");
  };
  open();
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(session().recoveries(), 3);
  EXPECT_EQ(clock.new_waits_ms(), (std::vector<std::int64_t>{1000, 2000}));
  EXPECT_EQ(train(), 1);
}

void MonitoredConformance::preempted_in_the_fourth_run(Code code) {
  Probe& x = add_probe("x");
  x.in["before_run"] = [&, runs = 0]() mutable {
    if (++runs == 4) fail(code, "lost");
  };
  open();
  EXPECT_EQ(session().run({step})[0].scalar<std::int64_t>(), 0);
  EXPECT_EQ(train(), 1);
  EXPECT_EQ(train(), 2);
  EXPECT_EQ(train(), 1);  // from scratch, and repeated
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(train(), 2);
}

TEST_F(MonitoredConformance, MON_06_AnAbortedRunIsRepeatedFromScratch) { preempted_in_the_fourth_run(Code::kAborted); }

TEST_F(MonitoredConformance, MON_07_SoIsAnUnavailableOne) { preempted_in_the_fourth_run(Code::kUnavailable); }

TEST_F(SavedSession, MON_08_WithCheckpointsItIsRepeatedFromTheLastOne) {
  add_plugin("checkpoint_saver", {{"save_steps", std::int64_t{1}}});
  Probe& x = add_probe("x");
  x.in["before_run"] = [runs = 0]() mutable {
    if (++runs == 4) fail(Code::kAborted, "lost");
  };
  open();
  EXPECT_EQ(read(), 0);
  EXPECT_EQ(train(), 1);
  EXPECT_EQ(train(), 2);
  EXPECT_EQ(train(), 3);  // the one that failed once
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(train(), 4);
  EXPECT_EQ(session().recoveries(), 1);
}

TEST_F(MonitoredConformance, MON_10_AStopOfAHookLeavesTheScopeInSilence) {
  Probe& x = add_probe("x");
  x.in["before_run"] = [&, runs = 0]() mutable {
    if (++runs == 3) fail(Code::kStop, "nothing is left");
  };
  open();
  int runs = 0;
  session().scope([&] {
    for (;;) {
      train();
      ++runs;
    }
  });
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(session().should_stop());
  EXPECT_TRUE(session().closed());
}

// TensorFlow ends the training as done.
TEST_F(MonitoredConformance, MON_10_AnOutOfRangeOfAHookIsAnError) {
  add_probe("x").in["before_run"] = [] { fail(Code::kOutOfRange, "there is no node 7"); };
  open();
  EXPECT_THAT(
      error_of([&] { session().scope([&] { train(); }); }),
      StartsWith("FAILED_PRECONDITION: hook \"x\" in before_run at step 1: there is no node 7 (OUT_OF_RANGE ends "
                 "no run from here"));
  EXPECT_EQ(timeline.back(), "x.on_error");
}

TEST_F(MonitoredConformance, MON_10_AnOutOfRangeOfTheGraphEndsTheLoop) {
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

TEST_F(MonitoredConformance, MON_11_AnyOtherErrorOfARunLeavesTheScopeAndEndsTheSession) {
  add_probe("x").in["before_run"] = [] { fail(Code::kInternal, "a regular error"); };
  open();
  EXPECT_EQ(error_of([&] { session().scope([&] { train(); }); }),
            "INTERNAL: hook \"x\" in before_run at step 1: a regular error");
  EXPECT_TRUE(session().should_stop());
}

TEST_F(MonitoredConformance, MON_12_AThreadsErrorLeavesRunsAloneAndComesOutAtTheEnd) {
  open();
  thread_fails(Code::kInternal);
  EXPECT_EQ(error_of([&] {
              session().scope([&] {
                EXPECT_EQ(train(), 1);
                EXPECT_EQ(train(), 2);
              });
            }),
            "INTERNAL: of a thread");
}

TEST_F(MonitoredConformance, MON_13_TheStopCheckTellsOfItAndThrowsNothing) {
  open();
  EXPECT_EQ(error_of([&] {
              session().scope([&] {
                EXPECT_FALSE(session().should_stop());
                thread_fails(Code::kInternal);
                EXPECT_TRUE(session().should_stop());
              });
            }),
            "INTERNAL: of a thread");
}

TEST_F(MonitoredConformance, MON_15_AnErrorOfTheCallersOwnCodeClosesTheSessionAndComesOut) {
  Probe& x = add_probe("x");
  open();
  new_events();
  EXPECT_THROW(session().scope([] { throw std::invalid_argument("not an Error"); }), std::invalid_argument);
  EXPECT_EQ(new_events(), (Timeline{"x.on_error"}));
  EXPECT_EQ(x.error, "UNKNOWN: not an Error");
  EXPECT_TRUE(session().closed());
}

TEST_F(MonitoredConformance, MON_16_TheGraphIsTheLaunchedOneUntilTheClose) {
  open();
  session().scope([&] { EXPECT_EQ(session().graph(), &graph); });
  EXPECT_EQ(session().graph(), nullptr);
}

TEST_F(MonitoredConformance, MON_17_TheGraphIsFrozenWhileItIsOpenAndOpenAgainAfterwards) {
  EXPECT_FALSE(graph.finalized());
  open();
  session().scope([&] { EXPECT_TRUE(graph.finalized()); });
  EXPECT_FALSE(graph.finalized());
}

TEST_F(MonitoredConformance, MON_17_AGraphThatWasFrozenBeforeStaysSo) {
  SessionScaffold().finalize(graph);
  open();
  session().close();
  EXPECT_TRUE(graph.finalized());
}

TEST_F(MonitoredConformance, MON_21_AfterCloseARunIsRefusedAndNothingIsOpen) {
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
  EXPECT_EQ(error_of([&] { train(); }), "FAILED_PRECONDITION: [B5070] Run called on a closed session");
  EXPECT_EQ(error_of([&] { session().run_step_fn([](StepFnContext&) { return std::any(); }); }),
            "FAILED_PRECONDITION: [B5070] Run called on a closed session");
  session().interrupt(Error(Code::kCancelled, "SIGINT"));
  session().resume();
}

TEST_F(MonitoredConformance, MON_22_AnErrorOfEndLeavesOutTheLaterEndsAndReleasesEverything) {
  add_probe("x").in["end"] = [] { fail(Code::kInternal, "no"); };
  add_probe("y");
  open();
  std::atomic<bool> ended{false};
  Coordinator& threads = coordinator();
  threads.start_thread("of_x", [&] {
    threads.wait_for_stop(-1);
    ended = true;
  });
  const std::shared_ptr<DirectSession> raw = session().raw_session();
  new_events();
  EXPECT_THAT(error_of([&] { session().scope([] {}); }), StartsWith("INTERNAL: hook \"x\" in end"));
  const Timeline events = new_events();
  EXPECT_EQ(std::count(events.begin(), events.end(), "x.end"), 1);
  EXPECT_EQ(std::count(events.begin(), events.end(), "y.end"), 0);
  EXPECT_TRUE(ended) << "its threads were stopped and joined";
  EXPECT_TRUE(session().closed());
  EXPECT_TRUE(raw->closed());
  EXPECT_FALSE(graph.finalized());
}

TEST_F(MonitoredConformance, MON_23_AnErrorOfBeginLeavesTheConstructorWithoutEnd) {
  add_probe("x").in["begin"] = [] { fail(Code::kInvalidArgument, "no such tensor"); };
  add_probe("y");
  EXPECT_EQ(error_of([&] { open(); }), "INVALID_ARGUMENT: hook \"x\" in begin: no such tensor");
  EXPECT_EQ(new_events(), (Timeline{"x.begin", "x.on_error", "y.on_error"}));
  EXPECT_FALSE(graph.finalized());
}

TEST_F(MonitoredConformance, MON_24_APreemptionOfAfterCreateSessionMakesAnotherSessionAndClosesTheFirst) {
  std::vector<std::shared_ptr<DirectSession>> made;
  scaffold.host_init = [&](const SessionScaffold&, DirectSession& s) { made.push_back(s.shared_from_this()); };
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

TEST_F(MonitoredConformance, MON_24_AnErrorOfAfterCreateSessionClosesWhatWasOpenedAndLeavesTheConstructor) {
  std::shared_ptr<DirectSession> raw;
  scaffold.host_init = [&](const SessionScaffold&, DirectSession& s) { raw = s.shared_from_this(); };
  add_probe("x").in["after_create_session"] = [] { fail(Code::kInternal, "no"); };
  add_probe("y");
  EXPECT_EQ(error_of([&] { open(); }), "INTERNAL: hook \"x\" in after_create_session: no");
  EXPECT_EQ(new_events(), (Timeline{"x.begin", "y.begin", "x.after_create_session", "x.on_error", "y.on_error"}));
  EXPECT_TRUE(raw->closed());
  EXPECT_FALSE(graph.finalized());
}

TEST_F(MonitoredConformance, MON_24_ItsThreadsAreStoppedAndJoined) {
  Probe& x = add_probe("x");
  std::atomic<int> ended{0};
  x.in_session = [&, attempts = 0](Session& s) mutable {
    if (timeline.back() != "x.after_create_session") return;
    Coordinator& c = from_handle(from_handle(s.raw()).coordinator);
    c.start_thread("of_x", [&] {
      c.wait_for_stop(-1);
      ++ended;
    });
    if (++attempts == 1) fail(Code::kAborted, "not yet");
  };
  open();
  EXPECT_EQ(ended, 1);
  session().close();
  EXPECT_EQ(ended, 2);
}

// TensorFlow's has no destructor: there the session leaks its threads and leaves the graph frozen.
TEST_F(MonitoredConformance, MON_26_TheDestructorClosesWithoutEnd) {
  add_probe("x");
  open();
  const std::shared_ptr<DirectSession> raw = session().raw_session();
  new_events();
  drop();
  EXPECT_TRUE(raw->closed());
  EXPECT_FALSE(graph.finalized());
  EXPECT_EQ(new_events(), Timeline{});
}

TEST_F(MonitoredConformance, MON_26_AllOfTheCreationIsInTheConstructor) {
  add_probe("x");
  open();
  EXPECT_EQ(new_events(), (Timeline{"x.begin", "x.after_create_session"}));
  session().scope([&] { EXPECT_EQ(new_events(), Timeline{}); });
}

TEST_F(MonitoredConformance, PROSE_06_TheDefaultsAreADefaultChiefNoHooksAndTwoMinutes) {
  const MonitoredSessionOptions options;
  EXPECT_EQ(options.settings.stop_grace_period_secs, 120);
  EXPECT_TRUE(options.recovers);
  EXPECT_EQ(options.saver, nullptr);
  const RunCall call;
  EXPECT_TRUE(call.feeds.empty());
  EXPECT_EQ(call.options, nullptr);
  EXPECT_EQ(call.metadata, nullptr);
  EXPECT_EQ(call.hooks, nullptr);
}

TEST_F(MonitoredConformance, PROSE_06_ARunGivesTheCallersValuesInTheOrderOfItsFetches) {
  const Output fed = ops::placeholder(g, DType::kFloat32, {}, "fed");
  open();
  const FetchedValues values = session().run({train_op, fed, step}, {{fed, Tensor(3.5f)}});
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0].scalar<std::int64_t>(), 1);
  EXPECT_EQ(values[1].scalar<float>(), 3.5f);
  EXPECT_EQ(values[2].scalar<std::int64_t>(), 0);
}

class SingularConformance : public CountingSessionTest {
 protected:
  void open_singular() { own_ = std::make_unique<SingularMonitoredSession>(graph, environment, hooks); }
  MonitoredSession& singular() { return *own_; }
  void thread_fails(Code code) {
    Coordinator& c = from_handle(singular().raw_session()->coordinator);
    c.start_thread("loader", [code] { fail(code, "of a thread"); });
    c.wait_for_stop(-1);
  }

 private:
  std::unique_ptr<SingularMonitoredSession> own_;
};

TEST_F(SingularConformance, SING_01_InitializesAndRuns) {
  open_singular();
  EXPECT_EQ(singular().run({train_op})[0].scalar<std::int64_t>(), 1);
  EXPECT_EQ(singular().graph(), &graph);
  EXPECT_EQ(singular().raw_session()->global_step(), 1);
  singular().close();
  EXPECT_EQ(singular().recoveries(), 0);
  EXPECT_EQ(singular().raw_session(), nullptr);
}

TEST_F(SingularConformance, SING_02_APreemptionCaughtInsideTheScopeLetsItEndNormally) {
  Probe& x = add_probe("x");
  open_singular();
  x.in["before_run"] = [] { fail(Code::kAborted, "lost"); };
  singular().scope([&] {
    EXPECT_EQ(error_of([&] { singular().run({train_op}); }), "ABORTED: hook \"x\" in before_run: lost");
    EXPECT_FALSE(singular().should_stop());
  });
  EXPECT_EQ(timeline.back(), "x.end");
}

TEST_F(SingularConformance, SING_02_UncaughtItLeavesTheScope) {
  Probe& x = add_probe("x");
  open_singular();
  x.in["before_run"] = [] { fail(Code::kAborted, "lost"); };
  new_events();
  EXPECT_EQ(error_of([&] { singular().scope([&] { singular().run({train_op}); }); }),
            "ABORTED: hook \"x\" in before_run: lost");
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "x.on_error"}));
}

TEST_F(SingularConformance, SING_02_APreemptionInTheCreationLeavesTheConstructor) {
  add_probe("x").in["after_create_session"] = [] { fail(Code::kAborted, "lost"); };
  EXPECT_EQ(error_of([&] { open_singular(); }), "ABORTED: hook \"x\" in after_create_session: lost");
}

TEST_F(SingularConformance, SING_03_AnEndOfInputEndsTheScope) {
  add_probe("x");
  open_singular();
  singular().scope([&] {
    singular().interrupt(Error(Code::kOutOfRange, "end"));
    singular().run({train_op});
  });
  EXPECT_EQ(singular().end_reason().kind, EndReason::Kind::kEndOfInput);
  EXPECT_EQ(timeline.back(), "x.end");
}

TEST_F(SingularConformance, SING_04_AThreadsErrorLeavesRunsAloneAndComesOutAtTheEnd) {
  open_singular();
  thread_fails(Code::kInternal);
  EXPECT_EQ(
      error_of([&] { singular().scope([&] { EXPECT_EQ(singular().run({train_op})[0].scalar<std::int64_t>(), 1); }); }),
      "INTERNAL: of a thread");
}

TEST_F(SingularConformance, SING_06_TheGraphIsTheLaunchedOneUntilTheClose) {
  open_singular();
  EXPECT_EQ(singular().graph(), &graph);
  singular().close();
  EXPECT_EQ(singular().graph(), nullptr);
}

TEST_F(SingularConformance, SING_07_RunsThroughTheRawSessionTriggerNoHooks) {
  add_probe("x");
  open_singular();
  new_events();
  EXPECT_EQ(singular().raw_session()->handle().run({train_op})[0].scalar<std::int64_t>(), 1);
  EXPECT_EQ(new_events(), Timeline{});
  singular().close();
  EXPECT_EQ(singular().raw_session(), nullptr);
}

// TensorFlow's throws here, and only here.
TEST_F(SingularConformance, SING_08_TheStopCheckIsTrueAndTheErrorLeavesCloseAsInTheOtherKind) {
  for (const Code code : {Code::kUnknown, Code::kAborted}) {
    open_singular();
    thread_fails(code);
    EXPECT_TRUE(singular().should_stop());
    EXPECT_EQ(error_of([&] { singular().close(); }),
              code == Code::kUnknown ? "UNKNOWN: of a thread" : "ABORTED: of a thread");
  }
}

}  // namespace
}  // namespace belay::runtime::testing
