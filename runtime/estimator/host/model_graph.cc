// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/host/model_graph.h"

#include "belay/ops/summaries.h"

namespace belay::runtime {

InputFeed::Options RunInput::options(std::uint64_t seed) const {
  InputFeed::Options options;
  options.name = name;
  options.prefetch = prefetch;
  options.shard = shard;
  options.shards = shards;
  options.seed = seed;
  options.schema = schema;
  return options;
}

void RunInput::open(std::uint64_t seed) { feed = InputFeed::open(*instance, options(seed)); }

void ModelGraph::build(PluginInstance& model, const RunInput& input, const std::vector<DeclaredLabel>& declared) {
  tensors = input.feed->add_to_graph(graph);
  if (mode != Mode::kPredict) {
    outputs = build_model(model, graph, mode, tensors.features, tensors.labels, input.feed->labels(), accumulate);
    return;
  }
  const std::vector<DeclaredLabel> own = input.feed->labels();
  outputs = build_model(model, graph, mode, tensors.features, {}, own.empty() ? declared : own);
}

void ModelGraph::build_over_placeholders(PluginInstance& model, const std::vector<InputComponent>& components,
                                         const std::vector<DeclaredLabel>& declared) {
  const Graph g = graph.handle();
  {
    const auto scope = g.scope(kInputScope);
    for (const InputComponent& c : components)
      if (!c.label && !is_only_an_id(components, c))
        tensors.features.push_back(
            {c.name, g.node("Placeholder", c.name).attr("dtype", c.dtype).attr("shape", c.dims).output(), c.classes});
  }
  outputs =
      build_model(model, graph, mode, tensors.features, {}, declared.empty() ? declared_labels(components) : declared);
}

namespace {

void summarize_learning_rate(NodeGraph& graph) {
  if (const std::vector<Port> rate = graph.collection("learning_rate"); rate.size() == 1)
    ops::scalar_summary("learning_rate", graph.output(rate[0]), "learning_rate_summary");
}

}  // namespace

void ModelGraph::build_over_ranks(PluginInstance& model, const RunInput& input) {
  tensors = input.feed->add_to_graph(graph);
  outputs = build_model_over_ranks(model, graph, tensors.features, tensors.labels, input.feed->labels());
}

void ModelGraph::add_training_over_ranks(const OptimizerUse& optimizer, const RankExchange& exchange) {
  add_train_op_over_ranks(graph, optimizer, tensors.batch, exchange, outputs);
  summarize_learning_rate(graph);
}

bool ModelGraph::add_training(const OptimizerUse& optimizer) {
  add_train_op(graph, optimizer, outputs);
  summarize_learning_rate(graph);
  return !take_batch(graph, tensors.batch, outputs);
}

}  // namespace belay::runtime
