// SPDX-License-Identifier: Apache-2.0
// A training step on tables of embeddings of which a batch uses few rows. A step's time should not depend on the rows
// of a table, but for their cache misses. With one batch the rows stay in the cache, with many batches they do not, and
// the difference is the misses' part. A case that needs more memory than exists is skipped, and the output names it.
#include <benchmark/benchmark.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "belay/ops/embedding.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "plugins/default_plugins.h"
#include "runtime/ops/registry.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kIds = 1024;  // of a batch, for each table
constexpr std::int64_t kLargeTable = 10'000'000;
constexpr double kGibForLargeTable = 12;

struct EmbeddingCase {
  const char* optimizer;
  std::vector<PluginOption> options;
  std::int64_t tables, entries, width;
  std::int64_t batches;
};

double available_gib() {
  std::ifstream file("/proc/meminfo");
  for (std::string key, unit; file >> key;) {
    double kib = 0;
    file >> kib;
    std::getline(file, unit);
    if (key == "MemAvailable:") return kib / (1 << 20);
  }
  return 0;
}

// The sum of squares of the rows that the ids name.
struct EmbeddingGraph {
  explicit EmbeddingGraph(const EmbeddingCase& c) : ops(make_op_registry()), graph(*ops) {
    const belay::Graph g = graph.handle();
    std::vector<Output> losses;
    for (std::int64_t i = 0; i < c.tables; ++i) {
      const Output table = ops::variable(g, "table", ops::fill(g, {c.entries, c.width}, 0.5));
      ids.push_back(ops::placeholder(g, DType::kInt64, {-1}, "ids"));
      losses.push_back(ops::reduce_sum(ops::square(ops::gather(table, ids.back()))));
    }
    OptimizerSettings settings;
    settings.name = c.optimizer;
    settings.options = c.options;
    settings.learning_rate.learning_rate = 0.001;
    const Output loss = losses.size() == 1 ? losses[0] : ops::add_n(losses);
    train = minimize(g, loss, LinkedOptimizer(settings, default_plugins()).use());
    graph.finalize();
  }
  std::unique_ptr<OpRegistry> ops;
  NodeGraph graph;
  std::vector<Output> ids;
  Output train;
};

// All ids of all batches: pseudo-random, the same in each run.
std::vector<std::int64_t> ids_of(const EmbeddingCase& c) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(c.batches * c.tables * kIds));
  std::uint64_t state = 42;
  for (std::int64_t& id : all) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    id = static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(c.entries));
  }
  return all;
}

void embedding(benchmark::State& state, const EmbeddingCase& c) {
  if (c.entries >= kLargeTable && available_gib() < kGibForLargeTable) {
    state.SkipWithError("SKIPPED: it needs 12 GiB of available memory");
    return;
  }
  EmbeddingGraph built(c);
  const auto session =
      std::make_shared<DirectSession>(built.graph, std::make_shared<VariableStore>(), DirectSessionOptions{});
  session->run_once(built.graph.collection("variable_init"));
  const std::vector<std::int64_t> ids = ids_of(c);
  FetchSet train(std::vector<FetchRef>{built.train});
  std::vector<belay_feed> feeds(static_cast<std::size_t>(c.tables));
  std::vector<Tensor> batch;
  for (std::int64_t i = 0; i < c.tables; ++i) batch.emplace_back(DType::kInt64, Dims{kIds});
  for (std::size_t i = 0; i < feeds.size(); ++i) feeds[i] = {built.ids[i].raw(), batch[i].view()};
  RunRequest request;
  request.fetches = &train;
  request.feeds = feeds;
  std::size_t next = 0;
  const auto step = [&] {
    for (Tensor& t : batch) {
      std::copy_n(ids.data() + next, kIds, t.data<std::int64_t>());
      next = (next + kIds) % ids.size();
    }
    session->run(request);
  };
  for (std::int64_t i = 0; i < c.batches; ++i) step();  // touches the pages of the slots
  for (auto _ : state) step();
  state.counters["plan_MiB"] = static_cast<double>(session->plan_stats(&train).arena_bytes) / (1 << 20);
}

}  // namespace
}  // namespace belay::runtime

int main(int argc, char** argv) {
  using belay::runtime::EmbeddingCase;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::vector<belay::runtime::PluginOption> lazy = {{"lazy", true}};
  std::vector<EmbeddingCase> cases;
  for (const auto& [optimizer, options] :
       {std::pair{"sgd", std::vector<belay::runtime::PluginOption>()}, {"adagrad", {}}, {"adam", lazy}}) {
    for (const std::int64_t entries : {10'000, 1'000'000, 10'000'000})
      for (const std::int64_t batches : {1, 1000}) cases.push_back({optimizer, options, 1, entries, 32, batches});
    for (const std::int64_t entries : {10'000, 1'000'000}) cases.push_back({optimizer, options, 26, entries, 16, 100});
  }
  for (const EmbeddingCase& c : cases) {
    const std::string name = std::string("embedding/") + c.optimizer + "/" + std::to_string(c.tables) + "x" +
                             std::to_string(c.entries) + "x" + std::to_string(c.width) +
                             (c.batches == 1 ? "/same_ids" : "");
    benchmark::RegisterBenchmark(name.c_str(), [c](benchmark::State& state) {
      belay::runtime::embedding(state, c);
    })->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
