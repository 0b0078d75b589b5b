// SPDX-License-Identifier: Apache-2.0
// Hooks round a run: section 11 of the contract.
#include "runtime/monitored/layers/hooked_session.h"

#include <gmock/gmock.h>

#include <atomic>
#include <latch>
#include <thread>

#include "runtime/events/proto/event.pb.h"
#include "tests/monitored/counting_session.h"
#include "tests/monitored/hooked_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::UnorderedElementsAre;

class HookedConformance : public HookedSessionTest {};

TEST_F(HookedConformance, HOOKED_01_FeedsOptionsAndMetadataReachTheInnerRun) {
  open();
  CallerOptions options;
  options.trace_level = RunOptions::Trace::kFull;
  options.timeout_ms = 30000;
  RunMetadata metadata;
  EXPECT_EQ(run_with(sum, {{a, Tensor(1.0f)}, {b, Tensor(2.0f)}, {c, Tensor(4.0f)}}, &options, &metadata), 7.0f);
  EXPECT_FALSE(metadata.nodes.empty());
  EXPECT_EQ(metadata.options.timeout_ms, 30000);
  EXPECT_EQ(metadata.options.trace_level, RunOptions::Trace::kFull);
}

TEST_F(HookedConformance, HOOKED_02_CallsBeforeAndAfterOnceARunAndNothingElse) {
  add_probe("x");
  add_probe("y");
  open();
  EXPECT_EQ(run(one), 1.0f);
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run", "x.after_run", "y.after_run"}));
  EXPECT_FALSE(session().should_stop());
}

TEST_F(HookedConformance, HOOKED_02_AHookThatAsksForNothingGetsNothing) {
  Probe& x = add_probe("x");
  x.look = [&](RunContext& context, const RunValues& values) {
    EXPECT_EQ(values.size(), 0u);
    EXPECT_TRUE(context.node_stats().empty());
    EXPECT_EQ(context.original_options().timeout_ms, 0);
    EXPECT_EQ(context.original_fetches(), (std::vector<Output>{one}));
    EXPECT_EQ(context.session().raw(), to_handle(&raw()));
  };
  open();
  run(one);
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "x.after_run"}));
}

TEST_F(HookedConformance, HOOKED_03_OneHookThatAsksToStopSuffices) {
  add_probe("x");
  add_probe("y").look = [](RunContext& context, const RunValues&) { context.request_stop("enough"); };
  add_probe("z");
  open();
  EXPECT_FALSE(session().should_stop());
  run(one);
  EXPECT_TRUE(session().should_stop());
  EXPECT_EQ(session().stop_reason(), "y: enough");
}

