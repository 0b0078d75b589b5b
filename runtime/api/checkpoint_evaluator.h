// SPDX-License-Identifier: Apache-2.0
// The parts of train_and_evaluate and Experiment: the evaluation of the newest checkpoint with its exports, a hook that
// learns of checkpoints, and a wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/model_exporter.h"
#include "belay/runtime/train_and_evaluate.h"
#include "runtime/platform/threads/clock.h"

namespace belay {

struct CheckpointEvaluatorOptions {
  InputFn input;
  std::optional<std::int64_t> steps = {};
  std::string name = {};
  std::vector<OwnHook> hooks = {};
  ModelExporters exporters = {};
  std::optional<std::int64_t> last_step = {};  // an evaluation of this step, or a later one, is exported as the last
  bool once = true;                            // each checkpoint
};

class CheckpointEvaluator {
 public:
  CheckpointEvaluator(Estimator& estimator, CheckpointEvaluatorOptions options);

  // Evaluates the newest checkpoint and exports it. If there is none, or it was evaluated before, it warns every ten
  // minutes at most. `is_final`: no other checkpoint will follow.
  EvalOutcome evaluate(bool is_final = false);
  // If the newest one was evaluated already, exports it as the last one, unless that was done.
  void export_as_final();

  // The result of the last evaluation.
  const EvalOutcome& last() const noexcept { return last_; }
  const std::vector<std::string>& exported() const noexcept { return exported_; }
  std::optional<std::int64_t> last_step() const;
  // Whether that evaluation was of the options' last_step, or of a later step.
  bool reached() const;

 private:
  void warn(const std::string& text);
  void export_last(bool is_final);

  Estimator& estimator_;
  const CheckpointEvaluatorOptions options_;
  EvalOutcome last_;
  std::vector<std::string> exported_;
  bool final_exported_ = false;
  std::optional<std::int64_t> warned_ns_;
};

// INVALID_ARGUMENT: an exporter is null or has no name, or two have one name.
void check_exporters(const ModelExporters& exporters);
// Lets each of them check its options before anything has begun.
void check_exporters(Estimator& estimator, const InputFn& input, const ModelExporters& exporters);

// Calls of a training's session; false asks it to stop.
struct CheckpointCalls {
  // Called before the first step, if the training continued from a checkpoint of that step.
  std::function<bool(std::int64_t step)> restored = {};
  // Called after each checkpoint, when it is durable.
  std::function<bool(std::int64_t step)> saved = {};
};
OwnHook checkpoint_listener(const std::string& name, CheckpointCalls calls);

void sleep_on(runtime::Clock& clock, double seconds);

}  // namespace belay
