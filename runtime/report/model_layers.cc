// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/model_layers.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "runtime/events/proto/event.pb.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string scope_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == name.npos ? name : name.substr(0, slash);
}

// Returns the product of a shape's known dimensions.
double known_elements(const Shape& shape) {
  double product = 1;
  for (const std::int64_t d : shape.dims())
    if (d >= 0) product *= static_cast<double>(d);
  return product;
}

bool has_unknown(const Shape& shape) {
  return !shape.has_rank() || std::any_of(shape.dims().begin(), shape.dims().end(), [](auto d) { return d < 0; });
}

// The unknown dimension is the batch, or a multiple of it in [batch * places, units]. This computes how often one
// example has the known elements.
class ElementsOfOneExample {
 public:
  explicit ElementsOfOneExample(const std::vector<ModelNode>& nodes) : nodes_(nodes), multiples_(nodes.size(), 1) {
    for (std::size_t i = 0; i < nodes.size(); ++i) multiples_[i] = multiple_of(nodes[i]);
  }
  double of(std::size_t node, std::size_t output) const {
    const std::vector<Shape>& outputs = nodes_[node].outputs;
    return output < outputs.size() ? multiples_[node] * known_elements(outputs[output]) : 0;
  }

 private:
  double multiple_of(const ModelNode& node) const {
    if (node.outputs.empty() || !has_unknown(node.outputs[0])) return 1;
    if (node.op.starts_with("Reshape") && !node.inputs.empty())
      return of(node.inputs[0].node, node.inputs[0].output) / std::max(known_elements(node.outputs[0]), 1.0);
    double most = 1;
    for (const ModelNode::Input& in : node.inputs) {
      const std::vector<Shape>& outputs = nodes_[in.node].outputs;
      if (in.output < outputs.size() && has_unknown(outputs[in.output])) most = std::max(most, multiples_[in.node]);
    }
    return most;
  }

  const std::vector<ModelNode>& nodes_;
  std::vector<double> multiples_;  // for each node's first output
};

class Flops {
 public:
  explicit Flops(const std::vector<ModelNode>& nodes) : nodes_(nodes), elements_(nodes) {}

  double of(std::size_t node) const {
    const ModelNode& n = nodes_[node];
    if (n.variable || n.outputs.empty() || computes_nothing(n.op)) return 0;
    if (n.op == "MatMul" || n.op == "BatchMatMul")
      return 2 * elements_of_input(n, 0) * std::max(last_dim(n.outputs[0]), 1.0);
    if (n.op == "Conv2D") return elements_.of(node, 0) * flops_of_window(n);
    if (n.op == "Conv2DBackpropInput") return elements_of_input(n, 2) * flops_of_window(n);
    if (n.op == "Attention")
      return 4 * elements_.of(node, 0) * places(n.inputs.size() < 3 ? n.outputs[0] : shape(n, 1));
    if (n.op == "Lstm" || n.op == "Gru") return 2 * places(shape(n, 0)) * weights(n);
    return elements_.of(node, 0);
  }
  const ElementsOfOneExample& elements() const { return elements_; }

 private:
  static bool computes_nothing(const std::string& op) {
    constexpr std::string_view kMoves[] = {"Concat",       "Const",        "ExpandDims", "Fill",        "Gather",
                                           "Identity",     "OneHot",       "Pad",        "Placeholder", "Reshape",
                                           "ReshapeLike",  "Shape",        "Size",       "Slice",       "Squeeze",
                                           "StopGradient", "StridedSlice", "Tile",       "Transpose"};
    return op.find("Queue") != op.npos || std::find(std::begin(kMoves), std::end(kMoves), op) != std::end(kMoves);
  }
  static double last_dim(const Shape& shape) {
    return shape.rank() >= 1 ? static_cast<double>(shape.dims().back()) : 1;
  }
  // Returns a sequence's length in [batch, places, units].
  static double places(const Shape& shape) {
    return shape.rank() == 3 && shape.dim(1) > 0 ? static_cast<double>(shape.dim(1)) : 1;
  }

