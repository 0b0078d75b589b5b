// SPDX-License-Identifier: Apache-2.0
// What train_and_evaluate and Experiment do with a model that was evaluated, besides keeping its checkpoint: exporters,
// plugins or objects of classes that a program derives from ModelExporter.
//
//   const belay::EvalSpec testing(test_input, {.exporters = {
//       belay::plugin_exporter("onnx"),                                                 // at the end: FinalExporter
//       belay::plugin_exporter("safetensors", {.when = belay::ExportWhen::kBest},       // BestExporter
//                              {.best_metric = "accuracy"})}});
//   belay::export_checkpoint(estimator, *belay::plugin_exporter("onnx"), test_input);   // now
//
// An exporter has a folder MODEL_DIR/export/NAME; that of a plugin has versions, as [[exporters]] of a manifest writes
// them (export_settings.h). One thread, that which evaluates.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/better.h"
#include "belay/runtime/estimator.h"
#include "belay/runtime/export_settings.h"

namespace belay {

using runtime::ExportSettings;
using runtime::ExportWhen;  // NOLINT(misc-unused-using-decls): for programs

// What an exporter is called with.
struct ModelExport {
  Estimator& estimator;
  const InputFn& input;         // of the evaluation
  std::string directory;        // MODEL_DIR/export/NAME; may not be there yet
  std::string checkpoint_path;  // that was evaluated
  const EvalMetrics& metrics;   // with "global_step"; empty: nothing was evaluated, and the program wants an export
  bool is_final;                // the training is at its end
};

// Writes a model that was evaluated in another form: always, at the end, or where it is the best so far; that is the
// exporter's to decide. One object is called for all evaluations of a training.
class ModelExporter {
 public:
  virtual ~ModelExporter() = default;
  // Of its folder: not empty, and unique among those of a list.
  virtual std::string name() const = 0;
  // Before anything is trained or evaluated: what it finds wrong ends the call. `input`: of the evaluation.
  virtual void check(Estimator&, const InputFn& /*input*/) {}
  // Path of what it has written; empty: nothing. An error ends the call that evaluates.
  virtual std::string export_model(const ModelExport& model) = 0;
};

struct PluginExporterOptions {
  // Of the plugin, as in a manifest.
  std::vector<std::pair<std::string, runtime::OptionValue>> options = {};
  std::string name = {};  // of its folder; empty: the plugin's
  // Of kBest: a metric of the evaluation, and which of its values are better. None: as its name says, "loss" or
  // "accuracy".
  std::string best_metric = "loss";
  std::optional<Better> better = {};
  // TensorFlow's serving_input_receiver_fn: its features, placeholders, are the export's inputs. None: placeholders of
  // the types and shapes of the evaluation's features, which have no batch size where that input leaves it open.
  InputFn input = {};
};

// An exporter among the Estimator's plugins: TensorFlow's FinalExporter, LatestExporter and BestExporter, by `when`.
// The model function is called in mode kPredict; `signature` is one of its export_outputs. What was the best so far is
// read from the folder, so a program that goes on exports nothing worse. INVALID_ARGUMENT: keep below 1, a best_metric
// whose name does not say what is better; NOT_FOUND, when it is checked: no such plugin, no such signature.
std::shared_ptr<ModelExporter> plugin_exporter(const std::string& plugin, const ExportSettings& settings = {},
                                               PluginExporterOptions options = {});

// TensorFlow's export_savedmodel: writes a checkpoint, whatever the exporter's `when`, and returns the path. Empty
// checkpoint_path: the newest. NOT_FOUND: there is none.
std::string export_checkpoint(Estimator& estimator, ModelExporter& exporter, const InputFn& input,
                              const std::string& checkpoint_path = {});

}  // namespace belay
