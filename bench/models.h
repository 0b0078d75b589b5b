// SPDX-License-Identifier: Apache-2.0
// The models that are measured against other systems, as a model plugin would build them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "belay/graph.h"
#include "runtime/graph/node_graph.h"
#include "runtime/ops/registry.h"

namespace belay::bench {

inline constexpr const char* kModels[] = {"linear", "mlp", "mlp_512", "mlp_wide", "cnn", "lstm", "transformer"};

// A model in a graph.
struct ModelNodes {
  Graph graph;
  Output x = {}, labels = {};  // placeholders of the batch's shape
  Output logits = {};          // the model's result for x
  Output loss = {};
  int classes = 0;  // of the labels; 0: they are numbers
  int tokens = 0;   // of x if it holds indices; otherwise 0
};

// And the graph.
struct ModelEngine {
  ModelEngine() : ops(runtime::make_op_registry()), nodes(*ops) {}

  std::unique_ptr<runtime::OpRegistry> ops;
  runtime::NodeGraph nodes;
};
struct ModelGraph : ModelEngine, ModelNodes {
  ModelGraph() : ModelNodes{nodes.handle()} {}
};

// Without a train operation. batch: 0 for that of the training steps. INVALID_ARGUMENT for another name.
ModelNodes add_model(const Graph& graph, const std::string& name, DType dtype = DType::kFloat32,
                     std::int64_t batch = 0);
std::unique_ptr<ModelGraph> build_model(const std::string& name, DType dtype = DType::kFloat32, std::int64_t batch = 0);

// Values for both placeholders, always the same: normal numbers, or classes.
Tensor make_features(const ModelNodes& model);
Tensor make_labels(const ModelNodes& model);

}  // namespace belay::bench
