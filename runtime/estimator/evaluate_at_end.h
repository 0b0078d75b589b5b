// SPDX-License-Identifier: Apache-2.0
// The evaluations after a training.
#pragma once

#include <vector>

#include "runtime/estimator/evaluate.h"
#include "runtime/estimator/train.h"

namespace belay::runtime {

// With the variables that the training ended with: one pass over each evaluation input. Nothing if a recovery lost the
// variables, or if there is no evaluation input. If this start made no step, the kept results of the start that
// evaluated the same weights, with a line of the log.
std::vector<EvaluatedInput> evaluate_at_end(PreparedRun& run, const TrainingResult& result);

}  // namespace belay::runtime
