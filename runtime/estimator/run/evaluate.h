// SPDX-License-Identifier: Apache-2.0
// Mode evaluate evaluates the variables of a checkpoint on each evaluation input. It takes no lock and writes nothing.
// The same happens after a training, with its last variables.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/estimator/evaluation/evaluation.h"
#include "runtime/estimator/resume/checkpoint_choice.h"
#include "runtime/estimator/run/train.h"

namespace belay::runtime {

struct EvaluatedInput {
  std::string input;  // of [input.NAME]
  EvalResult result;
  bool said = false;  // the log has it
};
struct CheckpointResult {
  UsedCheckpoint checkpoint;
  std::vector<EvaluatedInput> inputs;
};

// Evaluates the checkpoint of run.checkpoint. `progress` is called after each batch. CANCELLED if the control stops it.
// Throws the errors of load_checkpoint and of Evaluation::run.
CheckpointResult evaluate_checkpoint(PreparedRun& run, const std::function<void()>& progress);
// Evaluates another checkpoint in the same way. Its variables are read into the empty `store`.
CheckpointResult evaluate_checkpoint(PreparedRun& run, const CheckpointChoice& choice, VariableStore& store);

// Makes one pass over each evaluation input after a training. Returns nothing if a recovery lost the variables, or if
// there is no evaluation input. If this start made no step, it may return the kept results of a start with the same
// weights. The log has a line about it.
std::vector<EvaluatedInput> evaluate_at_end(PreparedRun& run, const TrainingResult& result);

}  // namespace belay::runtime
