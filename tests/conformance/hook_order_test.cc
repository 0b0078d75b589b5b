// SPDX-License-Identifier: Apache-2.0
// Hooks, what they ask for and what they get: section 3 of the contract.
#include <string>
#include <vector>

#include "runtime/data/queue_runner.h"
#include "tests/monitored/counting_session.h"
#include "tests/monitored/hooked_fixture.h"

namespace belay::runtime::testing {
namespace {

class HookConformance : public HookedSessionTest {};
class HookLifeConformance : public CountingSessionTest {};

TEST_F(HookLifeConformance, HOOK_02_AfterCreateSessionComesOncePerCreatedSessionBehindInitAndOnAFrozenGraph) {
  Probe& x = add_probe("x");
  std::vector<std::int64_t> steps;
  std::vector<belay_session*> sessions;
  x.in_session = [&](Session& s) {
    EXPECT_TRUE(graph.finalized());
    steps.push_back(s.value(Fetch<std::int64_t>(step)));
    sessions.push_back(s.raw());
  };
  open();
  EXPECT_EQ(sessions, (std::vector<belay_session*>{to_handle(session().raw_session().get())}));
  train();
  session().interrupt(Error(Code::kAborted, "lost"));
  train();
  EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 0}));
  ASSERT_EQ(sessions.size(), 2u);
  EXPECT_EQ(sessions[1], to_handle(session().raw_session().get()));
  EXPECT_EQ(new_events(), (Timeline{"x.begin", "x.after_create_session", "x.before_run", "x.after_run", "x.before_run",
                                    "x.after_create_session", "x.before_run", "x.after_run"}));
}

// The dequeue would wait for ever if nothing filled the queue by then.
TEST_F(HookLifeConformance, HOOK_02_TheQueueRunnersFillByThen) {
  const ops::QueueRef queue = ops::fifo_queue(g, 4, {{DType::kInt64, Dims{}}}, "queue");
  const std::vector<Output> taken = ops::dequeue(queue);
  graph.add_queue_runner(std::make_shared<OpQueueRunner>(
      OpQueueRunner::Options{.queue = queue, .enqueue_ops = {ops::enqueue(queue, {step})}}));
  Probe& x = add_probe("x");
  int dequeued = 0;
  x.in_session = [&](Session& s) {
    if (timeline.back() != "x.after_create_session") return;
    s.run({taken[0]});
    ++dequeued;
  };
  open();
  EXPECT_EQ(dequeued, 1);
  session().interrupt(Error(Code::kAborted, "lost"));
  train();
  EXPECT_EQ(dequeued, 2);
  session().close();
}

TEST_F(HookConformance, HOOK_04_AFailingRunCallsNoAfterRun) {
  add_probe("x");
  open();
  EXPECT_NE(error_of([&] { run(sum); }), "no error");
  EXPECT_EQ(new_events(), (Timeline{"x.before_run"}));
}

TEST_F(HookConformance, HOOK_04_AFailingAfterRunLeavesOutTheLaterHooks) {
  add_probe("x");
  add_probe("y").in["after_run"] = [] { fail(Code::kInternal, "no"); };
  add_probe("z");
  open();
  EXPECT_EQ(error_of([&] { run(one); }), "INTERNAL: hook \"y\" in after_run: no");
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run", "z.before_run", "x.after_run", "y.after_run"}));
}

TEST_F(HookConformance, HOOK_04_AFailingBeforeRunCallsNoAfterRun) {
  add_probe("x");
  add_probe("y").in["before_run"] = [] { fail(Code::kInternal, "no"); };
  add_probe("z");
  open();
  EXPECT_EQ(error_of([&] { run(one); }), "INTERNAL: hook \"y\" in before_run: no");
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run"}));
}

// If one hook requests a stop in before_run, another one sees that in the context in both phases.
TEST_F(HookConformance, HOOK_07_AllHooksShareOneContextInBothPhasesOfARun) {
  Probe& x = add_probe("x");
  Probe& y = add_probe("y");
  x.ask = [](RunContext& context) {
    context.request_stop("for the others to see");
    return RunArgs();
  };
  std::vector<bool> seen;
  y.ask = [&](RunContext& context) {
    seen.push_back(context.stop_requested());
    return RunArgs();
  };
  y.look = [&](RunContext& context, const RunValues&) { seen.push_back(context.stop_requested()); };
  open();
  run(one);
  EXPECT_EQ(seen, (std::vector<bool>{true, true}));
}

// TensorFlow leaves the caller's options out of the context.
TEST_F(HookConformance, HOOK_07_TheContextHasTheCallersFetchesFeedsAndOptionsOnly) {
  Probe& x = add_probe("x");
  Probe& y = add_probe("y");
  const auto asks = [&](RunContext&) {
    RunArgs args{two};
    args.feed(a, Tensor(1.0f)).options(RunOptions{RunOptions::Trace::kFull, 60000});
    return args;
  };
  x.ask = asks;
  int looks = 0;
  const auto check = [&](RunContext& context) {
    EXPECT_EQ(context.original_fetches(), (std::vector<Output>{sum}));
    const auto feeds = context.original_feeds();
    ASSERT_EQ(feeds.size(), 2u);
    EXPECT_EQ(feeds[0].first, b);
    EXPECT_EQ(feeds[0].second.scalar<float>(), 10.0f);
    EXPECT_EQ(feeds[1].first, c);
    const RunOptions options = context.original_options();
    EXPECT_EQ(options.timeout_ms, 30000);
    EXPECT_EQ(options.trace_level, RunOptions::Trace::kNone);
    ++looks;
  };
  y.ask = [&](RunContext& context) {
    check(context);
    return RunArgs();
  };
  y.look = [&](RunContext& context, const RunValues&) { check(context); };
  open();
  CallerOptions options;
  options.timeout_ms = 30000;
  options.debug_tensor_watches = {"two"};
  EXPECT_EQ(run_with(sum, {{b, Tensor(10.0f)}, {c, Tensor(20.0f)}}, &options, nullptr), 31.0f);
  EXPECT_EQ(looks, 2);
}

