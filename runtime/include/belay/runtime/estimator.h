// SPDX-License-Identifier: Apache-2.0
// TensorFlow's Estimator: a model function that is trained, evaluated and asked for predictions, each time in a graph
// and a session made for it; what lasts is the checkpoints of its directory.
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
// Training takes the directory's lock while it runs. Evaluation and prediction take none, and work beside a trainer: an
// evaluation writes its events and nothing else, a prediction nothing. A call that is wrong in itself is
// INVALID_ARGUMENT before anything has begun. One thread at a time; input and model functions are called on it.
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

// Settings of the program's for its model, by name; EstimatorOptions::params, and what input and model functions get.
using Params = std::map<std::string, runtime::OptionValue>;

// ---- inputs

// What an input function gets. It is called once for each graph, and the global step is in the graph already.
struct InputArgs {
  Graph graph;
  Mode mode;
  const Params& params;
  const RunConfig& config;
  const void* estimator;  // for input_plugin
};

// What an input function says of its features and labels, by their names: `columns` names what stands in the last
// dimension, `class_names` what the numbers of a class mean. They are kept with the model. Then every other input of
// the model must have the same features, columns and classes; without names only types and shapes of common ones are
// compared.
//   return belay::InputResult{.features = {{"x", x}}, .labels = {{"y", y}}, .names = {.columns = {{"x", {"a", "b"}}}}};
struct InputNames {
  std::map<std::string, std::vector<std::string>> columns = {};
  std::map<std::string, std::vector<std::string>> class_names = {};
};

// What it returns: constants, the elements of a queue with a runner (add_queue_runner), or an input plugin's. Each run
// takes a batch, also where the model uses nothing of it. Without a queue the input never ends: then give steps.
struct InputResult {
  std::vector<NamedOutput> features = {};
  std::vector<NamedOutput> labels = {};  // not used in mode kPredict
  std::vector<OwnHook> hooks = {};       // called before all others
  InputNames names = {};
};
using InputFn = std::function<InputResult(const InputArgs&)>;

// Tensors in the program's memory, row by row in their order, as TensorFlow's numpy_input_fn. For small data: all rows
// of all epochs wait in a queue, which is filled when a session is made. INVALID_ARGUMENT where there is no feature, or
// the first dimensions differ.
InputFn tensor_input(NamedTensors features, NamedTensors labels = {}, TensorInputOptions options = {});

// An input among the Estimator's plugins, with options as in a manifest. `prefetch`: batches that wait to be taken.
//   belay::input_plugin("csv", {{"path", path}, {"batch_size", 32}})
InputFn input_plugin(const std::string& plugin,
                     const std::vector<std::pair<std::string, runtime::OptionValue>>& options = {},
                     std::int64_t prefetch = 2);

// ---- models

// What a model function gets. It is called once for each graph, behind the input function.
struct ModelArgs {
  Graph graph;
  std::vector<NamedOutput> features;
  std::vector<NamedOutput> labels;  // empty in mode kPredict
  Mode mode;
  const Params& params;
  const RunConfig& config;
  const void* estimator;  // for minimize and model_plugin

  // By name; without a name the only one. An error lists what there is.
  Output feature(std::string_view name = {}) const;
  Output label(std::string_view name = {}) const;
  // The train operation, by an optimizer and a schedule among the Estimator's plugins; see OwnedGraph::minimize.
  Output minimize(const Output& loss, const OptimizerSettings& optimizer = {}) const;
  // The parameter of that name, or `otherwise`. INVALID_ARGUMENT where it is of another type.
  template <class T>
  T param(const std::string& name, T otherwise) const {
    const auto found = params.find(name);
    if (found == params.end()) return otherwise;
    if (const T* value = std::get_if<T>(&found->second)) return *value;
    fail(Code::kInvalidArgument, "the parameter '" + name + "' is of another type than the model asks for");
  }
};

// The pieces of a model in one mode; each may be left out where the mode does not need it.
struct EstimatorPieces {
  std::vector<NamedOutput> predictions = {};  // by name; a single tensor has none: {{"", y}}
  Output loss = {};                           // a scalar, or one element
  Output train_op = {};                       // model.minimize(loss, ...)
  // What evaluate returns besides the loss: `update` runs with each batch, `value` is read at the end (ops::metrics).
  std::map<std::string, ops::Metric> eval_metric_ops = {};
  std::vector<Signature> export_outputs = {};  // checked and kept, for an exporter
  std::vector<OwnHook> training_chief_hooks = {};
  std::vector<OwnHook> training_hooks = {};
  Scaffold scaffold = {};
  std::vector<OwnHook> evaluation_hooks = {};
  std::vector<OwnHook> prediction_hooks = {};
};

// What a model function returns.
class EstimatorSpec {
 public:
  // Checks the pieces, in their order: kTrain needs train_op and loss, kEval loss, kPredict predictions; everything is
  // of the model's graph. INVALID_ARGUMENT names the piece.
  EstimatorSpec(const ModelArgs& model, EstimatorPieces pieces);
  // A copy with what `change` changes, checked anew; for a model function that adds to another one's.
  EstimatorSpec replace(const std::function<void(EstimatorPieces&)>& change) const;

  Mode mode() const noexcept { return mode_; }
  const EstimatorPieces& pieces() const noexcept { return pieces_; }

