// SPDX-License-Identifier: Apache-2.0
// What a run did, as a program gets it.
#pragma once

#include "belay/runtime/run.h"
#include "runtime/estimator/evaluate.h"
#include "runtime/estimator/train.h"

namespace belay::runtime {

// All of a training but its evaluations.
void report_training(const TrainingResult& result, RunReport& report);
EvaluationReport evaluation_report(const EvaluatedInput& evaluated);

}  // namespace belay::runtime
