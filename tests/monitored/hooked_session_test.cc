#include "runtime/monitored/hooked_session.h"

#include "tests/monitored/monitored_fixture.h"

namespace belay::runtime::testing {
namespace {

RunArgs feeding(const std::vector<std::pair<Output, float>>& feeds) {
  RunArgs args;
  for (const auto& [output, value] : feeds) args.feed(output, Tensor(value));
  return args;
}

// A raw session on  sum = a + b + c  of three placeholders, with the hooks that a test adds before it opens.
class HookedSessionTest : public MonitoredTest {
 protected:
  void open() {
    graph.finalize();
    raw_ = std::make_shared<DirectSession>(graph, std::make_shared<VariableStore>(), environment.session);
    std::vector<Port> inits = graph.collection("variable_init");
    if (!inits.empty()) raw_->run_once(inits);
    session_ = std::make_unique<HookedSession>(raw_, hooks, nullptr, &monitor);
  }
  HookedSession& session() { return *session_; }
  DirectSession& raw() { return *raw_; }
  // One float that the caller asks for.
  float run(const Output& fetch, const std::vector<std::pair<Output, Tensor>>& feeds = {}) {
    FetchSet set({fetch});
    std::vector<belay_feed> fed;
    for (const auto& [output, tensor] : feeds) fed.push_back({output.raw(), tensor.view()});
    RunCall call;
    call.fetches = &set;
    call.feeds = fed;
    const auto result = session().run(call);
    return TensorView(result.result(set, 0)).scalar<float>();
  }

  const Output a = ops::placeholder(g, DType::kFloat32, {}, "a");
  const Output b = ops::placeholder(g, DType::kFloat32, {}, "b");
  const Output c = ops::placeholder(g, DType::kFloat32, {}, "c");
  const Output sum = ops::add(ops::add(a, b), c, "sum");
  const Output one = ops::constant(g, Tensor(1.0f), "one");
  const Output two = ops::constant(g, Tensor(2.0f), "two");

 private:
  std::shared_ptr<DirectSession> raw_;
  std::unique_ptr<HookedSession> session_;
};

TEST_F(HookedSessionTest, CallsBeforeAndAfterOnceARunInOrderAndNothingElse) {
  add_probe("x");
  add_probe("y");
  open();
  EXPECT_EQ(run(one), 1.0f);
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run", "x.after_run", "y.after_run"}));
  EXPECT_FALSE(session().should_stop());
}

TEST_F(HookedSessionTest, EachHookGetsWhatItAskedForAndTheCallerItsOwn) {
  Probe& x = add_probe("x");
  Probe& y = add_probe("y");
  Probe& z = add_probe("z");
  std::vector<float> seen;
  x.ask = [&](RunContext&) { return RunArgs{one}; };
  x.look = [&](RunContext&, const RunValues& v) {
    EXPECT_EQ(v.size(), 1u);
    seen.push_back(v[one].scalar<float>());
  };
  y.ask = [&](RunContext&) { return RunArgs{two, one}; };
  y.look = [&](RunContext&, const RunValues& v) {
    EXPECT_EQ(v.size(), 2u);
    seen.push_back(v.result(0).scalar<float>());
    seen.push_back(v.result(1).scalar<float>());
  };
  z.look = [&](RunContext&, const RunValues& v) { EXPECT_EQ(v.size(), 0u); };
  open();
  EXPECT_EQ(run(two), 2.0f);
  EXPECT_EQ(seen, (std::vector<float>{1, 2, 1}));
}

TEST_F(HookedSessionTest, AHookMayAskForSomethingElseInEveryRun) {
  Probe& x = add_probe("x");
  int runs = 0;
  std::vector<float> seen;
  x.ask = [&](RunContext&) { return ++runs % 2 == 0 ? RunArgs{two} : RunArgs{one}; };
  x.look = [&](RunContext&, const RunValues& v) { seen.push_back(v.result(0).scalar<float>()); };
  open();
  for (int i = 0; i < 4; ++i) run(one);
  EXPECT_EQ(seen, (std::vector<float>{1, 2, 1, 2}));
  // More lists than are kept: those that were forgotten are asked for again.
  std::vector<float> again;
  x.ask = [&](RunContext&) {
    RunArgs args;
    for (int i = 0; i < runs % 20; ++i) args.fetch(one);
    args.fetch(two);
    ++runs;
    return args;
  };
  x.look = [&](RunContext&, const RunValues& v) { again.push_back(v.result(v.size() - 1).scalar<float>()); };
  for (int i = 0; i < 40; ++i) run(one);
  EXPECT_EQ(again, std::vector<float>(40, 2.0f));
}

class Looking final : public Hook {
 public:
  explicit Looking(int& runs) : runs_(runs) {}
  void after_run(RunContext&, const RunValues& values) override {
    EXPECT_EQ(values.size(), 0u);
    ++runs_;
  }

