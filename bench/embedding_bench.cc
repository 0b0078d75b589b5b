// SPDX-License-Identifier: Apache-2.0
// A training step on tables of embeddings of which a batch uses few rows (bench/embedding_cases.h). bench/embedding.py
// drives it. stderr gets the MiB that the plan of a step holds: a dense gradient would make it as large as the tables.
#include <algorithm>
#include <iostream>
#include <memory>
#include <vector>

#include "belay/ops/embedding.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "bench/embedding_cases.h"
#include "bench/rounds.h"
#include "plugins/default_plugins.h"
#include "runtime/ops/registry.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/session/direct_session.h"

namespace belay::bench {
namespace {

using ::bench::EmbeddingCase;
using ::bench::kIds;

struct EmbeddingGraph {
  explicit EmbeddingGraph(const EmbeddingCase& c) : ops(runtime::make_op_registry()), nodes(*ops) {
    const Graph g = nodes.handle();
    std::vector<Output> losses;
    for (std::int64_t i = 0; i < c.tables; ++i) {
      const Output table = ops::variable(g, "table", ops::fill(g, {c.entries, c.width}, ::bench::kFill));
      ids.push_back(ops::placeholder(g, DType::kInt64, {-1}, "ids"));
      losses.push_back(ops::reduce_sum(ops::square(ops::gather(table, ids.back()))));
    }
    runtime::OptimizerSettings settings;
    settings.name = c.optimizer;
    if (c.optimizer == "adam") settings.options = {{"lazy", true}};
    settings.learning_rate.learning_rate = ::bench::kLearningRate;
    const Output loss = losses.size() == 1 ? losses[0] : ops::add_n(losses);
    train = runtime::minimize(g, loss, runtime::LinkedOptimizer(settings, default_plugins()).use());
    initializers = nodes.collection("variable_init");
    nodes.finalize();
  }
  std::unique_ptr<runtime::OpRegistry> ops;
  runtime::NodeGraph nodes;
  std::vector<Output> ids;
  Output train;
  std::vector<runtime::Port> initializers;
};

void run(const EmbeddingCase& c) {
  EmbeddingGraph graph(c);
  runtime::DirectSessionOptions options;
  options.threads = c.threads;
  const auto session =
      std::make_shared<runtime::DirectSession>(graph.nodes, std::make_shared<runtime::VariableStore>(), options);
  session->run_once(graph.initializers);
  ::bench::EmbeddingIds ids(c);
  runtime::FetchSet train(std::vector<FetchRef>{graph.train});
  std::vector<Tensor> batch;
  std::vector<belay_feed> feeds;
  for (const Output& placeholder : graph.ids) {
    batch.emplace_back(DType::kInt64, Dims{kIds});
    feeds.push_back({placeholder.raw(), batch.back().view()});
  }
  runtime::RunRequest request;
  request.fetches = &train;
  request.feeds = feeds;
  request.full_team = true;
  const auto step = [&] {
    for (Tensor& t : batch) std::copy_n(ids.next(), kIds, t.data<std::int64_t>());
    session->run(request);
  };
  for (std::int64_t i = 0; i < c.batches; ++i) step();  // touches the pages of the slots
  std::cerr << static_cast<double>(session->plan_stats(&train).arena_bytes) / (1 << 20) << '\n';
  rounds::answer(step);
}

}  // namespace
}  // namespace belay::bench

int main(int argc, char** argv) {
  belay::bench::run(bench::embedding_case(argc, argv));
  return 0;
}
