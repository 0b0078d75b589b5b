// SPDX-License-Identifier: Apache-2.0
#include "runtime/optimizer/sparse_gradients.h"

#include <algorithm>
#include <string>

#include "runtime/graph/graph_service.h"

namespace belay::runtime {
namespace {

bool is_gradient_of_rows(const NodeGraph& graph, Port gradient, Port table) {
  const Node& node = graph.node(gradient.node);
  if (node.op->name != "GatherGrad" || node.inputs[2] != table) return false;
  const std::int64_t axis = node.attrs.integer("axis");
  return axis == 0 || axis == -graph.spec(table).second.rank();
}

void show_rows(NodeGraph& graph, Port dense, const Output& rows) {
  std::vector<Port> gradients = graph.collection(collections::kGradients);
  std::replace(gradients.begin(), gradients.end(), dense, graph.resolve(rows.raw()));
  graph.replace_collection(collections::kGradients, std::move(gradients));
}

// The batches of a step have different ids, so their mean is dense. Returns the gradient of one batch.
VariableGradient of_a_batch(const Graph& graph, const VariableGradient& v) {
  NodeGraph& nodes = from_handle(graph.raw());
  const Node& mean = nodes.node(nodes.resolve(v.gradient.raw()).node);
  if (mean.op->name != "MeanOverBatches") return v;
  return {v.variable, nodes.output(mean.inputs[0])};
}

}  // namespace

std::vector<ops::IndexedSlices> slices_of(const Graph& graph, const VariableGradient& v) {
  NodeGraph& nodes = from_handle(graph.raw());
  const Port gradient = nodes.resolve(v.gradient.raw()), table = nodes.resolve(v.variable.raw());
  const Node& node = nodes.node(gradient.node);
  const std::vector<Port> parts = node.op->name == "AddN" ? node.inputs : std::vector<Port>{gradient};
  std::vector<ops::IndexedSlices> slices;
  for (const Port& part : parts) {
    if (!is_gradient_of_rows(nodes, part, table)) return {};
    const Node& of_gather = nodes.node(part.node);
    slices.push_back({nodes.output(of_gather.inputs[1]), nodes.output(of_gather.inputs[0])});
  }
  return slices;
}

void take_sparse_gradients(const Graph& graph, std::vector<VariableGradient>& gradients, PluginInstance& optimizer) {
  std::vector<VariableGradient> of_batches;
  bool any = false;
  for (const VariableGradient& v : gradients) {
    of_batches.push_back(of_a_batch(graph, v));
    any = any || !slices_of(graph, v).empty();
  }
  if (!any) return tell_of_dense(graph, of_batches, optimizer, "it is a mean over the batches of a step");
  std::int32_t takes = 0;
  optimizer.call("takes_sparse", &belay_optimizer_api::takes_sparse, &takes);
  if (takes == 0) return tell_of_dense(graph, gradients, optimizer, "the optimizer takes no sparse gradients");
  NodeGraph& nodes = from_handle(graph.raw());
  for (VariableGradient& v : gradients) {
    const std::vector<ops::IndexedSlices> parts = slices_of(graph, v);
    if (parts.empty()) continue;
    const auto scope = graph.scope("sparse_gradients");
    v.slices = ops::sum_indexed_slices(v.variable, parts, graph.node_name_of(v.variable));
    show_rows(nodes, nodes.resolve(v.gradient.raw()), v.slices->rows);
  }
}

void tell_of_dense(const Graph& graph, const std::vector<VariableGradient>& gradients, const PluginInstance& optimizer,
                   const std::string& reason) {
  std::string first;
  std::size_t more = 0;
  for (const VariableGradient& v : gradients) {
    if (slices_of(graph, v).empty()) continue;
    if (first.empty()) {
      first = "the gradient of '" + graph.node_name_of(v.variable) + "'";
    } else {
      ++more;
    }
  }
  if (first.empty()) return;
  if (more > 0) first += " (and of " + std::to_string(more) + " more)";
  optimizer.inform(first + " is dense, since " + reason + ": each step reads and writes all rows");
}

}  // namespace belay::runtime
