// SPDX-License-Identifier: Apache-2.0
// One call of an Estimator: its run, its graph with input and model, and the checkpoint that it goes on from.
//
//   EstimatorRun run(settings, Mode::kEval, "");
//   run.build(input);                                       // the program's functions are called
//   run.choose_checkpoint(path);                            // "": the newest, if there is one
//   SessionHost session(run.host(), {...});
//   ... ChiefSessionCreator with run.scaffold(session) ...
//
// Evaluation and prediction take no lock and restore without a RunSaver, so that they work beside a trainer and on a
// directory that may only be read. [main]
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>

#include "runtime/estimator/checkpoint_choice.h"
#include "runtime/estimator/estimator_spec.h"
#include "runtime/estimator/model_graph.h"
#include "runtime/estimator/run_control.h"
#include "runtime/estimator/run_host.h"
#include "runtime/estimator/run_plugins.h"
#include "runtime/estimator/session_host.h"

namespace belay::runtime {

struct EstimatorOptions {
  std::vector<const belay_module*> plugins = {};  // belay::default_plugins(), and models and inputs that are used
  std::string model_dir = {};                     // empty: the config's, or a new temporary directory, with a warning
  RunConfig config{};
  Params params = {};
  std::optional<PluginUse> warm_start_from = {};  // where there is no checkpoint: warm_start(...)
  std::string saver = "safetensors";              // among the plugins
  Logger* log = nullptr;                          // borrowed; none: text on stderr
  Clock* clock = nullptr;
  FileSystem* files = nullptr;
};

// What an Estimator has once, for all its calls; nothing in it changes.
struct EstimatorSettings {
  EstimatorSettings(ModelFn model_fn, EstimatorOptions given);
  CheckpointPlace checkpoints() const { return {world.files, world.log, model_dir}; }

  const ModelFn model;
  const EstimatorOptions options;
  std::unique_ptr<Logger> own_log;  // null: the program's
  const World world;
  const std::string model_dir;  // absolute
};

class EstimatorRun {
 public:
  // `events_dir`: where its event files go; empty: nowhere, unless it trains.
  EstimatorRun(const EstimatorSettings& settings, Mode mode, const std::string& events_dir);
  ~EstimatorRun();
  EstimatorRun(const EstimatorRun&) = delete;
  EstimatorRun& operator=(const EstimatorRun&) = delete;

  RunHost& host() noexcept { return host_; }
  RunPlugins& plugins() noexcept { return plugins_; }
  NodeGraph& graph() noexcept { return graph_; }

  // Adds global step, input and model, in this order.
  void build(const InputFn& input);
  const std::vector<OwnHook>& input_hooks() const noexcept { return input_hooks_; }
  const EstimatorPieces& model() const noexcept { return spec_->pieces(); }
  // What a run fetches besides what it wants, so that it takes a batch: a model that uses nothing of its input would
  // never come to the input's end. Empty without features.
  const std::vector<Output>& batch() const noexcept { return batch_; }

  // ---- of input_plugin and model_plugin
  PluginInstance& create(PluginKind kind, const PluginUse& use);
  InputFeed::Tensors open_input(const PluginUse& use, std::int64_t prefetch);

  // ---- evaluation and prediction
  // NOT_FOUND where there is no such path, FAILED_PRECONDITION where it is none; empty: the newest of the model's
  // directory, or none.
  void choose_checkpoint(const std::string& path);
  // That the session has; empty before there is one, and where the model starts from its initial values.
  const std::string& checkpoint() const noexcept { return checkpoint_; }
  // The model's, which restores that checkpoint instead of initializing; without one the warm start comes first.
  // `session` has the warm start's instance, and outlives the scaffold.
  std::shared_ptr<Scaffold> scaffold(SessionHost& session);
  // Adds them to the session in this order. INVALID_ARGUMENT: a name that is there already.
  void add_hooks(SessionHost& session, const std::vector<OwnHook>& hooks);

 private:
  RunHostOptions host_options(const std::string& events_dir) const;

  const EstimatorSettings& settings_;
  const Mode mode_;
  RunControl control_;
  RunHost host_;
  std::unique_ptr<OpRegistry> ops_;
  NodeGraph graph_;
  RunPlugins plugins_;
  std::list<RunInput> inputs_;
  std::vector<OwnHook> input_hooks_;
  std::vector<Output> batch_;
  std::optional<EstimatorSpec> spec_;
  std::optional<CheckpointChoice> choice_;  // none: the model starts from its initial values
  std::string checkpoint_;
};

}  // namespace belay::runtime
