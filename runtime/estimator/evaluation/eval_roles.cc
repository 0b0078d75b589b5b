// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/eval_roles.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "belay/ops/variables.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {
namespace {

constexpr double kNotEvaluated = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::uint32_t add_role(NodeGraph& graph, const std::string& input, const std::string& metric, T initial) {
  const std::string role = input + "/" + metric;
  if (graph.roles().count(role) != 0)
    fail(Code::kInvalidArgument, "[B5039] the model has a role '" + role + "' already, which is the metric '" + metric +
                                     "' of [input." + input + "]; give the model's another name");
  const Output v = ops::variable(graph.handle(), metric, Tensor(initial), ops::VariableKind::kLocal);
  const Port port = graph.resolve(v.raw());
  graph.set_role(role, port);
  return port.node;
}

template <class T>
void put_value(DirectSession& session, std::uint32_t node, T value) {
  Variable& v = session.variable(session.graph().node(node));
  *v.value.data<T>() = value;
  v.initialized = true;
  ++v.version;
}

}  // namespace

// The state: each input's step and metrics, under their roles.
class EvalRoles::Keeper final : public Hook {
 public:
  Keeper(EvalRoles& roles, std::function<void(DirectSession&)> at_end) : roles_(roles), at_end_(std::move(at_end)) {}

  void save_state(StateWriter& state) const override {
    for (const Input& input : roles_.inputs_) {
      if (input.step < 0) continue;
      state.put(input.name + "/global_step", input.step);
      for (const Role& role : input.metrics) state.put(input.name + "/" + role.name, role.value);
    }
    if (roles_.ended_at_ >= 0) state.put(kEndedAt, roles_.ended_at_);
  }
  void load_state(const StateReader& state) override {
    roles_.ended_at_ = state.integer(kEndedAt, -1);
    for (Input& input : roles_.inputs_) {
      input.step = state.integer(input.name + "/global_step", -1);
      for (Role& role : input.metrics) role.value = state.number(input.name + "/" + role.name, kNotEvaluated);
    }
  }
  // If a recovery finds no checkpoint, the session begins before evaluations that were made.
  void after_create_session(Session& handle) override {
    DirectSession& session = from_handle(handle.raw());
    const std::int64_t step = session.global_step();
    for (Input& input : roles_.inputs_) {
      if (step >= 0 && input.step > step) roles_.forget(input);
      roles_.write(session, input);
    }
  }
  void end(Session& handle) override {
    if (at_end_) at_end_(from_handle(handle.raw()));
  }

 private:
  EvalRoles& roles_;
  const std::function<void(DirectSession&)> at_end_;
};

void EvalRoles::add(NodeGraph& graph, const std::string& input, const std::vector<std::string>& metrics) {
  const auto scope = graph.handle().scope(input);
  Input& added = inputs_.emplace_back();
  added.name = input;
  added.step_node = add_role<std::int64_t>(graph, input, "global_step", -1);
  for (const std::string& metric : metrics)
    added.metrics.push_back({metric, add_role<double>(graph, input, metric, kNotEvaluated), kNotEvaluated});
}

std::size_t EvalRoles::place_of(const std::string& input, const EvalResult& result) const {
  const auto it = std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& i) { return i.name == input; });
  if (it == inputs_.end() || it->metrics.size() != result.metrics.size())
    fail(Code::kInternal, "the roles of [input." + input + "] are not those of its evaluation");
  return static_cast<std::size_t>(it - inputs_.begin());
}

void EvalRoles::fill(Input& input, const EvalResult& result) {
  input.step = result.global_step;
  for (std::size_t i = 0; i < input.metrics.size(); ++i) input.metrics[i].value = result.metrics[i].second;
}

void EvalRoles::set(DirectSession& session, const std::string& input, const EvalResult& result) {
  Input& kept = inputs_[place_of(input, result)];
  fill(kept, result);
  write(session, kept);
}

void EvalRoles::show(DirectSession& session, const std::string& input, const EvalResult& result) const {
  Input shown = inputs_[place_of(input, result)];
  fill(shown, result);
  write(session, shown);
}

std::int64_t EvalRoles::last_step() const noexcept {
  std::int64_t last = -1;
  for (const Input& input : inputs_) last = std::max(last, input.step);
  return last;
}

PluginInstance::MakeHook EvalRoles::hook(std::function<void(DirectSession&)> at_end) {
  return [this, at_end = std::move(at_end)](const belay_host_api* api, belay_host* host) {
    return belay::hook(api, host, std::make_unique<Keeper>(*this, at_end));
  };
}

void EvalRoles::forget(Input& input) {
  input.step = -1;
  for (Role& role : input.metrics) role.value = kNotEvaluated;
}

// A run reads local variables, too, with the store's gate held.
void EvalRoles::write(DirectSession& session, const Input& input) const {
  const std::unique_lock gate(session.store().gate());
  put_value<std::int64_t>(session, input.step_node, input.step);
  for (const Role& role : input.metrics) put_value<double>(session, role.node, role.value);
}

}  // namespace belay::runtime
