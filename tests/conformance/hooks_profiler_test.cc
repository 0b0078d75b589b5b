// SPDX-License-Identifier: Apache-2.0
// ProfilerHook: section 22 of the contract.
#include <fstream>
#include <nlohmann/json.hpp>

#include "belay/ops/queues.h"
#include "tests/conformance/hooks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAreArray;

class ProfilerConformance : public HookConformance {
 protected:
  TrainingSessionSetup profiling(PluginOptions options) { return with("profiler", std::move(options)); }
  // Steps of the traces, sorted.
  Steps traces() const {
    Steps steps;
    const std::string prefix = "timeline-";
    for (const std::string& name : posix_file_system().open_directory(run_directory())->entries())
      if (name.starts_with(prefix)) steps.push_back(std::stoll(name.substr(prefix.size())));
    std::sort(steps.begin(), steps.end());
    return steps;
  }
  nlohmann::json trace(std::int64_t at) const {
    std::ifstream file(run_directory() + "/timeline-" + std::to_string(at) + ".json");
    return nlohmann::json::parse(file).at("traceEvents");
  }
  static std::vector<nlohmann::json> of_phase(const nlohmann::json& events, const std::string& phase) {
    std::vector<nlohmann::json> found;
    for (const auto& event : events)
      if (event.at("ph") == phase) found.push_back(event);
    return found;
  }
};

TEST_F(ProfilerConformance, PROSE_22_TracesOnlyWhenItIsDueAndChangesNothing) {
  // A hook after it sees whether the run was traced.
  class Watcher final : public Hook {
   public:
    void after_run(RunContext& run, const RunValues&) override { traced.push_back(!run.node_stats().empty()); }
    std::vector<bool> traced;
  };
  TrainingSessionSetup o = profiling({{"save_steps", n(2)}, {"output_dir", run_directory() + "/traces"}});
  auto watcher = std::make_unique<Watcher>();
  Watcher& watching = *watcher;
  o.hooks.push_back(own_hook("watcher", std::move(watcher)));
  open(std::move(o));
  run(5);
  EXPECT_THAT(watching.traced, ElementsAre(false, true, false, true, false));
  EXPECT_EQ((*session)->raw_session()->handle().value(Fetch<float>(program->weight)), 3.5f);
  EXPECT_THAT(posix_file_system().open_directory(run_directory() + "/traces")->entries(),
              ::testing::UnorderedElementsAre("timeline-2.json", "timeline-4.json"));
  // Without a place there is nothing to do.
  new_program();
  TrainingSessionSetup nowhere = profiling({{"save_steps", n(2)}});
  nowhere.checkpoint_dir = "";
  EXPECT_THAT(error_of([&] { open(std::move(nowhere)); }), HasSubstr("the run has no directory: give 'output_dir'"));
}

// TensorFlow refuses two periods.
TEST_F(ProfilerConformance, PROF_01_OfTwoPeriodsTheFirstThatIsOverCounts) {
  open(profiling({{"save_steps", n(3)}, {"save_secs", 10.0}}));
  run(4, 1);
  EXPECT_EQ(traces(), (Steps{3}));
  run(1, 10);
  EXPECT_EQ(traces(), (Steps{3, 5}));
}

TEST_F(ProfilerConformance, PROF_02_NoPeriodIsRefused) {
  EXPECT_EQ(refused("profiler"), "INVALID_ARGUMENT: give a period: 'save_secs', 'save_steps', or both");
}

TEST_F(ProfilerConformance, PROF_03_InSecondsNotTheFirstRun) {
  open(profiling({{"save_secs", 2.0}}));
  run();
  EXPECT_THAT(traces(), IsEmpty());
  run(1, 1);
  EXPECT_THAT(traces(), IsEmpty());
  run(1, 1);
  EXPECT_EQ(traces(), (Steps{3}));
  run(1, 1.9);
  EXPECT_EQ(traces(), (Steps{3}));
}

TEST_F(ProfilerConformance, PROF_05_InStepsNotTheFirstRun) {
  open(profiling({{"save_steps", n(1)}}));
  run();
  EXPECT_THAT(traces(), IsEmpty());
}

TEST_F(ProfilerConformance, PROF_06_EveryTwoSteps) {
  open(profiling({{"save_steps", n(2)}}));
  std::vector<std::size_t> counts;
  for (int i = 0; i < 5; ++i) {
    run();
    counts.push_back(traces().size());
  }
  EXPECT_THAT(counts, ElementsAre(0, 1, 1, 2, 2));
}

