// SPDX-License-Identifier: Apache-2.0
// The events of a run for its owner, while run_driver.h drives it. `belay run` prints them, and a program's run reports
// them.
//
//   phase_over... -> opens_directory -> begins                            before the work of the mode
//   session -> progress... -> trained -> evaluated_at_end... -> exported_at_end          mode train
//   progress... -> used -> evaluated, predicted, sampled... or exported                  the other modes
//   progress... -> replayed                                               a replay
//
// The run ends with refused or failed. All calls come on the thread that drives the run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/api/run_status.h"
#include "runtime/estimator/replay/replay.h"
#include "runtime/estimator/run/predict.h"
#include "runtime/estimator/run/prepared_run.h"
#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

class RunObserver {
 public:
  virtual ~RunObserver() = default;

  // The manifest is wrong.
  virtual void refused(const Diagnostics& problems) = 0;
  // An error ended this part. `problems`: found before it. The function may add the error's facts about the manifest.
  virtual void failed(RunPart part, const Error& error, Diagnostics& problems) = 0;
  // The text for other ranks if the run ends before it has met them; empty: none.
  virtual std::string refusal() const { return {}; }

  // ---- the start
  virtual void phase_over() {}
  // Called before the directory of a training stays. Another status than kDone ends the run; its errors are of
  // kDirectory.
  virtual RunStatus opens_directory() { return RunStatus::kDone; }
  // Called before the work of the mode. Another status than kDone ends the run.
  virtual RunStatus begins() { return RunStatus::kDone; }

  // ---- the work
  // There is a session, before its first step. `ends`: the reason why it makes no step; empty: it makes steps.
  virtual void session(const std::string& /*ends*/) {}
  // Called after a step, a batch of an evaluation or of a prediction, and a character.
  virtual void progress() {}

  // ---- the results
  // `untrained`: the reason why no step was ever made. Empty: one was, or the run was stopped.
  virtual void trained(const TrainingResult& /*result*/, const std::string& /*untrained*/) {}
  virtual void evaluated_at_end(const EvaluatedInput& /*result*/) {}
  virtual void exported_at_end(const std::vector<WrittenExport>& /*exports*/) {}
  virtual void used(const UsedCheckpoint& /*checkpoint*/) {}
  virtual void evaluated(const CheckpointResult& /*result*/) {}
  virtual void predicted(const Predicted& /*result*/, double /*seconds*/) {}
  // Whether sampled text goes to stdout if [predict] names no output.
  virtual bool prints_sampled() const { return false; }
  // Gets the prompt, then each character.
  virtual void sampled(std::string_view /*text*/) {}
  virtual void exported(const ExportedCheckpoint& /*result*/) {}
  virtual void replayed(const ReplayResult& /*result*/) {}
};

}  // namespace belay::runtime
