// SPDX-License-Identifier: Apache-2.0
// TensorFlow's Estimator: a model function that is trained, evaluated and asked for predictions, each time in a graph
// and a session of its own; what lasts is the checkpoints of its directory.
//
//   Estimator estimator(model, {.plugins = belay::default_plugins(), .model_dir = "/tmp/run"});
//   estimator.train(training_input, {.steps = 1000});
//   const EvalMetrics metrics = estimator.evaluate(test_input);      // metrics.at("accuracy").view() ...
//   for (const PredictedRow& p : estimator.predict(new_input)) ...
//
// Input and model functions: estimator_spec.h. Training takes the directory's lock while it runs; evaluation and
// prediction take none, and work beside a trainer: an evaluation writes its events and nothing else, a prediction
// nothing. A call that is wrong in itself is INVALID_ARGUMENT before anything has begun. One thread. [main]
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/estimator/estimator/estimator_export.h"
#include "runtime/estimator/estimator/estimator_predictions.h"
#include "runtime/estimator/estimator/in_memory_evaluator.h"
#include "runtime/estimator/evaluation/eval_events.h"
#include "runtime/estimator/host/monitored_training_session.h"

namespace belay::runtime {

class Estimator {
 public:
  // INVALID_ARGUMENT: no model function; two model directories. The model function is not called.
  Estimator(ModelFn model, EstimatorSetup setup);

  // Restores the newest checkpoint, or else initializes or starts warm; saves as the config says, and at the end.
  // RunInUse where another process trains there. finishes_run: no other call follows, and an evaluator in another
  // process learns of the end (RunHost::note_finished).
  Estimator& train(const InputFn& input, const TrainOptions& options = {}, bool finishes_run = false);
  // The model's metrics, "loss" (the mean over the batches) and "global_step". NOT_FOUND: no such checkpoint.
  EvalMetrics evaluate(const InputFn& input, const EvaluateOptions& options = {});
  EstimatorPredictions predict(InputFn input, PredictArguments options = {});
  // For one export by a plugin; the Estimator outlives it.
  EstimatorExport exporting(const ExportArguments& arguments) const { return {*settings_, arguments}; }

  const std::string& model_dir() const noexcept { return settings_->model_dir; }
  std::string eval_dir(const std::string& name = {}) const;
  const RunConfig& config() const noexcept { return settings_->options.config; }
  const Platform& platform() const noexcept { return settings_->platform; }
  const Params& params() const noexcept { return settings_->options.params; }
  // Path of the newest checkpoint; empty: there is none.
  std::string latest_checkpoint() const;
  // Of the newest checkpoint, sorted; NOT_FOUND where there is none, or no such variable.
  std::vector<std::string> variable_names() const;
  Tensor variable_value(const std::string& name) const;

 private:
  void note_finished(std::int64_t step) const;
  void check_may_train(const TrainOptions& options) const;
  std::vector<OwnHook> training_hooks(const EstimatorModel& model, const TrainOptions& options,
                                      std::int64_t trained) const;
  std::vector<OwnHook> saver_hook() const;
  // `trained`: the step of the newest checkpoint; -1: there is none.
  TrainingSessionSetup session_options(const EstimatorModel& model, const TrainOptions& options,
                                       std::int64_t trained) const;
  static std::optional<double> run_steps(MonitoredSession& session, const EstimatorModel& model,
                                         InMemoryEvaluations& evaluations);

  std::shared_ptr<const EstimatorSettings> settings_;
};

}  // namespace belay::runtime
