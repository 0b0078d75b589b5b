// SPDX-License-Identifier: Apache-2.0
// Mode train: steps until a hook, a signal, the input or an error ends them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/estimator/host/time_shares.h"
#include "runtime/monitored/layers/monitored_session.h"
#include "runtime/session/variable_store.h"

namespace belay::runtime {

struct PreparedRun;

struct TrainingResult {
  EndReason reason;
  std::int64_t steps = 0;  // of this attempt
  std::int64_t global_step = 0;
  double seconds = 0;
  Shares shares;  // what they went into
  std::int64_t recoveries = 0;
  std::string checkpoint;  // path of the last one; empty: none
  std::string save_error;  // why the last one was not written; empty: it was, or none was requested
  std::string removed;     // path of the last one, if somebody removed it after it was written
  bool moved = false;      // the last one is there, but no longer at its path: the run directory was moved
  std::shared_ptr<VariableStore> trained;  // the variables at the training's end; null: a recovery failed
};

// Whether its input ended before the first step, in this start and in each earlier one.
bool is_untrained(const TrainingResult& result);

// Trains a prepared run whose directory is open. Restores the run's newest checkpoint, or initializes, unless the
// strategy does something else. A run at max_steps trains no step. If the lock of the directory is lost, this fails and
// run.host.lock_lost() is true.
//
// `progress` is called after each step and after each batch of an evaluation, on this thread, also after the training.
// `on_session` is called when there is a session, restored or initialized, before its first step. `ends` is empty, or
// the reason why no step will follow: a hook's state asks to stop, or max_steps is reached.
TrainingResult train(PreparedRun& run, const std::function<void()>& progress,
                     const std::function<void(const std::string& ends)>& on_session = {});

}  // namespace belay::runtime