TEST_F(HookedConformance, HOOKED_04_EachHookGetsWhatItAskedForAndTheCallerItsOwn) {
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

TEST_F(HookedConformance, HOOKED_05_FeedsOfTwoHooksAreMerged) {
  add_probe("x").ask = [&](RunContext&) { return feeding({{a, 5.0f}, {c, 0.0f}}); };
  add_probe("y").ask = [&](RunContext&) { return feeding({{b, 10.0f}}); };
  open();
  EXPECT_EQ(run(sum), 15.0f);
}

TEST_F(HookedConformance, HOOKED_06_FeedsOfHooksAndTheCallerAreMerged) {
  add_probe("x").ask = [&](RunContext&) { return feeding({{a, 5.0f}}); };
  add_probe("y").ask = [&](RunContext&) { return feeding({{b, 10.0f}}); };
  open();
  EXPECT_EQ(run(sum, {{c, Tensor(20.0f)}}), 35.0f);
  EXPECT_EQ(run(sum, {{c, Tensor(30.0f)}}), 45.0f);  // nothing is left of the run before
}

TEST_F(HookedConformance, HOOKED_06_TheCallersFeedsAreNotChanged) {
  add_probe("x").ask = [&](RunContext&) { return feeding({{a, 5.0f}, {b, 10.0f}}); };
  open();
  FetchSet set({sum});
  const Tensor value(20.0f);
  std::vector<belay_feed> feeds{{c.raw(), value.view()}};
  RunCall call;
  call.fetches = &set;
  call.feeds = feeds;
  session().run(call);
  ASSERT_EQ(feeds.size(), 1u);
  EXPECT_EQ(feeds[0].output.node, c.raw().node);
}

TEST_F(HookedConformance, HOOKED_08_TwoHooksThatFeedOneTensorAreAnErrorBeforeTheRun) {
  add_probe("x").ask = [&](RunContext&) { return feeding({{a, 5.0f}}); };
  add_probe("y").ask = [&](RunContext&) { return feeding({{a, 5.0f}}); };
  open();
  EXPECT_EQ(error_of([&] { run(one); }),
            "INVALID_ARGUMENT: [B5072] Same tensor is fed twice: 'a:0' by hook 'y' and by another hook or the caller");
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run"}));
}

TEST_F(HookedConformance, HOOKED_08_AHookThatFeedsWhatTheCallerFeedsIsTheSameError) {
  add_probe("x").ask = [&](RunContext&) { return feeding({{b, 5.0f}}); };
  open();
  EXPECT_EQ(error_of([&] {
              run(one, {{b, Tensor(1.0f)}});
            }),
            "INVALID_ARGUMENT: [B5072] Same tensor is fed twice: 'b:0' by hook 'x' and by another hook or the caller");
}

TEST_F(HookedConformance, HOOKED_09_ARunAfterAStopRequestIsRefused) {
  Probe& x = add_probe("x");
  x.look = [](RunContext& context, const RunValues&) { context.request_stop("reached step 3"); };
  open();
  run(one);
  new_events();
  EXPECT_EQ(error_of([&] { run(one); }),
            "FAILED_PRECONDITION: [B5071] Run called even after should_stop requested (x: reached step 3)");
  EXPECT_EQ(new_events(), Timeline{});
}

class CoordinatorOfTheSession : public CountingSessionTest {};

TEST_F(CoordinatorOfTheSession, HOOKED_09_ACoordinatorsStopAloneRefusesNoRun) {
  open();
  coordinator().request_stop("enough");
  EXPECT_TRUE(session().should_stop());
  EXPECT_EQ(train(), 1);
}

// ----- options: the rows' examples; A and B are hooks

const RunOptions kOfHookA{RunOptions::Trace::kHardware, 30000};
const RunOptions kOfHookB{RunOptions::Trace::kFull, 60000};

// A program may also ask these about its run.
CallerOptions of_caller(RunOptions::Trace level, std::int64_t timeout_ms, std::vector<std::string> watches) {
  CallerOptions options;
  options.trace_level = level;
  options.timeout_ms = timeout_ms;
  options.output_partition_graphs = true;
  options.debug_tensor_watches = std::move(watches);
  return options;
}

void expect_same(const RunOptions& got, const RunOptions& expected) {
  EXPECT_EQ(got.trace_level, expected.trace_level);
  EXPECT_EQ(got.timeout_ms, expected.timeout_ms);
}

std::vector<std::string> nodes_of(const std::string& graph_def) {
  pb::GraphDef def;
  EXPECT_TRUE(def.ParseFromString(graph_def));
  std::vector<std::string> names;
  for (const pb::NodeDef& node : def.node()) names.push_back(node.name());
  return names;
}

class RunOptionsConformance : public HookedSessionTest {
 protected:
  // A hook that asks with these options.
  void add_asking(const std::string& name, const RunOptions& options) {
    add_probe(name).ask = [options](RunContext&) {
      RunArgs args;
      args.options(options);
      return args;
    };
  }
};

TEST_F(RunOptionsConformance, HOOKED_10_OptionsOfTwoHooksAreMerged) {
  add_asking("x", kOfHookA);
  add_asking("y", kOfHookB);
  open();
  RunMetadata metadata;
  EXPECT_EQ(run_with(one, {}, nullptr, &metadata), 1.0f);
  expect_same(metadata.options, kOfHookB);
  EXPECT_TRUE(metadata.watched.empty());
}

// As TensorFlow's SessionRunValues has them.
TEST_F(RunOptionsConformance, B_14_HooksSeeTheMergedOptionsAfterTheRun) {
  add_asking("x", kOfHookA);
  Probe& y = add_probe("y");
  std::vector<RunOptions> seen;
  y.look = [&](RunContext&, const RunValues& values) { seen.push_back(values.options()); };
  open();
  const CallerOptions caller = of_caller(RunOptions::Trace::kSoftware, 45000, {});
  run_with(one, {}, &caller, nullptr);
  run(one);
  ASSERT_EQ(seen.size(), 2u);
  expect_same(seen[0], {RunOptions::Trace::kHardware, 45000});
  expect_same(seen[1], kOfHookA);
}

TEST_F(RunOptionsConformance, B_02d_ValuesOfAHookAreMarkedAsNotToBeWritten) {
  Probe& x = add_probe("x");
  x.ask = [&](RunContext&) { return RunArgs{two}; };
  bool read_only = false;
  x.look = [&](RunContext&, const RunValues& values) { read_only = values[two].read_only(); };
  open();
  run(one);
  EXPECT_TRUE(read_only);
}

TEST_F(RunOptionsConformance, B_12b_AHookReadsTheGlobalStepAndTheNumberOfTheRun) {
  const Output step = ops::get_or_create_global_step(g);
  const Output train_op = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1})));
  Probe& x = add_probe("x");
  std::vector<std::int64_t> seen;
  x.look = [&](RunContext& context, const RunValues&) {
    seen.insert(seen.end(), {context.number(), context.session().global_step().value_or(-1)});
  };
  open();
  run(one);
  raw().handle().run({train_op});
  run(one);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 0, 2, 1}));
}

