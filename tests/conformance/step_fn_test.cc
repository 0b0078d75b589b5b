// SPDX-License-Identifier: Apache-2.0
// run_step_fn and its context: section 7 of the contract.
#include <any>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/monitored/counting_session.h"

namespace belay::runtime::testing {
namespace {

class StepFnConformance : public CountingSessionTest {
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
class EitherKindOfStepFn : public StepFnConformance, public ::testing::WithParamInterface<bool> {};

TEST_P(EitherKindOfStepFn, STEP_01_RunWithHooksGivesAFedValueAsARunDoes) {
  const Output fed = ops::placeholder(g, DType::kFloat32, {}, "fed");
  add_probe("x");
  open_kind(GetParam());
  new_events();
  const std::any result = session().run_step_fn([&](StepFnContext& context) {
    FetchSet set({fed});
    const Tensor value(3.2f);
    const belay_feed feeds[] = {{fed.raw(), value.view()}};
    RunCall call;
    call.fetches = &set;
    call.feeds = feeds;
    const auto run = context.run_with_hooks(call);
    return std::any(TensorView(run.result(set, 0)).scalar<float>());
  });
  EXPECT_EQ(std::any_cast<float>(result), 3.2f);
  EXPECT_EQ(session().run({fed}, {{fed, Tensor(3.2f)}})[0].scalar<float>(), 3.2f);
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "x.after_run", "x.before_run", "x.after_run"}));
}

TEST_P(EitherKindOfStepFn, STEP_02_RequestStopEndsTheScopeNormally) {
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

// TensorFlow promises that should_stop is true then, but it is false.
TEST_P(EitherKindOfStepFn, STEP_03_RequestStopWithoutAScopeReachesTheCallerAndShouldStopIsTrue) {
  open_kind(GetParam());
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(
      error_of([&] { session().run_step_fn([](StepFnContext& context) -> std::any { context.request_stop(); }); }),
      "STOP: step function asked to stop");
  EXPECT_TRUE(session().should_stop());
  session().close();
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kStopRequested);
  EXPECT_EQ(session().end_reason().text, "step function asked to stop");
}

TEST_P(EitherKindOfStepFn, STEP_04_NothingBehindTheCallRunsInThatTurnOfTheLoop) {
  open_kind(GetParam());
  int before = 0, behind = 0;
  session().scope([&] {
    while (!session().should_stop()) {
      ++before;
      session().run_step_fn([&](StepFnContext& context) -> std::any { context.request_stop("enough"); });
      ++behind;
    }
  });
  EXPECT_EQ(before, 1);
  EXPECT_EQ(behind, 0);
}

TEST_P(EitherKindOfStepFn, STEP_05_AnyResultIsPassedThrough) {
  open_kind(GetParam());
  EXPECT_EQ(std::any_cast<std::string>(session().run_step_fn([](StepFnContext&) { return std::string("done"); })),
            "done");
  EXPECT_FALSE(session().run_step_fn([](StepFnContext&) { return std::any(); }).has_value());
}

// TensorFlow finds this out from the argument's name; here the compiler does.
TEST(StepFnTypes, STEP_06_AStepFunctionHasOneArgument) {
  static_assert(std::is_convertible_v<int (*)(StepFnContext&), StepFn>);
  static_assert(!std::is_convertible_v<int (*)(StepFnContext&, int), StepFn>);
  static_assert(!std::is_convertible_v<int (*)(), StepFn>);
  static_assert(!std::is_convertible_v<int (*)(Session&), StepFn>);
}

struct Model {
  std::any step(StepFnContext&) { return ++steps; }
  std::any step_with_more(StepFnContext&, int) { return ++steps; }
  int steps = 0;
};

TEST_P(EitherKindOfStepFn, STEP_07_AMemberFunctionServes) {
  open_kind(GetParam());
  Model model;
  EXPECT_EQ(std::any_cast<int>(session().run_step_fn(std::bind_front(&Model::step, &model))), 1);
}

TEST(StepFnTypes, STEP_08_AMemberFunctionWithAFurtherArgumentIsRefused) {
  static_assert(std::is_convertible_v<decltype(std::bind_front(&Model::step, std::declval<Model*>())), StepFn>);
  static_assert(
      !std::is_convertible_v<decltype(std::bind_front(&Model::step_with_more, std::declval<Model*>())), StepFn>);
}

