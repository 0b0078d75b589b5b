// SPDX-License-Identifier: Apache-2.0
// Mode continuous_eval: a process beside the one that trains evaluates its checkpoints as they appear, until the
// training has come to its end. It takes no lock of the run, and writes the events of the evaluations and what the
// caller exports behind them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "belay/runtime/eval_settings.h"
#include "runtime/estimator/evaluate.h"
#include "runtime/estimator/run_host.h"

namespace belay::runtime {

struct ContinuousEvalOptions {
  EvalSettings settings;                       // start_delay_secs, throttle_secs, timeout_secs, on_error
  std::optional<std::int64_t> max_steps = {};  // a checkpoint of this step, or a later one, is the last
  std::function<bool()> keep_going;            // false: CANCELLED, soon
  std::function<void()> on_look = {};          // at each look for a checkpoint: its progress
  // Before each checkpoint is evaluated; it may build the evaluations anew. What it throws ends the evaluation of
  // checkpoints, whatever settings.on_error says.
  std::function<void(const std::string& checkpoint)> on_checkpoint = {};
  std::function<void(const CheckpointResult&)> on_result = {};
  // Behind on_result, with the checkpoint's variables, which are still there where the checkpoint is gone. What it
  // throws ends the evaluation of checkpoints, whatever settings.on_error says.
  std::function<void(VariableStore&, const CheckpointResult&)> exports = {};
};

// The last result. Ends where the last checkpoint of a finished run, or of max_steps, is evaluated, or settings'
// timeout is over; NOT_FOUND where none was evaluated by then.
CheckpointResult continuous_eval(RunHost& host, const CheckpointPlace& place,
                                 const std::vector<std::unique_ptr<Evaluation>>& evaluations,
                                 const ContinuousEvalOptions& options);

}  // namespace belay::runtime
