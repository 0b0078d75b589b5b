// SPDX-License-Identifier: Apache-2.0
// Exporters for train_and_evaluate and Experiment, which write an evaluated model. They are plugins, or objects of
// classes that a program derives from ModelExporter.
//
//   const belay::EvalSpec testing(test_input, {.exporters = {
//       belay::plugin_exporter("onnx"),                                                 // at the end: FinalExporter
//       belay::plugin_exporter("safetensors", {.when = belay::ExportWhen::kBest},       // BestExporter
//                              {.best_metric = "accuracy"})}});
//   belay::export_checkpoint(estimator, *belay::plugin_exporter("onnx"), test_input);   // now
//
// An exporter has a folder MODEL_DIR/export/NAME. A plugin's folder has versions, as for [[exporters]] of a manifest
// (export_settings.h). Calls come on the thread that evaluates.
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

// The arguments of an exporter's call, valid for that call.
struct ModelExport {
  Estimator& estimator;
  const InputFn& input;         // of the evaluation
  std::string directory;        // MODEL_DIR/export/NAME; it may not exist yet
  std::string checkpoint_path;  // the checkpoint that was evaluated
  const EvalMetrics& metrics;   // with "global_step"; empty: nothing was evaluated, and the program asks for an export
  bool is_final;                // the training has ended
};

// Writes an evaluated model in another form. The exporter decides when: always, at the end, or if it is the best so
// far. One object is called for all evaluations of a training.
class ModelExporter {
 public:
  virtual ~ModelExporter() = default;
  // Name of its folder: not empty, and unique in a list.
  virtual std::string name() const = 0;
  // Called before any training or evaluation; an error ends the call. `input`: of the evaluation.
  virtual void check(Estimator&, const InputFn& /*input*/) {}
  // Writes the model and returns the path; empty: it wrote nothing. An error ends the call that evaluates.
  virtual std::string export_model(const ModelExport& model) = 0;
};

struct PluginExporterOptions {
  // Options of the plugin, as in a manifest.
  std::vector<std::pair<std::string, runtime::OptionValue>> options = {};
  std::string name = {};  // of its folder; empty: the plugin's name
  // For kBest: a metric of the evaluation, and the direction in which it is better. Empty: by its name, such as "loss"
  // or "accuracy".
  std::string best_metric = "loss";
  std::optional<Better> better = {};
  // TensorFlow's serving_input_receiver_fn: its features, placeholders, are the export's inputs. Empty: placeholders of
  // the types and shapes of the evaluation's features. Their batch size is open if that input leaves it open.
  InputFn input = {};
};

// An exporter among the Estimator's plugins: TensorFlow's FinalExporter, LatestExporter and BestExporter, by `when`. It
// calls the model function in mode kPredict; `signature` is one of its export_outputs. It reads the best value so far
// from the folder, so a program that continues exports no worse model. INVALID_ARGUMENT: keep is below 1, or
// best_metric's name does not decide its direction. NOT_FOUND, in the check: the plugin or signature does not exist.
std::shared_ptr<ModelExporter> plugin_exporter(const std::string& plugin, const ExportSettings& settings = {},
                                               PluginExporterOptions options = {});

// TensorFlow's export_savedmodel: writes a checkpoint at any `when` of the exporter, and returns the path. Empty
// checkpoint_path: the newest. NOT_FOUND: there is none.
std::string export_checkpoint(Estimator& estimator, ModelExporter& exporter, const InputFn& input,
                              const std::string& checkpoint_path = {});

}  // namespace belay
