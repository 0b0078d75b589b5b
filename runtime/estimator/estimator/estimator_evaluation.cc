// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/estimator/estimator_evaluation.h"

#include <fmt/core.h>

#include "runtime/monitored/hooks/session_hook.h"

namespace belay::runtime {

std::string eval_folder(const std::string& name) { return name.empty() ? "eval" : "eval_" + name; }

EstimatorEvaluation::EstimatorEvaluation(EstimatorRun& run, const InputFn& input, Options options)
    : name_(std::move(options.name)),
      hooks_(std::move(options.hooks)),
      model_(run, Mode::kEval, input),
      host_(run.host(), {.mode = Mode::kEval, .events_folder = std::move(options.events_folder)}),
      measured_(model_.pieces().eval_metric_ops),
      once_(model_.graph(), measured()) {}

// A run fetches the metrics in the order of their names, and after them the step.
EvaluateOnceOptions EstimatorEvaluation::measured() {
  measured_["loss"] = ops::metrics::mean(model_.pieces().loss, {}, "mean_loss");
  EvaluateOnceOptions once;
  once.eval_ops = model_.batch();
  for (const auto& [name, metric] : measured_) {
    once.eval_ops.push_back(metric.update.operation());
    once.final_ops.push_back(metric.value);
  }
  once.final_ops.push_back(model_.graph().handle().global_step_if_exists());
  return once;
}

EvalMetrics EstimatorEvaluation::metrics(const std::vector<Tensor>& values) const {
  EvalMetrics metrics;
  std::size_t next = 0;
  for (const auto& [name, metric] : measured_) metrics[name] = values.at(next++);
  metrics["global_step"] = values.at(next);
  return metrics;
}

// The event file first: hooks may look for it.
void EstimatorEvaluation::begin() {
  if (std::exchange(begun_, true)) return;
  try {
    host_.open_events();
  } catch (const Error& e) {
    host_.run().log().warning("", std::string("the evaluation writes no events: ") + e.what());
  }
  model_.add_hooks(host_, model_.input_hooks());
  model_.add_hooks(host_, hooks_);
  model_.add_hooks(host_, model_.pieces().evaluation_hooks);
}

EvalMetrics EstimatorEvaluation::run_restored() {
  begin();
  EvalMetrics all = metrics(once_.run(host_, model_.scaffold(host_)));
  Logger& log = host_.run().log();
  const std::int64_t step = TensorView(all["global_step"]).scalar<std::int64_t>();
  log.info("", fmt::format("evaluation at global step {}: {}", step, eval_metrics_text(all)));
  if (host_.events() != nullptr) write_eval_metrics(*host_.events(), log, all, step, model_.run().checkpoint());
  return all;
}

// ---- with a training's variables ----

std::vector<std::string> EstimatorEvaluation::metric_names() const {
  std::vector<std::string> names{"loss"};
  for (const auto& [name, metric] : measured_)
    if (name != "loss" && metric.value.rank() == 0 && metric.value.dtype() != DType::kString) names.push_back(name);
  return names;
}

std::vector<std::string> EstimatorEvaluation::matrix_names() const {
  std::vector<std::string> names;
  for (const auto& [name, metric] : measured_)
    if (metric.value.rank() != 0 && metric.value.dtype() != DType::kString) names.push_back(name);
  return names;
}

const EvalResult& EstimatorEvaluation::run_some(VariableStore& trained, std::int64_t global_step, std::int64_t batches,
                                                const std::function<bool()>& keep_going) {
  begin();
  if (scaffold_ == nullptr)
    scaffold_ = model_.filled([this](DirectSession& session) { variables_.copy(*trained_, session); });
  trained_ = &trained;
  metrics_ = metrics(without_end_of_input([&] { return once_.run(host_, scaffold_, batches, keep_going); }));
  result_.global_step = global_step;
  result_.batches = once_.runs();
  result_.metrics.clear();
  for (const std::string& name : metric_names())
    result_.metrics.emplace_back(name, TensorView(metrics_.at(name)).number(0));
  result_.matrices.clear();
  for (const std::string& name : matrix_names()) result_.matrices.emplace_back(name, metrics_.at(name));
  return result_;
}

void EstimatorEvaluation::add_events(EventWriter& events) {
  write_eval_metrics(events, host_.run().log(), metrics_, result_.global_step, "");
}

}  // namespace belay::runtime
