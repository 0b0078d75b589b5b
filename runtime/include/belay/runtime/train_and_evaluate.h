// SPDX-License-Identifier: Apache-2.0
// TensorFlow's train_and_evaluate: one call that trains an Estimator, evaluates its checkpoints as they are written,
// and passes them to exporters.
//
//   const belay::TrainSpec training(train_input, {.max_steps = 10'000});
//   const belay::EvalSpec testing(test_input, {.steps = std::nullopt, .throttle_secs = 60});
//   const belay::EvalMetrics metrics = belay::train_and_evaluate(estimator, training, testing).metrics;
//
// In one process the training waits while a checkpoint is evaluated. For two processes, start the program a second time
// with {"cluster": {"chief": ["localhost:0"]}, "task": {"type": "evaluator", "index": 0}} in BELAY_CONFIG. Start it
// with type "chief" the first time (run_config.h). Then the chief only trains. The evaluator evaluates its checkpoints
// and ends when the chief has ended. Either may be killed and started again. Include model_exporter.h for exporters.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/estimator.h"

namespace belay {

class ModelExporter;  // model_exporter.h
using ModelExporters = std::vector<std::shared_ptr<ModelExporter>>;

// ---- what is trained, and what is evaluated

struct TrainSpecOptions {
  // The global step to train to; empty: until the input ends or a hook stops it.
  std::optional<std::int64_t> max_steps = {};
  std::vector<OwnHook> hooks = {};
  std::vector<OwnHook> saving_listeners = {};
};

class TrainSpec {
 public:
  // INVALID_ARGUMENT: no input function, max_steps not above 0, or an entry that is not a hook.
  explicit TrainSpec(InputFn input, TrainSpecOptions options = {});
  const InputFn& input() const noexcept { return input_; }
  const TrainSpecOptions& options() const noexcept { return options_; }

 private:
  InputFn input_;
  TrainSpecOptions options_;
};

// The default numbers are TensorFlow's.
struct EvalSpecOptions {
  std::optional<std::int64_t> steps = 100;  // batches; empty: until the input ends
  std::string name = {};                    // events go into eval_NAME instead of eval
  std::vector<OwnHook> hooks = {};          // of each evaluation: own_hook with a function
  ModelExporters exporters = {};
  double start_delay_secs = 120;  // of an evaluator in another process: before its first search
  // Shortest time between the beginnings of two evaluations. In one process it counts from the end of the first,
  // because the training waited for it. The log reports evaluations that are left out.
  double throttle_secs = 600;
};

class EvalSpec {
 public:
  // INVALID_ARGUMENT: no input function, steps not above 0, a negative delay, or an entry that is not a hook.
  // INVALID_ARGUMENT also: an exporter that is null, has no name, or has another exporter's name.
  explicit EvalSpec(InputFn input, EvalSpecOptions options = {});
  const InputFn& input() const noexcept { return input_; }
  const EvalSpecOptions& options() const noexcept { return options_; }

 private:
  InputFn input_;
  EvalSpecOptions options_;
};

// ---- train_and_evaluate

enum class EvalStatus {
  kEvaluated,
  kMissingCheckpoint,  // there is none yet, or it was removed while it was read
  kNoNewCheckpoint     // the newest was evaluated before
};
struct EvalOutcome {
  EvalStatus status = EvalStatus::kMissingCheckpoint;
  std::string checkpoint_path = {};
  EvalMetrics metrics = {};  // empty unless it was evaluated
};

struct TrainAndEvaluateOptions {
  std::vector<OwnHook> hooks = {};  // of the training, after the TrainSpec's
  // Called before and after each evaluation. False ends the training, or the evaluator; then neither is called again. A
  // checkpoint that the training writes at its end is then not evaluated. TensorFlow's _ContinuousEvalListener.
  std::function<bool()> before_eval = {};
  std::function<bool(const EvalOutcome&)> after_eval = {};
};

struct TrainAndEvaluateResult {
  EvalMetrics metrics = {};  // of the last evaluation; empty: this process made none
  // Paths of the exports after it, in the order of the exporters; an empty string for each that wrote nothing.
  std::vector<std::string> exported = {};
};

// Does the work of the task in the Estimator's config:
//
//   no cluster, or a master    trains; evaluates and exports after each checkpoint except that of step 0, and at the
//   end chief, worker              trains; needs no EvalSpec evaluator                  waits, evaluates and exports,
//   until a checkpoint of max_steps, or the last one
//
// A training that continues from a checkpoint without an evaluation evaluates that first. INVALID_ARGUMENT: another
// task, an evaluator with an index other than 0, a missing EvalSpec, or a config that saves nothing.
TrainAndEvaluateResult train_and_evaluate(Estimator& estimator, const TrainSpec& training,
                                          const std::optional<EvalSpec>& evaluation,
                                          const TrainAndEvaluateOptions& options = {});

}  // namespace belay
