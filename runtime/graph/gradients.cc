// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/gradients.h"

#include <fmt/core.h>

namespace belay::runtime {
namespace {

bool differentiable(DType t) {
  return t == DType::kFloat32 || t == DType::kFloat64 || t == DType::kBFloat16 || t == DType::kFloat16;
}

// Marks nodes that a path of differentiable edges reaches from one of xs. Those need a gradient.
std::vector<bool> reached_from(const NodeGraph& graph, const std::vector<Port>& xs, std::uint32_t last) {
  std::vector<bool> reached(graph.size(), false);
  for (const Port& x : xs) reached[x.node] = true;
  for (std::uint32_t id = 0; id <= last; ++id) {
    if (reached[id]) continue;
    const Node& n = graph.node(id);
    if (n.op->stops_gradient) continue;
    for (const Port& in : n.inputs)
      if (reached[in.node] && differentiable(graph.spec(in).first)) reached[id] = true;
  }
  return reached;
}

class Accumulator {
 public:
  Accumulator(NodeGraph& graph, std::uint32_t last) : graph_(graph), arrived_(last + 1) {}

  void add(Port at, const Output& grad) {
    auto& outputs = arrived_[at.node];
    outputs.resize(graph_.node(at.node).outputs.size());
    outputs[at.index].push_back(grad);
  }
  bool any(std::uint32_t node) const { return !arrived_[node].empty(); }
  // Returns the sum of the gradients that arrived; empty: none did.
  Output sum(Port at) {
    if (arrived_[at.node].empty()) return Output();
    std::vector<Output>& grads = arrived_[at.node][at.index];
    if (grads.size() > 1) {
      NodeBuilder sum = graph_.handle().node("AddN");
      grads = {sum.in(grads).output()};
    }
    return grads.empty() ? Output() : grads[0];
  }

 private:
  NodeGraph& graph_;
  std::vector<std::vector<std::vector<Output>>> arrived_;  // [node][output]
};

void differentiate_node(NodeGraph& graph, std::uint32_t id, const std::vector<bool>& reached, Accumulator& arrived) {
  const Node& n = graph.node(id);
  std::vector<bool> wanted;
  bool any = false;
  for (const Port& in : n.inputs) {
    wanted.push_back(reached[in.node] && differentiable(graph.spec(in).first));
    any = any || wanted.back();
  }
  if (!any || n.op->stops_gradient) return;
  if (n.op->gradient == nullptr)
    fail(Code::kInvalidArgument, "no gradient is defined for operation '" + n.op->name + "' (node '" + n.name + "')");
  std::vector<Output> inputs, outputs, grads;
  for (const Port& in : n.inputs) inputs.push_back(graph.output(in));
  for (std::uint32_t i = 0; i < n.outputs.size(); ++i) {
    outputs.push_back(graph.output({id, i}));
    grads.push_back(arrived.sum({id, i}));
  }
  const auto scope = graph.handle().scope(n.name.substr(n.name.rfind('/') + 1) + "_grad");
  GradContext context(graph.handle(), n, std::move(inputs), std::move(outputs), std::move(grads), wanted);
  n.op->gradient(context);
  for (std::size_t i = 0; i < n.inputs.size(); ++i)
    if (wanted[i] && context.result()[i]) arrived.add(n.inputs[i], context.result()[i]);
}

}  // namespace

std::vector<Output> add_gradients(NodeGraph& graph, const std::vector<Port>& ys, const std::vector<Output>& grad_ys,
                                  const std::vector<Port>& xs) {
  if (!grad_ys.empty() && grad_ys.size() != ys.size())
    fail(Code::kInvalidArgument,
         fmt::format("gradients: {} ys and {} grad_ys; give one for each, or none", ys.size(), grad_ys.size()));
  const belay::Graph g = graph.handle();
  const auto scope = g.scope("gradients");
  std::uint32_t last = 0;
  for (const Port& y : ys) {
    if (y.index == BELAY_OPERATION || !differentiable(graph.spec(y).first))
      fail(Code::kInvalidArgument,
           "'" + graph.port_name(y) + "' cannot be differentiated: it is no floating-point tensor");
    last = std::max(last, y.node);
  }
  for (const Port& x : xs) last = std::max(last, x.node);
  const std::vector<bool> reached = reached_from(graph, xs, last);
  Accumulator arrived(graph, last);
  for (std::size_t i = 0; i < ys.size(); ++i)
    arrived.add(ys[i], grad_ys.empty() ? g.node("OnesLike", "grad_ys").in(graph.output(ys[i])).output() : grad_ys[i]);
  for (std::uint32_t id = last + 1; id-- > 0;)
    if (arrived.any(id) && reached[id]) differentiate_node(graph, id, reached, arrived);
  std::vector<Output> out;
  out.reserve(xs.size());
  for (const Port& x : xs) out.push_back(arrived.sum(x));
  return out;
}

}  // namespace belay::runtime