  const Shape& shape(const ModelNode& n, std::size_t input) const {
    static const Shape none;
    if (input >= n.inputs.size()) return none;
    const auto [node, output] = n.inputs[input];
    return output < nodes_[node].outputs.size() ? nodes_[node].outputs[output] : none;
  }
  double elements_of_input(const ModelNode& n, std::size_t input) const {
    return input < n.inputs.size() ? elements_.of(n.inputs[input].node, n.inputs[input].output) : 0;
  }
  // A filter [height, width, in, out] makes one element of the output.
  double flops_of_window(const ModelNode& n) const {
    const Shape& filter = shape(n, 1);
    return 2 * known_elements(filter) / std::max(last_dim(filter), 1.0);
  }
  double weights(const ModelNode& n) const {
    double sum = 0;
    for (std::size_t k = 1; k < n.inputs.size(); ++k)
      if (nodes_[n.inputs[k].node].variable && shape(n, k).rank() == 2) sum += known_elements(shape(n, k));
    return sum;
  }

  const std::vector<ModelNode>& nodes_;
  const ElementsOfOneExample elements_;
};

// Marks the nodes that `loss` depends on.
std::vector<bool> ancestors_of(const std::vector<ModelNode>& nodes, std::size_t loss) {
  std::vector<bool> wanted(nodes.size(), false);
  wanted[loss] = true;
  for (std::size_t i = loss + 1; i-- > 0;)
    if (wanted[i])
      for (const ModelNode::Input& in : nodes[i].inputs) wanted[in.node] = true;
  return wanted;
}

// Puts nodes into layers, in their order.
class LayersOfModel {
 public:
  LayersOfModel(const std::vector<ModelNode>& nodes, std::vector<bool> wanted)
      : nodes_(nodes),
        wanted_(std::move(wanted)),
        flops_(nodes),
        layer_of_(nodes.size(), 0),
        used_elsewhere_(nodes.size()) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (wanted_[i] && nodes[i].variable) scopes_.insert(scope_of(nodes[i].name));
  }

  std::vector<ModelLayer> build() {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (wanted_[i]) add(i);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (wanted_[i] && !nodes_[i].variable && !nodes_[i].outputs.empty()) offer_output(i);
    return std::move(layers_);
  }

 private:
  // A node in a scope around a layer belongs to the layer whose values it uses. "layer_1/Gelu" after
  // "layer_1/feed_forward" is one.
  std::string name_of_layer(const ModelNode& node) const {
    for (std::string_view around = node.name; !around.empty();) {
      if (scopes_.contains(around)) return std::string(around);
      const std::size_t slash = around.rfind('/');
      around = around.substr(0, slash == around.npos ? 0 : slash);
    }
    std::string scope = scope_of(node.name);
    if (scope == node.name) return scope;
    std::string best;
    std::size_t latest = 0;
    for (const ModelNode::Input& in : node.inputs) {
      const std::size_t at = layer_of_[in.node];
      if (at >= latest && (layers_[at].name + "/").starts_with(scope + "/")) best = layers_[latest = at].name;
    }
    return best.empty() ? scope : best;
  }

  void add(std::size_t i) {
    const ModelNode& n = nodes_[i];
    const auto [found, is_new] = by_name_.try_emplace(name_of_layer(n), layers_.size());
    const std::size_t at = layer_of_[i] = found->second;
    if (is_new) layers_.push_back({found->first, {}, {}, 0, 0, {}});
    ModelLayer& layer = layers_[at];
    layer.flops += flops_.of(i);
    for (const ModelNode::Input& in : n.inputs) {
      const std::size_t from = layer_of_[in.node];
      if (from == at) continue;
      used_elsewhere_[in.node] = true;
      if (std::find(layer.from.begin(), layer.from.end(), from) == layer.from.end()) layer.from.push_back(from);
    }
    if (n.variable && !n.outputs.empty() && layer.ops.empty()) layer.output = n.outputs[0];
    if (n.variable && !n.outputs.empty()) layer.parameters += std::max<std::int64_t>(n.outputs[0].elements(), 0);
    if (!n.variable && std::find(layer.ops.begin(), layer.ops.end(), n.op) == layer.ops.end())
      layer.ops.push_back(n.op);
  }

  // Takes the largest output that other layers use, else the last one.
  void offer_output(std::size_t i) {
    double& best = sizes_[layer_of_[i]];
    const double size = used_elsewhere_[i] ? flops_.elements().of(i, 0) : 0;
    if (size < best) return;
    best = size;
    layers_[layer_of_[i]].output = nodes_[i].outputs[0];
  }

  const std::vector<ModelNode>& nodes_;
  const std::vector<bool> wanted_;
  const Flops flops_;
  std::set<std::string, std::less<>> scopes_;  // the variables'
  std::vector<ModelLayer> layers_;
  std::map<std::string, std::size_t> by_name_;
  std::vector<std::size_t> layer_of_;
  std::vector<bool> used_elsewhere_;
  std::map<std::size_t, double> sizes_;  // of the layers' outputs
};

