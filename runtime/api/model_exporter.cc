// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/model_exporter.h"

#include <fmt/core.h>

#include <utility>

#include "runtime/estimator/estimator/estimator.h"
#include "runtime/platform/text/text.h"

namespace belay {
namespace {

double metric_of(const EvalMetrics& metrics, const std::string& name) {
  const auto found = metrics.find(name);
  if (found != metrics.end()) return TensorView(found->second).number(0);
  std::vector<std::string> names;
  for (const auto& [there, value] : metrics) names.push_back(there);
  fail(Code::kNotFound, "[B5029] best_metric = " + runtime::double_quoted(name) +
                            ": the evaluation has no such metric" + did_you_mean(name, names) +
                            "; it has: " + runtime::joined(names));
}

class PluginExporter final : public ModelExporter {
 public:
  PluginExporter(runtime::ExportArguments arguments, InputFn input)
      : arguments_(std::move(arguments)), input_(std::move(input)) {}

  std::string name() const override {
    return arguments_.exporter.name.empty() ? arguments_.exporter.plugin : arguments_.exporter.name;
  }
  void check(Estimator& estimator, const InputFn& input) override {
    runtime::EstimatorExport exporting = of(estimator);
    exporting.build(inputs(input));
  }
  std::string export_model(const ModelExport& model) override;

 private:
  bool best() const { return arguments_.settings.when == ExportWhen::kBest; }
  runtime::EstimatorExport of(const Estimator& estimator) const { return estimator.insides().exporting(arguments_); }
  const InputFn& inputs(const InputFn& of_evaluation) const { return input_ ? input_ : of_evaluation; }

  const runtime::ExportArguments arguments_;
  const InputFn input_;
  std::string last_checkpoint_, last_path_;
};

std::string PluginExporter::export_model(const ModelExport& model) {
  const bool evaluated = !model.metrics.empty();
  // The last one of a training is exported as the last, even if it was exported already.
  if (evaluated && !last_path_.empty() && model.checkpoint_path == last_checkpoint_) return last_path_;
  std::optional<double> value;
  if (evaluated && best()) value = metric_of(model.metrics, arguments_.best_metric);
  runtime::EstimatorExport exporting = of(model.estimator);
  if (evaluated && !exporting.due(value, model.is_final)) return {};
  exporting.build(inputs(model.input));
  last_path_ = exporting.write(model.checkpoint_path, value);
  last_checkpoint_ = model.checkpoint_path;
  return last_path_;
}

}  // namespace

std::shared_ptr<ModelExporter> plugin_exporter(const std::string& plugin, const ExportSettings& settings,
                                               PluginExporterOptions options) {
  const std::string label = "exporter " + runtime::double_quoted(plugin);
  if (settings.keep < 1)
    fail(Code::kInvalidArgument,
         fmt::format("[B5052] {}: keep is {}, must be at least 1: the newest export always stays", label,
                     settings.keep));
  runtime::ExportArguments arguments{.exporter = runtime::plugin_use(plugin, options.options, label),
                                     .settings = settings,
                                     .best_metric = options.best_metric};
  arguments.exporter.name = options.name;
  if (settings.when == ExportWhen::kBest)
    arguments.better = options.better ? *options.better : better_by_mode("auto", options.best_metric);
  return std::make_shared<PluginExporter>(std::move(arguments), std::move(options.input));
}

std::string export_checkpoint(Estimator& estimator, ModelExporter& exporter, const InputFn& input,
                              const std::string& checkpoint_path) {
  const std::string path = checkpoint_path.empty() ? estimator.latest_checkpoint() : checkpoint_path;
  if (path.empty())
    fail(Code::kNotFound, "[B5042] there is no checkpoint in " + runtime::single_quoted(estimator.model_dir()) +
                              " to export; train first");
  return exporter.export_model(
      {estimator, input, estimator.model_dir() + "/export/" + exporter.name(), path, EvalMetrics(), true});
}

}  // namespace belay
