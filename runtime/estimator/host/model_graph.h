// SPDX-License-Identifier: Apache-2.0
// One mode's graph of a run: an input's features and labels, the model on them, and its train operation in training.
#pragma once

#include "runtime/data/input_feed.h"
#include "runtime/graph/node_graph.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/monitored/model/build_model.h"

namespace belay::runtime {

// An input of a run: its instance, the thread that calls it, and its share of the examples.
struct RunInput {
  std::string name;  // of the manifest's [input.NAME]
  CallMonitor& monitor;
  std::int64_t prefetch = 2;  // batches
  std::int64_t shard = 0;
  std::int64_t shards = 1;
  PluginInstance* instance = nullptr;
  SchemaOptions schema = {};
  std::shared_ptr<InputFeed> feed = {};  // null: not open

  // Asks for its columns and opens its files. Fails if one is missing.
  void open(std::uint64_t seed);
  InputFeed::Options options(std::uint64_t seed) const;
};

struct ModelGraph {
  // `batches`: of a training step.
  ModelGraph(const OpRegistry& ops, Mode the_mode, std::int64_t batches = 1)
      : mode(the_mode), accumulate(batches), graph(ops) {}

  // Adds the input and the model. In mode kPredict the model gets no labels. It learns of the labels that the input
  // declares, else of `declared`. Call it once; the input is open.
  void build(PluginInstance& model, const RunInput& input, const std::vector<DeclaredLabel>& declared = {});
  // Builds for mode kPredict without an input to read. The features are placeholders, under the input's scope and by
  // their names. `declared` as above.
  void build_over_placeholders(PluginInstance& model, const std::vector<InputComponent>& components,
                               const std::vector<DeclaredLabel>& declared = {});
  // Adds the train operation in training, unless the model brought one. Returns false if it depends on nothing of the
  // input; then it is made to take a batch.
  bool add_training(const OptimizerUse& optimizer);
  // Replaces build and add_training in one of several processes that train together. The input is its part.
  void build_over_ranks(PluginInstance& model, const RunInput& input);
  void add_training_over_ranks(const OptimizerUse& optimizer, const RankExchange& exchange);

  const Mode mode;
  const std::int64_t accumulate;
  NodeGraph graph;
  InputFeed::Tensors tensors;
  ModelOutputs outputs;
};

}  // namespace belay::runtime
