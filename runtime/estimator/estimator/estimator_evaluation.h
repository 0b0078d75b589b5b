// SPDX-License-Identifier: Apache-2.0
// An evaluation of an Estimator's model: its graph is built once. Each run is a session (evaluate_once.h), with the
// variables of a checkpoint (Estimator::evaluate) or of a running training (in_memory_evaluator.h).
//
//   EstimatorEvaluation evaluation(run, input, {.hooks = {...}});
//   const EvalMetrics metrics = evaluation.run_restored();
//
// The run outlives it. [main]
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/estimator/estimator/estimator_model.h"
#include "runtime/estimator/evaluation/eval_events.h"
#include "runtime/estimator/evaluation/evaluate_once.h"
#include "runtime/estimator/evaluation/evaluation.h"
#include "runtime/estimator/host/trained_variables.h"

namespace belay::runtime {

// "eval", or "eval_NAME": the folder of the event files.
std::string eval_folder(const std::string& name);

class EstimatorEvaluation final : public RepeatedEvaluation {
 public:
  struct Options {
    std::string name = "eval";
    std::string events_folder = {};   // in the run's place for events; empty: that place itself
    std::vector<OwnHook> hooks = {};  // after the input's
  };
  EstimatorEvaluation(EstimatorRun& run, const InputFn& input, Options options);

  // Evaluates the checkpoint that the run has chosen, or the initial values. Returns the model's metrics, "loss" (the
  // mean over the batches) and "global_step".
  EvalMetrics run_restored();

  // ---- with a training's variables
  const std::string& name() const override { return name_; }
  SessionHost& host() override { return host_; }
  std::string place() const override { return "\"" + name_ + "\""; }
  // The scalar metrics; "loss" first.
  std::vector<std::string> metric_names() const override;
  std::vector<std::string> matrix_names() const override;
  const EvalResult& run(VariableStore& trained, std::int64_t global_step,
                        const std::function<bool()>& keep_going) override {
    return run_some(trained, global_step, 0, keep_going);
  }
  const EvalResult& run_some(VariableStore& trained, std::int64_t global_step, std::int64_t batches,
                             const std::function<bool()>& keep_going) override;
  // Writes all of them, as an evaluation of a checkpoint does.
  void add_events(EventWriter& events) override;

 private:
  void begin();
  EvaluateOnceOptions measured();
  EvalMetrics metrics(const std::vector<Tensor>& values) const;

  const std::string name_;
  const std::vector<OwnHook> hooks_;
  EstimatorModel model_;
  SessionHost host_;
  std::map<std::string, ops::Metric> measured_;
  EvaluateOnce once_;
  bool begun_ = false;
  TrainedVariables variables_;
  VariableStore* trained_ = nullptr;           // of the current run
  std::shared_ptr<SessionScaffold> scaffold_;  // that copies them; null before the first run
  EvalMetrics metrics_;                        // of the last run
  EvalResult result_;                          // the same without strings
};

}  // namespace belay::runtime
