// SPDX-License-Identifier: Apache-2.0
// Evaluates a model on one input, as often as it is called. The graph is built once, and the first run makes the
// session. Each run reads the input from its start with the variables of that moment.
//
//   Evaluation evaluation(run, ops, model, input, {.batches = 100});   // builds the graph
//   const EvalResult& result = evaluation.run(*session->shared_store(), step, [&] { return !stopping; });
//
// It has a separate store: a run copies the trained variables into it at one moment, and only reads the training's
// store. The first run makes the buffers of its variables, and later runs use them again. After the first whole pass a
// run builds no plan and allocates nothing. [one thread; it computes with the full team]
//
// The model's hooks are called around each batch. begin is called once, after_create_session and end in each run, and
// on_error after a failed run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/input_passes.h"
#include "runtime/estimator/host/model_graph.h"
#include "runtime/estimator/host/session_host.h"
#include "runtime/estimator/host/trained_variables.h"
#include "runtime/monitored/layers/hooked_session.h"
#include "runtime/monitored/saving/scaffold.h"

namespace belay::runtime {

struct EvalResult {
  std::int64_t global_step = 0;
  std::int64_t examples = 0;
  std::int64_t batches = 0;                             // the batches that existed: the end of the input is none
  std::vector<std::pair<std::string, double>> metrics;  // "loss" first, then in the model's order
  // The metrics that are no numbers (a confusion matrix), in the model's order. They are for logs, events and
  // metrics.jsonl; no role and no stop condition has them.
  std::vector<std::pair<std::string, Tensor>> matrices;
  std::vector<std::string> class_names = {};  // of the input's only label; empty: they are not known
  bool weightless = false;  // the input has weights, and all are 0: the loss is undefined, as the metrics are
};

// An evaluation that runs again and again with the variables of a training (eval_while_training.h).
class RepeatedEvaluation {
 public:
  virtual ~RepeatedEvaluation() = default;

  // The name before the "/" of its metrics' roles ("eval/loss"), and in the log.
  virtual const std::string& name() const = 0;
  // Its name in an error: "[input.eval]".
  virtual std::string place() const = 0;
  // The names in EvalResult::metrics.
  virtual std::vector<std::string> metric_names() const = 0;
  // The names in EvalResult::matrices.
  virtual std::vector<std::string> matrix_names() const = 0;
  // Parts of the training's run: its services, its hooks, its event file.
  virtual SessionHost& host() = 0;

  // Makes one pass. The result is valid until the next one. keep_going is called before each batch: false is CANCELLED,
  // and nothing of the pass is kept. FAILED_PRECONDITION names a variable that the model has here and not in training.
  virtual const EvalResult& run(VariableStore& trained, std::int64_t global_step,
                                const std::function<bool()>& keep_going) = 0;
  // Makes the pass with at most so many batches, to see whether it works at all.
  virtual const EvalResult& run_some(VariableStore& trained, std::int64_t global_step, std::int64_t batches,
                                     const std::function<bool()>& keep_going) = 0;
  // Whether a run now would have the same values as the last run; false if that is not known.
  virtual bool has_seen(VariableStore& /*trained*/) { return false; }
  // The result of the last run.
  virtual void add_events(EventWriter& events) = 0;
};

class Evaluation;

struct EvaluationOptions {
  std::int64_t batches = 0;                           // at most; 0: until the input ends
  std::function<void()> on_batch = nullptr;           // after each batch, on the evaluation's thread: its progress
  std::atomic<const Evaluation*>* running = nullptr;  // borrowed: this one, while it runs; may be null
  // Adds metrics to those of the model, after the model is built.
  std::function<void(NodeGraph&, ModelOutputs&)> add_metrics = nullptr;
  // Adds the model's hooks to the evaluation's, after the model is built.
  std::function<void(SessionHost&, const ModelOutputs&)> add_hooks = nullptr;
};

class Evaluation final : public RepeatedEvaluation {
 public:
  // Builds the model in mode kEval on the open input. The input's name is also that of the evaluation and of its
  // events' folder. All are borrowed. INVALID_ARGUMENT if a metric of the model is called loss or global_step. Errors
  // of the model are thrown.
  Evaluation(RunHost& run, const OpRegistry& ops, PluginInstance& model, RunInput& input,
             EvaluationOptions options = {});
  ~Evaluation() override;
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  const NodeGraph& graph() const noexcept { return model_->graph; }
  const std::string& name() const override { return input_.name; }
  SessionHost& host() override { return host_; }
  std::string place() const override { return "[input." + name() + "]"; }
  std::vector<std::string> metric_names() const override;
  std::vector<std::string> matrix_names() const override;

  // FAILED_PRECONDITION also if the input is empty or begins a third pass over its examples. The same holds if anything
  // but the input reports an end of input. The first result with an undefined metric is a warning.
  const EvalResult& run(VariableStore& trained, std::int64_t global_step,
                        const std::function<bool()>& keep_going) override;
  const EvalResult& run_some(VariableStore& trained, std::int64_t global_step, std::int64_t batches,
                             const std::function<bool()>& keep_going) override;
  bool has_seen(VariableStore& trained) override { return session_ != nullptr && variables_.same(trained, *session_); }
  void add_events(EventWriter& events) override;

  // The bytes of the copy of the variables; 0 before the first run.
  std::size_t snapshot_bytes() const;
  PlanStats plan_stats() const { return session_ == nullptr ? PlanStats() : session_->plan_stats(); }

 private:
  void check_metrics() const;
  Output weight_of_batch() const;
  void open(VariableStore& trained);
  void refuse_endless() const;
  void run_batches(std::int64_t most, const std::function<bool()>& keep_going);
  void run_pass(std::int64_t most, const std::function<bool()>& keep_going);
  void add_batch(const Run& run);
  void read_totals();
  Run run_batch();
  Run run_set(FetchSet& set);

  const RunEnvironment& environment_;
  const EvaluationOptions options_;
  RunInput& input_;
  const std::shared_ptr<ModelGraph> model_;
  SessionHost host_;
  SessionScaffold scaffold_;
  FetchSet batch_;         // loss, each metric or its update, the shape of a feature, the sum of weights
  FetchSet reset_locals_;  // the initializers of local variables
  FetchSet totals_;        // metrics that count in separate variables
  TrainedVariables variables_;
  std::shared_ptr<DirectSession> session_;
  std::optional<HookedSession> hooked_;  // of the current pass; none: there are no hooks
  std::optional<InputPasses> passes_;
  const std::optional<Position>* position_ = nullptr;  // of the input, in session_'s store
  EvalResult result_;
  std::vector<bool> is_matrix_;  // of each metric of the model; looking it up takes strings
  bool has_weights_ = false;
  double weight_ = 0;  // of all examples of the pass
  bool warned_ = false;
};

// "loss = 0.0812, accuracy = 0.975": the numbers.
std::string metrics_text(const EvalResult& result);
// The lines of each matrix, as a table.
std::vector<std::string> matrix_lines(const EvalResult& result);

}  // namespace belay::runtime