std::pair<std::string, std::size_t> input_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::size_t index = 0;
  if (colon == text.npos) return {text, 0};
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), index);
  return {text.substr(0, colon), index};
}

Shape shape_from(const pb::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return Shape::unknown();
  Dims dims;
  for (const auto& d : proto.dim()) dims.push_back(d.size());
  return Shape(std::move(dims));
}

}  // namespace

std::vector<ModelNode> model_nodes(const NodeGraph& graph) {
  std::vector<ModelNode> nodes;
  std::vector<std::size_t> at(graph.size(), SIZE_MAX);
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Node& n = graph.node(id);
    if (n.body != 0) continue;
    at[id] = nodes.size();
    ModelNode node{n.name, n.op->name, {}, {}, n.op->effect == Effect::kVariable};
    for (const Port& in : n.inputs)
      if (at[in.node] != SIZE_MAX) node.inputs.push_back({at[in.node], in.index});
    for (const auto& [dtype, shape] : n.outputs) node.outputs.push_back(shape);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<ModelNode> model_nodes(const std::string& graph_def) {
  std::vector<ModelNode> nodes;
  pb::GraphDef def;
  if (!def.ParseFromString(graph_def)) return nodes;
  std::unordered_map<std::string, std::size_t> by_name;
  for (const pb::NodeDef& n : def.node()) {
    ModelNode node{n.name(), n.op(), {}, {}, n.op() == "Variable" || n.op() == "VariableV2"};
    for (const std::string& text : n.input()) {
      const auto [name, output] = input_of(text);
      if (const auto found = by_name.find(name); found != by_name.end()) node.inputs.push_back({found->second, output});
    }
    if (const auto shapes = n.attr().find("_output_shapes"); shapes != n.attr().end())
      for (const auto& shape : shapes->second.list().shape()) node.outputs.push_back(shape_from(shape));
    by_name[node.name] = nodes.size();
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::size_t find_loss(const std::vector<ModelNode>& nodes) {
  // The gradients begin with ones in the shape of the differentiated output.
  for (const ModelNode& n : nodes)
    if (n.name.starts_with("gradients/grad_ys") && n.inputs.size() == 1) return n.inputs[0].node;
  return nodes.size();
}

std::vector<ModelLayer> model_layers(const std::vector<ModelNode>& nodes, std::size_t loss) {
  return loss < nodes.size() ? LayersOfModel(nodes, ancestors_of(nodes, loss)).build() : std::vector<ModelLayer>();
}

std::vector<ModelLayer> layers_of(const NodeGraph& graph) {
  const auto loss = graph.roles().find("loss");
  if (loss == graph.roles().end()) return {};
  const std::vector<ModelNode> nodes = model_nodes(graph);
  const std::string& name = graph.node(loss->second.node).name;
  const auto at = std::find_if(nodes.begin(), nodes.end(), [&](const ModelNode& n) { return n.name == name; });
  return model_layers(nodes, static_cast<std::size_t>(at - nodes.begin()));
}

std::vector<ModelLayer> nodes_as_layers(const std::vector<ModelNode>& nodes) {
  std::vector<ModelLayer> layers;
  const Flops flops(nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ModelNode& n = nodes[i];
    ModelLayer layer{n.name, {n.op}, n.outputs.empty() ? Shape() : n.outputs[0], 0, flops.of(i), {}};
    if (n.variable) layer.parameters = std::max<std::int64_t>(layer.output.elements(), 0);
    for (const ModelNode::Input& in : n.inputs)
      if (std::find(layer.from.begin(), layer.from.end(), in.node) == layer.from.end()) layer.from.push_back(in.node);
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::int64_t parameters_of(const std::vector<ModelLayer>& layers) {
  std::int64_t sum = 0;
  for (const ModelLayer& l : layers) sum += l.parameters;
  return sum;
}

double flops_of(const std::vector<ModelLayer>& layers) {
  double sum = 0;
  for (const ModelLayer& l : layers) sum += l.flops;
  return sum;
}

std::string ops_text(const ModelLayer& layer) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> shown(layer.ops.begin(),
                                 layer.ops.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, layer.ops.size())));
  if (layer.ops.size() > kMost) shown.push_back(fmt::format("{} more", layer.ops.size() - kMost));
  return joined(shown);
}

}  // namespace belay::runtime
