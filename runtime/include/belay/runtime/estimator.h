// SPDX-License-Identifier: Apache-2.0
// TensorFlow's Estimator: a model function to train, evaluate and predict with. Each call makes its own graph and
// session. Only the checkpoints of its directory last.
//
//   belay::EstimatorSpec line(const belay::ModelArgs& model) {
//     const Output y = ops::dense(model.feature("x"), 1);
//     if (model.mode == belay::Mode::kPredict) return {model, {.predictions = {{"y", y}}}};
//     const Output loss = ops::mean_squared_error(y, model.label());
//     return {model, {.loss = loss, .train_op = model.minimize(loss, {.name = "adam"})}};
//   }
//
//   belay::Estimator estimator(line, {.plugins = belay::default_plugins(), .model_dir = "/tmp/run"});
//   estimator.train(belay::tensor_input({{"x", x}}, {{"y", y}}, {.epochs = 10}));
//   const belay::EvalMetrics metrics = estimator.evaluate(test_input);       // eval_metrics_text(metrics)
//   for (const belay::PredictedRow& p : estimator.predict(new_input)) ...    // p["y"]
//
// Training takes the directory's lock while it runs. Evaluation and prediction take no lock and work at the same time
// as a trainer. An evaluation writes only its events, a prediction writes nothing. A call that is wrong in itself is
// INVALID_ARGUMENT before anything has begun. Use an Estimator from one thread at a time; it calls input and model
// functions on that thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "belay/model.h"
#include "belay/ops/metrics.h"
#include "belay/runtime/estimator_options.h"
#include "belay/runtime/run_config.h"
#include "belay/runtime/training_session.h"

namespace belay {

using runtime::RunConfig;
using runtime::RunConfigOptions;  // NOLINT(misc-unused-using-decls): for programs

// The program's settings for its model, by name: EstimatorOptions::params. Input and model functions get them.
using Params = std::map<std::string, runtime::OptionValue>;

// ---- inputs

// The arguments of an input function. It is called once for each graph, which already has the global step.
struct InputArgs {
  Graph graph;
  Mode mode;
  const Params& params;
  const RunConfig& config;
  const void* estimator;  // for input_plugin
};

// Names for an input function's features and labels. `columns` names the elements of the last dimension, `class_names`
// the numbers of a class. The host keeps them with the model. Every other input of the model must then have the same
// features, columns and classes. Without names only types and shapes of common tensors are compared.
//   return belay::InputResult{.features = {{"x", x}}, .labels = {{"y", y}}, .names = {.columns = {{"x", {"a", "b"}}}}};
struct InputNames {
  std::map<std::string, std::vector<std::string>> columns = {};
  std::map<std::string, std::vector<std::string>> class_names = {};
};

// The result of an input function: constants, the elements of a queue with a runner (add_queue_runner), or an input
// plugin's. Each run takes a batch, even if the model uses none of it. Without a queue the input never ends: set steps
// then.
struct InputResult {
  std::vector<NamedOutput> features = {};
  std::vector<NamedOutput> labels = {};  // not used in mode kPredict
  std::vector<OwnHook> hooks = {};       // called before all others
  InputNames names = {};
};
using InputFn = std::function<InputResult(const InputArgs&)>;

// An input of tensors in the program's memory, row by row in their order, like TensorFlow's numpy_input_fn. It is for
// small data: all rows of all epochs wait in a queue, which is filled when a session is made. INVALID_ARGUMENT: there
// is no feature, or the first dimensions differ.
InputFn tensor_input(NamedTensors features, NamedTensors labels = {}, TensorInputOptions options = {});

// An input among the Estimator's plugins, with options as in a manifest. `prefetch`: number of batches that wait in the
// queue.
//   belay::input_plugin("csv", {{"path", path}, {"batch_size", 32}})
InputFn input_plugin(const std::string& plugin,
                     const std::vector<std::pair<std::string, runtime::OptionValue>>& options = {},
                     std::int64_t prefetch = 2);

// ---- models

// The arguments of a model function. It is called once for each graph, after the input function.
struct ModelArgs {
  Graph graph;
  std::vector<NamedOutput> features;
  std::vector<NamedOutput> labels;  // empty in mode kPredict
  Mode mode;
  const Params& params;
  const RunConfig& config;
  const void* estimator;  // for minimize and model_plugin

