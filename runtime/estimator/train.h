// SPDX-License-Identifier: Apache-2.0
// Mode train: steps until a hook, a signal, the input or an error ends them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/cluster/run_ranks.h"
#include "runtime/estimator/eval_while_training.h"
#include "runtime/estimator/model_graph.h"
#include "runtime/estimator/session_host.h"
#include "runtime/estimator/time_shares.h"

namespace belay::runtime {

// Steps of another run once more, from one of its checkpoints.
struct ReplayedSteps {
  std::string checkpoint;                    // its path; every session starts from it, also behind a recovery
  std::set<std::string> left_out = {};       // hooks of that run that this one has not got: their states are no one's
  std::vector<std::string> in_each = {};     // instance names of the hooks that each step calls
  std::int64_t first = 0, last = INT64_MAX;  // the global steps that call all hooks
  std::int64_t until = INT64_MAX;            // the run ends behind this global step
  // At the boundary behind `until`, before any hook's end.
  std::function<void(DirectSession&)> at_last = [](DirectSession&) {};
};

struct TrainingOptions {
  std::optional<std::int64_t> max_steps;  // a run that is there already trains no step
  // When there is a session, restored or initialized, before its first step. `ends`: why there will be no step, since a
  // hook whose state says so has asked to stop, or max_steps is reached; else empty.
  std::function<void(const std::string& ends)> on_session = {};
  // After every step, on the session's thread.
  std::function<void()> on_step = {};
  // Pieces of the scaffold that are given; the saver is the run's, the init function the host's init_fns.
  ScaffoldOptions scaffold = {};
  EvalWhileTraining* evals = nullptr;     // borrowed; null: none between two steps
  const ReplayedSteps* replay = nullptr;  // borrowed; null: the run's newest checkpoint, and all hooks in each step
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

// The graph is complete, and its model is in mode train. Restores the run's newest checkpoint, or initializes. Where
// the directory's lock is lost it fails, and run.lock_lost() is true.
TrainingResult train(SessionHost& host, ModelGraph& model, const TrainingOptions& options);
// As one of several processes, which have met; null: alone.
TrainingResult train(SessionHost& host, ModelGraph& model, const TrainingOptions& options, RunRanks* ranks);

}  // namespace belay::runtime
