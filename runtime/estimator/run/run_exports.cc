// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/run_exports.h"

#include <algorithm>

#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/estimator/problems/data_problem.h"
#include "runtime/estimator/problems/input_checks.h"
#include "runtime/estimator/problems/plugin_problem.h"
#include "runtime/estimator/run/prepared_run.h"
#include "runtime/manifest/show.h"

namespace belay::runtime {
namespace {

// Paths among a plugin's options are relative to their manifest, and an export leaves that folder.
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

// An exporter may keep this manifest, so it means the same in every folder. It also has inputs that this mode does not
// use.
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

bool wants_best_metric(const Manifest& manifest) {
  return manifest.checkpoint.keep_best > 0 ||
         ((trains(manifest.run.mode) || manifest.run.mode == RunMode::kContinuousEval) &&
          std::any_of(manifest.exporters.begin(), manifest.exporters.end(),
                      [](const ExporterSection& e) { return e.when == ExportWhen::kBest; }));
}

void make_exporters(PreparedRun& run) {
  const Manifest& manifest = run.manifest;
  const std::vector<ResolvedPlugin>& found = run.plugins.found().exporters;
  if (found.empty()) return;
  ExportersOptions options;
  options.directory = manifest.run.dir + "/export";
  options.best_metric = manifest.checkpoint.best_metric;
  if (wants_best_metric(manifest)) options.better = best_rule(manifest.checkpoint).better;
  options.manifest = manifest_to_export(manifest, run.plugins);
  run.exports.exporters = std::make_unique<Exporters>(run.host, std::move(options));
  const bool evaluates = manifest.run.mode == RunMode::kContinuousEval;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ExporterSection& section = manifest.exporters[i];
    if (evaluates && section.when == ExportWhen::kFinal) continue;
    run.exports.exporters->add(run.plugins.create(run.plugins.loaded(found[i]), run.host.monitor()), section);
  }
}

void build_exports(PreparedRun& run, Diagnostics& problems) {
  auto& [export_graph, exporters] = run.exports;
  if (exporters == nullptr) return;
  RunInput& input = run.inputs.at(export_input(run.manifest));
  try {
    export_graph.emplace(*run.ops, Mode::kPredict);
    input.schema = run.schema.options(use_of_export(input), run.plugins.found().inputs.at(input.name));
    export_graph->build_over_placeholders(
        *run.model_instance,
        input.feed != nullptr ? input.feed->components()
                              : InputFeed::declaration_of(*input.instance, input.options(run.manifest.run.seed)),
        run.schema.labels());
    exporters->use_model(run.model_instance->plugin().info.name, export_graph->graph, export_graph->tensors.features,
                         export_graph->outputs);
  } catch (const SchemaMismatch& e) {
    add_schema_problems(run.manifest.inputs.at(input.name), e, problems);
    return;
  } catch (const Error& e) {
    if (e.code() == Code::kDataLoss && input.feed == nullptr) {  // the input's data are damaged
      if (!add_data_problems(run.plugins.found().inputs, e, problems))
        add_plugin_problem(run.manifest.inputs.at(input.name), e, problems);
      return;
    }
    if (e.code() != Code::kNotFound && e.code() != Code::kInvalidArgument && e.code() != Code::kUnimplemented) throw;
    problems.add(run.manifest.exporters[0].plugin_at, std::string("[B5040] the model cannot be exported: ") + e.what(),
                 "");
    return;
  }
  exporters->use_plugins(run.plugins.registry());
  exporters->use_schema(run.schema.text());
}

// ---- the exports

ExportedCheckpoint export_checkpoint(PreparedRun& run) {
  ExportedCheckpoint done;
  done.exports = run.exports.exporters->write_checkpoint(run.checkpoint_place(), run.checkpoint_choice(),
                                                         run.host.codec(), std::nullopt, &done.checkpoint);
  return done;
}

void export_evaluated(PreparedRun& run, VariableStore& variables, const CheckpointResult& result) {
  std::optional<double> best;
  for (const EvaluatedInput& input : result.inputs)
    for (const auto& [name, value] : input.result.metrics)
      if (input.input + "/" + name == run.manifest.checkpoint.best_metric) best = value;
  run.exports.exporters->evaluated(variables, result.checkpoint.global_step, best);
}

std::vector<WrittenExport> export_at_end(PreparedRun& run, const TrainingResult& result) {
  if (run.exports.exporters == nullptr || result.trained == nullptr) return {};
  return run.exports.exporters->ended(*result.trained, result.global_step);
}

}  // namespace belay::runtime
