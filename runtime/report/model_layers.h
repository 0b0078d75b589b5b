// SPDX-License-Identifier: Apache-2.0
// A model by its layers: what is between the inputs and the loss, put together by the scopes of the variables.
//
// A layer is the scope of a variable ("hidden_1" of "hidden_1/kernel") with the nodes below it; nodes without variables
// are layers by their own scope ("loss") or name ("flatten"). Floating-point operations are those of one example's
// forward pass: two for each multiplication with its addition in products, convolutions, recurrent cells and attention,
// and one for each element that any other operation computes. A training step has about three times as many.
// [any thread]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/graph/node_graph.h"

namespace belay::runtime {

// A node as a graph or an event file has it; inputs come before their users.
struct ModelNode {
  struct Input {
    std::size_t node = 0;
    std::size_t output = 0;
  };
  std::string name;
  std::string op;
  std::vector<Input> inputs;
  std::vector<Shape> outputs;
  bool variable = false;
};

struct ModelLayer {
  std::string name;
  std::vector<std::string> ops;        // each once, in the order of their nodes
  Shape output;                        // of its last node; unknown: the batch
  std::int64_t parameters = 0;         // elements of the variables that the loss depends on
  double flops = 0;                    // for one example
  std::vector<std::size_t> from = {};  // earlier layers whose values it uses
};

// Of a graph that is being built or frozen; nodes of bodies are left out.
std::vector<ModelNode> model_nodes(const NodeGraph& graph);
// Of a serialized GraphDef; empty where it is none.
std::vector<ModelNode> model_nodes(const std::string& graph_def);

// What `loss` depends on, as layers in the order of their first nodes.
std::vector<ModelLayer> model_layers(const std::vector<ModelNode>& nodes, std::size_t loss);
// Of a graph whose role `loss` says where to begin; empty where it has none.
std::vector<ModelLayer> layers_of(const NodeGraph& graph);
// Each node as a layer, for a drawing of all of them.
std::vector<ModelLayer> nodes_as_layers(const std::vector<ModelNode>& nodes);
// The node that a training graph differentiates, else nodes.size().
std::size_t find_loss(const std::vector<ModelNode>& nodes);

std::int64_t parameters_of(const std::vector<ModelLayer>& layers);
double flops_of(const std::vector<ModelLayer>& layers);
// "MatMul, BiasAdd, Relu"; of many the first ones.
std::string ops_text(const ModelLayer& layer);

// A drawing for Graphviz, one box a layer.
std::string dot_of(const std::vector<ModelLayer>& layers, const std::string& title);
// The same as a drawing of its own; `own_file`: with what a file needs that is no part of a page.
std::string svg_of(const std::vector<ModelLayer>& layers, const std::string& title, bool own_file);

}  // namespace belay::runtime
