// SPDX-License-Identifier: Apache-2.0
// The metrics of evaluations as values of the training graph. Their roles are "eval/loss", "eval/accuracy", ... and
// "eval/global_step", the step of that evaluation. Hooks fetch them as they fetch a loss. Each run sees the values of
// the last evaluation, and NaN and step -1 before the first one.
//
//   EvalRoles roles;
//   roles.add(graph, "eval", evaluation.metric_names());   // while the graph is open
//   hooks.add(SessionHook(instances.add_hook(EvalRoles::kHookName, roles.hook(), services, monitor), log));   // first
//   roles.set(session, "eval", result);                    // at a step's boundary
//
// Their variables are local ones, so no checkpoint has them. So an evaluation can be added to a run that has
// checkpoints. A non-finite metric does not prevent a save. The state of the hook has the values for a resume, and the
// hook puts them into each new session. [session thread]
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/estimator/evaluation/evaluation.h"

namespace belay::runtime {

class EvalRoles {
 public:
  static constexpr const char* kHookName = "eval_roles";
  static constexpr const char* kEndedAt = "ended_at";  // the key of note_end

  EvalRoles() = default;
  EvalRoles(const EvalRoles&) = delete;
  EvalRoles& operator=(const EvalRoles&) = delete;

  // `metrics` as Evaluation::metric_names() has them. INVALID_ARGUMENT if the graph has a role of such a name.
  void add(NodeGraph& graph, const std::string& input, const std::vector<std::string>& metrics);
  // Sets all values of the input at once. Allocates nothing and builds no plan.
  void set(DirectSession& session, const std::string& input, const EvalResult& result);
  // Sets them for the ends of hooks only: the saved state keeps the previous evaluation.
  void show(DirectSession& session, const std::string& input, const EvalResult& result) const;
  // The step of the last evaluation of any input; -1: there was none.
  std::int64_t last_step() const noexcept;
  // The state also has this: the last step was evaluated in the end of a session. No role has it.
  void note_end(std::int64_t step) noexcept { ended_at_ = step; }
  std::int64_t ended_at() const noexcept { return ended_at_; }  // -1: none was
  // Makes the hook that saves and restores them; the roles must outlive it. `at_end` is called in its end.
  PluginInstance::MakeHook hook(std::function<void(DirectSession&)> at_end = {});

 private:
  class Keeper;
  struct Role {
    std::string name;
    std::uint32_t node = 0;
    double value = 0;
  };
  struct Input {
    std::string name;
    std::vector<Role> metrics;
    std::uint32_t step_node = 0;
    std::int64_t step = -1;
  };
  std::size_t place_of(const std::string& input, const EvalResult& result) const;
  static void fill(Input& input, const EvalResult& result);
  void forget(Input& input);
  void write(DirectSession& session, const Input& input) const;

  std::vector<Input> inputs_;
  std::int64_t ended_at_ = -1;
};

}  // namespace belay::runtime
