// SPDX-License-Identifier: Apache-2.0
// Mode continuous_eval: a process beside the one that trains evaluates its checkpoints as they appear, until the
// training has come to its end. It takes no lock of the run. It writes the events of the evaluations and their exports.
#pragma once

#include <functional>

#include "runtime/estimator/run/evaluate.h"

namespace belay::runtime {

// The last result. This ends when the last checkpoint of a finished run, or of max_steps, is evaluated, or after the
// timeout of [eval]. NOT_FOUND if none was evaluated by then; CANCELLED soon after the control stops it.
//
// `progress` comes at each look for a checkpoint and after each batch, `on_result` after each checkpoint. Then the
// exports of it are written, "latest" and "best"; the final one is the training's. A checkpoint of a training that
// learned something else makes this open the inputs and build the evaluations again. If that or an export fails, the
// evaluation of checkpoints ends, whatever eval.on_error is.
CheckpointResult continuous_eval(PreparedRun& run, const std::function<void()>& progress,
                                 const std::function<void(const CheckpointResult&)>& on_result);

}  // namespace belay::runtime