 private:
  int& runs_;
};

TEST_F(HookedSessionTest, AHookWithoutBeforeRunIsStillCalledAfterIt) {
  int runs = 0;
  add_hook("looking", std::make_unique<Looking>(runs));
  open();
  run(one);
  run(one);
  EXPECT_EQ(runs, 2);
}

TEST_F(HookedSessionTest, TheContextHasTheCallersFetchesAndTheRawSession) {
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

TEST_F(HookedSessionTest, HooksAndTheCallerRunTogetherInOneRawRun) {
  const Output v = ops::variable(g, "v", Tensor(0.0f));
  const Output first = ops::assign_add(v, ops::constant(g, Tensor(0.5f)), "first");
  Probe& x = add_probe("x");
  x.ask = [&](RunContext&) { return RunArgs{v}; };
  std::vector<float> seen;
  x.look = [&](RunContext&, const RunValues& values) { seen.push_back(values[v].scalar<float>()); };
  open();
  EXPECT_EQ(run(first), 0.5f);
  EXPECT_EQ(run(first), 1.0f);
  // A variable is read as it is before the run writes.
  EXPECT_EQ(seen, (std::vector<float>{0, 0.5f}));
}

// ----- feeds
// -----------------------------------------------------------------------------------------------------------

TEST_F(HookedSessionTest, FeedsOfHooksAreMerged) {
  add_probe("x").ask = [&](RunContext&) { return feeding({{a, 5.0f}, {c, 0.0f}}); };
  add_probe("y").ask = [&](RunContext&) { return feeding({{b, 10.0f}}); };
  open();
  EXPECT_EQ(run(sum), 15.0f);
}

TEST_F(HookedSessionTest, FeedsOfHooksAndTheCallerAreMerged) {
  add_probe("x").ask = [&](RunContext&) { return feeding({{a, 5.0f}}); };
  add_probe("y").ask = [&](RunContext&) { return feeding({{b, 10.0f}}); };
  open();
  EXPECT_EQ(run(sum, {{c, Tensor(20.0f)}}), 35.0f);
  EXPECT_EQ(run(sum, {{c, Tensor(30.0f)}}), 45.0f);  // nothing is left of the run before
}

TEST_F(HookedSessionTest, TwoHooksThatFeedOneTensorAreAnErrorBeforeTheRun) {
  add_probe("x").ask = [&](RunContext&) { return feeding({{a, 5.0f}}); };
  add_probe("y").ask = [&](RunContext&) { return feeding({{a, 5.0f}}); };
  open();
  EXPECT_EQ(error_of([&] { run(one); }),
            "INVALID_ARGUMENT: Same tensor is fed twice: 'a:0' by hook 'y' and by another hook or the caller");
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run"}));
}

TEST_F(HookedSessionTest, AHookThatFeedsWhatTheCallerFeedsIsAnError) {
  add_probe("x").ask = [&](RunContext&) { return feeding({{b, 5.0f}}); };
  open();
  EXPECT_EQ(error_of([&] {
              run(one, {{b, Tensor(1.0f)}});
            }),
            "INVALID_ARGUMENT: Same tensor is fed twice: 'b:0' by hook 'x' and by another hook or the caller");
}

// ----- options
// ---------------------------------------------------------------------------------------------------------

RunOptions traced(RunOptions::Trace level) {
  RunOptions options;
  options.trace_level = level;
  return options;
}

TEST_F(HookedSessionTest, TheHighestTraceLevelCountsAndTheCallersOptionsStay) {
  struct Case {
    RunOptions::Trace caller, hook;
    bool traced;
  };
  const Case cases[] = {{RunOptions::Trace::kNone, RunOptions::Trace::kNone, false},
                        {RunOptions::Trace::kNone, RunOptions::Trace::kFull, true},
                        {RunOptions::Trace::kFull, RunOptions::Trace::kNone, true},
                        {RunOptions::Trace::kFull, RunOptions::Trace::kFull, true}};
  Probe& x = add_probe("x");
  open();
  for (const Case& wanted : cases) {
    x.ask = [&](RunContext&) {
      RunArgs args;
      args.options(traced(wanted.hook));
      return args;
    };
    const RunOptions options = traced(wanted.caller);
    RunMetadata metadata;
    FetchSet set({sum});
    const Tensor zero(0.0f);
    const belay_feed feeds[] = {{a.raw(), zero.view()}, {b.raw(), zero.view()}, {c.raw(), zero.view()}};
    RunCall call;
    call.fetches = &set;
    call.feeds = feeds;
    call.options = &options;
    call.metadata = &metadata;
    session().run(call);
    EXPECT_EQ(!metadata.nodes.empty(), wanted.traced);
    EXPECT_EQ(options.trace_level, wanted.caller);
  }
}

// ----- stopping
// --------------------------------------------------------------------------------------------------------

TEST_F(HookedSessionTest, OneHookThatAsksToStopIsEnoughButOnlyAfterTheRun) {
  Probe& x = add_probe("x");
  Probe& y = add_probe("y");
  open();
  y.ask = [&](RunContext& context) {
    context.request_stop("early");
    EXPECT_TRUE(context.stop_requested());
    return RunArgs();
  };
  x.look = [&](RunContext&, const RunValues&) { EXPECT_FALSE(session().should_stop()); };
  EXPECT_EQ(run(one), 1.0f);
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run", "x.after_run", "y.after_run"}));
  EXPECT_TRUE(session().should_stop());
}

TEST_F(HookedSessionTest, TheFirstReasonIsKeptWithTheHooksName) {
  add_probe("x").look = [](RunContext& context, const RunValues&) { context.request_stop("reached step 3"); };
  add_probe("y").look = [](RunContext& context, const RunValues&) { context.request_stop("the loss is low enough"); };
  open();
  EXPECT_EQ(session().stop_reason(), "");
  run(one);
  EXPECT_EQ(session().stop_reason(), "x: reached step 3");
  session().request_stop("later");
  EXPECT_EQ(session().stop_reason(), "x: reached step 3");
}

TEST_F(HookedSessionTest, ARunAfterAStopRequestIsRefused) {
  Probe& x = add_probe("x");
  x.look = [](RunContext& context, const RunValues&) { context.request_stop("reached step 3"); };
  open();
  run(one);
  new_events();
  EXPECT_EQ(error_of([&] { run(one); }),
            "FAILED_PRECONDITION: Run called even after should_stop requested (x: reached step 3)");
  EXPECT_EQ(new_events(), Timeline{});
}

TEST_F(HookedSessionTest, ARequestFromOutsideCountsLikeAHooks) {
  open();
  session().request_stop("SIGTERM");
  EXPECT_TRUE(session().should_stop());
  EXPECT_EQ(error_of([&] { run(one); }), "FAILED_PRECONDITION: Run called even after should_stop requested (SIGTERM)");
}

TEST_F(HookedSessionTest, ARequestIsLostWhereTheRunFails) {
  Probe& x = add_probe("x");
  x.ask = [&](RunContext& context) {
    context.request_stop("enough");
    return RunArgs();
  };
  open();
  EXPECT_EQ(error_of([&] { run(sum); }).substr(0, 17), "INVALID_ARGUMENT:");  // nobody feeds it
  EXPECT_FALSE(session().should_stop());
}

// ----- errors
// ----------------------------------------------------------------------------------------------------------

TEST_F(HookedSessionTest, AFailingBeforeRunEndsThePhaseAndTheRun) {
  const Output v = ops::variable(g, "v", Tensor(0.0f));
  const Output grow = ops::assign_add(v, one, "grow");
  add_probe("x");
  add_probe("y").in["before_run"] = [] { fail(Code::kInternal, "no"); };
  add_probe("z");
  open();
  EXPECT_EQ(error_of([&] { run(grow); }), "INTERNAL: hook \"y\" in before_run: no");
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run"}));
  EXPECT_EQ(raw().handle().value(Fetch<float>(v)), 0.0f);
}

TEST_F(HookedSessionTest, AFailingRunCallsNoAfterRun) {
  add_probe("x");
  open();
  EXPECT_NE(error_of([&] { run(sum); }), "no error");
  EXPECT_EQ(new_events(), (Timeline{"x.before_run"}));
}

TEST_F(HookedSessionTest, AFailingAfterRunLeavesOutTheLaterHooks) {
  add_probe("x");
  add_probe("y").in["after_run"] = [] { fail(Code::kInternal, "no"); };
  add_probe("z");
  open();
  EXPECT_EQ(error_of([&] { run(one); }), "INTERNAL: hook \"y\" in after_run: no");
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run", "z.before_run", "x.after_run", "y.after_run"}));
}

TEST_F(HookedSessionTest, ADisabledHookIsLeftOutAndTheOthersKeepTheirValues) {
  add_probe("x", OnHookError::kDisable).in["before_run"] = [] { fail(Code::kInternal, "no"); };
  Probe& y = add_probe("y");
  y.ask = [&](RunContext&) { return RunArgs{two}; };
  float seen = 0;
  y.look = [&](RunContext&, const RunValues& v) { seen = v[two].scalar<float>(); };
  open();
  EXPECT_EQ(run(one), 1.0f);
  EXPECT_EQ(run(one), 1.0f);
  EXPECT_EQ(seen, 2.0f);
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run", "y.after_run", "y.before_run", "y.after_run"}));
}

TEST_F(HookedSessionTest, AfterCloseARunIsRefused) {
  open();
  session().close();
  EXPECT_EQ(error_of([&] { run(one); }), "FAILED_PRECONDITION: Run called on a closed session");
  EXPECT_EQ(error_of([&] { session().run_step_fn([](StepFnContext&) { return std::any(); }); }),
            "FAILED_PRECONDITION: Run called on a closed session");
  session().close();
}

}  // namespace
}  // namespace belay::runtime::testing