TEST_F(RunOptionsConformance, B_09_AGraphWithoutAGlobalStepHasNoneForItsHooks) {
  Probe& x = add_probe("x");
  std::optional<std::int64_t> seen = 7;
  x.look = [&](RunContext& context, const RunValues&) { seen = context.session().global_step(); };
  open();
  run(one);
  EXPECT_EQ(seen, std::nullopt);
}

TEST_F(RunOptionsConformance, HOOKED_10_TheCallersWatchesAreInTheMetadata) {
  open();
  RunMetadata metadata;
  const CallerOptions caller = of_caller(RunOptions::Trace::kNone, 0, {"one", "two"});
  run_with(one, {}, &caller, &metadata);
  EXPECT_EQ(metadata.options.debug_tensor_watches, (std::vector<std::string>{"one", "two"}));
  ASSERT_EQ(metadata.watched.size(), 2u);
  EXPECT_EQ(metadata.watched[0].first, "one");
  EXPECT_EQ(TensorView(metadata.watched[0].second.view()).scalar<float>(), 1.0f);
  EXPECT_EQ(metadata.watched[1].first, "two");
  EXPECT_EQ(TensorView(metadata.watched[1].second.view()).scalar<float>(), 2.0f);
}

TEST_F(RunOptionsConformance, HOOKED_10_ThePartitionGraphIsWhatTheRunNeededOncePerRun) {
  open();
  const CallerOptions caller = of_caller(RunOptions::Trace::kNone, 0, {"two"});
  for (int i = 0; i < 2; ++i) {
    RunMetadata metadata;
    run_with(sum, {{a, Tensor(1.0f)}, {b, Tensor(2.0f)}, {c, Tensor(3.0f)}}, &caller, &metadata);
    ASSERT_EQ(metadata.partition_graphs.size(), 1u);
    EXPECT_THAT(nodes_of(metadata.partition_graphs[0]), UnorderedElementsAre("a", "b", "c", "Add", "sum", "two"));
  }
}

