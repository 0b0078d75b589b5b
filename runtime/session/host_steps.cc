// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/host_steps.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/host_kernel.h"
#include "runtime/session/plan_cache.h"

namespace belay::runtime {
namespace {

// A host kernel's view of a run.
class RunHostContext final : public HostContext {
 public:
  RunHostContext(DirectSession& session, PlanState& state, const PlanHostStep& step, const CancelToken& cancel)
      : session_(session), state_(state), step_(step), cancel_(cancel) {}

  TensorView input(std::size_t i) override {
    const ValueId v = step_.inputs[i];
    const Plan& plan = *state_.plan->plan;
    const Dims& dims = *state_.values.dims[v];
    const DType dtype = plan.values[v].dtype;
    return TensorView(detail::raw_tensor(
        dtype, static_cast<std::int32_t>(dims.size()), dims.data(), state_.values.data[plan.values[v].root],
        static_cast<std::size_t>(count_of(dims)) * dtype_size(dtype), BELAY_TENSOR_READ_ONLY));
  }
  DenseTensor owned_input(std::size_t i) override {
    const ValueId root = state_.plan->plan->values[step_.inputs[i]].root;
    if (root == step_.inputs[i] && state_.host_values[root]) return state_.host_values[root];
    return DenseTensor(input(i));
  }
  void output(std::size_t i, DenseTensor value) override { state_.host_values[step_.outputs[i]] = std::move(value); }
  void output_view(std::size_t i, void* data, const Dims& dims) override {
    const ValueId v = step_.outputs[i];
    state_.values.data[v] = data;
    state_.values.dims[v] = &dims;
    views_ = true;
  }
  bool views() const noexcept { return views_; }
  const std::string& variable_name(std::size_t i) override {
    return variable_behind(session_.graph(), step_.node->inputs[i]).name;
  }
  bool variable_initialized(std::size_t i) override {
    return session_.variable(variable_behind(session_.graph(), step_.node->inputs[i])).initialized.load();
  }
  Queue& queue(std::size_t i) override { return session_.queue(step_.node->inputs[i].node); }
  LookupTable& table(std::size_t i) override { return session_.table(step_.node->inputs[i].node); }
  const CancelToken& cancel() override { return cancel_; }
  std::int64_t pass() const override { return state_.pass; }
  void took(const std::string* input, const Position& position) override {
    for (TakenPosition& t : state_.taken)
      if (t.input == input) {
        t.position = position;
        t.fresh = true;
        return;
      }
    state_.taken.push_back({input, session_.store().position_slot(*input), position, true});
  }

 private:
  DirectSession& session_;
  PlanState& state_;
  const PlanHostStep& step_;
  const CancelToken& cancel_;
  bool views_ = false;  // true: its outputs are not in host_values
};

// Makes the host kernels that the stage does not have yet.
void make_host_kernels(PlanState& state, std::uint32_t s, std::uint64_t seed) {
  const Plan& plan = *state.plan->plan;
  const std::vector<PlanHostStep>& steps = plan.stages[s].host_steps;
  std::vector<std::unique_ptr<HostKernel>>& kernels = state.stages[s].host_kernels;
  for (std::size_t i = kernels.size(); i < steps.size(); ++i) {
    const KernelSpec spec{
        .node = *steps[i].node, .inputs = {}, .outputs = {}, .threads = plan.key.threads, .seed = seed};
    kernels.push_back(steps[i].node->op->host_kernel(spec));
  }
}

[[noreturn]] void fail_output(const Node& node, std::size_t i, const DenseTensor& value) {
  const auto& [dtype, shape] = node.outputs[i];
  fail(Code::kInvalidArgument,
       fmt::format("[B5077] node '{}' ({}): output {} is {}, expected {} {}", node.name, node.op->name, i,
                   value ? dtype_name(value.dtype()) + (" " + dims_text(value.dims())) : "missing", dtype_name(dtype),
                   shape.text()));
}

// Turns the step's results into values of the run. Returns their bytes.
std::size_t take_outputs(PlanState& state, const PlanHostStep& step, bool views) {
  std::size_t bytes = 0;
  for (std::size_t o = 0; o < step.outputs.size(); ++o) {
    const ValueId v = step.outputs[o];
    if (!views) {
      const DenseTensor& value = state.host_values[v];
      const auto& [dtype, shape] = step.node->outputs[o];
      if (!value || value.dtype() != dtype || !shape.allows(value.dims())) fail_output(*step.node, o, value);
      state.values.data[v] = value.data();
      state.values.dims[v] = &value.dims();
    }
    const Dims& dims = *state.values.dims[v];
    state.key.push_back(static_cast<std::int64_t>(dims.size()));
    for (const std::int64_t dim : dims) state.key.push_back(dim);
    bytes += static_cast<std::size_t>(count_of(dims)) * dtype_size(step.node->outputs[o].first);
  }
  return bytes;
}

}  // namespace

void run_host_steps(DirectSession& session, PlanState& state, std::uint32_t s, const RunRequest& request,
                    const CancelToken& cancel, std::uint64_t seed) {
  const bool traced = request.trace_level > 0 && request.metadata != nullptr;
  const std::vector<PlanHostStep>& steps = state.plan->plan->stages[s].host_steps;
  make_host_kernels(state, s, seed);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PlanHostStep& step = steps[i];
    RunHostContext context(session, state, step, cancel);
    const std::int64_t start = traced ? session.clock().monotonic_ns() : 0;
    try {
      state.stages[s].host_kernels[i]->run(context);
    } catch (const Error& e) {
      fail(e.code(), "node '" + step.node->name + "' (" + step.node->op->name + "): " + e.what());
    }
    const std::size_t bytes = take_outputs(state, step, context.views());
    if (traced)
      request.metadata->nodes.push_back(
          {step.node->name, step.node->op->name, start, session.clock().monotonic_ns(), bytes, step.node->id});
  }
}

void drop_host_values(PlanState& state) noexcept {
  for (const PlanStage& stage : state.plan->plan->stages)
    for (const PlanHostStep& step : stage.host_steps)
      for (const ValueId v : step.outputs) state.host_values[v] = DenseTensor();
}

}  // namespace belay::runtime
