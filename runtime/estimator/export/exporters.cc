// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/export/exporters.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/checkpoint/read/stored_place.h"
#include "runtime/platform/files/directories_in.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

Exporters::Exporters(RunHost& run, ExportersOptions options) : run_(run), options_(std::move(options)) {}

Exporters::~Exporters() = default;

void Exporters::add(PluginInstance& exporter, const ExportSettings& settings) {
  if (settings.keep < 1)
    fail(Code::kInvalidArgument,
         fmt::format("[B5040] {}: keep is {}, must be at least 1: the newest export always stays", exporter.label(),
                     settings.keep));
  uses_.push_back({exporter, settings, nullptr});
}

bool Exporters::wants_evaluations() const noexcept {
  return std::any_of(uses_.begin(), uses_.end(), [](const Use& u) { return u.settings.when != ExportWhen::kFinal; });
}

void Exporters::use_model(const std::string& model, NodeGraph& graph, const std::vector<NamedOutput>& features,
                          const ModelOutputs& outputs) {
  model_name_ = model;
  for (Use& use : uses_) {
    try {
      use.model = std::make_unique<ExportedModel>(graph, features, outputs, use.settings.signature);
    } catch (const Error& e) {
      fail(e.code(), use.exporter.label() + ": " + std::string(e.message()));
    }
    use.model->set_model(model_name_);
    use.model->set_manifest(options_.manifest);
  }
  graph.finalize();
}

void Exporters::use_plugins(const Registry& plugins) {
  for (Use& use : uses_) use.model->use_plugins(plugins);
}

void Exporters::use_schema(std::string schema) {
  schema_ = std::move(schema);
  for (Use& use : uses_) use.model->set_schema(schema_);
}

bool Exporters::due(const Use& use, std::optional<double> value) const {
  return use.settings.when == ExportWhen::kLatest ||
         (use.settings.when == ExportWhen::kBest && is_better(folder_of(use), value));
}

bool Exporters::due(std::optional<double> value, bool is_final) const {
  return std::any_of(uses_.begin(), uses_.end(), [&](const Use& use) {
    return due(use, value) || (is_final && use.settings.when == ExportWhen::kFinal);
  });
}

template <class F>
void Exporters::attempt(const Use& use, std::int64_t step, F&& call) const {
  try {
    call();
  } catch (const RunInUse&) {
    throw;
  } catch (const Error& e) {
    if (use.settings.on_export_error == OnExportError::kStop || e.code() == Code::kCancelled) throw;
    run_.log().warning(use.exporter.name(),
                       fmt::format("step {} was not exported: {}; the training continues (on_error = \"continue\")",
                                   step, e.message()));
  }
}

std::vector<WrittenExport> Exporters::evaluated(VariableStore& store, std::int64_t step, std::optional<double> value) {
  std::vector<WrittenExport> written;
  for (Use& use : uses_) {
    if (use.settings.when == ExportWhen::kFinal) continue;
    attempt(use, step, [&] {
      ExportFolder folder = folder_of(use);  // with the lock: another process may have found an equal one
      if (use.settings.when == ExportWhen::kBest && !is_better(folder, value)) return;
      written.push_back({use.exporter.name(), write(use, folder, store, step, value)});
    });
  }
  return written;
}

std::vector<WrittenExport> Exporters::ended(VariableStore& store, std::int64_t step) {
  return write(store, step, std::nullopt, [](const Use& use) { return use.settings.when == ExportWhen::kFinal; });
}

std::vector<WrittenExport> Exporters::write_all(VariableStore& store, std::int64_t step, std::optional<double> value) {
  return write(store, step, value, [](const Use&) { return true; });
}

std::vector<WrittenExport> Exporters::write_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice,
                                                       const SaverUse& saver, std::optional<double> value,
                                                       UsedCheckpoint* used) {
  VariableStore store;
  const UsedCheckpoint found = load_checkpoint(place, choice, saver, store);
  if (used != nullptr) *used = found;
  checkpoint_ = found.path;
  return write_all(store, found.global_step, value);
}

// The exports themselves hold the best value so far, so a run that continues knows it. An export removed by the user no
// longer counts.
bool Exporters::is_better(const ExportFolder& folder, std::optional<double> value) const {
  if (!value || !std::isfinite(*value)) return false;
  const std::optional<ExportRecord> best = folder.newest_best(options_.best_metric);
  if (!best) return true;
  return options_.better == Better::kSmaller ? *value < *best->value : *value > *best->value;
}

ExportFolder Exporters::folder_of(const Use& use) const {
  const PathParts parts = path_parts(options_.directory);
  const std::string below = parts.name + "/" + use.exporter.name();
  // The user may have moved the run's directory.
  const bool is_runs = run_.has_directory() && parts.parent == run_.options().dir;
  return ExportFolder(
      is_runs ? make_directories_in(run_.directory(), below) : make_directories_in(run_.files(), parts.parent, below),
      run_.clock(), run_.log());
}

std::vector<WrittenExport> Exporters::write(VariableStore& store, std::int64_t step, std::optional<double> value,
                                            const std::function<bool(const Use&)>& chooses) {
  std::vector<WrittenExport> written;
  for (Use& use : uses_) {
    if (!chooses(use)) continue;
    ExportFolder folder = folder_of(use);
    written.push_back({use.exporter.name(), write(use, folder, store, step, value)});
  }
  return written;
}

std::string Exporters::write(Use& use, ExportFolder& folder, VariableStore& store, std::int64_t step,
                             std::optional<double> value) {
  if (run_.has_directory()) run_.directory().check_lock();
  try {
    use.model->take(store, step, checkpoint_);
  } catch (const Error& e) {
    if (e.code() != Code::kNotFound) throw;
    fail(e.code(), "[B5040] cannot export to " + single_quoted(path_of(use)) + ": " + std::string(e.message()));
  }
  std::string path = folder.add([&](OpenDirectory& directory) {
    ExportRecord record{use.exporter.plugin().info.name, model_name_, step};
    if (value && use.settings.when == ExportWhen::kBest) record.metric = options_.best_metric, record.value = value;
    record.files = use.model->write(use.exporter, directory);
    return record;
  });
  folder.collect(use.settings.keep);
  run_.log().info(use.exporter.name(), fmt::format("exported step {} to {}", step, escaped(path)));
  return path;
}

}  // namespace belay::runtime