TEST_F(RunOptionsConformance, HOOKED_11_TheCallersOptionsAreMergedWithAHooks) {
  add_asking("x", {RunOptions::Trace::kHardware, 60000});
  open();
  RunMetadata metadata;
  const CallerOptions caller = of_caller(RunOptions::Trace::kFull, 30000, {"one"});
  run_with(one, {}, &caller, &metadata);
  expect_same(metadata.options, {RunOptions::Trace::kFull, 60000});
  EXPECT_EQ(metadata.options.debug_tensor_watches, (std::vector<std::string>{"one"}));
}

TEST_F(RunOptionsConformance, HOOKED_11_AWatchThatTheGraphHasNotIsNamed) {
  open();
  const CallerOptions caller = of_caller(RunOptions::Trace::kNone, 0, {"summ"});
  EXPECT_EQ(error_of([&] { run_with(one, {}, &caller, nullptr); }),
            "NOT_FOUND: the graph has no 'summ'; did you mean 'sum'?");
}

TEST_F(RunOptionsConformance, HOOKED_12_TheCallersOptionsStayAsTheyAre) {
  add_asking("x", kOfHookB);
  open();
  const CallerOptions before = of_caller(RunOptions::Trace::kHardware, 30000, {"one"});
  CallerOptions options = before;
  run_with(one, {}, &options, nullptr);
  expect_same(options, before);
}

TEST_F(RunOptionsConformance, HOOKED_12_NothingIsLeftForTheNextRun) {
  Probe& x = add_probe("x");
  x.ask = [](RunContext&) {
    RunArgs args;
    args.options(kOfHookB);
    return args;
  };
  open();
  RunMetadata metadata;
  run_with(one, {}, nullptr, &metadata);
  x.ask = {};
  run_with(one, {}, nullptr, &metadata);
  expect_same(metadata.options, RunOptions());
  EXPECT_TRUE(metadata.nodes.empty());
  EXPECT_TRUE(metadata.partition_graphs.empty());
  EXPECT_TRUE(metadata.watched.empty());
}

TEST_F(RunOptionsConformance, HOOKED_13_AHookGetsTheNodesOfATracedRunThoughTheCallerAskedForNone) {
  add_asking("asks", kOfHookA);
  std::vector<std::string> seen;
  add_probe("looks").look = [&](RunContext& context, const RunValues&) {
    for (const auto& node : context.node_stats()) seen.emplace_back(node.name);
  };
  open();
  run(sum, {{a, Tensor(1.0f)}, {b, Tensor(2.0f)}, {c, Tensor(3.0f)}});
  EXPECT_THAT(seen, Contains("Add"));  // one step computes both additions and goes by the first one's name
}

TEST_F(HookedConformance, HOOKED_14_AnInstanceThatIsGivenTwiceIsRefused) {
  PluginInstance& instance = instances.add_hook("x", std::make_unique<Probe>("x", timeline), services, monitor);
  hooks.add(SessionHook(instance, *log));
  EXPECT_EQ(error_of([&] { hooks.add(SessionHook(instance, *log)); }),
            "INVALID_ARGUMENT: [B5047] hook \"x\" is given twice: make a second instance of it, with another name");
  EXPECT_EQ(hooks.size(), 1u);
}

TEST_F(HookedConformance, HOOKED_14_TwoInstancesOfOneHookKeepTheirRequestsApart) {
  std::vector<float> seen;
  for (const Output& wanted : {one, two}) {
    Probe& probe = add_probe(g.node_name_of(wanted));
    probe.ask = [wanted](RunContext&) { return RunArgs{wanted}; };
    probe.look = [&seen, wanted](RunContext&, const RunValues& v) { seen.push_back(v[wanted].scalar<float>()); };
  }
  open();
  run(one);
  EXPECT_EQ(seen, (std::vector<float>{1, 2}));
}

