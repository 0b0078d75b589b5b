// SPDX-License-Identifier: Apache-2.0
// The exporters of a run, and when each of them writes. The caller builds the model in mode predict, over placeholders
// of an input's features. A PreparedRun builds its plugin's model, an Estimator builds its program's.
//
//   Exporters exporters(run, {.directory = "DIR/export", .best_metric = "eval/loss", .manifest = ...});
//   exporters.add(instance, settings);
//   exporters.use_model("mlp", graph, features, outputs);      // what cannot be exported shows here
//   exporters.use_plugins(registry);
//   exporters.evaluated(store, step, loss);                    // "latest", and "best" if it is better
//   exporters.ended(store, step);                              // "final"
//   exporters.write_all(store, step);                          // what `belay export` does
//   exporters.write_checkpoint(place, choice, saver, {});      // the same of a checkpoint
//
// Exports are written to DIRECTORY/NAME/VERSION (export_folder.h). The values are copied under the store's shared gate,
// so a training that shares it may continue. An error names the exporter and ends the call; earlier versions stay.
// After an evaluation each error is a warning instead, unless the exporter's settings have kStop. [session]
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belay/better.h"
#include "belay/runtime/export_settings.h"
#include "runtime/estimator/export/exported_model.h"
#include "runtime/estimator/host/run_host.h"
#include "runtime/estimator/resume/checkpoint_choice.h"
#include "runtime/estimator/resume/export_folder.h"

namespace belay::runtime {

struct ExportersOptions {
  std::string directory = {};    // each exporter has a folder below it
  std::string best_metric = {};  // a role: "eval/loss"; empty: nothing is ever best
  Better better = Better::kSmaller;
  std::string manifest = {};  // for exporters that write it down
};

// One that was written.
struct WrittenExport {
  std::string exporter;  // the instance's name
  std::string path;      // of the version
};

class Exporters {
 public:
  // `run` is borrowed. If it has a directory, each export checks that its lock is still held.
  Exporters(RunHost& run, ExportersOptions options);
  ~Exporters();
  Exporters(const Exporters&) = delete;
  Exporters& operator=(const Exporters&) = delete;

  // INVALID_ARGUMENT: keep below 1.
  void add(PluginInstance& exporter, const ExportSettings& settings);
  bool empty() const noexcept { return uses_.empty(); }
  // Whether any exporter waits for evaluations.
  bool wants_evaluations() const noexcept;

  // Call it once, after everything is added. It finalizes the borrowed graph. `model`: the name of the model in
  // exports. `features` become the inputs. INVALID_ARGUMENT; NOT_FOUND if there is no such signature.
  void use_model(const std::string& model, NodeGraph& graph, const std::vector<NamedOutput>& features,
                 const ModelOutputs& outputs);
  void use_plugins(const Registry& plugins);
  // The schema that the model's training learned, as JSON: each export keeps it as schema.json. Empty: not known.
  void use_schema(std::string schema);

  // Whether any exporter writes after an evaluation with this value. `is_final`: the training has ended, too. It needs
  // no model.
  bool due(std::optional<double> value, bool is_final) const;

  // Call it after an evaluation. `value` of best_metric: none if the evaluation has none.
  std::vector<WrittenExport> evaluated(VariableStore& store, std::int64_t step, std::optional<double> value);
  // Call it once, after a training with a good end.
  std::vector<WrittenExport> ended(VariableStore& store, std::int64_t step);
  // Writes with each exporter, whatever its `when` is. `value`: of best_metric, if it was evaluated.
  std::vector<WrittenExport> write_all(VariableStore& store, std::int64_t step, std::optional<double> value);
  std::vector<WrittenExport> write_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice,
                                              const SaverUse& saver, std::optional<double> value,
                                              UsedCheckpoint* used = nullptr);

 private:
  struct Use {
    PluginInstance& exporter;
    ExportSettings settings;
    std::unique_ptr<ExportedModel> model;
  };
  // An error of `call` is a warning, unless the settings of the exporter make it end the training.
  template <class F>
  void attempt(const Use& use, std::int64_t step, F&& call) const;
  // Writes with each exporter that `chooses` accepts.
  std::vector<WrittenExport> write(VariableStore& store, std::int64_t step, std::optional<double> value,
                                   const std::function<bool(const Use&)>& chooses);
  // `value`: noted in the export.
  std::string write(Use& use, ExportFolder& folder, VariableStore& store, std::int64_t step,
                    std::optional<double> value);
  bool due(const Use& use, std::optional<double> value) const;
  bool is_better(const ExportFolder& folder, std::optional<double> value) const;
  ExportFolder folder_of(const Use& use) const;
  // The folder of the exporter's versions.
  std::string path_of(const Use& use) const { return options_.directory + "/" + use.exporter.name(); }

  RunHost& run_;
  const ExportersOptions options_;
  std::string model_name_, schema_;
  std::string checkpoint_;  // that write_checkpoint writes; empty: the variables are those of a training
  std::vector<Use> uses_;
};

}  // namespace belay::runtime
