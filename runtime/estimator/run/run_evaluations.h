// SPDX-License-Identifier: Apache-2.0
// The evaluations of a run, one for each evaluation input.
//
//   evaluate_while_training(run);          // mode train, before the run's hooks are made
//   build_evaluations(run, problems);      // after the training's model is built
//   check_best_metric(manifest, run.evaluations, problems);
//   run.evaluations.join(graph);           // mode train: while the graph of the training is open
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/estimator/evaluation/eval_while_training.h"
#include "runtime/estimator/evaluation/evaluation.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

struct PreparedRun;

struct RunEvaluations {
  // Adds the built evaluations to those between two steps.
  void join(NodeGraph& training);

  std::vector<std::unique_ptr<Evaluation>> built;
  std::optional<EvalWhileTraining> while_training;  // none: nothing needs an evaluation before the training ends
  std::vector<std::string> metrics, matrices;       // "eval/loss", of all evaluation inputs
  std::atomic<const Evaluation*> running{nullptr};
  std::function<void()> progress = [] {};  // after each batch
};

// Adds a hook for them before the run's hooks, which see the values that it restores.
void evaluate_while_training(PreparedRun& run);
void build_evaluations(PreparedRun& run, Diagnostics& problems);
// Finds a metric that no evaluation has. Otherwise it would show only in the first evaluation.
void check_best_metric(const Manifest& manifest, const RunEvaluations& evaluations, Diagnostics& problems);

}  // namespace belay::runtime
