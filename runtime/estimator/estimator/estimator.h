// SPDX-License-Identifier: Apache-2.0
// The insides of an Estimator (belay/runtime/estimator.h). Each training, evaluation and prediction of a model function
// has a separate graph and session. Only the checkpoints of its directory last.
//
// Training takes the directory's lock while it runs. Evaluation and prediction take none, and work beside a trainer:
// an evaluation writes only its events, and a prediction writes nothing. A call that is wrong in itself is
// INVALID_ARGUMENT before anything has begun. One thread. [main]
#pragma once

#include <memory>

#include "runtime/estimator/estimator/estimator_export.h"
#include "runtime/estimator/estimator/estimator_predictions.h"
#include "runtime/estimator/estimator/in_memory_evaluator.h"
#include "runtime/estimator/evaluation/eval_events.h"
#include "runtime/estimator/host/monitored_training_session.h"

namespace belay::runtime {

// Restores the newest checkpoint, or else initializes or starts warm. Saves as the config asks for, and at the end.
// RunInUse if another process trains there. finishes_run: no other call follows, and an evaluator in another process
// learns of the end (RunHost::note_finished).
void train_estimator(const EstimatorSettings& settings, const InputFn& input, const TrainOptions& options,
                     bool finishes_run);

}  // namespace belay::runtime

namespace belay {

struct Estimator::Insides {
  // INVALID_ARGUMENT: no model function; two model directories. The model function is not called.
  Insides(ModelFn model, runtime::EstimatorSetup setup);

  const runtime::Platform& platform() const noexcept { return settings->platform; }
  // For one export by a plugin; the Estimator outlives it.
  runtime::EstimatorExport exporting(const runtime::ExportArguments& arguments) const { return {*settings, arguments}; }

  const std::shared_ptr<const runtime::EstimatorSettings> settings;  // also of predictions, which may outlive it
};

}  // namespace belay
