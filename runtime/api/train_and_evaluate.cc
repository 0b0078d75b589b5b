// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/train_and_evaluate.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/api/checkpoint_evaluator.h"
#include "runtime/checkpoint/directory/new_checkpoints.h"
#include "runtime/estimator/estimator/estimator.h"
#include "runtime/estimator/evaluation/eval_schedule.h"
#include "runtime/events/run_events_reader.h"
#include "runtime/platform/text/fixed_text.h"
#include "runtime/platform/text/text.h"

namespace belay {
namespace {

void need_input(const char* spec, const InputFn& input) {
  if (!input) fail(Code::kInvalidArgument, fmt::format("[B5052] {} was given no input function", spec));
}

void need_delay(const char* option, double seconds) {
  if (!(seconds >= 0))
    fail(Code::kInvalidArgument,
         fmt::format("[B5052] {} must not be below 0, got {}", option, runtime::fixed_text(seconds, 6)));
}

}  // namespace

TrainSpec::TrainSpec(InputFn input, TrainSpecOptions options) : input_(std::move(input)), options_(std::move(options)) {
  need_input("TrainSpec", input_);
  runtime::need_above_0("max_steps", options_.max_steps);
  runtime::check_hooks("TrainSpec's hooks", options_.hooks);
  runtime::check_hooks("TrainSpec's saving_listeners", options_.saving_listeners);
}

EvalSpec::EvalSpec(InputFn input, EvalSpecOptions options) : input_(std::move(input)), options_(std::move(options)) {
  need_input("EvalSpec", input_);
  runtime::need_above_0("steps", options_.steps);
  runtime::check_hooks("EvalSpec's hooks", options_.hooks);
  check_exporters(options_.exporters);
  need_delay("start_delay_secs", options_.start_delay_secs);
  need_delay("throttle_secs", options_.throttle_secs);
}

namespace {

// One call, in any task.
class TrainAndEvaluate {
 public:
  TrainAndEvaluate(Estimator& estimator, const TrainSpec& training, const TrainAndEvaluateOptions& options)
      : estimator_(estimator), platform_(estimator.insides().platform()), training_(training), options_(options) {}

  void train(const std::vector<OwnHook>& listeners = {});
  TrainAndEvaluateResult train_and_evaluate(const EvalSpec& spec);
  TrainAndEvaluateResult evaluate(const EvalSpec& spec);

 private:
  // After one false it stays false: the listener is not called again, and nothing more is evaluated.
  bool ask() {
    goes_on_ = goes_on_ && (!options_.before_eval || options_.before_eval());
    return goes_on_;
  }
  bool tell(const EvalOutcome& outcome) {
    goes_on_ = (!options_.after_eval || options_.after_eval(outcome)) && goes_on_;
    return goes_on_;
  }
  CheckpointEvaluator evaluator_of(const EvalSpec& spec) const;
  bool was_evaluated(const EvalSpec& spec, std::int64_t step) const;
  void evaluate_at_the_end(CheckpointEvaluator& evaluator);
  void wait_for_next(const EvalSpec& spec, const EvalOutcome& outcome, std::int64_t begun_ns) const;

