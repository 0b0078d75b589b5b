// run_step_fn of the whole stack, with and without recovery. StepFnContext is declared in session_layer.h.
#include <any>
#include <string>
#include <vector>

#include "tests/monitored/counting_session.h"

namespace belay::runtime::testing {
namespace {

class StepFnTest : public CountingSessionTest {
 protected:
  void open_kind(bool recovers) {
    MonitoredSessionOptions options;
    options.recovers = recovers;
    open(options);
  }
  // One hooked run inside a step function.
  std::int64_t hooked(StepFnContext& context, const Output& fetch) {
    FetchSet set({fetch});
    RunCall call;
    call.fetches = &set;
    const auto result = context.run_with_hooks(call);
    return TensorView(result.result(set, 0)).scalar<std::int64_t>();
  }
  // One raw run.
  std::int64_t unhooked(StepFnContext& context, const Output& fetch) {
    return context.session().handle().run({fetch})[0].scalar<std::int64_t>();
  }
};

// Both kinds of session: what a step function sees is the same but for recovery.
class EitherStepFnTest : public StepFnTest, public ::testing::WithParamInterface<bool> {};

TEST_P(EitherStepFnTest, ItsResultIsPassedThrough) {
  open_kind(GetParam());
  EXPECT_EQ(std::any_cast<std::string>(session().run_step_fn([](StepFnContext&) { return std::string("done"); })),
            "done");
  EXPECT_FALSE(session().run_step_fn([](StepFnContext&) { return std::any(); }).has_value());
}

TEST_P(EitherStepFnTest, RawRunsTriggerNoHooksAndHookedOnesDo) {
  add_probe("x");
  open_kind(GetParam());
  new_events();
  session().run_step_fn([&](StepFnContext& context) {
    EXPECT_EQ(unhooked(context, train_op), 1);
    EXPECT_EQ(new_events(), Timeline{});
    EXPECT_EQ(hooked(context, train_op), 2);
    EXPECT_EQ(new_events(), (Timeline{"x.before_run", "x.after_run"}));
    EXPECT_EQ(hooked(context, train_op), 3);  // as often as it likes
    EXPECT_EQ(new_events(), (Timeline{"x.before_run", "x.after_run"}));
    return std::any();
  });
}

TEST_P(EitherStepFnTest, RunWithHooksGivesTheValueOfItsOwnRunThoughAHookRunsMoreAfterIt) {
  Probe& x = add_probe("x");
  x.ask = [&](RunContext&) { return RunArgs{step}; };
  std::vector<std::int64_t> seen;
  x.look = [&](RunContext& context, const RunValues& values) {
    seen.push_back(values[step].scalar<std::int64_t>());
    context.session().run({train_op});
  };
  open_kind(GetParam());
  session().run_step_fn([&](StepFnContext& context) {
    unhooked(context, train_op);
    unhooked(context, train_op);
    EXPECT_EQ(hooked(context, train_op), 3);
    EXPECT_EQ(unhooked(context, step), 4);
    return std::any();
  });
  EXPECT_EQ(seen, (std::vector<std::int64_t>{2}));
}

TEST_P(EitherStepFnTest, RequestStopEndsTheScopeNormally) {
  Probe& x = add_probe("x");
  open_kind(GetParam());
  new_events();
  int behind = 0;
  session().scope([&] {
    while (!session().should_stop()) {
      session().run_step_fn(
          [&](StepFnContext& context) -> std::any { context.request_stop("the loss is low enough"); });
      ++behind;
    }
  });
  EXPECT_EQ(behind, 0);
  EXPECT_EQ(new_events(), (Timeline{"x.end"}));
  EXPECT_EQ(x.error, "");
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kStopRequested);
  EXPECT_EQ(session().end_reason().text, "the loss is low enough");
}

TEST_P(EitherStepFnTest, RequestStopWithoutAScopeReachesTheCaller) {
  open_kind(GetParam());
  EXPECT_EQ(
      error_of([&] { session().run_step_fn([](StepFnContext& context) -> std::any { context.request_stop(); }); }),
      "STOP: step function asked to stop");
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(train(), 1);
}

TEST_P(EitherStepFnTest, AnErrorLeavesTheScopeWithoutEnd) {
  Probe& x = add_probe("x");
  open_kind(GetParam());
  new_events();
  EXPECT_EQ(error_of([&] {
              session().scope([&] {
                session().run_step_fn([](StepFnContext&) -> std::any { fail(Code::kInternal, "of the step"); });
              });
            }),
            "INTERNAL: of the step");
  EXPECT_EQ(new_events(), (Timeline{"x.on_error"}));
  EXPECT_EQ(x.error, "INTERNAL: of the step");
}

TEST_P(EitherStepFnTest, LooksAtNoStopFlagButRunWithHooksDoes) {
  add_probe("x").look = [](RunContext& context, const RunValues&) { context.request_stop("enough"); };
  open_kind(GetParam());
  train();
  session().run_step_fn([&](StepFnContext& context) {
    EXPECT_EQ(unhooked(context, step), 1);
    EXPECT_EQ(error_of([&] { hooked(context, train_op); }),
              "FAILED_PRECONDITION: Run called even after should_stop requested (x: enough)");
    return std::any();
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, EitherStepFnTest, ::testing::Bool(),
                         [](const auto& kind) { return std::string(kind.param ? "Recovering" : "Singular"); });

TEST_F(StepFnTest, APreemptionCallsItAgainFromItsStartWithTheNewSession) {
  add_probe("x");
  open_kind(true);
  std::vector<DirectSession*> given;
  std::vector<std::int64_t> steps;
  new_events();
  const std::any result = session().run_step_fn([&](StepFnContext& context) {
    given.push_back(&context.session());
    EXPECT_EQ(given.back(), session().raw_session().get());
    EXPECT_FALSE(context.session().closed());
    steps.push_back(hooked(context, train_op));
    if (given.size() == 1) fail(Code::kAborted, "lost behind the run");
    return std::string("second try");
  });
  EXPECT_EQ(std::any_cast<std::string>(result), "second try");
  EXPECT_EQ(given.size(), 2u);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(new_events(),
            (Timeline{"x.before_run", "x.after_run", "x.after_create_session", "x.before_run", "x.after_run"}));
  EXPECT_EQ(session().recoveries(), 1);
}

TEST_F(StepFnTest, APreemptionInsideRunWithHooksRepeatsTheWholeFunctionToo) {
  Probe& x = add_probe("x");
  open_kind(true);
  x.in["before_run"] = [&] {
    x.in.clear();
    fail(Code::kUnavailable, "lost");
  };
  int calls = 0;
  session().run_step_fn([&](StepFnContext& context) {
    ++calls;
    return std::any(hooked(context, train_op));
  });
  EXPECT_EQ(calls, 2);
}

TEST_F(StepFnTest, WithoutRecoveryAPreemptionIsAnError) {
  open_kind(false);
  EXPECT_EQ(error_of([&] { session().run_step_fn([](StepFnContext&) -> std::any { fail(Code::kAborted, "lost"); }); }),
            "ABORTED: lost");
}

TEST_F(StepFnTest, AThreadsPreemptionIsTheCauseOfAStepThatFails) {
  open_kind(true);
  coordinator().start_thread("loader", [] { fail(Code::kAborted, "of a thread"); });
  coordinator().wait_for_stop(-1);
  int calls = 0;
  session().run_step_fn([&](StepFnContext&) -> std::any {
    if (++calls == 1) fail(Code::kCancelled, "stuck");
    return {};
  });
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(session().should_stop());
}

}  // namespace
}  // namespace belay::runtime::testing
