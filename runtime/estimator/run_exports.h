// SPDX-License-Identifier: Apache-2.0
// The exporters of a run, and the graph that they export. Making them is a part of its stages (prepare.h).
#pragma once

#include <memory>
#include <optional>

#include "runtime/estimator/exporters.h"
#include "runtime/estimator/model_graph.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

struct PreparedRun;

struct RunExports {
  bool after_evaluations() const noexcept { return exporters != nullptr && exporters->wants_evaluations(); }

  std::optional<ModelGraph> graph;
  std::unique_ptr<Exporters> exporters;  // null: the mode has none
};

// Whether something of the run is kept or exported by checkpoint.best_metric.
bool wants_best_metric(const Manifest& manifest);
// After the model's instance is made.
void make_exporters(PreparedRun& run);
// A model that cannot be exported is a problem now, and not after the last step.
void build_exports(PreparedRun& run, Diagnostics& problems);

}  // namespace belay::runtime
