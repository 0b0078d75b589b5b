// SPDX-License-Identifier: Apache-2.0
// Mode train: steps until a hook, a signal, the input or an error ends them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/estimator/eval_while_training.h"
#include "runtime/estimator/model_graph.h"
#include "runtime/estimator/session_host.h"
#include "runtime/estimator/time_shares.h"

namespace belay::runtime {

class RunStrategy;

struct TrainingOptions {
  std::optional<std::int64_t> max_steps;  // a run that is there already trains no step
  // When there is a session, restored or initialized, before its first step. `ends`: why there will be no step, since a
  // hook whose state says so has asked to stop, or max_steps is reached; else empty.
  std::function<void(const std::string& ends)> on_session = {};
  // After every step, on the session's thread.
  std::function<void()> on_step = {};
  // Pieces of the scaffold that are given; the saver is the run's, the init function the host's init_fns.
  ScaffoldOptions scaffold = {};
  EvalWhileTraining* evals = nullptr;  // borrowed; null: none between two steps
};

struct TrainingResult {
  EndReason reason;
  std::int64_t steps = 0;  // of this attempt
  std::int64_t global_step = 0;
  double seconds = 0;
  Shares shares;  // what they went into; of a ManifestRun
  std::int64_t recoveries = 0;
  std::string checkpoint;  // path of the last one; empty: none
  std::string save_error;  // why the last one was not written; empty: it was, or none was asked for
  std::string removed;     // path of the last one, where somebody removed it after it was written
  bool moved = false;      // the last one is there, but no longer at its path: the run directory was moved
  std::shared_ptr<VariableStore> trained;  // that the training ended with; null: a recovery failed
};

// Its input ended before the first step, in this start and in each one before.
bool is_untrained(const TrainingResult& result);

// The graph is complete, and its model is in mode train. Restores the run's newest checkpoint, or initializes, unless
// the strategy says otherwise; processes of one training have met. Where the directory's lock is lost it fails, and
// run.lock_lost() is true.
TrainingResult train(SessionHost& host, ModelGraph& model, const TrainingOptions& options, RunStrategy& strategy);

}  // namespace belay::runtime