  // Find a feature or label by name; without a name there must be exactly one. The error lists the known names.
  Output feature(std::string_view name = {}) const;
  Output label(std::string_view name = {}) const;
  // The train operation, by an optimizer and a schedule among the Estimator's plugins; see OwnedGraph::minimize.
  Output minimize(const Output& loss, const OptimizerSettings& optimizer = {}) const;
  // The parameter of that name, or `otherwise`. INVALID_ARGUMENT: it is of another type.
  template <class T>
  T param(const std::string& name, T otherwise) const {
    const auto found = params.find(name);
    if (found == params.end()) return otherwise;
    if (const T* value = std::get_if<T>(&found->second)) return *value;
    fail(Code::kInvalidArgument, "the parameter '" + name + "' is of another type than the model asks for");
  }
};

// The pieces of a model in one mode. A piece may be left out if the mode does not need it.
struct EstimatorPieces {
  std::vector<NamedOutput> predictions = {};  // by name; a single tensor has none: {{"", y}}
  Output loss = {};                           // a scalar, or one element
  Output train_op = {};                       // model.minimize(loss, ...)
  // The metrics that evaluate returns besides the loss. `update` runs with each batch, `value` is read at the end
  // (ops::metrics).
  std::map<std::string, ops::Metric> eval_metric_ops = {};
  std::vector<Signature> export_outputs = {};  // checked and kept, for an exporter
  std::vector<OwnHook> training_chief_hooks = {};
  std::vector<OwnHook> training_hooks = {};
  Scaffold scaffold = {};
  std::vector<OwnHook> evaluation_hooks = {};
  std::vector<OwnHook> prediction_hooks = {};
};

// The result of a model function.
class EstimatorSpec {
 public:
  // Checks the pieces, in their order. kTrain needs train_op and loss, kEval loss, kPredict predictions. All outputs
  // must be of the model's graph. INVALID_ARGUMENT names the piece.
  EstimatorSpec(const ModelArgs& model, EstimatorPieces pieces);
  // Returns a copy with the changes of `change`, checked again. Use it in a model function that adds to another
  // function's spec.
  EstimatorSpec replace(const std::function<void(EstimatorPieces&)>& change) const;

  Mode mode() const noexcept { return mode_; }
  const Graph& graph() const noexcept { return graph_; }
  const EstimatorPieces& pieces() const noexcept { return pieces_; }

  // For Belay itself: the pieces that only a model plugin has.
  struct Insides;
  const Insides& insides() const noexcept { return *insides_; }
  EstimatorSpec(const Graph& graph, Mode mode, EstimatorPieces pieces, std::shared_ptr<const Insides> insides = {});

 private:
  Graph graph_;
  Mode mode_;
  EstimatorPieces pieces_;
  std::shared_ptr<const Insides> insides_;
};

using ModelFn = std::function<EstimatorSpec(const ModelArgs&)>;

// A model function that uses a model among the Estimator's plugins. The Estimator's params are its options. `optimizer`
// makes the train operation if the model has none. A metric without an update is averaged over the examples.
ModelFn model_plugin(const std::string& plugin, const OptimizerSettings& optimizer = {});

// ---- training, evaluation, prediction

// TensorFlow's InMemoryEvaluatorHook: an evaluation inside a training, with the variables of that moment and without a
// checkpoint. It runs before the first step, after each step that is a multiple of every_n_iter, and at the end. The
// training waits for it, and no bit of the training changes. Hooks of the training fetch its metrics as "eval/loss",
// "eval_NAME/auc".
struct InMemoryEvaluator {
  InputFn input;
  InMemoryEvaluatorOptions options;
};
// Makes an entry of TrainOptions::evaluators. INVALID_ARGUMENT: no input function, or a number that is not above 0.
InMemoryEvaluator in_memory_evaluator(InputFn input, InMemoryEvaluatorOptions options = {});

// The options of one call of train.
struct TrainOptions {
  std::vector<OwnHook> hooks = {};  // a hook object of the program serves one call
  // `steps`: number of steps to make. `max_steps`: global step to reach; if it is reached already, nothing happens. If
  // neither is set, training runs until the input ends or a hook stops it. Both are an error.
  std::optional<std::int64_t> steps = {};
  std::optional<std::int64_t> max_steps = {};
  // Hooks for checkpoints (before_save, after_save). INVALID_ARGUMENT: nothing saves.
  std::vector<OwnHook> saving_listeners = {};
  std::vector<InMemoryEvaluator> evaluators = {};
};

// The metrics by name, with "loss", the mean over the batches, and "global_step".
using EvalMetrics = std::map<std::string, Tensor>;
// Formats the numbers: "accuracy = 0.975, loss = 0.0812".
std::string eval_metrics_text(const EvalMetrics& metrics);

// One example's predictions, or a batch's. Valid until the next row is requested.
class PredictedRow {
 public:
  // The prediction of a name. NOT_FOUND, with the nearest name: the name is unknown.
  TensorView operator[](std::string_view name) const;
  // The only prediction, of a model that predicts one tensor, or of one key.
  TensorView value() const;
  // The names in the model's order; at(i) has the values in this order.
  const std::vector<std::string>& names() const noexcept;
  TensorView at(std::size_t i) const;