TEST_F(HookConformance, HOOK_08_RunsThroughTheContextsSessionTriggerNoHooks) {
  Probe& x = add_probe("x");
  add_probe("y").ask = [&](RunContext&) { return RunArgs{two}; };
  const auto check = [&](RunContext& context) {
    EXPECT_EQ(context.original_fetches(), (std::vector<Output>{one}));
    EXPECT_EQ(context.session().value(Fetch<float>(two)), 2.0f);  // triggers no hook
  };
  x.ask = [&](RunContext& context) {
    check(context);
    return RunArgs();
  };
  x.look = [&](RunContext& context, const RunValues&) { check(context); };
  open();
  run(one);
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run", "x.after_run", "y.after_run"}));
}

TEST_F(HookConformance, HOOK_09_ARequestInEitherPhaseTakesEffectBehindAllAfterRuns) {
  for (const bool before : {true, false}) {
    hooks = HookSet();
    Probe& x = add_probe("x");
    Probe& y = add_probe("y");
    open();
    const auto still_runs = [&] { EXPECT_FALSE(session().should_stop()); };
    x.in["after_run"] = y.in["after_run"] = still_runs;
    if (before) {
      x.ask = [](RunContext& context) {
        context.request_stop("early");
        EXPECT_TRUE(context.stop_requested());
        return RunArgs();
      };
    } else {
      x.look = [](RunContext& context, const RunValues&) { context.request_stop("late"); };
    }
    new_events();
    EXPECT_EQ(run(one), 1.0f);
    EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run", "x.after_run", "y.after_run"}));
    EXPECT_TRUE(session().should_stop());
  }
}

TEST_F(HookConformance, HOOK_09_ARequestIsLostWhereTheRunFails) {
  Probe& x = add_probe("x");
  x.ask = [&](RunContext& context) {
    context.request_stop("enough");
    return RunArgs();
  };
  open();
  EXPECT_EQ(error_of([&] { run(sum); }).substr(0, 17), "INVALID_ARGUMENT:");  // it is not fed
  EXPECT_FALSE(session().should_stop());
}

TEST_F(HookLifeConformance, HOOK_05_EndGetsTheRawSessionAtANormalClose) {
  Probe& x = add_probe("x");
  std::vector<std::int64_t> at_end;
  x.in_session = [&](Session& s) {
    if (timeline.back() == "x.end") at_end.push_back(s.value(Fetch<std::int64_t>(step)));
  };
  open();
  train();
  session().close();
  EXPECT_EQ(at_end, (std::vector<std::int64_t>{1}));
}

TEST_F(HookLifeConformance, HOOK_10_EveryPhaseGoesInTheOrderOfTheHooksEndToo) {
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

// A hook with all five of TensorFlow's callbacks, as a user would write it.
class ExampleHook final : public Hook {
 public:
  explicit ExampleHook(Timeline& told) : told_(told) {}
  void begin(Graph& graph) override {
    step_ = graph.global_step();
    told_.push_back("the graph may still grow");
  }
  void after_create_session(Session& session) override {
    told_.push_back("starting at step " + std::to_string(session.value(step_)));
  }
  RunArgs before_run(RunContext&) override { return {step_}; }
  void after_run(RunContext& run, const RunValues& values) override {
    told_.push_back("a run that found step " + std::to_string(values[step_]));
    if (run.session().value(step_) == 2) run.request_stop("two steps are enough");
  }
  void end(Session& session) override { told_.push_back("done at step " + std::to_string(session.value(step_))); }

 private:
  Timeline& told_;
  Fetch<std::int64_t> step_;
};

TEST_F(HookLifeConformance, PROSE_03_AHookLivesThroughBeginAfterCreateSessionTheRunsAndEnd) {
  Timeline told;
  add_hook("example", std::make_unique<ExampleHook>(told));
  open();
  session().scope([&] {
    while (!session().should_stop()) train();
  });
  EXPECT_EQ(told, (Timeline{"the graph may still grow", "starting at step 0", "a run that found step 0",
                            "a run that found step 1", "done at step 2"}));
}

TEST(RunArgsConformance, PROSE_03_WithoutAnythingAskedAllIsEmpty) {
  RunArgs args;
  const belay_run_args raw = args.raw();
  EXPECT_EQ(raw.n_fetches, 0u);
  EXPECT_EQ(raw.n_feeds, 0u);
  EXPECT_EQ(raw.options, nullptr);
  const RunOptions options;
  EXPECT_EQ(options.trace_level, RunOptions::Trace::kNone);
  EXPECT_EQ(options.timeout_ms, 0);
}

// Every callback has a default, which asks for nothing and does nothing.
TEST_F(HookLifeConformance, PROSE_03_AHookThatOverridesNothingIsAHook) {
  class Nothing final : public Hook {};
  add_hook("nothing", std::make_unique<Nothing>());
  open();
  session().scope([&] { EXPECT_EQ(train(), 1); });
}

}  // namespace
}  // namespace belay::runtime::testing
