// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/experiment.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "belay/runtime/train_and_evaluate.h"
#include "runtime/api/checkpoint_evaluator.h"
#include "runtime/api/experiment.h"
#include "runtime/checkpoint/directory/new_checkpoints.h"
#include "runtime/estimator/estimator/estimator.h"

namespace belay {
namespace {

const runtime::Platform& platform_of(const Estimator& estimator) { return estimator.insides().platform(); }

std::optional<std::int64_t> step_in(const EvalMetrics* metrics) {
  if (metrics == nullptr || !metrics->contains("global_step")) return std::nullopt;
  return TensorView(metrics->at("global_step")).scalar<std::int64_t>();
}

std::vector<OwnHook> with(std::vector<OwnHook> hooks, const std::vector<OwnHook>& more) {
  hooks.insert(hooks.end(), more.begin(), more.end());
  return hooks;
}

}  // namespace

WorkerDelay worker_delay(std::int64_t task_index, bool by_global_step) {
  constexpr double kMostSecs = 60, kSecsPerTask = 5, kSteps = 8000;
  const double task = static_cast<double>(task_index);
  if (by_global_step) return {.seconds = 0, .steps = static_cast<std::int64_t>(kSteps * std::log(task + 1))};
  return {.seconds = std::min(kMostSecs, kSecsPerTask * task), .steps = 0};
}

Experiment::Experiment(Estimator& estimator, InputFn train_input, InputFn eval_input, ExperimentOptions options)
    : estimator_(&estimator),
      train_input_(std::move(train_input)),
      eval_input_(std::move(eval_input)),
      options_(std::move(options)) {
  if (!train_input_ || !eval_input_)
    fail(Code::kInvalidArgument, std::string("[B5052] the Experiment was given no input function for ") +
                                     (train_input_ ? "evaluation" : "training"));
  runtime::need_above_0("train_steps", options_.train_steps);
  runtime::need_above_0("eval_steps", options_.eval_steps);
  runtime::need_above_0("train_steps_per_iteration", options_.train_steps_per_iteration);
  check_exporters(options_.exporters);
}

// ---- train and evaluate

// It changes no list of the Experiment: the additions of one call are gone after it.
void Experiment::train_with(double delay_secs, const std::vector<OwnHook>& more_listeners) {
  const WorkerDelay delay = worker_delay(estimator_->config().task_index(), options_.delay_workers_by_global_step);
  TrainOptions o{.hooks = options_.train_hooks,
                 .max_steps = options_.train_steps,
                 .saving_listeners = with(options_.saving_listeners, more_listeners)};
  if (delay.steps > 0) o.hooks.push_back(plugin_hook("global_step_waiter", {{"wait_until_step", delay.steps}}));
  sleep_on(platform_of(*estimator_).clock, delay_secs);
  runtime::train_estimator(*estimator_->insides().settings, train_input_, o, true);
}

void Experiment::train(std::optional<double> delay_secs) {
  const WorkerDelay delay = worker_delay(estimator_->config().task_index(), options_.delay_workers_by_global_step);
  train_with(delay_secs.value_or(delay.seconds), {});
}

EvalMetrics Experiment::evaluate(std::optional<double> delay_secs, const std::string& name) {
  sleep_on(platform_of(*estimator_).clock, delay_secs.value_or(options_.eval_delay_secs));
  return estimator_->evaluate(eval_input_, {.steps = options_.eval_steps, .hooks = options_.eval_hooks, .name = name});
}

// ---- evaluation beside a training

EvalMetrics Experiment::continuous_eval(const ContinuousEvalOptions& options) {
  return evaluate_forever(eval_input_, options, "continuous", options_.exporters);
}

EvalMetrics Experiment::continuous_eval_on_train_data(const ContinuousEvalOptions& options) {
  return evaluate_forever(train_input_, options, "continuous_on_train_data", {});
}

EvalMetrics Experiment::evaluate_forever(const InputFn& input, const ContinuousEvalOptions& o, const std::string& name,
                                         const ModelExporters& exporters) {
  const runtime::Platform& platform = platform_of(*estimator_);
  check_exporters(*estimator_, input, exporters);
  CheckpointEvaluator evaluator(*estimator_, {.input = input,
                                              .steps = options_.eval_steps,
                                              .name = o.name.empty() ? name : o.name,
                                              .hooks = options_.eval_hooks,
                                              .exporters = exporters,
                                              .last_step = options_.train_steps,
                                              .once = o.evaluate_checkpoint_only_once});
  const double throttle = o.throttle_secs.value_or(options_.continuous_eval_throttle_secs);
  sleep_on(platform.clock, o.delay_secs.value_or(options_.eval_delay_secs));
  std::optional<EvalOutcome> last;
  while (!o.predicate || o.predicate(last ? &last->metrics : nullptr, last ? last->checkpoint_path : "")) {
    if (evaluator.reached()) break;
    const std::int64_t begun = platform.clock.monotonic_ns();
    const bool finished = runtime::run_finished(platform.files, estimator_->model_dir());
    last = evaluator.evaluate(finished);
    if (finished) {
      evaluator.export_as_final();
      break;
    }
    const double elapsed = static_cast<double>(platform.clock.monotonic_ns() - begun) * 1e-9;
    sleep_on(platform.clock, throttle - elapsed);
  }
  return evaluator.last().metrics;
}

// ---- both

TrainAndEvaluateResult Experiment::evaluate_and_export(const std::optional<std::int64_t>& steps,
                                                       const std::string& name, bool is_final) {
  CheckpointEvaluator evaluator(*estimator_, {.input = eval_input_,
                                              .steps = steps,
                                              .name = name,
                                              .hooks = options_.eval_hooks,
                                              .exporters = options_.exporters,
                                              .last_step = options_.train_steps});
  evaluator.evaluate(is_final);
  return {evaluator.last().metrics, evaluator.exported()};
}

TrainAndEvaluateResult Experiment::train_and_evaluate() {
  check_exporters(*estimator_, eval_input_, options_.exporters);
  const RunConfig& config = estimator_->config();
  const bool saves = config.save_checkpoints_steps().value_or(0) > 0 || config.save_checkpoints_secs().value_or(0) > 0;
  if (options_.checkpoint_and_export && saves) return checkpoint_and_export();
  runtime::Clock& clock = platform_of(*estimator_).clock;
  CheckpointEvaluator monitor(*estimator_,
                              {.input = eval_input_, .steps = options_.eval_steps, .hooks = options_.eval_hooks});
  std::int64_t looked_step = 0;
  std::optional<std::int64_t> looked_ns;
  const auto saved = [&](std::int64_t step) {
    const std::int64_t now = clock.monotonic_ns();
    const double seconds = looked_ns ? static_cast<double>(now - *looked_ns) * 1e-9 : options_.check_interval_secs;
    if (step - looked_step < options_.min_eval_frequency || seconds < options_.check_interval_secs) return true;
    looked_step = step;
    looked_ns = now;
    monitor.evaluate();
    return true;
  };
  std::vector<OwnHook> listeners;
  if (options_.min_eval_frequency > 0 && saves)
    listeners.push_back(checkpoint_listener("validation_monitor", {.saved = saved}));
  train_with(0, listeners);
  return evaluate_and_export(options_.eval_steps, "", true);
}

TrainAndEvaluateResult Experiment::checkpoint_and_export() {
  CheckpointEvaluator evaluator(*estimator_, {.input = eval_input_,
                                              .steps = options_.eval_steps,
                                              .name = "intermediate_export",
                                              .hooks = options_.eval_hooks,
                                              .exporters = options_.exporters,
                                              .last_step = options_.train_steps});
  const auto saved = [&](std::int64_t) {
    evaluator.evaluate();
    return true;
  };
  train_with(0, {checkpoint_listener("export_checkpoints", {.saved = saved})});
  if (estimator_->latest_checkpoint() != evaluator.last().checkpoint_path) evaluator.evaluate(true);
  return {evaluator.last().metrics, evaluator.exported()};
}

TrainAndEvaluateResult Experiment::continuous_train_and_eval(const ContinuousEvalPredicate& predicate) {
  constexpr std::int64_t kSteps = 1000;
  const std::int64_t tenth = options_.train_steps ? std::max<std::int64_t>(*options_.train_steps / 10, 1) : kSteps;
  const std::int64_t steps = options_.train_steps_per_iteration.value_or(tenth);
  check_exporters(*estimator_, eval_input_, options_.exporters);
  TrainAndEvaluateResult last;
  std::string checkpoint;
  while (!predicate || predicate(checkpoint.empty() ? nullptr : &last.metrics, checkpoint)) {
    const std::string before = estimator_->latest_checkpoint();
    estimator_->train(train_input_,
                      {.hooks = options_.train_hooks, .steps = steps, .saving_listeners = options_.saving_listeners});
    checkpoint = estimator_->latest_checkpoint();
    last = evaluate_and_export(options_.eval_steps, "one_pass", false);
    if (options_.train_steps && step_in(&last.metrics).value_or(0) >= *options_.train_steps) break;
    if (checkpoint != before) continue;
    platform_of(*estimator_).log.warning("", "a round of continuous_train_and_eval made no checkpoint: it ends here");
    break;
  }
  return last;
}

TrainAndEvaluateResult Experiment::test() {
  check_exporters(*estimator_, eval_input_, options_.exporters);
  estimator_->train(train_input_,
                    {.hooks = options_.train_hooks, .steps = 1, .saving_listeners = options_.saving_listeners});
  return evaluate_and_export(1, "one_pass", true);
}

// ---- lists

void Experiment::extend_train_hooks(const std::vector<OwnHook>& hooks) {
  runtime::check_hooks("extend_train_hooks", hooks);
  options_.train_hooks.insert(options_.train_hooks.end(), hooks.begin(), hooks.end());
}

ModelExporters Experiment::reset_export_strategies(ModelExporters exporters) {
  check_exporters(exporters);
  return std::exchange(options_.exporters, std::move(exporters));
}

}  // namespace belay
