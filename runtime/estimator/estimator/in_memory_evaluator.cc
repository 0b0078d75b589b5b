// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/estimator/in_memory_evaluator.h"

#include <fmt/core.h>

#include <set>

#include "runtime/estimator/estimator/estimator_evaluation.h"

namespace belay {

InMemoryEvaluator in_memory_evaluator(InputFn input, InMemoryEvaluatorOptions options) {
  if (!input) fail(Code::kInvalidArgument, "[B5052] in_memory_evaluator was given no input function");
  if (options.every_n_iter <= 0)
    fail(Code::kInvalidArgument,
         fmt::format("[B5052] in_memory_evaluator's every_n_iter must be above 0, got {}", options.every_n_iter));
  runtime::check_hooks("in_memory_evaluator's hooks", options.hooks);
  runtime::stop_after(options.steps, false);  // refuses a number that is not above 0
  return {std::move(input), std::move(options)};
}

}  // namespace belay

namespace belay::runtime {

void check_evaluators(const std::vector<InMemoryEvaluator>& evaluators) {
  std::set<std::string> names;
  for (const InMemoryEvaluator& evaluator : evaluators)
    if (!names.insert(evaluator.options.name).second)
      fail(Code::kInvalidArgument, "[B5052] two in-memory evaluators are named \"" + evaluator.options.name +
                                       "\"; each needs a name, since its events have a folder");
}

// ---- those of one training ----

InMemoryEvaluations::InMemoryEvaluations(EstimatorModel& training, const std::vector<InMemoryEvaluator>& evaluators) {
  for (const auto& [input, options] : evaluators) {
    EvalWhileTrainingOptions when;
    when.settings.every_steps = options.every_n_iter;
    when.whole_at_start = true;
    const std::string name = eval_folder(options.name);
    EstimatorEvaluation::Options what{.name = name, .events_folder = name, .hooks = options.hooks};
    what.hooks.push_back(stop_after(options.steps, false));
    EstimatorRun& run = training.run();
    all_.push_back(std::make_unique<EvalWhileTraining>(run.host().environment(), std::move(when)));
    all_.back()->add(std::make_unique<EstimatorEvaluation>(run, input, std::move(what)), training.graph());
  }
}

InMemoryEvaluations::~InMemoryEvaluations() = default;

std::vector<OwnHook> InMemoryEvaluations::role_hooks() {
  std::vector<OwnHook> hooks;
  for (const auto& evals : all_)
    hooks.push_back({std::string(EvalRoles::kHookName) + "_" + evals->names().front(), evals->hook(), {}});
  return hooks;
}

void InMemoryEvaluations::at_start(MonitoredSession& training) {
  for (const auto& evals : all_) evals->at_start(*training.raw_session());
}

void InMemoryEvaluations::at_boundary(MonitoredSession& training) {
  if (all_.empty()) return;
  const std::shared_ptr<DirectSession> session = training.raw_session();
  const std::int64_t step = session->global_step();
  for (const auto& evals : all_) evals->at_boundary(*session, step, false);
}

void InMemoryEvaluations::at_end(VariableStore& trained, std::int64_t step) {
  for (const auto& evals : all_) evals->at_end(trained, step);
}

}  // namespace belay::runtime
