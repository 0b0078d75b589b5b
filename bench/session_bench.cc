// SPDX-License-Identifier: Apache-2.0
// Measures the engine's part of a step: a raw run of one tiny operation, and each hook of a monitored session.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "belay/ops/control.h"
#include "belay/ops/math.h"
#include "belay/plugin.h"
#include "runtime/data/make_queue.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/monitored/layers/monitored_session.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// Overrides both callbacks of a step, and does nothing in them.
class Idle final : public Hook {
 public:
  RunArgs before_run(RunContext&) override { return {}; }
  void after_run(RunContext&, const RunValues&) override {}
};

// A graph of one addition.
struct TinyGraph {
  TinyGraph() : ops(make_op_registry()), graph(*ops) {
    const belay::Graph g = graph.handle();
    const Output x = ops::placeholder(g, DType::kFloat32, {}, "x");
    sum = ops::add(x, ops::constant(g, Tensor(1.0f)), "sum");
    feed = {x.raw(), value.view()};
    fetches = FetchSet(std::vector<FetchRef>{sum});
  }

  std::unique_ptr<OpRegistry> ops;
  NodeGraph graph;
  Tensor value{2.0f};
  Output sum;
  belay_feed feed{};
  FetchSet fetches;
};

void raw_run(benchmark::State& state) {
  TinyGraph tiny;
  tiny.graph.finalize();
  auto session = std::make_shared<DirectSession>(tiny.graph, std::make_shared<VariableStore>(), DirectSessionOptions{});
  RunRequest request;
  request.fetches = &tiny.fetches;
  request.feeds = {&tiny.feed, 1};
  const Run first = session->run(request);
  if (*static_cast<const float*>(first.result(tiny.fetches, 0).data) != 3) state.SkipWithError("2 + 1 is not 3");
  for (auto _ : state) {
    const Run run = session->run(request);
    benchmark::DoNotOptimize(run.result(tiny.fetches, 0).data);
  }
}
BENCHMARK(raw_run);

// Makes one step with the number of hooks in the argument.
void hooked_run(benchmark::State& state) {
  TinyGraph tiny;
  LogOutput nowhere;
  nowhere.write = [](std::string_view) { return true; };
  const std::unique_ptr<Logger> log = make_logger(nowhere, LogFormat::kText, LogLevel::kInfo, system_clock());
  StoreTargets targets;
  CancellationSource interrupt;
  const RunEnvironment environment{system_clock(), *log,      posix_file_system(),
                                   targets,        interrupt, DirectSessionOptions{}};
  const HostServices services(*log, system_clock(), "", 42);
  CallMonitor monitor;
  PluginInstances instances;
  HookSet hooks;
  for (std::int64_t i = 0; i < state.range(0); ++i)
    hooks.add(SessionHook(instances.add_hook("idle_" + std::to_string(i), std::make_unique<Idle>(), services, monitor),
                          *log));
  MonitoredSessionOptions options;
  options.monitor = &monitor;
  MonitoredSession session(
      std::make_shared<ChiefSessionCreator>(tiny.graph, environment, ChiefSessionCreator::Options{}), environment,
      hooks, options);
  RunCall call;
  call.fetches = &tiny.fetches;
  call.feeds = {&tiny.feed, 1};
  for (auto _ : state) {
    const Run run = session.run(call);
    benchmark::DoNotOptimize(run.result(tiny.fetches, 0).data);
  }
  session.close();
}
BENCHMARK(hooked_run)->Arg(0)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace belay::runtime

BENCHMARK_MAIN();