TEST_F(ProfilerConformance, PROF_07_ATracedRunIsRecordedOnceUnderItsStep) {
  open(profiling({{"save_steps", n(1)}}));
  run(2);
  end();
  EXPECT_EQ(traces(), (Steps{2}));
  const EventFiles found = events();
  EXPECT_THAT(found.steps, IsEmpty());
  std::vector<std::string> nodes;
  for (const auto& slice : of_phase(trace(2), "X"))
    if (slice.at("cat") == "op") nodes.push_back(slice.at("args").at("name"));
  EXPECT_THAT(nodes, Not(IsEmpty()));
  EXPECT_THAT(found.traced, ElementsAre(Pair("step_2", UnorderedElementsAreArray(nodes))));
  EXPECT_THAT(log.of("profiler"), ElementsAre(HasSubstr("traced step 2: ")));
}

// A step that is made again, as after a recovery, keeps its first trace; a program's own trace is not the hook's.
TEST_F(ProfilerConformance, PROF_07_TheEventFileHasTheRunsThatHooksTraceEachStepOnce) {
  class Tracer final : public Hook {
   public:
    RunArgs before_run(RunContext&) override {
      RunOptions options;
      options.trace_level = trace_level;
      RunArgs args;
      args.options(options);
      return args;
    }
    RunOptions::Trace trace_level = RunOptions::Trace::kFull;
  };
  auto hook = std::make_unique<Tracer>();
  Tracer& tracer = *hook;
  TrainingSessionSetup o = bare();
  o.hooks.push_back(own_hook("tracer", std::move(hook)));
  open(std::move(o));
  run();
  set_step(0);
  run(2);
  tracer.trace_level = RunOptions::Trace::kNone;
  CallerOptions tracing;
  tracing.trace_level = RunOptions::Trace::kFull;
  RunMetadata traced;
  (*session)->run({program->train}, {}, tracing, &traced);
  EXPECT_THAT(traced.nodes, Not(IsEmpty()));
  end();
  EXPECT_THAT(events().traced, ElementsAre(Pair("step_1", Not(IsEmpty())), Pair("step_2", Not(IsEmpty()))));
}

TEST_F(ProfilerConformance, PROF_08_AChromeTraceWithDataflowAndMemory) {
  const Output x = ops::constant(program->g, Tensor({4}, {1.0f, 2.0f, 3.0f, 4.0f}), "x");
  const Output grown = ops::add(x, program->weight, "grown");
  const Output square = ops::exp(grown, "square");
  const ops::QueueRef queue = ops::fifo_queue(program->g, 2, {ops::QueueComponent{DType::kFloat32, {}}});
  const Output enqueue = ops::enqueue(queue, {program->weight});
  const Output taken = ops::dequeue(queue, "taken")[0];
  open(profiling({{"save_steps", n(1)}, {"show_memory", true}}));
  for (int i = 0; i < 2; ++i) {
    (*session)->raw_session()->handle().run({enqueue.operation()});
    (*session)->run({grown, square, taken, program->train});
  }
  const nlohmann::json events = trace(2);
  const auto slices = of_phase(events, "X");
  std::map<std::string, nlohmann::json> by_name;
  for (const auto& slice : slices) by_name[slice.at("args").at("name")] = slice;
  ASSERT_THAT(by_name, Contains(::testing::Key("square")));
  ASSERT_THAT(by_name, Contains(::testing::Key("taken")));  // what waits for the input is there too
  EXPECT_EQ(by_name["square"].at("cat"), "op");
  EXPECT_GE(by_name["square"].at("dur").get<double>(), 0);
  EXPECT_EQ(of_phase(events, "s").size(), of_phase(events, "t").size());
  EXPECT_THAT(of_phase(events, "C"), Not(IsEmpty()));
  EXPECT_EQ(of_phase(events, "C").back().at("args").at("bytes"), 0);  // all is free again
  // Neither where they are not wanted.
  new_program();
  TrainingSessionSetup plain = profiling({{"save_steps", n(1)}, {"show_dataflow", false}});
  open(std::move(plain));
  run(3);
  const nlohmann::json bare_events = trace(3);
  EXPECT_THAT(of_phase(bare_events, "s"), IsEmpty());
  EXPECT_THAT(of_phase(bare_events, "C"), IsEmpty());
}

}  // namespace
}  // namespace belay::runtime::testing
