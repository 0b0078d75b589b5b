// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/estimator/estimator_export.h"

#include <utility>

#include "belay/ops/control.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// The model's name in exports, since a program's function has none.
constexpr const char* kModelName = "model_fn";

bool is_placeholder(const NodeGraph& graph, const Output& output) {
  return graph.node(graph.resolve(output.raw()).node).op->name == "Placeholder";
}

// Works in the graph of the input itself, so a model's variables get the same names as in the training.
InputFn over_placeholders(const InputFn& input, std::vector<NamedOutput>& features) {
  return [&](const InputArgs& args) {
    InputResult in = input(args);
    const auto scope = args.graph.scope("serving");
    for (NamedOutput& f : in.features) {
      if (f.name.empty()) f.name = "input";
      if (is_placeholder(model_of(args).graph(), f.output)) continue;
      if (f.output.rank() < 0)
        fail(Code::kInvalidArgument, "[B5040] the feature '" + f.name +
                                         "' has no known rank: give plugin_exporter an input whose features are "
                                         "placeholders");
      f.output = ops::placeholder(args.graph, f.output.dtype(), f.output.dims(), f.name);
    }
    features = in.features;
    in.hooks.clear();
    return in;
  };
}

ModelOutputs outputs_of(const EstimatorPieces& pieces) {
  ModelOutputs outputs;
  outputs.predictions = pieces.predictions;
  for (NamedOutput& p : outputs.predictions)
    if (p.name.empty()) p.name = "output";
  outputs.signatures = pieces.export_outputs;
  return outputs;
}

}  // namespace

EstimatorExport::EstimatorExport(const EstimatorSettings& settings, const ExportArguments& arguments)
    : run_(settings, Mode::kPredict, ""),
      exporters_(run_.host(), {.directory = settings.model_dir + "/export",
                               .best_metric = arguments.best_metric,
                               .better = arguments.better}) {
  exporters_.add(run_.create(PluginKind::kExporter, arguments.exporter), arguments.settings);
}

void EstimatorExport::build(const InputFn& input) {
  std::vector<NamedOutput> features;
  model_.emplace(run_, Mode::kPredict, over_placeholders(input, features));
  exporters_.use_model(kModelName, model_->graph(), features, outputs_of(model_->pieces()));
  exporters_.use_plugins(run_.plugins().registry());
}

std::string EstimatorExport::write(const std::string& checkpoint_path, std::optional<double> value) {
  run_.choose_checkpoint(checkpoint_path);
  if (!run_.restores())
    fail(Code::kNotFound, "[B5042] there is no trained model in " + single_quoted(run_.settings().model_dir) +
                              " to export; train it first");
  exporters_.use_schema(run_.schema().text());
  return exporters_.write_checkpoint(run_.settings().checkpoints(), run_.choice(), run_.host().codec(), value)
      .at(0)
      .path;
}

}  // namespace belay::runtime
