// SPDX-License-Identifier: Apache-2.0
// One call of an Estimator: its run with its plugins, and the checkpoint from which it continues.
//
//   EstimatorRun run(settings, Mode::kEval, "");
//   run.choose_checkpoint(path);                            // "": the newest, if there is one
//   EstimatorModel model(run, Mode::kEval, input);          // estimator_model.h: a graph, which restores it
//
// Evaluation and prediction take no lock and restore without a RunSaver. So they work beside a trainer, and on a
// directory that is read-only. [main]
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/estimator/estimator/estimator_spec.h"
#include "runtime/estimator/host/run_control.h"
#include "runtime/estimator/host/run_host.h"
#include "runtime/estimator/host/run_plugins.h"
#include "runtime/estimator/resume/checkpoint_choice.h"
#include "runtime/estimator/resume/model_schema.h"
#include "runtime/optimizer/optimizer.h"

namespace belay::runtime {

// A program's options, and the parts that only the host has.
struct EstimatorSetup : EstimatorOptions {
  Logger* logger = nullptr;                  // borrowed; none: text on stderr
  std::shared_ptr<Logger> kept_logger = {};  // an owner of `logger`; none: the caller owns it
  Clock* clock = nullptr;
  FileSystem* files = nullptr;
};

// An Estimator has this once, for all its calls; nothing in it changes.
struct EstimatorSettings {
  EstimatorSettings(ModelFn model_fn, EstimatorSetup given);
  CheckpointPlace checkpoints() const { return {platform.files, platform.log, model_dir}; }

  const ModelFn model;
  const std::shared_ptr<Logger> kept_log;
  std::unique_ptr<Logger> own_log;  // null: the program's
  const Platform platform;
  const std::string model_dir;     // absolute
  const EstimatorOptions options;  // its config has the folder, however that was given
};

class EstimatorRun {
 public:
  // `events_dir`: the folder for its event files. If it is empty, only a training writes them.
  EstimatorRun(const EstimatorSettings& settings, Mode mode, const std::string& events_dir);
  ~EstimatorRun();
  EstimatorRun(const EstimatorRun&) = delete;
  EstimatorRun& operator=(const EstimatorRun&) = delete;

  RunHost& host() noexcept { return host_; }
  RunPlugins& plugins() noexcept { return plugins_; }
  const OpRegistry& ops() const noexcept { return *ops_; }
  const EstimatorSettings& settings() const noexcept { return settings_; }
  // An instance without a session.
  PluginInstance& create(PluginKind kind, const PluginUse& use);
  SaverUse saver() { return plugins_.linked_saver(settings_.options.saver, host_.saver_monitor()); }
  // The optimizer for ModelArgs::minimize. It refers to the settings.
  OptimizerUse optimizer(const OptimizerSettings& settings);

  // The schema of its checkpoint: the one from which it continues, or the one to use. The training's input adds its
  // part.
  ModelSchema& schema() noexcept { return schema_; }

  // ---- evaluation and prediction
  // Chooses the checkpoint of the path. If the path is empty, it is the newest of the model's directory, or none.
  // NOT_FOUND if the path does not exist, FAILED_PRECONDITION if it is no checkpoint.
  void choose_checkpoint(const std::string& path);
  // False: there is none, and the model starts from its initial values.
  bool restores() const noexcept { return choice_.has_value(); }
  const CheckpointChoice& choice() const { return choice_.value(); }
  void restore(DirectSession& session);
  // The last restored checkpoint; empty: none was.
  const std::string& checkpoint() const noexcept { return checkpoint_; }

 private:
  void read_start();

  const EstimatorSettings& settings_;
  const Mode mode_;
  RunControl control_;
  RunHost host_;
  std::unique_ptr<OpRegistry> ops_;
  RunPlugins plugins_;
  ModelSchema schema_;
  std::optional<CheckpointChoice> choice_;
  std::string checkpoint_;
};

}  // namespace belay::runtime