TEST_P(EitherKindOfStepFn, STEP_09_RunWithHooksGivesTheValueOfItsOwnRunThoughAHookRunsMoreAfterIt) {
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

// The numbers of the row: 0.3 before the hooked run, 0.5 by the hook's fetch and 0.7 by the caller's in one raw
// run, 1.1 by the hook after it.
class StepsOfTheRow : public StepFnConformance {
 protected:
  void story(bool recovers) {
    Probe& x = add_probe("x");
    x.ask = [&](RunContext&) { return RunArgs{add_05}; };
    float seen = 0;
    x.look = [&](RunContext& context, const RunValues&) {
      seen = context.session().value(Fetch<float>(v));
      context.session().run({add_11});
    };
    open_kind(recovers);
    const std::any result = session().run_step_fn([&](StepFnContext& context) {
      context.session().handle().run({add_03});
      FetchSet set({add_07});
      RunCall call;
      call.fetches = &set;
      context.run_with_hooks(call);
      return std::any(context.session().handle().value(Fetch<float>(v)));
    });
    EXPECT_FLOAT_EQ(seen, 1.5f);
    EXPECT_FLOAT_EQ(std::any_cast<float>(result), 2.6f);
  }
  Output by(float amount, const char* name) { return ops::assign_add(v, ops::constant(g, Tensor(amount)), name); }

  const Output v = ops::variable(g, "v", Tensor(0.0f));
  const Output add_03 = by(0.3f, "add_03"), add_05 = by(0.5f, "add_05"), add_07 = by(0.7f, "add_07"),
               add_11 = by(1.1f, "add_11");
};

TEST_F(StepsOfTheRow, STEP_09_TheHooksFetchAndTheCallersAreOneRunBetweenTheOthers) { story(true); }

TEST_F(StepsOfTheRow, STEP_10_TheSameWithoutRecovery) { story(false); }

TEST_P(EitherKindOfStepFn, STEP_11_AStopBeforeRunWithHooksCallsNoHook) {
  add_probe("x");
  open_kind(GetParam());
  new_events();
  EXPECT_EQ(error_of([&] {
              session().run_step_fn([&](StepFnContext& context) {
                context.request_stop("enough");
                return std::any(hooked(context, train_op));
              });
            }),
            "STOP: enough");
  EXPECT_EQ(new_events(), Timeline{});
  EXPECT_EQ(session().raw_session()->global_step(), 0);
}

TEST_P(EitherKindOfStepFn, PROSE_07_AnErrorLeavesTheScopeWithoutEnd) {
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

TEST_P(EitherKindOfStepFn, PROSE_07_RawRunsTriggerNoHooksAndHookedOnesDo) {
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

TEST_P(EitherKindOfStepFn, STEP_17_LooksAtNoStopFlagButRunWithHooksDoes) {
  add_probe("x").look = [](RunContext& context, const RunValues&) { context.request_stop("enough"); };
  open_kind(GetParam());
  train();
  session().run_step_fn([&](StepFnContext& context) {
    EXPECT_EQ(unhooked(context, step), 1);
    EXPECT_EQ(error_of([&] { hooked(context, train_op); }),
              "FAILED_PRECONDITION: [B5071] Run called even after should_stop requested (x: enough)");
    return std::any();
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, EitherKindOfStepFn, ::testing::Bool(),
                         [](const auto& kind) { return std::string(kind.param ? "Recovering" : "Singular"); });

TEST_F(StepFnConformance, STEP_12_APreemptionCallsItAgainFromItsStart) {
  open_kind(true);
  int calls = 0;
  const std::any result = session().run_step_fn([&](StepFnContext&) -> std::any {
    if (++calls == 1) fail(Code::kAborted, "lost");
    return std::string("second try");
  });
  EXPECT_EQ(std::any_cast<std::string>(result), "second try");
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(session().recoveries(), 1);
}

TEST_F(StepFnConformance, STEP_12_APreemptionInsideRunWithHooksRepeatsTheWholeFunctionToo) {
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

TEST_F(StepFnConformance, STEP_12_WithoutRecoveryAPreemptionIsAnError) {
  open_kind(false);
  EXPECT_EQ(error_of([&] { session().run_step_fn([](StepFnContext&) -> std::any { fail(Code::kAborted, "lost"); }); }),
            "ABORTED: lost");
}

// The first call's own writes are gone with the session: it is restored, not left as it was.
TEST_F(StepFnConformance, STEP_13_APreemptionBehindRunWithHooksRepeatsTheWholeBody) {
  open_kind(true);
  int calls = 0;
  session().run_step_fn([&](StepFnContext& context) -> std::any {
    unhooked(context, train_op);
    hooked(context, train_op);
    if (++calls == 1) fail(Code::kAborted, "lost behind the run");
    return {};
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(session().raw_session()->global_step(), 2);
}

TEST_F(StepFnConformance, STEP_16_TheRepeatedFunctionGetsTheNewRawSession) {
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

}  // namespace
}  // namespace belay::runtime::testing
