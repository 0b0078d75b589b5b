// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/export_model.h"

#include <optional>

#include "runtime/estimator/prepared_run.h"

namespace belay::runtime {

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
