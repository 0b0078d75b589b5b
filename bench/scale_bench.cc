// SPDX-License-Identifier: Apache-2.0
// Whether costs stay linear: in the nodes of a graph, and in the bytes of its variables.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "belay/ops/control.h"
#include "belay/ops/math.h"
#include "belay/ops/shape.h"
#include "belay/ops/variables.h"
#include "runtime/ops/registry.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {
namespace {

// n element-wise and assign nodes, every tenth an assign: chains of nine small additions, each added to a variable.
struct AssignGraph {
  explicit AssignGraph(std::int64_t n) : ops(make_op_registry()), graph(*ops) {
    const Graph g = graph.handle();
    const Output x = ops::placeholder(g, DType::kFloat32, {4}, "x");
    std::vector<Output> writes;
    for (std::int64_t i = 0; i < n / 10; ++i) {
      const Output v = ops::variable(g, "v", ops::fill(g, {4}, 1.0));
      Output y = x;
      for (int k = 0; k < 9; ++k) y = y + v;
      writes.push_back(ops::assign_add(v, y));
    }
    train = ops::group(g, writes);
    feed_value = Tensor({4}, {1.0f, 2.0f, 3.0f, 4.0f});
    feed = {x.raw(), feed_value.view()};
    graph.finalize();
  }
  std::unique_ptr<OpRegistry> ops;
  NodeGraph graph;
  Output train;
  Tensor feed_value;
  belay_feed feed;
};

void run(DirectSession& session, FetchSet& fetches, const belay_feed& feed) {
  RunRequest request;
  request.fetches = &fetches;
  request.feeds = {&feed, 1};
  const Run done = session.run(request);
}

// Everything from an empty graph to the end of the first run.
void build_plan_and_run_first(benchmark::State& state) {
  for (auto _ : state) {
    AssignGraph built(state.range(0));
    DirectSession session(built.graph, std::make_shared<VariableStore>(), {});
    session.run_once(built.graph.collection("variable_init"));
    FetchSet fetches(std::vector<FetchRef>{built.train});
    run(session, fetches, built.feed);
  }
  state.counters["us_per_node"] = benchmark::Counter(1e-6 * static_cast<double>(state.iterations() * state.range(0)),
                                                     benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(build_plan_and_run_first)->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);

void warm_run(benchmark::State& state) {
  AssignGraph built(state.range(0));
  DirectSession session(built.graph, std::make_shared<VariableStore>(), {});
  session.run_once(built.graph.collection("variable_init"));
  FetchSet fetches(std::vector<FetchRef>{built.train});
  run(session, fetches, built.feed);
  for (auto _ : state) run(session, fetches, built.feed);
  state.counters["ns_per_node"] = benchmark::Counter(1e-9 * static_cast<double>(state.iterations() * state.range(0)),
                                                     benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(warm_run)->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMicrosecond);

// A chain of scalar additions that control edges keep apart. It shows the cost of a node besides its work.
void node_overhead(benchmark::State& state) {
  const std::unique_ptr<OpRegistry> ops = make_op_registry();
  NodeGraph graph(*ops);
  const Graph g = graph.handle();
  const Output x = ops::placeholder(g, DType::kFloat32, {}, "x");
  Output y = x;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    const auto after = g.after({y});
    y = y + x;
  }
  graph.finalize();
  DirectSession session(graph, std::make_shared<VariableStore>(), {});
  const Tensor one(1.0f);
  const belay_feed feed{x.raw(), one.view()};
  FetchSet fetches(std::vector<FetchRef>{y});
  run(session, fetches, feed);
  for (auto _ : state) run(session, fetches, feed);
  state.counters["ns_per_node"] = benchmark::Counter(1e-9 * static_cast<double>(state.iterations() * state.range(0)),
                                                     benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(node_overhead)->Arg(1000)->Unit(benchmark::kMicrosecond);

// One variable of as many MiB, made and initialized.
void initialize_variable(benchmark::State& state) {
  const std::unique_ptr<OpRegistry> ops = make_op_registry();
  NodeGraph graph(*ops);
  const Graph g = graph.handle();
  ops::variable(g, "v", ops::fill(g, {state.range(0), 1 << 18}, 0.5));
  graph.finalize();
  for (auto _ : state) {
    DirectSession session(graph, std::make_shared<VariableStore>(), {});
    session.run_once(graph.collection("variable_init"));
  }
  state.counters["ms_per_MiB"] = benchmark::Counter(1e-3 * static_cast<double>(state.iterations() * state.range(0)),
                                                    benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(initialize_variable)->Arg(1)->Arg(32)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace belay::runtime

BENCHMARK_MAIN();
