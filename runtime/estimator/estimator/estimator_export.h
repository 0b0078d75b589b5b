// SPDX-License-Identifier: Apache-2.0
// An exporter plugin on the checkpoints of an Estimator: the machinery of [[exporters]] (exporters.h) over the graph
// that the program's functions build.
//
//   EstimatorExport exporting = estimator.exporting({.exporter = use, .settings = {.when = ExportWhen::kBest}});
//   if (!exporting.due(loss, false)) return;
//   exporting.build(input);                                   // the program's functions are called
//   const std::string path = exporting.write(checkpoint, loss);
//
// It is for one export. [main]
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "belay/better.h"
#include "belay/runtime/export_settings.h"
#include "runtime/estimator/estimator/estimator_model.h"
#include "runtime/estimator/export/exporters.h"

namespace belay::runtime {

struct ExportArguments {
  PluginUse exporter;
  ExportSettings settings = {};
  std::string best_metric = {};  // of kBest
  Better better = Better::kSmaller;
};

class EstimatorExport {
 public:
  // NOT_FOUND, INVALID_ARGUMENT: no such plugin among the Estimator's, a wrong option or setting.
  EstimatorExport(const EstimatorSettings& settings, const ExportArguments& arguments);

  // Whether it writes after an evaluation with this value. `is_final`: the training has ended, too.
  bool due(std::optional<double> value, bool is_final) const { return exporters_.due(value, is_final); }
  // Calls the input function and the model function in mode kPredict. The features become placeholders of their types
  // and shapes, unless they are some already. INVALID_ARGUMENT, NOT_FOUND: no such signature.
  void build(const InputFn& input);
  // Writes the checkpoint, or the newest one if the path is empty. Returns the path of the version. The version's
  // record has `value` of best_metric. NOT_FOUND: there is no checkpoint.
  std::string write(const std::string& checkpoint_path, std::optional<double> value);

 private:
  EstimatorRun run_;
  Exporters exporters_;
  std::optional<EstimatorModel> model_;
};

}  // namespace belay::runtime
