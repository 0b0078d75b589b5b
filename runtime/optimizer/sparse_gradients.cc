// SPDX-License-Identifier: Apache-2.0
#include "runtime/optimizer/sparse_gradients.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "belay/ops/control.h"
#include "belay/ops/math.h"
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

// The gradient of one batch, and how many batches a step has.
struct OfBatch {
  VariableGradient gradient;
  std::int64_t batches = 1;
};
OfBatch of_a_batch(const Graph& graph, const VariableGradient& v) {
  NodeGraph& nodes = from_handle(graph.raw());
  const Node& mean = nodes.node(nodes.resolve(v.gradient.raw()).node);
  if (mean.op->name != "MeanOverBatches") return {v};
  return {{v.variable, nodes.output(mean.inputs[0])}, mean.attrs.integer("batches")};
}

void tell_of_dense(const Graph& graph, const std::vector<VariableGradient>& gradients,
                   const PluginInstance& optimizer) {
  std::string text = "the gradient of '" + graph.node_name_of(gradients[0].variable) + "'";
  if (gradients.size() > 1) text += fmt::format(" (and of {} more)", gradients.size() - 1);
  optimizer.inform(text +
                   " is dense, since the optimizer takes no sparse gradients: each step reads and writes all "
                   "rows");
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

ops::IndexedSlices sum_padded_slices(const Output& variable, const ops::IndexedSlices& slices, std::string_view name) {
  const Output indices = variable.graph()
                             .node("SumIndexedSlices", name)
                             .in(variable)
                             .in(slices.rows)
                             .in(slices.indices)
                             .attr("padded", true)
                             .output();
  return {indices, indices.sibling(1)};
}

ops::IndexedSlices slices_of_step(const ops::IndexedSlices& of_batch, const std::optional<Output>& queue,
                                  std::int64_t batches, std::string_view name) {
  NodeBuilder node = of_batch.rows.graph().node("SlicesOfStep", name);
  node.in(of_batch.indices).in(of_batch.rows);
  if (queue) node.in(*queue);
  const Output indices = node.attr("batches", batches).output();
  return {indices, indices.sibling(1)};
}

Output dense_of(const Output& variable, const ops::IndexedSlices& slices, std::string_view name) {
  const Graph g = variable.graph();
  const std::string prefix(name);
  // The places without a row have zeros, so they change no row.
  const Output zero = ops::scalar(g, 0, DType::kInt64, prefix + "/zero");
  const Output indices = ops::maximum(slices.indices, zero, prefix + "/indices");
  return g.node("GatherGrad", name).in(slices.rows).in(indices).in(variable).attr("axis", 0).output();
}

void take_sparse_gradients(const Graph& graph, std::vector<VariableGradient>& gradients, PluginInstance& optimizer) {
  std::vector<VariableGradient*> sparse;
  for (VariableGradient& v : gradients)
    if (!v.slices && !slices_of(graph, of_a_batch(graph, v).gradient).empty()) sparse.push_back(&v);
  if (sparse.empty()) return;
  std::int32_t takes = 0;
  optimizer.call("takes_sparse", &belay_optimizer_api::takes_sparse, &takes);
  if (takes == 0) {
    std::vector<VariableGradient> dense;
    for (const VariableGradient* v : sparse) dense.push_back(*v);
    return tell_of_dense(graph, dense, optimizer);
  }
  NodeGraph& nodes = from_handle(graph.raw());
  const auto scope = graph.scope("sparse_gradients");
  for (VariableGradient* v : sparse) {
    const OfBatch batch = of_a_batch(graph, *v);
    const std::string name = graph.node_name_of(v->variable);
    ops::IndexedSlices slices = ops::sum_indexed_slices(v->variable, slices_of(graph, batch.gradient), name);
    show_rows(nodes, nodes.resolve(batch.gradient.gradient.raw()), slices.rows);
    if (batch.batches > 1) {
      const ops::IndexedSlices all = slices_of_step(slices, {}, batch.batches, name + "/of_step");
      slices = sum_padded_slices(v->variable, all, name + "/sum_of_step");
      slices.rows = slices.rows / ops::scalar(graph, static_cast<double>(batch.batches), slices.rows.dtype());
    }
    v->slices = slices;
  }
}

}  // namespace belay::runtime
