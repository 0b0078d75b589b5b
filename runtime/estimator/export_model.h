// SPDX-License-Identifier: Apache-2.0
// Mode export, and the exports of a training and of the evaluation of its checkpoints.
#pragma once

#include <vector>

#include "runtime/estimator/evaluate.h"
#include "runtime/estimator/exporters.h"
#include "runtime/estimator/train.h"

namespace belay::runtime {

struct ExportedCheckpoint {
  UsedCheckpoint checkpoint;
  std::vector<WrittenExport> exports;
};

// By every exporter, the chosen checkpoint.
ExportedCheckpoint export_checkpoint(PreparedRun& run);
// "latest" and "best", of an evaluated checkpoint. `variables`: those of the checkpoint.
void export_evaluated(PreparedRun& run, VariableStore& variables, const CheckpointResult& result);
// The final exports of a training that ended as it was meant to.
std::vector<WrittenExport> export_at_end(PreparedRun& run, const TrainingResult& result);

}  // namespace belay::runtime
