// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/body_kernel.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "runtime/session/plan_state.h"

namespace belay::runtime {
namespace {

std::vector<Port> inputs_of(const GraphBody& body) {
  std::vector<Port> ports;
  for (const std::uint32_t id : body.arguments) ports.push_back({id, 0});
  for (const auto& [id, outer] : body.captures) ports.push_back({id, 0});
  return ports;
}

PlanKey key_of(const GraphBody& body, const KernelSpec& node) {
  PlanKey key;
  key.fetches = body.outputs;
  key.feeds = inputs_of(body);
  std::sort(key.feeds.begin(), key.feeds.end(), [](Port a, Port b) { return port_key(a) < port_key(b); });
  key.threads = node.threads;
  key.precision = node.precision;
  return key;
}

class BodyKernel final : public Kernel {
 public:
  BodyKernel(const NodeGraph& graph, const GraphBody& body, const std::vector<TensorSpec>& inputs,
             const KernelSpec& node)
      : plan_(make_plan(graph, key_of(body, node), {})) {
    if (plan_->stages.size() != 1)
      fail(Code::kInternal, fmt::format("body '{}' needs {} stages", body.name, plan_->stages.size()));
    values_ = RunValuesTable(plan_->values.size());
    slots_.resize(plan_->slots.size());
    mask_.resize(plan_->slots.size());
    const std::vector<Port> ports = inputs_of(body);
    for (const TensorSpec& s : inputs) input_dims_.push_back(s.dims);
    for (std::size_t i = 0; i < ports.size(); ++i) {
      inputs_.push_back(plan_->value_of(ports[i]));
      values_.dims[inputs_[i]] = &input_dims_[i];
    }
    for (ValueId v = 0; v < plan_->values.size(); ++v) {
      const PlanValue& value = plan_->values[v];
      if (value.root != v || value.source != ValueSource::kConstant) continue;
      values_.set_constant(v, plan_->constants[value.index]);
    }
    for (const Port& p : body.outputs) {
      outputs_.push_back(plan_->slot_of(p));
      mask_.set(outputs_.back());
    }
    program_ = std::make_unique<Program>(graph, *plan_, 0, values_, slots_, node.seed);
  }

  void run(void* const* in, void* const* out, const KernelContext& context) override {
    for (std::size_t i = 0; i < inputs_.size(); ++i) values_.data[inputs_[i]] = in[i];
    program_->bind(arena_.at_least(program_->arena_bytes()), values_);
    program_->run(mask_, context);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const DenseTensor& result = slots_[outputs_[i]].tensor;
      if (result.bytes() != 0) std::memcpy(out[i], result.data(), result.bytes());
    }
  }

 private:
  std::unique_ptr<Plan> plan_;
  RunValuesTable values_;
  std::vector<FetchBuffer> slots_;
  SlotMask mask_;
  std::vector<Dims> input_dims_;
  std::vector<ValueId> inputs_;
  std::vector<std::uint32_t> outputs_;  // slots
  std::unique_ptr<Program> program_;
  Arena arena_;
};

}  // namespace

std::unique_ptr<Kernel> GraphBodies::make(const GraphBody& body, const std::vector<TensorSpec>& inputs,
                                          const KernelSpec& node) const {
  return std::make_unique<BodyKernel>(graph_, body, inputs, node);
}

}  // namespace belay::runtime
