// SPDX-License-Identifier: Apache-2.0
// The exports of a ManifestRun: behind evaluations, at the end of a training, and of a checkpoint.
#include <algorithm>

#include "runtime/checkpoint/best_checkpoints.h"
#include "runtime/estimator/input_checks.h"
#include "runtime/estimator/manifest_run.h"
#include "runtime/manifest/show.h"

namespace belay::runtime {
namespace {

// Paths among a plugin's options are relative to their manifest, which an export leaves.
void make_paths_absolute(const PluginInfo& info, const ManifestDirectories& directories, PluginUse& use) {
  for (PluginOption& o : use.options) {
    const auto absolute = [&](std::string& path) {
      if (!path.empty() && path[0] != '/' && path[0] != '$') path = directories.at(o.value_at) + "/" + path;
    };
    const OptionInfo* option = info.option(o.key);
    if (option == nullptr || option->type != OptionType::kPath) continue;
    if (auto* path = std::get_if<std::string>(&o.value)) absolute(*path);
    if (auto* paths = std::get_if<std::vector<std::string>>(&o.value))
      std::for_each(paths->begin(), paths->end(), absolute);
  }
}

// What an exporter may write down: it means the same wherever it is. Also of inputs that this mode does not use.
std::string manifest_to_export(Manifest manifest, const RunPlugins& plugins) {
  const ResolvedPlugins& found = plugins.found();
  for (auto& [name, input] : manifest.inputs) {
    const auto used = found.inputs.find(name);
    const PluginInfo* info =
        used != found.inputs.end() ? &used->second.info : plugins.info(PluginKind::kInput, input.plugin);
    if (info != nullptr) make_paths_absolute(*info, manifest.directories, input);
  }
  if (found.model) make_paths_absolute(found.model->info, manifest.directories, *manifest.model);
  return effective_manifest(manifest);
}

InputUse use_of_export(const RunInput& input) {
  return input.name == "train" ? InputUse::kTraining : InputUse::kPrediction;
}

}  // namespace

void ManifestRun::make_exporters() {
  const std::vector<ResolvedPlugin>& found = plugins_.found().exporters;
  if (found.empty()) return;
  ExportersOptions options;
  options.directory = manifest_.run.dir + "/export";
  options.best_metric = manifest_.checkpoint.best_metric;
  if (wants_best_metric()) options.better = best_rule(manifest_.checkpoint).better;
  options.manifest = manifest_to_export(manifest_, plugins_);
  exporters_ = std::make_unique<Exporters>(host_, std::move(options));
  const bool evaluates = manifest_.run.mode == RunMode::kContinuousEval;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ExporterSection& section = manifest_.exporters[i];
    if (evaluates && section.when == ExportWhen::kFinal) continue;
    exporters_->add(plugins_.create(plugins_.loaded(found[i]), host_.monitor()), section);
  }
}

// What cannot be exported shows before the first step, not behind the last one.
void ManifestRun::build_exports(Diagnostics& problems) {
  if (exporters_ == nullptr) return;
  RunInput& input = inputs_.at(export_input(manifest_));
  try {
    export_graph_.emplace(*ops_, Mode::kPredict);
    input.schema = schema_.options(use_of_export(input), plugins_.found().inputs.at(input.name));
    export_graph_->build_over_placeholders(
        *model_instance_,
        input.feed != nullptr ? input.feed->components()
                              : InputFeed::declaration_of(*input.instance, input.options(manifest_.run.seed)),
        schema_.labels());
    exporters_->use_model(model_instance_->plugin().info.name, export_graph_->graph, export_graph_->tensors.features,
                          export_graph_->outputs);
  } catch (const SchemaMismatch& e) {
    add_schema_problems(manifest_.inputs.at(input.name), e, problems);
    return;
  } catch (const Error& e) {
    if (e.code() != Code::kNotFound && e.code() != Code::kInvalidArgument && e.code() != Code::kUnimplemented) throw;
    problems.add(manifest_.exporters[0].plugin_at, std::string("the model cannot be exported: ") + e.what(), "");
    return;
  }
  exporters_->use_plugins(plugins_.registry());
  exporters_->use_schema(schema_.text());
}

bool ManifestRun::wants_best_metric() const {
  return manifest_.checkpoint.keep_best > 0 ||
         ((trains(manifest_.run.mode) || manifest_.run.mode == RunMode::kContinuousEval) &&
          std::any_of(manifest_.exporters.begin(), manifest_.exporters.end(),
                      [](const ExporterSection& e) { return e.when == ExportWhen::kBest; }));
}

std::vector<WrittenExport> ManifestRun::export_at_end() {
  if (exporters_ == nullptr || trained_ == nullptr) return {};
  return exporters_->ended(*trained_, trained_step_);
}

void ManifestRun::export_evaluated(VariableStore& variables, const CheckpointResult& result) {
  std::optional<double> best;
  for (const EvaluatedInput& input : result.inputs)
    for (const auto& [name, value] : input.result.metrics)
      if (input.input + "/" + name == manifest_.checkpoint.best_metric) best = value;
  exporters_->evaluated(variables, result.checkpoint.global_step, best);
}

ManifestRun::ExportedCheckpoint ManifestRun::export_checkpoint() {
  ExportedCheckpoint done;
  done.exports = exporters_->write_checkpoint(checkpoint_place(), checkpoint_choice(), host_.codec(), std::nullopt,
                                              &done.checkpoint);
  return done;
}

}  // namespace belay::runtime
