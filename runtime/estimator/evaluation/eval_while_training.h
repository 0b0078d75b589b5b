// SPDX-License-Identifier: Apache-2.0
// Evaluates during a training: between two steps, on the session's thread, each evaluation input in its turn.
//
//   EvalWhileTraining evals(environment, {.settings = ..., .keep_going = ...});
//   evals.add(std::make_unique<Evaluation>(...), graph);    // each input, while the training graph is open
//   hooks.add(... evals.hook() ...)                         // before all others
//   evals.at_start(*session->raw_session());                // after the session's creation, before the first step
//   ... each step: evals.at_boundary(*session->raw_session(), step, saved) ...
//   evals.at_end(*store, step);                             // after a good end; the session may be gone
//
// The results of an evaluation become roles of the training graph (eval_roles.h) and a line of the log. If the run
// keeps events, they also become events in the evaluation's file. An error in it is an error of the run, or with
// on_error = "continue" a warning. A stop ends it at the next batch, and its partial metrics are discarded.
//
// The last step is evaluated early if the run keeps its best checkpoints, or if a hook shows evaluations in its end.
// The session can still save then. This happens in the end of the roles' hook, before any other hook's. Only the ends
// of the other hooks see this evaluation in the roles. So a run that continues from there sees the same as one that
// never ended. [session thread]
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/estimator/evaluation/eval_roles.h"
#include "runtime/estimator/evaluation/eval_schedule.h"
#include "runtime/estimator/evaluation/evaluation.h"

namespace belay::runtime {

struct EvalWhileTrainingOptions {
  EvalSettings settings;
  bool whole_at_start = false;  // the step where the training begins is evaluated, whatever the settings are
  std::function<bool()> keep_going = [] { return true; };
  // Gets the value of best_metric ("eval/loss") of each evaluation, at the boundary after its step. Empty: the run
  // keeps no best checkpoints. The first non-finite value is a warning: such an evaluation is never the best.
  std::string best_metric = {};
  std::function<void(std::int64_t step, double value)> note_best = {};
  // Gets the step of the evaluation in the end of a session, before note_best does. Later checkpoints have it.
  std::function<void(std::int64_t step)> note_end = [](std::int64_t) {};
  // A hook shows in its end the result of the last step's evaluation.
  bool shown_in_end = false;
  // Called before that evaluation if note_best is empty, so a run that is killed during it loses no step.
  std::function<void()> save_before_end = [] {};
  // Whether the previous attempt did not reach the end of the training. An attempt that begins at the last step then
  // makes the missing evaluation.
  std::function<bool()> left_open = [] { return false; };
  // Called after each evaluation, also those of the run's end, with the evaluated variables. `best_value`: the value of
  // best_metric, if one of the inputs has it.
  std::function<void(VariableStore& trained, std::int64_t step, std::optional<double> best_value)> evaluated = {};
};

class EvalWhileTraining {
 public:
  struct Counts {
    std::int64_t made = 0;         // at_start's are none
    std::int64_t failed = 0;       // with on_error = "continue"
    std::int64_t interrupted = 0;  // by a stop
    std::int64_t skipped = 0;      // by throttle_secs or start_delay_secs
  };

  EvalWhileTraining(const RunEnvironment& environment, EvalWhileTrainingOptions options);
  ~EvalWhileTraining();
  EvalWhileTraining(const EvalWhileTraining&) = delete;
  EvalWhileTraining& operator=(const EvalWhileTraining&) = delete;

  void add(std::unique_ptr<RepeatedEvaluation> evaluation, NodeGraph& training);
  const EvalRoles& roles() const noexcept { return roles_; }
  // Saves and restores the roles, and evaluates the last step; the object must outlive it.
  PluginInstance::MakeHook hook();
  // Whether the settings ask for any evaluation between two steps.
  bool scheduled() const noexcept { return schedule_.active(); }
  bool active() const noexcept { return !inputs_.empty() && schedule_.active(); }

  // Makes the evaluation that the previous attempt missed, or that of whole_at_start. Otherwise, if settings.at_start,
  // it evaluates two batches of each input and drops the values. It does nothing unless active().
  void at_start(DirectSession& training);
  // Makes the evaluation that the previous attempt missed, if this attempt begins at the last step and makes no step.
  void at_last_step(DirectSession& training);
  // Returns whether it evaluated.
  bool at_boundary(DirectSession& training, std::int64_t step, bool saved) {
    if (!active() || !is_due(step, saved)) return false;
    evaluate_and_note(training, step);
    return true;
  }
  // Evaluates, unless the last evaluation was of this step and these variables. Throws the error of the evaluation in
  // the hook's end, if there was one.
  void at_end(VariableStore& trained, std::int64_t step);
  // Whether the last evaluation of each input was of the same values as an evaluation of the store now.
  bool has_seen(VariableStore& trained) const;

  // The names of the inputs, in their order.
  std::vector<std::string> names() const;
  // The result of the input's last evaluation; null: there is none.
  const EvalResult* last(const std::string& input) const;
  Counts counts() const;

 private:
  struct Input {
    std::unique_ptr<RepeatedEvaluation> evaluation;
    bool has_result = false;
    EvalResult result;
    bool has_events = false;
  };
  bool is_due(std::int64_t step, bool saved);
  void say_skipped(std::int64_t step);
  void before_end(DirectSession& training);
  void evaluate_and_note(DirectSession& training, std::int64_t step);
  void note_best(std::int64_t step) const;
  std::optional<double> best_value(std::int64_t step) const;
  void warn_of_best(std::int64_t step);
  // The session whose roles get the result, and for how long: for the hooks' ends, or for all later steps.
  struct Shown {
    DirectSession* session = nullptr;  // null: it has ended
    bool in_end = false;
  };
  void evaluate(VariableStore& trained, std::int64_t step, const Shown& shown);
  // The consequence of an error of `run` for the training.
  template <class F>
  void attempt(const Input& input, std::int64_t step, F&& run);
  void keep(Input& input, const EvalResult& result, const Shown& shown);
  void write_events(Input& input);

  const RunEnvironment& environment_;
  const EvalWhileTrainingOptions options_;
  EvalSchedule schedule_;
  EvalRoles roles_;
  std::vector<Input> inputs_;
  std::optional<std::int64_t> first_step_;  // of this attempt; none: it has made none
  std::optional<std::uint64_t> evaluated_;  // the variables' versions at the last evaluation
  std::optional<Error> failed_;             // the error of the evaluation in the hook's end
  bool warned_of_best_ = false;
  Counts counts_;
};

}  // namespace belay::runtime
