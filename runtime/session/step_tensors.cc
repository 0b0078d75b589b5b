// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/step_tensors.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace belay::runtime {
namespace {

class TensorLister {
 public:
  TensorLister(const NodeGraph& graph, const Plan& plan) : graph_(graph), plan_(plan) {}

  std::vector<StepTensor> list() {
    for (ValueId v = 0; v < plan_.values.size(); ++v)
      if (is_root(v, ValueSource::kConstant)) add(plan_.values[v].port, TensorOrigin::kConstant);
    for (const PlanStage& stage : plan_.stages)
      for (const auto& [variable, when] : stage.reads)
        add({plan_.variables[variable].node->id, 0}, TensorOrigin::kVariable);
    for (const PlanStage& stage : plan_.stages) {
      for (const PlanStep& step : stage.steps) add(step);
      for (const PlanHostStep& step : stage.host_steps) add(step);
    }
    return std::move(tensors_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  bool is_root(ValueId v, ValueSource source) const {
    return plan_.values[v].source == source && plan_.values[v].root == v;
  }

  // Returns kNone if it cannot be fetched, or is in the list already.
  std::size_t add(Port port, TensorOrigin origin) {
    const Node& node = graph_.node(port.node);
    if (node.body != 0 || port.index >= node.outputs.size() || node.outputs[port.index].first == DType::kString)
      return kNone;
    if (!places_.emplace(port_key(port), tensors_.size()).second) return kNone;
    tensors_.push_back({port, graph_.port_name(port), "", node.op->name, origin, {}});
    return tensors_.size() - 1;
  }

  void add(const PlanHostStep& step) {
    for (std::uint32_t i = 0; i < step.outputs.size(); ++i) {
      const Port port{step.node->id, i};
      if (const std::size_t at = add(port, TensorOrigin::kHost); at != kNone) tensors_[at].alias = alias_of(port);
    }
  }

  // A batch's component is better known by its name in the input. An Identity after the queue has this name.
  std::string alias_of(Port port) const {
    for (std::uint32_t id = port.node + 1; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.op->role == Role::kIdentity && node.inputs[0] == port) return node.name;
    }
    return "";
  }

  void add(const PlanStep& step) {
    if (step.slot != kNoValue) return;  // a copy for a fetch
    const std::vector<const Node*> nodes = step.members.empty() ? std::vector<const Node*>{step.node} : step.members;
    if (step.writes) {
      for (const Node* node : nodes) add_written(*node);
      return;
    }
    for (const Node* node : nodes)
      for (std::uint32_t i = 0; i < node->outputs.size(); ++i)
        if (!is_output(step, {node->id, i})) add_beside({node->id, i});
    const TensorOrigin origin = step.condition.always ? TensorOrigin::kComputed : TensorOrigin::kBeside;
    for (const ValueId out : step.outputs) {
      const std::size_t at = add(plan_.values[out].port, origin);
      if (at == kNone) continue;
      tensors_[at].ops = ops_of(nodes);
      for (const ValueId in : step.inputs) add_input(at, in);
    }
  }

  bool is_output(const PlanStep& step, Port port) const {
    return std::any_of(step.outputs.begin(), step.outputs.end(),
                       [&](ValueId v) { return plan_.values[v].port == port; });
  }

  void add_beside(Port port) {
    const std::size_t at = add(port, TensorOrigin::kBeside);
    if (at == kNone) return;
    for (const Port& in : graph_.node(port.node).inputs)
      if (const ValueId v = plan_.value_of(in); v != kNoValue) add_input(at, v);
  }

  void add_written(const Node& node) {
    for (std::uint32_t i = 0; i < node.outputs.size(); ++i) {
      const std::size_t at = add({node.id, i}, TensorOrigin::kWritten);
      if (at == kNone) continue;
      for (const Port& in : node.inputs)
        if (const ValueId v = plan_.value_of(in); v != kNoValue) add_input(at, v);
    }
  }

  void add_input(std::size_t at, ValueId v) {
    auto found = places_.find(port_key(plan_.values[v].port));
    if (found == places_.end()) found = places_.find(port_key(plan_.values[plan_.values[v].root].port));
    if (found != places_.end()) tensors_[at].inputs.push_back(found->second);
  }

  static std::string ops_of(const std::vector<const Node*>& nodes) {
    std::string ops;
    for (const Node* node : nodes) ops += (ops.empty() ? "" : " + ") + node->op->name;
    return ops;
  }

  const NodeGraph& graph_;
  const Plan& plan_;
  std::vector<StepTensor> tensors_;
  std::unordered_map<std::uint64_t, std::size_t> places_;  // by port
};

}  // namespace

const char* origin_text(TensorOrigin origin) noexcept {
  switch (origin) {
    case TensorOrigin::kConstant: return "constant";
    case TensorOrigin::kVariable: return "variable";
    case TensorOrigin::kHost: return "batch";
    case TensorOrigin::kComputed: return "computed";
    case TensorOrigin::kBeside: return "beside";
    case TensorOrigin::kWritten: return "written";
  }
  return "";
}

std::vector<StepTensor> tensors_of(const NodeGraph& graph, const Plan& plan) {
  return TensorLister(graph, plan).list();
}

}  // namespace belay::runtime
