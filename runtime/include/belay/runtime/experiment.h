// SPDX-License-Identifier: Apache-2.0
// TensorFlow's Experiment (contrib.learn): an Estimator with its two inputs, and the ways to drive them. New programs
// use train_and_evaluate.h; this header is for ported programs.
//
//   belay::Experiment experiment(estimator, train_input, test_input, {.train_steps = 10'000, .eval_delay_secs = 0});
//   const belay::EvalMetrics metrics = experiment.train_and_evaluate().metrics;
//
// Include train_and_evaluate.h for results, model_exporter.h for exporters. The constructor runs nothing. Each method
// returns when it is done; none leaves a thread. The default numbers are TensorFlow's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/estimator.h"

namespace belay {

class ModelExporter;            // model_exporter.h
struct TrainAndEvaluateResult;  // train_and_evaluate.h
using ModelExporters = std::vector<std::shared_ptr<ModelExporter>>;

struct ExperimentOptions {
  std::optional<std::int64_t> train_steps = {};  // the global step to train to; empty: until the input ends
  std::optional<std::int64_t> eval_steps = 100;  // batches of each evaluation; empty: until the input ends
  // The hooks of each call. Use own_hook with a function if there are several calls.
  std::vector<OwnHook> train_hooks = {};
  std::vector<OwnHook> eval_hooks = {};
  double eval_delay_secs = 120;               // before an evaluation; each method can override it
  double continuous_eval_throttle_secs = 60;  // from the beginning of one evaluation to the next
  // train_and_evaluate evaluates after a checkpoint that is this number of steps after the previous one. 0: not while
  // it trains.
  std::int64_t min_eval_frequency = 1;
  double check_interval_secs = 5;  // and this number of seconds after it
  // If true, a worker that is not the first waits for a global step instead of a time.
  bool delay_workers_by_global_step = false;
  ModelExporters exporters = {};  // TensorFlow's export_strategies
  // For continuous_train_and_eval; empty: a tenth of train_steps, or 1000.
  std::optional<std::int64_t> train_steps_per_iteration = {};
  // If true, train_and_evaluate evaluates and exports after every checkpoint, also that of step 0.
  bool checkpoint_and_export = false;
  std::vector<OwnHook> saving_listeners = {};
};

// Called before each round with the metrics of the last round and its checkpoint. The metrics are null before the first
// round, and empty if there was nothing to evaluate. False ends the loop.
using ContinuousEvalPredicate = std::function<bool(const EvalMetrics* last, const std::string& checkpoint_path)>;

struct ContinuousEvalOptions {
  std::optional<double> delay_secs = {};     // before the first search for a checkpoint; empty: eval_delay_secs
  std::optional<double> throttle_secs = {};  // empty: continuous_eval_throttle_secs
  bool evaluate_checkpoint_only_once = true;
  ContinuousEvalPredicate predicate = {};
  std::string name = {};  // of the events' folder; empty: "continuous", or "continuous_on_train_data"
};

class Experiment {
 public:
  // The Estimator must outlive it. INVALID_ARGUMENT: there is no input function, a number is not above 0, or EvalSpec
  // refuses an exporter.
  Experiment(Estimator& estimator, InputFn train_input, InputFn eval_input, ExperimentOptions options = {});

  // Waits, and trains to train_steps. Without a delay a task waits 5 s for each task before it, at most a minute.
  void train(std::optional<double> delay_secs = {});
  // Waits, and evaluates the newest checkpoint.
  EvalMetrics evaluate(std::optional<double> delay_secs = {}, const std::string& name = "one_pass");
  // Evaluate and export each new checkpoint, until one of train_steps, or the last of a run that has ended. Return the
  // last metrics. The second function evaluates on the training's input and exports nothing.
  EvalMetrics continuous_eval(const ContinuousEvalOptions& options = {});
  EvalMetrics continuous_eval_on_train_data(const ContinuousEvalOptions& options = {});
  // Trains, with evaluations between two steps as the options set, and evaluates and exports at the end.
  TrainAndEvaluateResult train_and_evaluate();
  // Trains some steps, evaluates and exports, in a loop. It ends at train_steps, if the predicate returns false, or if
  // a round made no step.
  TrainAndEvaluateResult continuous_train_and_eval(const ContinuousEvalPredicate& predicate = {});
  // Makes one step of training, one of evaluation, and an export, to test that everything works.
  TrainAndEvaluateResult test();

  // Adds to train_hooks. It does not change the caller's list.
  void extend_train_hooks(const std::vector<OwnHook>& hooks);
  // Replaces the exporters; returns the previous ones.
  ModelExporters reset_export_strategies(ModelExporters exporters = {});

  Estimator& estimator() const noexcept { return *estimator_; }
  const ExperimentOptions& options() const noexcept { return options_; }

 private:
  void train_with(double delay_secs, const std::vector<OwnHook>& more_listeners);
  EvalMetrics evaluate_forever(const InputFn& input, const ContinuousEvalOptions& options, const std::string& name,
                               const ModelExporters& exporters);
  TrainAndEvaluateResult evaluate_and_export(const std::optional<std::int64_t>& steps, const std::string& name,
                                             bool is_final);
  TrainAndEvaluateResult checkpoint_and_export();

  Estimator* estimator_;
  InputFn train_input_;
  InputFn eval_input_;
  ExperimentOptions options_;
};

}  // namespace belay
