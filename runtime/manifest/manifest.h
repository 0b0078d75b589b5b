// SPDX-License-Identifier: Apache-2.0
// The manifest as plain structs with their defaults. Every field is a TOML key of the same name; a section is a struct:
// those that a program fills as well are settings (runtime/include/belay/runtime), the others name plugins.
// This is the first stage of a run (manifest -> plugins -> scaffold -> session -> hooks) and knows nothing of plugins:
// what is in a plugin's table is kept as it was written, with its place, and checked by the loader.
//
// Two manifests are equal if they mean the same: == does not look at Locations.
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

// How gradients go from process to process, in the order of the words in TOML: "float32", "bf16".
enum class Wire { kFloat32, kBf16 };

// What the other processes do when one is lost, in the order of the words in TOML: "stop", "continue", "wait".
enum class OnLostRank { kStop, kContinue, kWait };

struct ClusterSection : PluginUse {
  double max_wait_secs = 300;  // for the other processes, at the start and where one is replaced
  double timeout_secs = 60;    // without a sign of life of one of them
  Wire wire = Wire::kFloat32;
  double bucket_mib = 4;  // of what is sent together
  OnLostRank on_lost_rank = OnLostRank::kStop;
  std::optional<std::int64_t> min_ranks;  // that are enough with kContinue; not set: 1

  friend bool operator==(const ClusterSection&, const ClusterSection&) = default;
};

struct ScaffoldSection {
  std::optional<PluginUse> saver;  // none: safetensors
  std::vector<PluginUse> init_fn;
  // Nodes of the graph by their names, or collections of it with one element; empty: found or made as
  // TensorFlow's Scaffold does.
  std::string init_op;
  std::string local_init;
  std::string ready;
  std::string ready_for_local_init;
  std::string summary_op;

  friend bool operator==(const ScaffoldSection&, const ScaffoldSection&) = default;
};

// Where sections, keys and elements of lists are written, by their names in TOML: "run", "run.threads",
// "optimizer.learning_rate.schedule", "hooks.0.plugin".
struct Places : std::map<std::string, Location> {
  friend bool operator==(const Places&, const Places&) { return true; }  // no part of what a manifest means
};

// The name of a tensor in the graph, and where it is written.
struct TensorName {
  std::string name;  // empty: not given
  Location at;       // of the value

  friend bool operator==(const TensorName&, const TensorName&) = default;
};

// A metric of the evaluation over tensors of the model and the input. What each kind computes, from which of the
// tensors: belay/ops/metrics.h.
struct MetricSection {
  std::string kind;  // accuracy | mean | auc | ...: a function of belay/ops/metrics.h
  std::string name;  // the role that it becomes; empty: the kind
  TensorName labels;
  TensorName predictions;
  TensorName values;  // mean and perplexity
  TensorName weights;
  std::optional<std::int64_t> class_id;  // of kinds that take booleans: true is this class
  std::int64_t k = 5;                    // in_top_k
  std::optional<std::int64_t> classes;   // confusion_matrix; must be given there
  std::int64_t num_thresholds = 200;     // auc
  std::string curve = "roc";             // auc: roc | pr
  Location at;                           // of the table
  Location name_at;                      // of the name, or of the table

  const std::string& role() const { return name.empty() ? kind : name; }
  friend bool operator==(const MetricSection&, const MetricSection&) = default;
};

// What relative paths are relative to: the directory of the file in which they are written.
struct ManifestDirectories {
  std::string first;                               // absolute; of the first manifest and of --set
  std::map<std::string, std::string> others = {};  // of further ones, by Location::file

  const std::string& at(const Location& place) const;
  // No part of what a manifest means.
  friend bool operator==(const ManifestDirectories&, const ManifestDirectories&) { return true; }
};

struct Manifest {
  std::string file;  // as given on the command line; of several the first
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
  std::vector<PluginUse> ops;  // operations that come from libraries of their own
  std::optional<ClusterSection> cluster;
  Places places;

  // For what is found wrong with a key later: where its value is written; else its section; else the file.
  Location at(const std::string& key) const;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// The plugins of [optimizer]: the optimizer, and the schedule where the learning rate has one.
PluginUse optimizer_use(const Manifest& manifest);
// For one of the optimizer's groups.
PluginUse optimizer_use(const Manifest& manifest, std::size_t group);
std::optional<PluginUse> schedule_use(const Manifest& manifest);

// The keys of [scaffold] that name pieces of the graph, and where their values are.
struct ScaffoldPiece {
  const char* key;
  std::string ScaffoldSection::*value;
};
const std::vector<ScaffoldPiece>& scaffold_pieces();
// All keys of [scaffold].
std::vector<std::string> scaffold_keys();

// Whether a run of this mode trains.
constexpr bool trains(RunMode mode) noexcept { return mode == RunMode::kTrain || mode == RunMode::kTrainAndEvaluate; }

// [input.eval] and [input.eval_NAME] are inputs of evaluations.
bool is_eval_input(const std::string& name);
// Those on which the run evaluates: eval.inputs, else all of them.
std::vector<std::string> eval_inputs(const Manifest& manifest);
// Of whose features an exported model's inputs are: [input.train], else that of predictions. Empty: there is none.
std::string export_input(const Manifest& manifest);
// That predictions are made from: [input.predict], else the first of those. Empty: there is none.
std::string predict_input(const Manifest& manifest);

}  // namespace belay::runtime
