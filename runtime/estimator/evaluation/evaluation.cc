// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/evaluation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "belay/ops/control.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/shape.h"
#include "belay/tensor_text.h"
#include "runtime/estimator/evaluation/eval_events.h"
#include "runtime/estimator/evaluation/undefined_metrics.h"
#include "runtime/events/matrix.h"
#include "runtime/monitored/hooks/session_hook.h"
#include "runtime/monitored/saving/session_manager.h"
#include "runtime/platform/process/current_error.h"

namespace belay::runtime {
namespace {

// One pass over the input. It ends when the block is left, also by an error.
class Pass {
 public:
  explicit Pass(InputPasses& passes) : passes_(passes) { passes_.begin(); }
  ~Pass() { passes_.end(); }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

 private:
  InputPasses& passes_;
};

// Shows other threads that an evaluation is under way.
class Shown {
 public:
  Shown(std::atomic<const Evaluation*>* running, const Evaluation* evaluation) : running_(running) {
    if (running_ != nullptr) running_->store(evaluation);
  }
  ~Shown() {
    if (running_ != nullptr) running_->store(nullptr);
  }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;

 private:
  std::atomic<const Evaluation*>* const running_;
};

// A metric that is no number is float64 [n, n] and has an update (ModelContext::metric).
bool is_matrix(const ModelOutputs::Metric& m) { return m.value.rank() != 0; }

}  // namespace

Evaluation::Evaluation(RunHost& run, const OpRegistry& ops, PluginInstance& model, RunInput& input,
                       EvaluationOptions options)
    : environment_(run.environment()),
      options_(std::move(options)),
      input_(input),
      model_(std::make_shared<ModelGraph>(ops, Mode::kEval)),
      host_(run, {.mode = Mode::kEval, .events_folder = input.name}) {
  model_->build(model, input);
  ModelOutputs& outputs = model_->outputs;
  if (options_.add_metrics) options_.add_metrics(model_->graph, outputs);
  check_metrics();
  if (options_.add_hooks) options_.add_hooks(host_, outputs);
  std::vector<FetchRef> batch{outputs.loss}, totals;
  for (const ModelOutputs::Metric& m : outputs.metrics) {
    batch.push_back(m.update ? m.update.operation() : m.value);
    if (m.update) totals.push_back(m.value);
  }
  // The first dimension is the number of examples. The batch is taken even if the model reads nothing of it.
  const InputFeed::Tensors& tensors = model_->tensors;
  batch.push_back(ops::shape(tensors.features.empty() ? tensors.batch : tensors.features[0].output));
  if (const Output weight = weight_of_batch()) {
    batch.push_back(weight);
    has_weights_ = true;
  }
  batch.push_back(tensors.batch.operation());
  batch_ = FetchSet(batch);
  totals_ = FetchSet(totals);
  const belay::Graph g = model_->graph.handle();
  const std::vector<Output> locals = g.collection("local_variable_init");
  if (!locals.empty()) reset_locals_ = FetchSet(std::vector<FetchRef>{ops::group(g, locals, "reset_local_variables")});
  host_.begin_hooks(model_->graph);
  scaffold_.finalize(model_->graph);
  for (const ModelOutputs::Metric& m : model_->outputs.metrics) is_matrix_.push_back(is_matrix(m));
  for (const std::string& name : metric_names()) result_.metrics.emplace_back(name, 0);
  for (const std::string& name : matrix_names()) result_.matrices.emplace_back(name, Tensor());
  result_.class_names = class_names_of(input.feed->components());
}

Evaluation::~Evaluation() = default;

void Evaluation::check_metrics() const {
  for (const ModelOutputs::Metric& m : model_->outputs.metrics)
    if (m.name == "loss" || m.name == "global_step")
      fail(Code::kInvalidArgument, "[B5039] the model has a metric called '" + m.name +
                                       "', which each evaluation has already; give the metric another name");
}

// The sum of the weights of a batch's examples, float64; empty: the input has no weights.
Output Evaluation::weight_of_batch() const {
  const std::vector<NamedOutput>& labels = model_->tensors.labels;
  const auto found = std::ranges::find(labels, kWeightName, &NamedOutput::name);
  if (labels.size() != 2 || found == labels.end() || found->output.dtype() == DType::kString) return {};
  return ops::reduce_sum(ops::cast(found->output, DType::kFloat64));
}

std::vector<std::string> Evaluation::metric_names() const {
  std::vector<std::string> names{"loss"};
  for (const ModelOutputs::Metric& m : model_->outputs.metrics)
    if (!is_matrix(m)) names.push_back(m.name);
  return names;
}

std::vector<std::string> Evaluation::matrix_names() const {
  std::vector<std::string> names;
  for (const ModelOutputs::Metric& m : model_->outputs.metrics)
    if (is_matrix(m)) names.push_back(m.name);
  return names;
}

std::size_t Evaluation::snapshot_bytes() const {
  std::size_t bytes = 0;
  if (session_ != nullptr)
    for (const Variable* v : session_->variables()) bytes += v->value.bytes();
  return bytes;
}

// The initializers of copied variables need not run.
void Evaluation::open(VariableStore& trained) {
  SessionManager manager(model_->graph, environment_,
                         {.local_init_op = scaffold_.local_init_op(),
                          .ready_op = scaffold_.ready_op(),
                          .ready_for_local_init_op = scaffold_.ready_for_local_init_op()});
  session_ = manager.prepare_session({.init_fn = [&](DirectSession& s) { variables_.copy(trained, s); }}).session;
  passes_.emplace(input_.feed, session_, model_, host_.run().options().session.stop_grace_period_secs);
  position_ = session_->store().position_slot(name());
}

const EvalResult& Evaluation::run(VariableStore& trained, std::int64_t global_step,
                                  const std::function<bool()>& keep_going) {
  const EvalResult& result = run_some(trained, global_step, options_.batches, keep_going);
  if (warned_ || undefined_metrics(result).empty()) return result;
  environment_.log.warning(name(), undefined_metrics_text(result, place()));
  warned_ = true;
  return result;
}

const EvalResult& Evaluation::run_some(VariableStore& trained, std::int64_t global_step, std::int64_t batches,
                                       const std::function<bool()>& keep_going) {
  input_.monitor.step.store(global_step, std::memory_order_relaxed);
  const Shown shown(options_.running, this);
  result_.global_step = global_step;
  result_.examples = result_.batches = 0;
  weight_ = 0;
  for (auto& [name, value] : result_.metrics) value = 0;
  without_end_of_input([&] {
    if (session_ == nullptr) {
      open(trained);
    } else {
      variables_.copy(trained, *session_);
    }
    if (!reset_locals_.outputs().empty()) run_set(reset_locals_);
    run_pass(batches, keep_going);
  });
  if (result_.examples == 0) fail(Code::kFailedPrecondition, "[B5037] the evaluation's input has no examples");
  for (auto& [name, value] : result_.metrics) value /= static_cast<double>(result_.examples);
  if (!totals_.outputs().empty()) read_totals();
  result_.weightless = has_weights_ && weight_ == 0;
  if (result_.weightless) result_.metrics[0].second = std::numeric_limits<double>::quiet_NaN();
  return result_;
}

// Refuses an input that repeats its examples for ever, since it would never come to a result.
void Evaluation::refuse_endless() const {
  if (position_->has_value() && (*position_)->epoch >= 2)
    fail(Code::kFailedPrecondition, fmt::format("[B5025] {} begins its third pass over its examples, and does not seem "
                                                "to end: set its option epochs = 1, or eval.batches",
                                                place()));
}

void Evaluation::run_batches(std::int64_t most, const std::function<bool()>& keep_going) {
  const CancelToken cancel(environment_.interrupt, environment_.clock);
  const Pass pass(*passes_);
  while (most == 0 || result_.batches < most) {
    if (!keep_going()) fail(Code::kCancelled, "the evaluation was interrupted");
    if (!passes_->more(cancel)) break;
    if (most == 0) refuse_endless();
    add_batch(run_batch());
    if (options_.on_batch) options_.on_batch();
    if (hooked_ && hooked_->should_stop()) break;
  }
}

void Evaluation::run_pass(std::int64_t most, const std::function<bool()>& keep_going) {
  HookSet& hooks = host_.hooks();
  if (hooks.size() == 0) return run_batches(most, keep_going);
  try {
    hooks.after_create_session(*session_);
    hooked_.emplace(session_, hooks, nullptr, nullptr);
    run_batches(most, keep_going);
    hooked_.reset();
    hooks.end(*session_);
  } catch (...) {
    hooked_.reset();
    hooks.on_error(current_error());
    throw;
  }
}

Run Evaluation::run_batch() {
  if (!hooked_) return run_set(batch_);
  RunCall call;
  call.fetches = &batch_;
  return hooked_->run(call);
}

Run Evaluation::run_set(FetchSet& set) {
  RunRequest request;
  request.fetches = &set;
  request.full_team = true;
  return session_->run(request);
}

// Adds a batch to the sums, weighted by its examples.
void Evaluation::add_batch(const Run& run) {
  const std::vector<ModelOutputs::Metric>& metrics = model_->outputs.metrics;
  const TensorView shape(run.result(batch_, metrics.size() + 1));
  const std::int64_t n = shape.size() == 0 ? 1 : shape.data<std::int64_t>()[0];
  const auto add = [&](std::size_t number, std::size_t fetch) {
    result_.metrics[number].second += static_cast<double>(n) * TensorView(run.result(batch_, fetch)).number(0);
  };
  result_.examples += n;
  ++result_.batches;
  if (has_weights_) weight_ += TensorView(run.result(batch_, metrics.size() + 2)).scalar<double>();
  add(0, 0);
  std::size_t number = 1;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (is_matrix_[i]) continue;
    if (!metrics[i].update) add(number, i + 1);
    ++number;
  }
}

