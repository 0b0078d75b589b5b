// SPDX-License-Identifier: Apache-2.0
// Input functions, model functions and what they return.
#include <memory>
#include <utility>

#include "belay/runtime/default_graph.h"
#include "runtime/api/estimator.h"
#include "runtime/api/training_session.h"
#include "runtime/estimator/tensor_input.h"

namespace belay {
namespace {

runtime::EstimatorPieces pieces_of(const EstimatorPieces& p, const runtime::InitialValues& initial_values) {
  runtime::EstimatorPieces pieces{.predictions = p.predictions,
                                  .loss = p.loss,
                                  .train_op = p.train_op,
                                  .eval_metric_ops = p.eval_metric_ops,
                                  .export_outputs = p.export_outputs,
                                  .training_chief_hooks = p.training_chief_hooks,
                                  .training_hooks = p.training_hooks,
                                  .scaffold = {p.scaffold},
                                  .evaluation_hooks = p.evaluation_hooks,
                                  .prediction_hooks = p.prediction_hooks};
  pieces.scaffold.initial_values = initial_values;
  return pieces;
}

// Of a model plugin, whose scaffold has initial values and no more.
EstimatorPieces pieces_of(const runtime::EstimatorPieces& p) {
  return {.predictions = p.predictions,
          .loss = p.loss,
          .train_op = p.train_op,
          .eval_metric_ops = p.eval_metric_ops,
          .export_outputs = p.export_outputs,
          .training_chief_hooks = p.training_chief_hooks,
          .training_hooks = p.training_hooks,
          .evaluation_hooks = p.evaluation_hooks,
          .prediction_hooks = p.prediction_hooks};
}

const runtime::ModelArgs& inner(const ModelArgs& model) {
  return *static_cast<const runtime::ModelArgs*>(model.estimator);
}

// An input function of the runtime's as one of a program's.
InputFn outer(runtime::InputFn input) {
  return [input = std::move(input)](const InputArgs& args) -> InputResult {
    runtime::InputResult made = input(*static_cast<const runtime::InputArgs*>(args.estimator));
    return {std::move(made.features), std::move(made.labels), std::move(made.hooks), {}};
  };
}

}  // namespace

// ---- inputs

InputFn tensor_input(NamedTensors features, NamedTensors labels, TensorInputOptions options) {
  return outer(runtime::tensor_input(std::move(features), std::move(labels), options));
}

InputFn input_plugin(const std::string& plugin,
                     const std::vector<std::pair<std::string, runtime::OptionValue>>& options, std::int64_t prefetch) {
  return outer(runtime::input_plugin(plugin, options, prefetch));
}

// ---- models

Output ModelArgs::feature(std::string_view name) const { return inner(*this).feature(name); }
Output ModelArgs::label(std::string_view name) const { return inner(*this).label(name); }
Output ModelArgs::minimize(const Output& loss, const OptimizerSettings& optimizer) const {
  return inner(*this).minimize(loss, optimizer);
}

EstimatorSpec::Insides::Insides(const Graph& graph, Mode mode, const EstimatorPieces& pieces,
                                runtime::InitialValues values)
    : initial_values(std::move(values)), spec(graph, mode, pieces_of(pieces, initial_values)) {}

EstimatorSpec::EstimatorSpec(const Graph& graph, Mode mode, EstimatorPieces pieces,
                             std::shared_ptr<const Insides> insides)
    : graph_(graph), mode_(mode), pieces_(std::move(pieces)), insides_(std::move(insides)) {}

EstimatorSpec::EstimatorSpec(const ModelArgs& model, EstimatorPieces pieces)
    : graph_(model.graph),
      mode_(model.mode),
      pieces_(std::move(pieces)),
      insides_(std::make_shared<Insides>(graph_, mode_, pieces_)) {}

EstimatorSpec EstimatorSpec::replace(const std::function<void(EstimatorPieces&)>& change) const {
  EstimatorPieces changed = pieces_;
  change(changed);
  auto checked = std::make_shared<Insides>(graph_, mode_, changed, insides_->initial_values);
  return {graph_, mode_, std::move(changed), std::move(checked)};
}

ModelFn model_plugin(const std::string& plugin, const OptimizerSettings& optimizer) {
  return [build = runtime::model_plugin(plugin, optimizer)](const ModelArgs& model) {
    const runtime::EstimatorPieces built = build(inner(model)).pieces();
    EstimatorPieces pieces = pieces_of(built);
    auto checked =
        std::make_shared<EstimatorSpec::Insides>(model.graph, model.mode, pieces, built.scaffold.initial_values);
    return EstimatorSpec(model.graph, model.mode, std::move(pieces), std::move(checked));
  };
}

}  // namespace belay

namespace belay::runtime {

InputFn input_fn(const belay::InputFn& input) {
  if (!input) return {};
  return [input](const InputArgs& args) -> InputResult {
    const DefaultGraph scope(args.graph);
    belay::InputResult made = input({args.graph, args.mode, args.params, args.config, &args});
    return {std::move(made.features),
            std::move(made.labels),
            std::move(made.hooks),
            {std::move(made.names.columns), std::move(made.names.class_names)}};
  };
}

ModelFn model_fn(const belay::ModelFn& model) {
  if (!model) return {};
  return [model](const ModelArgs& args) -> EstimatorSpec {
    const DefaultGraph scope(args.graph);
    return model({args.graph, args.features, args.labels, args.mode, args.params, args.config, &args}).insides().spec;
  };
}

}  // namespace belay::runtime