  // For Belay itself: the pieces as it takes them.
  struct Insides;
  const Insides& insides() const noexcept { return *insides_; }
  EstimatorSpec(const Graph& graph, Mode mode, EstimatorPieces pieces, std::shared_ptr<const Insides> insides);

 private:
  Graph graph_;
  Mode mode_;
  EstimatorPieces pieces_;
  std::shared_ptr<const Insides> insides_;
};

using ModelFn = std::function<EstimatorSpec(const ModelArgs&)>;

// A model among the Estimator's plugins; its options are the Estimator's params. Where it brings no train operation the
// optimizer makes it. A metric that it has no update for is averaged over the examples.
ModelFn model_plugin(const std::string& plugin, const OptimizerSettings& optimizer = {});

// ---- training, evaluation, prediction

// TensorFlow's InMemoryEvaluatorHook: an evaluation inside a training, with the variables of that moment and without a
// checkpoint: before the first step, behind each step that is a multiple of every_n_iter, and at the end. The training
// waits meanwhile, and no bit of it changes. Hooks of the training fetch its metrics as "eval/loss", "eval_NAME/auc".
struct InMemoryEvaluator {
  InputFn input;
  InMemoryEvaluatorOptions options;
};
// For TrainOptions::evaluators. INVALID_ARGUMENT: no input function, or a number that is not above 0.
InMemoryEvaluator in_memory_evaluator(InputFn input, InMemoryEvaluatorOptions options = {});

// What one call of train is asked for.
struct TrainOptions {
  std::vector<OwnHook> hooks = {};  // each of a program's own is for one call
  // So many more, or up to this global step (nothing happens where it is reached); none of the two: until the input
  // ends or a hook stops it; both are an error.
  std::optional<std::int64_t> steps = {};
  std::optional<std::int64_t> max_steps = {};
  // Hooks that hear of checkpoints (before_save, after_save). INVALID_ARGUMENT where nothing saves.
  std::vector<OwnHook> saving_listeners = {};
  std::vector<InMemoryEvaluator> evaluators = {};
};

// The metrics by name, with "loss", the mean over the batches, and "global_step".
using EvalMetrics = std::map<std::string, Tensor>;
// "accuracy = 0.975, loss = 0.0812": numbers only.
std::string eval_metrics_text(const EvalMetrics& metrics);

// One example's predictions, or a batch's. Valid until the next one is asked for.
class PredictedRow {
 public:
  // NOT_FOUND with the nearest name.
  TensorView operator[](std::string_view name) const;
  // Of a model that predicts one tensor, or of one key.
  TensorView value() const;
  // In the model's order.
  const std::vector<std::string>& names() const noexcept;
  TensorView at(std::size_t i) const;

 private:
  friend class EstimatorPredictions;
  const void* row_ = nullptr;
};

// A sequence that computes as it is read: nothing happens before the first element is asked for. It is read once.
// Behind the last element its session is closed and its hooks' `end` was called; where reading stops before, close()
// does the same, and the destructor closes it without `end`, as after an error. An error leaves the element that was
// asked for, and ends the sequence. It outlives the Estimator.
class EstimatorPredictions {
 public:
  EstimatorPredictions(EstimatorPredictions&&) noexcept;
  EstimatorPredictions& operator=(EstimatorPredictions&&) = delete;
  ~EstimatorPredictions();

  // Null behind the last one.
  const PredictedRow* next();
  void close();
  // That the predictions are of; empty before the first element, and where there is none.
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
  // For a range-for; asks for the first element.
  Iterator begin() { return Iterator(*this); }
  static std::default_sentinel_t end() { return {}; }

 private:
  friend class Estimator;
  struct Insides;
  explicit EstimatorPredictions(std::unique_ptr<Insides> insides);

  std::unique_ptr<Insides> insides_;
};

struct EstimatorOptions {
  // belay::default_plugins(), and the models and inputs that are used.
  std::vector<const belay_module*> plugins = {};
  // Where checkpoints and events are. Empty: the config's, or a new temporary directory, with a warning.
  std::string model_dir = {};
  RunConfig config{};
  Params params = {};
  // Initial values from another checkpoint, where model_dir has none: warm_start(...).
  std::optional<PluginUse> warm_start_from = {};
  // The plugin that writes tensors into files.
  std::string saver = "safetensors";
  LogOptions log = {};
};

class Estimator {
 public:
  // INVALID_ARGUMENT: no model function; two model directories. The model function is not called.
  Estimator(ModelFn model, const EstimatorOptions& options);
  ~Estimator();
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  // Restores the newest checkpoint, or else initializes or starts warm; saves as the config says, and at the end. An
  // error where another process trains there. Returns itself.
  Estimator& train(const InputFn& input, const TrainOptions& options = {});
  // One pass over the input, or so many batches, with the variables of a checkpoint. NOT_FOUND: no such checkpoint.
  EvalMetrics evaluate(const InputFn& input, const EvaluateOptions& options = {});
  // Nothing happens before the first element is asked for; see EstimatorPredictions.
  EstimatorPredictions predict(const InputFn& input, const PredictArguments& options = {});

  // Absolute, also where it is a temporary one.
  const std::string& model_dir() const noexcept;
  // Where the events of an evaluation of that name are.
  std::string eval_dir(const std::string& name = {}) const;
  const RunConfig& config() const noexcept;
  const Params& params() const noexcept;
  // Path of the newest checkpoint; empty: there is none.
  std::string latest_checkpoint() const;
  // Of the newest checkpoint, sorted; NOT_FOUND where there is none, or no such variable.
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
