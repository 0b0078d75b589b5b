// SPDX-License-Identifier: Apache-2.0
// TensorFlow's train_and_evaluate: one call that trains an Estimator, evaluates its checkpoints as they are written and
// hands them to exporters.
//
//   const belay::TrainSpec training(train_input, {.max_steps = 10'000});
//   const belay::EvalSpec testing(test_input, {.steps = std::nullopt, .throttle_secs = 60});
//   const belay::EvalMetrics metrics = belay::train_and_evaluate(estimator, training, testing).metrics;
//
// In one process the training waits while a checkpoint is evaluated. For two, start the program a second time with
// {"cluster": {"chief": ["localhost:0"]}, "task": {"type": "evaluator", "index": 0}} in BELAY_CONFIG, and with type
// "chief" the first time (run_config.h): the chief only trains, the evaluator evaluates what it writes, and ends when
// the chief has come to its end. Either may be killed and started again. Include model_exporter.h for exporters.
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
  // Up to this global step; none: until the input ends or a hook stops it.
  std::optional<std::int64_t> max_steps = {};
  std::vector<OwnHook> hooks = {};
  std::vector<OwnHook> saving_listeners = {};
};

class TrainSpec {
 public:
  // INVALID_ARGUMENT: no input function; max_steps is not above 0; an entry that is no hook.
  explicit TrainSpec(InputFn input, TrainSpecOptions options = {});
  const InputFn& input() const noexcept { return input_; }
  const TrainSpecOptions& options() const noexcept { return options_; }

 private:
  InputFn input_;
  TrainSpecOptions options_;
};

// Numbers are TensorFlow's.
struct EvalSpecOptions {
  std::optional<std::int64_t> steps = 100;  // batches; none: until the input ends
  std::string name = {};                    // events go into eval_NAME instead of eval
  std::vector<OwnHook> hooks = {};          // of each evaluation: own_hook with a function
  ModelExporters exporters = {};
  double start_delay_secs = 120;  // of an evaluator in another process: before its first look
  // An evaluation begins no sooner after the one before; in one process that counts from its end, since the training
  // waited for it. What is left out is in the log.
  double throttle_secs = 600;
};

class EvalSpec {
 public:
  // INVALID_ARGUMENT: no input function; steps not above 0; a delay below 0; an entry that is no hook; an exporter that
  // is null, or has no name, or that of another one.
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
  kNoNewCheckpoint     // the newest one was evaluated before
};
struct EvalOutcome {
  EvalStatus status = EvalStatus::kMissingCheckpoint;
  std::string checkpoint_path = {};
  EvalMetrics metrics = {};  // empty unless it was evaluated
};

struct TrainAndEvaluateOptions {
  std::vector<OwnHook> hooks = {};  // of the training, behind the TrainSpec's
  // Asked before each evaluation, and told of each: false ends the training, or the evaluator, and is the last call of
  // both. A checkpoint that the training writes at its end is not evaluated then. TensorFlow's
  // _ContinuousEvalListener.
  std::function<bool()> before_eval = {};
  std::function<bool(const EvalOutcome&)> after_eval = {};
};

struct TrainAndEvaluateResult {
  EvalMetrics metrics = {};  // of the last evaluation; empty: there was none in this process
  // What the exporters wrote behind it, in their order; empty strings for those that wrote nothing.
  std::vector<std::string> exported = {};
};

// Does what the task of the Estimator's config is for:
//
//   no cluster, or a master    trains; evaluates and exports behind each checkpoint but that of step 0, and at the end
//   chief, worker              trains; needs no EvalSpec
//   evaluator                  waits, evaluates and exports, until a checkpoint of max_steps, or the last one
//
// A training that goes on from a checkpoint which was never evaluated evaluates that first. INVALID_ARGUMENT: another
// task, an evaluator that is not the first one, an EvalSpec that is missing, a config that saves nothing.
TrainAndEvaluateResult train_and_evaluate(Estimator& estimator, const TrainSpec& training,
                                          const std::optional<EvalSpec>& evaluation,
                                          const TrainAndEvaluateOptions& options = {});

}  // namespace belay
