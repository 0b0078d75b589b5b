// SPDX-License-Identifier: Apache-2.0
// Mode evaluate: the variables of a checkpoint, on each evaluation input. Takes no lock and writes nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/estimator/checkpoint_choice.h"
#include "runtime/estimator/evaluation.h"

namespace belay::runtime {

struct EvaluatedInput {
  std::string input;  // of [input.NAME]
  EvalResult result;
  bool said = false;  // in the log
};
struct CheckpointResult {
  UsedCheckpoint checkpoint;
  std::vector<EvaluatedInput> inputs;
};

// What load_checkpoint throws, and Evaluation::run. The checkpoint's variables are read into `store`, which is empty.
CheckpointResult evaluate_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice,
                                     const SaverUse& saver, const std::vector<std::unique_ptr<Evaluation>>& evaluations,
                                     const std::function<bool()>& keep_going, VariableStore& store);

}  // namespace belay::runtime
