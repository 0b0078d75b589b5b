// SPDX-License-Identifier: Apache-2.0
// The exporters of a run and the graph that they export. The stages make them (prepare.h). The functions at the end are
// mode export, and the exports of a training and of the evaluation of its checkpoints.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/estimator/export/exporters.h"
#include "runtime/estimator/host/model_graph.h"
#include "runtime/estimator/run/evaluate.h"
#include "runtime/estimator/run/train.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

struct RunExports {
  bool after_evaluations() const noexcept { return exporters != nullptr && exporters->wants_evaluations(); }

  std::optional<ModelGraph> graph;
  std::unique_ptr<Exporters> exporters;  // null: the mode has none
};

// Whether something of the run is kept or exported by checkpoint.best_metric.
bool wants_best_metric(const Manifest& manifest);
// Call it after the model's instance is made.
void make_exporters(PreparedRun& run);
// An unexportable model is a problem now, and not after the last step.
void build_exports(PreparedRun& run, Diagnostics& problems);

// ---- the exports

struct ExportedCheckpoint {
  UsedCheckpoint checkpoint;
  std::vector<WrittenExport> exports;
};

// Exports the chosen checkpoint by every exporter.
ExportedCheckpoint export_checkpoint(PreparedRun& run);
// Exports "latest" and "best" of an evaluated checkpoint. `variables` are those of the checkpoint.
void export_evaluated(PreparedRun& run, VariableStore& variables, const CheckpointResult& result);
// Writes the final exports of a training that ended well.
std::vector<WrittenExport> export_at_end(PreparedRun& run, const TrainingResult& result);

}  // namespace belay::runtime
