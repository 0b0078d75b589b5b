// SPDX-License-Identifier: Apache-2.0
// TensorFlow's InMemoryEvaluatorHook: an evaluation inside Estimator::train, with the variables of that moment and
// without a checkpoint. It evaluates before the first step, after each step that is a multiple of every_n_iter, and at
// the end.
//
//   estimator.train(training_input, {.max_steps = 1000,
//                                    .evaluators = {in_memory_evaluator(test_input, {.every_n_iter = 200})}});
//
// It has a separate graph, session and hooks. It changes nothing of the training, which waits meanwhile. Its metrics
// are those of Estimator::evaluate for a checkpoint of that step. They are in the log, and in event files in
// model_dir/eval (or eval_NAME). Roles of the training's graph have them too (eval_roles.h): hooks fetch them as
// "eval/loss" or "eval_NAME/accuracy".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/estimator/estimator/estimator_model.h"
#include "runtime/estimator/evaluation/eval_while_training.h"

namespace belay::runtime {

// INVALID_ARGUMENT if two have one name.
void check_evaluators(const std::vector<InMemoryEvaluator>& evaluators);

// The evaluations of one training.
class InMemoryEvaluations {
 public:
  // Builds their graphs, and adds the roles to the training's open graph.
  InMemoryEvaluations(EstimatorModel& training, const std::vector<InMemoryEvaluator>& evaluators);
  ~InMemoryEvaluations();
  InMemoryEvaluations(const InMemoryEvaluations&) = delete;
  InMemoryEvaluations& operator=(const InMemoryEvaluations&) = delete;

  // Hooks of the training's session that keep the roles over a resume. They come before all others.
  std::vector<OwnHook> role_hooks();
  void at_start(MonitoredSession& training);
  // Call it after each run.
  void at_boundary(MonitoredSession& training);
  void at_end(VariableStore& trained, std::int64_t step);

 private:
  std::vector<std::unique_ptr<EvalWhileTraining>> all_;
};

}  // namespace belay::runtime