  // For Belay itself.
  PredictedRow() = default;
  explicit PredictedRow(const std::vector<std::string>& names) : names_(&names), values_(names.size()) {}
  void point_at(std::size_t i, const belay_tensor& value) { values_[i] = value; }

 private:
  const std::vector<std::string>* names_ = nullptr;
  std::vector<belay_tensor> values_;
};

// A sequence that computes while it is read, once. Nothing happens before the first element is requested. After the
// last element its session is closed, with its hooks' `end`. If you stop reading before the end, close() does the same.
// The destructor closes it without `end`, as after an error. An error is thrown by the request for the element and ends
// the sequence. It may outlive the Estimator.
class EstimatorPredictions {
 public:
  EstimatorPredictions(EstimatorPredictions&&) noexcept;
  EstimatorPredictions& operator=(EstimatorPredictions&&) = delete;
  ~EstimatorPredictions();

  // The next row; null after the last one.
  const PredictedRow* next();
  void close();
  // Path of the checkpoint of the predictions. Empty before the first element, and if there is none.
  const std::string& checkpoint() const noexcept;

  class Iterator {
   public:
    using value_type = PredictedRow;
    using difference_type = std::ptrdiff_t;
    const PredictedRow& operator*() const { return *at_; }
    const PredictedRow* operator->() const { return at_; }
    Iterator& operator++() {
      at_ = from_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& i, std::default_sentinel_t) { return i.at_ == nullptr; }

   private:
    friend class EstimatorPredictions;
    explicit Iterator(EstimatorPredictions& from) : from_(&from), at_(from.next()) {}
    EstimatorPredictions* from_;
    const PredictedRow* at_;
  };
  // For a range-for; requests the first element.
  Iterator begin() { return Iterator(*this); }
  static std::default_sentinel_t end() { return {}; }

  // For Belay itself.
  struct Insides;
  explicit EstimatorPredictions(std::unique_ptr<Insides> insides);
  Insides& insides() noexcept { return *insides_; }

 private:
  std::unique_ptr<Insides> insides_;
};

struct EstimatorOptions {
  // belay::default_plugins(), and the models and inputs that are used.
  std::vector<const belay_module*> plugins = {};
  // Directory of checkpoints and events. Empty: the config's, or a new temporary directory, with a warning.
  std::string model_dir = {};
  RunConfig config{};
  Params params = {};
  // Initial values from another checkpoint, if model_dir has none: warm_start(...).
  std::optional<PluginUse> warm_start_from = {};
  // The plugin that writes tensors into files.
  std::string saver = "safetensors";
  LogOptions log = {};
};

class Estimator {
 public:
  // Does not call the model function. INVALID_ARGUMENT: no model function, or two model directories.
  Estimator(ModelFn model, const EstimatorOptions& options);
  ~Estimator();
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  // Restores the newest checkpoint, else initializes or starts warm. Saves as the config sets, and at the end. It
  // throws if another process trains in the directory. Returns itself.
  Estimator& train(const InputFn& input, const TrainOptions& options = {});
  // Evaluates one pass over the input, or `steps` batches, with the variables of a checkpoint. NOT_FOUND: the
  // checkpoint does not exist.
  EvalMetrics evaluate(const InputFn& input, const EvaluateOptions& options = {});
  // Returns a sequence; nothing happens before its first element is requested (EstimatorPredictions).
  EstimatorPredictions predict(const InputFn& input, const PredictArguments& options = {});

  // Absolute path, also of a temporary directory.
  const std::string& model_dir() const noexcept;
  // Directory of the events of an evaluation with this name.
  std::string eval_dir(const std::string& name = {}) const;
  const RunConfig& config() const noexcept;
  const Params& params() const noexcept;
  // Path of the newest checkpoint; empty: there is none.
  std::string latest_checkpoint() const;
  // Names and values in the newest checkpoint, sorted by name. NOT_FOUND: there is no checkpoint, or no such variable.
  std::vector<std::string> variable_names() const;
  Tensor variable_value(const std::string& name) const;

  // For Belay itself.
  struct Insides;
  explicit Estimator(std::unique_ptr<Insides> insides);
  Insides& insides() const noexcept { return *insides_; }

 private:
  std::unique_ptr<Insides> insides_;
};

// Takes initial values of variables from a checkpoint: the plugin warm_start, with its rules for names.
//   {.warm_start_from = warm_start("/tmp/other")}                            // all trainable ones
//   {.warm_start_from = warm_start(path, {"encoder/.*"}, {{"encoder/w", "old/w"}})}
PluginUse warm_start(const std::string& from, const std::vector<std::string>& vars = {},
                     const std::map<std::string, std::string>& names = {});

}  // namespace belay
