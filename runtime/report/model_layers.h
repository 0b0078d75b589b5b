// SPDX-License-Identifier: Apache-2.0
// A model by its layers: the nodes between the inputs and the loss, grouped by the scopes of the variables.
//
// A layer is the scope of a variable ("hidden_1" of "hidden_1/kernel") with the nodes below it. Nodes without variables
// form layers by their scope ("loss") or name ("flatten"). The floating-point operations are those of one example's
// forward pass. In products, convolutions, recurrent cells and attention each multiplication with its addition counts
// two. In any other operation each element counts one. A training step has about three times as many. [any thread]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/graph/node_graph.h"

namespace belay::runtime {

// A node of a graph or of an event file. Inputs come before their users.
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
  Shape output;                        // of its last node; unknown dimension: the batch
  std::int64_t parameters = 0;         // elements of the variables that the loss depends on
  double flops = 0;                    // for one example
  std::vector<std::size_t> from = {};  // indices of earlier layers whose values it uses
};

// Returns the nodes of a graph, open or frozen, without those of bodies.
std::vector<ModelNode> model_nodes(const NodeGraph& graph);
// Returns the nodes of a serialized GraphDef; empty: it is none.
std::vector<ModelNode> model_nodes(const std::string& graph_def);

// Returns the nodes that `loss` depends on, as layers in the order of their first nodes.
std::vector<ModelLayer> model_layers(const std::vector<ModelNode>& nodes, std::size_t loss);
// Takes the role `loss` of the graph. Empty: the graph has none.
std::vector<ModelLayer> layers_of(const NodeGraph& graph);
// Makes each node a layer, for a drawing of all of them.
std::vector<ModelLayer> nodes_as_layers(const std::vector<ModelNode>& nodes);
// Returns the node that a training graph differentiates, else nodes.size().
std::size_t find_loss(const std::vector<ModelNode>& nodes);

std::int64_t parameters_of(const std::vector<ModelLayer>& layers);
double flops_of(const std::vector<ModelLayer>& layers);
// Returns "MatMul, BiasAdd, Relu"; if there are many, the first ones.
std::string ops_text(const ModelLayer& layer);

// Returns a drawing for Graphviz with a box for each layer.
std::string dot_of(const std::vector<ModelLayer>& layers, const std::string& title);
// Returns the same drawing as SVG. `own_file` adds the parts that a separate file needs.
std::string svg_of(const std::vector<ModelLayer>& layers, const std::string& title, bool own_file);

}  // namespace belay::runtime
