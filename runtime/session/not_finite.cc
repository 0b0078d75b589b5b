// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cmath>
#include <optional>
#include <shared_mutex>

#include "runtime/platform/text/text.h"
#include "runtime/session/plan_cache.h"

namespace belay::runtime {
namespace {

// Returns "element 3 of [16, 4], is nan". Empty: all are finite, or the dtype has only finite numbers.
std::string bad_element(const TensorView& tensor) {
  const DType dtype = tensor.dtype();
  const bool is_float =
      dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kBFloat16 || dtype == DType::kFloat16;
  for (std::size_t i = 0; is_float && i < tensor.size(); ++i) {
    const double value = tensor.number(i);
    if (std::isfinite(value)) continue;
    return fmt::format("element {} of {}, is {}", i, dims_text(tensor.dims()),
                       std::isnan(value) ? "nan"
                       : value > 0       ? "inf"
                                         : "-inf");
  }
  return "";
}

// A batch's component is better known by its name in the input. An Identity after the queue has this name.
std::string known_name(const NodeGraph& graph, Port port) {
  for (std::uint32_t id = port.node + 1; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op->role == Role::kIdentity && node.inputs[0] == port) return node.name;
  }
  return graph.port_name(port);
}

}  // namespace

bool Run::finite() const noexcept { return state_->finite; }

std::string DirectSession::first_not_finite(const Run& run) {
  const PlanState& state = *run.state_;
  const Plan& plan = *state.plan->plan;
  for (const PlanStage& stage : plan.stages)
    for (const PlanHostStep& step : stage.host_steps)
      for (std::uint32_t o = 0; o < step.outputs.size(); ++o) {
        const DenseTensor& value = state.host_values[step.outputs[o]];
        const std::string bad = value ? bad_element(TensorView(value.view())) : "";
        if (!bad.empty()) return "'" + known_name(graph_, {step.node->id, o}) + "', " + bad;
      }
  const std::shared_lock gate(store_->gate());
  for (const Port& p : graph_.collection(collections::kTrainableVariables)) {
    const Variable& v = variable(graph_.node(p.node));
    const std::string bad = bad_element(TensorView(v.value.view()));
    if (!bad.empty()) return "the variable '" + v.name + "', " + bad;
  }
  return "";
}

}  // namespace belay::runtime