  Estimator& estimator_;
  const runtime::Platform& platform_;
  const TrainSpec& training_;
  const TrainAndEvaluateOptions& options_;
  bool goes_on_ = true;
};

void TrainAndEvaluate::train(const std::vector<OwnHook>& listeners) {
  const TrainSpecOptions& spec = training_.options();
  TrainOptions o{.hooks = spec.hooks, .max_steps = spec.max_steps, .saving_listeners = spec.saving_listeners};
  o.hooks.insert(o.hooks.end(), options_.hooks.begin(), options_.hooks.end());
  o.saving_listeners.insert(o.saving_listeners.end(), listeners.begin(), listeners.end());
  runtime::train_estimator(*estimator_.insides().settings, training_.input(), o, true);
}

CheckpointEvaluator TrainAndEvaluate::evaluator_of(const EvalSpec& spec) const {
  const EvalSpecOptions& o = spec.options();
  return {estimator_,
          {.input = spec.input(),
           .steps = o.steps,
           .name = o.name,
           .hooks = o.hooks,
           .exporters = o.exporters,
           .last_step = training_.options().max_steps}};
}

// ---- in one process

// The events of an evaluation name the checkpoint.
bool TrainAndEvaluate::was_evaluated(const EvalSpec& spec, std::int64_t step) const {
  try {
    const auto wanted = [&](const runtime::EventValue& value, std::int64_t of) {
      return of == step && value.tag == "checkpoint_path";
    };
    return !read_events(platform_.files, estimator_.eval_dir(spec.options().name), wanted).points.empty();
  } catch (const Error&) {
    return false;
  }
}

TrainAndEvaluateResult TrainAndEvaluate::train_and_evaluate(const EvalSpec& spec) {
  check_exporters(estimator_, spec.input(), spec.options().exporters);
  CheckpointEvaluator evaluator = evaluator_of(spec);
  const runtime::EvalSettings settings{.at_checkpoint = true, .throttle_secs = spec.options().throttle_secs};
  runtime::EvalSchedule schedule(settings, platform_.clock);
  const auto evaluate_now = [&] {
    const EvalOutcome outcome = evaluator.evaluate();
    schedule.evaluated(evaluator.last_step().value_or(-1));
    return tell(outcome);
  };
  const auto restored = [&](std::int64_t step) {
    const bool missing = schedule.begin(step, was_evaluated(spec, step) ? step : -1);
    return !missing || (ask() && evaluate_now());
  };
  const auto saved = [&](std::int64_t step) {
    if (step == 0 || step == schedule.last_evaluated()) return true;
    if (!ask()) return false;
    if (schedule.due(step, true)) return evaluate_now();
    platform_.log.info("eval", fmt::format("the evaluation of step {} is skipped because of throttle_secs; {} so far",
                                           step, schedule.skipped()));
    return true;
  };
  train({checkpoint_listener("evaluate_checkpoints", {.restored = restored, .saved = saved})});
  evaluate_at_the_end(evaluator);
  return {evaluator.last().metrics, evaluator.exported()};
}

void TrainAndEvaluate::evaluate_at_the_end(CheckpointEvaluator& evaluator) {
  if (estimator_.latest_checkpoint() == evaluator.last().checkpoint_path) return evaluator.export_as_final();
  if (!ask()) return evaluator.export_as_final();
  const EvalOutcome outcome = evaluator.evaluate(true);
  if (outcome.status != EvalStatus::kEvaluated)
    fail(Code::kFailedPrecondition, "[B5042] there is no checkpoint to evaluate after the training");
  tell(outcome);
}

// ---- beside a training

TrainAndEvaluateResult TrainAndEvaluate::evaluate(const EvalSpec& spec) {
  check_exporters(estimator_, spec.input(), spec.options().exporters);
  CheckpointEvaluator evaluator = evaluator_of(spec);
  sleep_on(platform_.clock, spec.options().start_delay_secs);
  while (!evaluator.reached() && ask()) {
    const std::int64_t begun = platform_.clock.monotonic_ns();
    const bool finished = runtime::run_finished(platform_.files, estimator_.model_dir());  // before the look
    const EvalOutcome outcome = evaluator.evaluate(finished);
    if (finished) evaluator.export_as_final();
    if (!tell(outcome) || finished || evaluator.reached()) break;
    wait_for_next(spec, outcome, begun);
  }
  return {evaluator.last().metrics, evaluator.exported()};
}

// Waits at least a second if there was nothing to evaluate. Otherwise the loop would keep a core busy.
void TrainAndEvaluate::wait_for_next(const EvalSpec& spec, const EvalOutcome& outcome, std::int64_t begun_ns) const {
  const double throttle = spec.options().throttle_secs;
  const bool idle = outcome.status != EvalStatus::kEvaluated;
  if (idle && throttle == 0)
    platform_.log.warning("",
                          "nothing was evaluated, and throttle_secs is 0: the next look is in a second; raise "
                          "throttle_secs to look less often");
  const double elapsed = static_cast<double>(platform_.clock.monotonic_ns() - begun_ns) * 1e-9;
  sleep_on(platform_.clock, std::max(throttle - elapsed, idle && throttle == 0 ? 1.0 : 0.0));
}

const EvalSpec& needed(const std::optional<EvalSpec>& spec, const std::string& task) {
  if (!spec) fail(Code::kInvalidArgument, "[B5052] train_and_evaluate needs an EvalSpec " + task);
  return *spec;
}

}  // namespace

TrainAndEvaluateResult train_and_evaluate(Estimator& estimator, const TrainSpec& training,
                                          const std::optional<EvalSpec>& evaluation,
                                          const TrainAndEvaluateOptions& options) {
  runtime::check_hooks("train_and_evaluate's hooks", options.hooks);
  const RunConfig& config = estimator.config();
  const std::string& task = config.task_type();
  TrainAndEvaluate call(estimator, training, options);
  if (task == "evaluator") {
    if (config.task_index() > 0)
      fail(Code::kInvalidArgument,
           fmt::format("[B5052] there is one evaluator, of index 0, not {}", config.task_index()));
    return call.evaluate(needed(evaluation, "in an evaluator"));
  }
  if (config.cluster().empty()) return call.train_and_evaluate(needed(evaluation, "without a cluster"));
  if (task == "master") return call.train_and_evaluate(needed(evaluation, "in a master"));
  if (task != "chief" && task != "worker")
    fail(Code::kInvalidArgument, "[B5052] a task of type " + runtime::double_quoted(task) +
                                     " has no part in train_and_evaluate; those are chief, worker, master and "
                                     "evaluator");
  call.train();
  return {};
}

}  // namespace belay