TEST_F(HookedConformance, HOOKED_16_AFailingBeforeRunEndsThePhaseAndTheRun) {
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

// TensorFlow mixes the hooks of concurrent runs up. Here each run has all of its calls together.
TEST_F(CoordinatorOfTheSession, HOOKED_17_HookedRunsOfSeveralThreadsComeOneAfterTheOther) {
  add_probe("x").ask = [&](RunContext&) { return RunArgs{step}; };
  add_probe("y");
  open();
  new_events();
  // So many that they meet: a thread is started in far less time than its runs take.
  constexpr int kThreads = 4, kRuns = 2000;
  std::latch all_are_there(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      all_are_there.arrive_and_wait();
      for (int i = 0; i < kRuns; ++i) train();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(session().raw_session()->global_step(), kThreads * kRuns);
  const Timeline events = new_events();
  ASSERT_EQ(events.size(), 4u * kThreads * kRuns);
  const Timeline one_run{"x.before_run", "y.before_run", "x.after_run", "y.after_run"};
  for (std::size_t i = 0; i < events.size(); ++i) ASSERT_EQ(events[i], one_run[i % 4]) << i;
}

TEST_F(CoordinatorOfTheSession, HOOKED_17_ARawRunGoesOnBesideAHookedOne) {
  std::atomic<std::int64_t> seen{-1};
  add_probe("x").look = [&](RunContext&, const RunValues&) {
    std::thread([&] { seen = session().raw_session()->handle().value(Fetch<std::int64_t>(step)); }).join();
  };
  open();
  train();
  EXPECT_EQ(seen, 1);
}

TEST_F(CoordinatorOfTheSession, HOOKED_17_AThreadThatAsksToStopIsKeptWaitingByNeitherARunNorTheClose) {
  Probe& x = add_probe("x");
  open();
  coordinator().start_thread("asking", [&] {
    while (!session().should_stop()) std::this_thread::yield();
  });
  x.in["before_run"] = [&] { std::thread([&] { EXPECT_FALSE(session().should_stop()); }).join(); };
  train();
  session().close();
  EXPECT_EQ(session().unjoined(), std::vector<std::string>{});
}

TEST_F(CoordinatorOfTheSession, HOOKED_17_AHookThatRunsTheSessionItselfIsRefused) {
  add_probe("x").in["after_run"] = [&] { train(); };
  open();
  EXPECT_EQ(
      error_of([&] { train(); }),
      "FAILED_PRECONDITION: hook \"x\" in after_run at step 1: [B5071] Run called inside a run of the same session: a "
      "hook's own runs go through its context's session");
}

TEST_F(HookedConformance, PROSE_11_CallsNeitherBeginNorAfterCreateSessionNorEnd) {
  add_probe("x");
  open();
  run(one);
  session().close();
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "x.after_run"}));
}

TEST(GlobalStepConformance, PROSE_11_TheGlobalStepIsTheCollectionsOneInt64Scalar) {
  const std::unique_ptr<OpRegistry> ops = make_op_registry();
  NodeGraph graph(*ops);
  const belay::Graph g = graph.handle();
  EXPECT_FALSE(g.global_step_if_exists());
  EXPECT_EQ(error_of([&] { g.global_step(); }), "FAILED_PRECONDITION: the graph has no global step");
  const Output step = ops::get_or_create_global_step(g);
  EXPECT_EQ(g.node_name_of(step), "global_step");
  EXPECT_EQ(ops::get_or_create_global_step(g), step);
  EXPECT_EQ(error_of([&] { ops::create_global_step(g); }), "INVALID_ARGUMENT: the graph already has a global step");

  NodeGraph other(*ops);
  const belay::Graph h = other.handle();
  h.collect(collections::kGlobalStep, ops::variable(h, "global_step", Tensor(1.0f)));
  EXPECT_THAT(error_of([&] { h.global_step(); }), ::testing::StartsWith("INVALID_ARGUMENT: "));
}

}  // namespace
}  // namespace belay::runtime::testing
