// SPDX-License-Identifier: Apache-2.0
// In mode continuous_eval another process evaluates the checkpoints of a training when they appear, until the training
// has ended. It takes no lock of the run. It writes the events of the evaluations and their exports.
#pragma once

#include <functional>

#include "runtime/estimator/run/evaluate.h"

namespace belay::runtime {

// Returns the last result. It ends after the last checkpoint of a finished run, or of max_steps, or after the timeout
// of [eval]. NOT_FOUND if none was evaluated until then. CANCELLED soon after the control stops it.
//
// `progress` is called at each look for a checkpoint and after each batch, `on_result` after each checkpoint. Then it
// writes the checkpoint's exports "latest" and "best"; the training writes the final one. If a checkpoint's training
// learned something else from its data, the inputs are opened and the evaluations built again. If that or an export
// fails, the evaluation of checkpoints ends, for any eval.on_error.
CheckpointResult continuous_eval(PreparedRun& run, const std::function<void()>& progress,
                                 const std::function<void(const CheckpointResult&)>& on_result);

}  // namespace belay::runtime