void Evaluation::read_totals() {
  const Run run = run_set(totals_);
  const std::vector<ModelOutputs::Metric>& metrics = model_->outputs.metrics;
  std::size_t total = 0, number = 1, matrix = 0;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (is_matrix_[i]) {
      result_.matrices[matrix++].second = Tensor(TensorView(run.result(totals_, total++)));
      continue;
    }
    if (metrics[i].update) result_.metrics[number].second = TensorView(run.result(totals_, total++)).number(0);
    ++number;
  }
}

void Evaluation::add_events(EventWriter& events) {
  const bool is_said = !undefined_metrics(result_).empty();
  for (const auto& [metric, value] : result_.metrics)
    events.add_scalar(metric, result_.global_step, value, is_said && !std::isfinite(value));
  if (result_.matrices.empty()) return;
  const EvalMetrics matrices(result_.matrices.begin(), result_.matrices.end());
  write_eval_metrics(events, host_.run().log(), matrices, result_.global_step, "");
}

std::string metrics_text(const EvalResult& result) {
  std::string text;
  for (const auto& [name, value] : result.metrics) {
    text += (text.empty() ? "" : ", ") + name + " = " + rounded_text(value);
  }
  return text;
}

std::vector<std::string> matrix_lines(const EvalResult& result) {
  std::vector<std::string> all;
  for (const auto& [name, tensor] : result.matrices) {
    const TensorView value = tensor;
    if (value.rank() != 2) {
      all.push_back(name + ": a tensor " + dims_text(value.dims()));
      continue;
    }
    const bool square = value.dim(0) == value.dim(1);
    const std::string title = name + (square ? ", labels by row and predictions by column" : "");
    for (std::string& line : matrix_lines(title, matrix_of(value), result.class_names)) all.push_back(std::move(line));
  }
  return all;
}

}  // namespace belay::runtime
