// SPDX-License-Identifier: Apache-2.0
// A fresh start of a model of 1 GiB: one variable, made and initialized by an operation of random numbers, on one
// thread and two, beside what it costs to copy as much. A session draws its initial values once, so memory that the
// process has not touched before is part of it.
#include <benchmark/benchmark.h>

#include <cstring>
#include <functional>
#include <string>

#include "belay/ops/random.h"
#include "belay/ops/variables.h"
#include "runtime/graph/node_graph.h"
#include "runtime/ops/registry.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kVariables = 16, kElements = std::int64_t{1} << 28;

using Draw = std::function<Output(const Graph&, const Dims&)>;

void initialize(benchmark::State& state, const Draw& draw) {
  const std::unique_ptr<OpRegistry> ops = make_op_registry();
  NodeGraph graph(*ops);
  for (std::int64_t i = 0; i < kVariables; ++i)
    ops::variable(graph.handle(), "v" + std::to_string(i), draw(graph.handle(), {kElements / kVariables}));
  graph.finalize();
  DirectSessionOptions options;
  options.threads = static_cast<int>(state.range(0));
  for (auto _ : state) {
    DirectSession session(graph, std::make_shared<VariableStore>(), options);
    session.run_once(graph.collection("variable_init"));
  }
}
void random_normal(benchmark::State& state) {
  initialize(state, [](const Graph& g, const Dims& dims) { return ops::random_normal(g, dims); });
}
void random_uniform(benchmark::State& state) {
  initialize(state, [](const Graph& g, const Dims& dims) { return ops::random_uniform(g, dims); });
}
void truncated_normal(benchmark::State& state) {
  initialize(state, [](const Graph& g, const Dims& dims) { return ops::truncated_normal(g, dims); });
}
BENCHMARK(random_normal)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(random_uniform)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(truncated_normal)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

// Copies memory that has its pages.
void copy(benchmark::State& state) {
  const DenseTensor from(DType::kFloat32, {kElements}), to(DType::kFloat32, {kElements});
  std::memset(from.data(), 1, from.bytes());
  std::memset(to.data(), 2, to.bytes());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.bytes());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(copy)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace belay::runtime

BENCHMARK_MAIN();
