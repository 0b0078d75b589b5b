// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/eval_while_training.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "belay/tensor_text.h"
#include "runtime/estimator/evaluation/metrics_line.h"
#include "runtime/platform/text/text.h"
#include "runtime/platform/threads/activity.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kBatchesAtStart = 2;

// Changes with every write of a variable.
std::uint64_t sum_of_versions(VariableStore& store) {
  std::uint64_t sum = 0;
  for (const Variable* v : store.all()) sum += v->version.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace

EvalWhileTraining::EvalWhileTraining(const RunEnvironment& environment, EvalWhileTrainingOptions options)
    : environment_(environment), options_(std::move(options)), schedule_(options_.settings, environment.clock) {}

EvalWhileTraining::~EvalWhileTraining() = default;

void EvalWhileTraining::add(std::unique_ptr<RepeatedEvaluation> evaluation, NodeGraph& training) {
  roles_.add(training, evaluation->name(), evaluation->metric_names());
  inputs_.emplace_back().evaluation = std::move(evaluation);
}

PluginInstance::MakeHook EvalWhileTraining::hook() {
  return roles_.hook([this](DirectSession& training) { before_end(training); });
}

template <class F>
void EvalWhileTraining::attempt(const Input& input, std::int64_t step, F&& run) {
  try {
    run();
  } catch (const Error& e) {
    const std::string what = fmt::format("the evaluation of step {}", step);
    const bool stopped = e.code() == Code::kCancelled || environment_.interrupt.cancelled();
    if (stopped && !options_.keep_going()) {
      ++counts_.interrupted;
      environment_.log.info(input.evaluation->name(), what + " was interrupted; what it had so far is discarded");
      return;
    }
    const std::string text = what + " on " + input.evaluation->place() + ": " + e.what();
    if (options_.settings.on_error == OnEvalError::kStop) fail(e.code(), text);
    ++counts_.failed;
    environment_.log.warning(input.evaluation->name(),
                             text + "; the training continues (eval.on_error = \"continue\")");
  }
}

void EvalWhileTraining::at_start(DirectSession& training) {
  const std::int64_t step = training.global_step();
  first_step_ = step;
  if (!active()) return;
  const std::int64_t skipped = schedule_.skipped();
  if (schedule_.begin(step, roles_.last_step()) || options_.whole_at_start) return evaluate_and_note(training, step);
  if (schedule_.skipped() != skipped) say_skipped(step);
  if (!options_.settings.at_start) return;
  const Doing doing(Activity::kEvaluating);
  const std::int64_t most = options_.settings.batches;
  const std::int64_t batches = most == 0 ? kBatchesAtStart : std::min(most, kBatchesAtStart);
  for (const Input& input : inputs_)
    attempt(input, step, [&] { input.evaluation->run_some(training.store(), step, batches, options_.keep_going); });
}

bool EvalWhileTraining::is_due(std::int64_t step, bool saved) {
  const std::int64_t skipped = schedule_.skipped();
  if (schedule_.due(step, saved)) return true;
  if (schedule_.skipped() != skipped) say_skipped(step);
  return false;
}

void EvalWhileTraining::say_skipped(std::int64_t step) {
  environment_.log.info(
      "eval",
      fmt::format(
          "the evaluation of step {} is skipped because of eval.throttle_secs or eval.start_delay_secs; {} so far",
          step, schedule_.skipped()));
}

void EvalWhileTraining::at_last_step(DirectSession& training) {
  const std::int64_t step = training.global_step();
  first_step_ = step;
  if (active() && options_.left_open() && schedule_.begin(step, roles_.last_step())) evaluate_and_note(training, step);
}

// A run without a step leaves the list of the best as it is, unless the previous attempt was killed before this.
void EvalWhileTraining::before_end(DirectSession& training) {
  const std::int64_t step = training.global_step();
  if ((!options_.note_best && !options_.shown_in_end) || !first_step_) return;
  const bool missed = options_.left_open() && roles_.ended_at() != step;
  if (step <= *first_step_ && !missed) return;
  if (step == schedule_.last_evaluated() || !options_.keep_going()) return;
  if (!options_.note_best) options_.save_before_end();
  try {
    evaluate(training.store(), step, {.session = &training, .in_end = true});
  } catch (const Error& e) {
    failed_ = e;  // the training ended well, and is saved
    return;
  }
  roles_.note_end(step);
  options_.note_end(step);
  note_best(step);
}

// Hooks may have set other variables in their end, as restore_best does.
void EvalWhileTraining::at_end(VariableStore& trained, std::int64_t step) {
  if (failed_) throw Error(*failed_);
  const bool known = step == schedule_.last_evaluated() && evaluated_ == sum_of_versions(trained);
  if (!known && options_.keep_going()) evaluate(trained, step, {});
}

bool EvalWhileTraining::has_seen(VariableStore& trained) const {
  return std::ranges::all_of(inputs_, [&](const Input& input) { return input.evaluation->has_seen(trained); });
}

void EvalWhileTraining::evaluate_and_note(DirectSession& training, std::int64_t step) {
  evaluate(training.store(), step, {.session = &training});
  note_best(step);
}

void EvalWhileTraining::note_best(std::int64_t step) const {
  if (!options_.note_best) return;
  if (const std::optional<double> value = best_value(step)) options_.note_best(step, *value);
}

std::optional<double> EvalWhileTraining::best_value(std::int64_t step) const {
  for (const Input& input : inputs_) {
    if (!input.has_result || input.result.global_step != step) continue;
    for (const auto& [name, value] : input.result.metrics)
      if (input.evaluation->name() + "/" + name == options_.best_metric) return value;
  }
  return std::nullopt;
}

void EvalWhileTraining::warn_of_best(std::int64_t step) {
  if (options_.best_metric.empty() || warned_of_best_) return;
  const std::optional<double> value = best_value(step);
  if (!value || std::isfinite(*value)) return;
  warned_of_best_ = true;
  environment_.log.warning("eval",
                           fmt::format("checkpoint.best_metric {} is {} in the evaluation of step {}, so this "
                                       "evaluation is not compared with others and never the best (logged once)",
                                       double_quoted(options_.best_metric), rounded_text(*value), step));
}

void EvalWhileTraining::evaluate(VariableStore& trained, std::int64_t step, const Shown& shown) {
  const Doing doing(Activity::kEvaluating);
  for (Input& input : inputs_)
    attempt(input, step, [&] { keep(input, input.evaluation->run(trained, step, options_.keep_going), shown); });
  schedule_.evaluated(step);
  evaluated_ = sum_of_versions(trained);
  warn_of_best(step);
  const bool whole = std::all_of(inputs_.begin(), inputs_.end(), [&](const Input& input) {
    return input.has_result && input.result.global_step == step;
  });
  if (options_.evaluated && whole) options_.evaluated(trained, step, best_value(step));
}

void EvalWhileTraining::keep(Input& input, const EvalResult& result, const Shown& shown) {
  input.result = result;
  input.has_result = true;
  ++counts_.made;
  if (shown.session != nullptr && shown.in_end) roles_.show(*shown.session, input.evaluation->name(), result);
  if (shown.session != nullptr && !shown.in_end) roles_.set(*shown.session, input.evaluation->name(), result);
  const std::string examples = result.examples == 0 ? "" : fmt::format("{} examples in ", result.examples);
  std::string rows;
  for (const std::string& line : matrix_lines(result)) rows += detail::kLogRow + escaped(line);
  environment_.log.info(input.evaluation->name(),
                        fmt::format("step {}: {} ({}{}{}{}{}", result.global_step, metrics_text(result), examples,
                                    result.batches, result.batches == 1 ? " batch)" : " batches)", rows,
                                    evaluation_fields(input.evaluation->name(), result).text()));
  append_metrics_line(input.evaluation->host().run(), input.evaluation->name(), result);
  write_events(input);
}

// The evaluation is a separate run for TensorBoard. Points that an earlier attempt wrote after this one's first step
// are written again.
void EvalWhileTraining::write_events(Input& input) {
  SessionHost& host = input.evaluation->host();
  if (host.events() == nullptr) host.open_events();
  if (host.events() == nullptr) return;
  if (!std::exchange(input.has_events, true))
    host.events()->add_session_log(EventWriter::kStart, first_step_.value_or(0) + 1);
  input.evaluation->add_events(*host.events());
  host.events()->flush();
}

std::vector<std::string> EvalWhileTraining::names() const {
  std::vector<std::string> names;
  for (const Input& input : inputs_) names.push_back(input.evaluation->name());
  return names;
}

const EvalResult* EvalWhileTraining::last(const std::string& input) const {
  for (const Input& i : inputs_)
    if (i.evaluation->name() == input && i.has_result) return &i.result;
  return nullptr;
}

EvalWhileTraining::Counts EvalWhileTraining::counts() const {
  Counts counts = counts_;
  counts.skipped = schedule_.skipped();
  return counts;
}

}  // namespace belay::runtime
