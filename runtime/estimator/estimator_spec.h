// SPDX-License-Identifier: Apache-2.0
// What an Estimator asks a program for: an input function, which adds an input to a graph, and a model function, which
// adds the model behind it.
//
//   InputResult numbers(const InputArgs& input) {
//     return {.features = {{"x", ops::constant(input.graph, ...)}}, .labels = {{"y", ...}}};
//   }
//   EstimatorSpec line(const ModelArgs& model) {
//     const Output y = ops::dense(model.feature(), 1);
//     if (model.mode == Mode::kPredict) return EstimatorSpec(model, {.predictions = {{"y", y}}});
//     const Output loss = ops::mean_squared_error(y, model.label());
//     return EstimatorSpec(model, {.loss = loss, .train_op = model.minimize(loss, {.name = "adam"})});
//   }
//
// Both are called once for each graph: each train, evaluate and predict has its own. The global step is in the graph
// before the input function is called. [main]
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "belay/model.h"
#include "belay/ops/metrics.h"
#include "belay/runtime/run_config.h"
#include "runtime/estimator/monitored_training_session.h"

namespace belay::runtime {

class EstimatorModel;

// A program's own settings of its model, by name.
using Params = std::map<std::string, OptionValue>;

struct InputArgs {
  Graph graph;
  Mode mode;
  const Params& params;
  const RunConfig& config;
  EstimatorModel& built;  // for input_plugin
};

// By the name of a feature or label; see runtime/include/belay/runtime/estimator.h.
struct InputNames {
  std::map<std::string, std::vector<std::string>> columns = {};
  std::map<std::string, std::vector<std::string>> class_names = {};
};

// Constants, the elements of a queue with runners, or an input plugin's. Without queue runners the input never ends.
struct InputResult {
  std::vector<NamedOutput> features = {};
  std::vector<NamedOutput> labels = {};  // not used in mode kPredict
  std::vector<OwnHook> hooks = {};       // called before all others
  InputNames names = {};                 // of columns and classes, for a function of the program
};
using InputFn = std::function<InputResult(const InputArgs&)>;

// An input among the Estimator's plugins, with options as in a manifest.
//   input_plugin("csv", {{"path", path}, {"batch_size", std::int64_t{32}}})
InputFn input_plugin(const std::string& plugin, const std::vector<std::pair<std::string, OptionValue>>& options = {},
                     std::int64_t prefetch = 2);

struct ModelArgs {
  Graph graph;
  std::vector<NamedOutput> features;
  std::vector<NamedOutput> labels;  // empty in mode kPredict
  Mode mode;
  const Params& params;
  const RunConfig& config;
  EstimatorModel& built;  // for model_plugin

  // By name; without a name the only one. An error lists what there is.
  Output feature(std::string_view name = {}) const;
  Output label(std::string_view name = {}) const;
  // The train operation, by an optimizer and a schedule among the Estimator's plugins.
  Output minimize(const Output& loss, const OptimizerSettings& optimizer = {}) const;
  // INVALID_ARGUMENT where it is of another type.
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
  Output train_op = {};
  // What evaluate returns besides the loss: `update` runs with each batch, `value` is read at the end.
  std::map<std::string, ops::Metric> eval_metric_ops = {};
  std::vector<Signature> export_outputs = {};  // for whatever exports the model
  std::vector<OwnHook> training_chief_hooks = {};
  std::vector<OwnHook> training_hooks = {};
  ScaffoldOptions scaffold = {};  // its saver is the Estimator's
  std::vector<OwnHook> evaluation_hooks = {};
  std::vector<OwnHook> prediction_hooks = {};
};

class EstimatorSpec {
 public:
  // Checks the pieces, in their order: kTrain needs train_op and loss, kEval loss, kPredict predictions; everything is
  // of the model's graph. INVALID_ARGUMENT names the piece.
  EstimatorSpec(const ModelArgs& model, EstimatorPieces pieces)
      : EstimatorSpec(model.graph, model.mode, std::move(pieces)) {}
  EstimatorSpec(const Graph& graph, Mode mode, EstimatorPieces pieces);
  // A copy with what `change` changes, checked anew. Its mode is the same.
  EstimatorSpec replace(const std::function<void(EstimatorPieces&)>& change) const;

  Mode mode() const noexcept { return mode_; }
  const Graph& graph() const noexcept { return graph_; }
  const EstimatorPieces& pieces() const noexcept { return pieces_; }

 private:
  void check();
  void check_output(const std::string& piece, const Output& output) const;
  void check_loss();
  void check_predictions() const;
  void check_metrics() const;
  void check_export_outputs() const;

  Graph graph_;
  Mode mode_;
  EstimatorPieces pieces_;
};

using ModelFn = std::function<EstimatorSpec(const ModelArgs&)>;

// A model among the Estimator's plugins; its options are the Estimator's params. Where it brings no train operation the
// optimizer makes it. A metric that it has no update for is averaged over the examples.
ModelFn model_plugin(const std::string& plugin, const OptimizerSettings& optimizer = {});

// INVALID_ARGUMENT where one of them is neither a program's own hook nor a plugin's, naming `list` and its place.
void check_hooks(const std::string& list, const std::vector<OwnHook>& hooks);

}  // namespace belay::runtime
