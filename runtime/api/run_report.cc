// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/run_report.h"

#include "runtime/api/training_session.h"

namespace belay::runtime {

void report_training(const TrainingResult& result, RunReport& report) {
  report.reason = end_reason(result.reason);
  report.steps = result.steps;
  report.global_step = result.global_step;
  report.seconds = result.seconds;
  report.recoveries = result.recoveries;
  report.checkpoint = result.checkpoint;
  if (!result.save_error.empty()) {
    report.status = RunStatus::kSaveFailed;
    report.error = "the last checkpoint was not written: " + result.save_error;
  } else if (!result.removed.empty()) {
    report.status = RunStatus::kSaveFailed;
    report.error = "the last checkpoint was removed after it was written: there is no '" + result.removed + "'";
  }
}

EvaluationReport evaluation_report(const EvaluatedInput& evaluated) {
  return {evaluated.input, evaluated.result.global_step, evaluated.result.examples, evaluated.result.metrics};
}

}  // namespace belay::runtime
