// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/run_report.h"

#include "runtime/api/training_session.h"
#include "runtime/checkpoint/restore_error.h"

namespace belay::runtime {

RunStatus run_status(const Error& error) {
  if (dynamic_cast<const RestoreError*>(&error) != nullptr) return RunStatus::kNoRestore;
  return error.code() == Code::kDiverged ? RunStatus::kDiverged : RunStatus::kTrainingFailed;
}

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
