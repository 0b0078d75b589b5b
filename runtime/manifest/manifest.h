// SPDX-License-Identifier: Apache-2.0
// The manifest as plain structs with their defaults. Every field is a TOML key of the same name, and a section is a
// struct. Those that a program also fills are settings (runtime/include/belay/runtime). The others name plugins. The
// manifest is the first stage of a run (manifest -> plugins -> scaffold -> session -> hooks). It knows nothing of
// plugins. A plugin's table is kept as written, with its place, and the loader checks it.
//
// Two manifests are equal if they mean the same: == ignores Locations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/checkpoint_settings.h"
#include "belay/runtime/eval_settings.h"
#include "belay/runtime/export_settings.h"
#include "belay/runtime/optimizer_settings.h"
#include "belay/runtime/plugin_use.h"
#include "belay/runtime/predict_settings.h"
#include "belay/runtime/run_settings.h"
#include "belay/runtime/session_settings.h"

namespace belay::runtime {

struct PluginsSection {
  std::vector<std::string> path;  // absolute directories

  friend bool operator==(const PluginsSection&, const PluginsSection&) = default;
};

struct InputSection : PluginUse {
  std::int64_t prefetch = 2;  // batches in the host's queue

  friend bool operator==(const InputSection&, const InputSection&) = default;
};

struct ExporterSection : PluginUse, ExportSettings {
  friend bool operator==(const ExporterSection&, const ExporterSection&) = default;
};

// The format of gradients between processes, in the order of the words in TOML: "float32", "bf16".
enum class Wire { kFloat32, kBf16 };

// The reaction of the other processes if one is lost, in the order of the words in TOML: "stop", "continue", "wait".
enum class LostRank { kStop, kContinue, kWait };

struct ClusterSection : PluginUse {
  double max_wait_secs = 300;  // limit of the wait for other processes, at the start and for a replacement
  double timeout_secs = 60;    // limit of a process's silence
  Wire wire = Wire::kFloat32;
  double bucket_mib = 4;  // data that is sent together
  LostRank on_lost_rank = LostRank::kStop;
  std::optional<std::int64_t> min_ranks;  // enough with kContinue; not set: 1

  friend bool operator==(const ClusterSection&, const ClusterSection&) = default;
};

struct ScaffoldSection {
  std::optional<PluginUse> saver;  // none: safetensors
  std::vector<PluginUse> init_fn;
  // Nodes of the graph by their names, or collections with one element. Empty: found or made like in TensorFlow's
  // Scaffold.
  std::string init_op;
  std::string local_init;
  std::string ready;
  std::string ready_for_local_init;
  std::string summary_op;

  friend bool operator==(const ScaffoldSection&, const ScaffoldSection&) = default;
};

// The places of sections, keys and elements of lists, by their names in TOML: "run", "run.threads",
// "optimizer.learning_rate.schedule", "hooks.0.plugin".
struct Places : std::map<std::string, Location> {
  friend bool operator==(const Places&, const Places&) { return true; }  // they do not change a manifest's meaning
};

// The name of a tensor in the graph, and its place in the manifest.
struct TensorName {
  std::string name;  // empty: not given
  Location at;       // of the value

  friend bool operator==(const TensorName&, const TensorName&) = default;
};

// A metric of the evaluation over tensors of the model and the input. belay/ops/metrics.h defines each kind and its
// tensors.
struct MetricSection {
  std::string kind;  // accuracy | mean | auc | ...: a function of belay/ops/metrics.h
  std::string name;  // its role; empty: the kind
  TensorName labels;
  TensorName predictions;
  TensorName values;  // for mean and perplexity
  TensorName weights;
  std::optional<std::int64_t> class_id;  // for kinds that take booleans: true is this class
  std::int64_t k = 5;                    // for in_top_k
  std::optional<std::int64_t> classes;   // for confusion_matrix, which needs it
  std::int64_t num_thresholds = 200;     // for auc
  std::string curve = "roc";             // for auc: roc | pr
  Location at;                           // of the table
  Location name_at;                      // of the name, or else of the table

  const std::string& role() const { return name.empty() ? kind : name; }
  friend bool operator==(const MetricSection&, const MetricSection&) = default;
};

// Relative paths are relative to the directory of the file that contains them.
struct ManifestDirectories {
  std::string first;                               // absolute; for the first manifest and --set
  std::map<std::string, std::string> others = {};  // for further ones, by Location::file

  const std::string& at(const Location& place) const;
  // They do not change a manifest's meaning.
  friend bool operator==(const ManifestDirectories&, const ManifestDirectories&) { return true; }
};

struct Manifest {
  std::string file;  // as given on the command line; the first if there are several
  ManifestDirectories directories;
  RunSettings run;
  PluginsSection plugins;
  std::map<std::string, InputSection> inputs;  // "train", "eval", ...
  std::optional<PluginUse> model;
  OptimizerSettings optimizer;
  ScaffoldSection scaffold;
  CheckpointSettings checkpoint;
  EvalSettings eval;
  PredictSettings predict;
  SessionSettings session;
  std::vector<PluginUse> hooks;
  std::vector<MetricSection> metrics;
  std::vector<ExporterSection> exporters;
  std::vector<PluginUse> ops;  // operations from separate libraries
  std::optional<ClusterSection> cluster;
  Places places;

  // Returns the place for a later problem of a key: that of its value, else of its section, else the file.
  Location at(const std::string& key) const;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Returns the plugins of [optimizer]: the optimizer, and the schedule if the learning rate has one.
PluginUse optimizer_use(const Manifest& manifest);
// Returns the plugin for one of the optimizer's groups.
PluginUse optimizer_use(const Manifest& manifest, std::size_t group);
std::optional<PluginUse> schedule_use(const Manifest& manifest);

// The keys of [scaffold] that name pieces of the graph, and the members for their values.
struct ScaffoldPiece {
  const char* key;
  std::string ScaffoldSection::*value;
};
const std::vector<ScaffoldPiece>& scaffold_pieces();
// All keys of [scaffold].
std::vector<std::string> scaffold_keys();

// True if a run of this mode trains.
constexpr bool trains(RunMode mode) noexcept { return mode == RunMode::kTrain || mode == RunMode::kTrainAndEvaluate; }

// True for [input.eval] and [input.eval_NAME], which are inputs of evaluations.
bool is_eval_input(const std::string& name);
// Returns the inputs on which the run evaluates: eval.inputs, else all of them.
std::vector<std::string> eval_inputs(const Manifest& manifest);
// Returns the input whose features are an exported model's inputs: [input.train], else that of predictions. Empty:
// there is none.
std::string export_input(const Manifest& manifest);
// Returns the input of predictions: [input.predict], else the first of those. Empty: there is none.
std::string predict_input(const Manifest& manifest);

}  // namespace belay::runtime
