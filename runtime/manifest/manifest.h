// SPDX-License-Identifier: Apache-2.0
// The manifest as plain structs with their defaults. Every field is a TOML key of the same name; a section is a struct.
// This is the first stage of a run (manifest -> plugins -> scaffold -> session -> hooks) and knows nothing of plugins:
// what stands in a plugin's table is kept as it was written, with its place, and checked by the loader.
//
// Two manifests are equal if they mean the same: == does not look at Locations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "belay/runtime/precision.h"

namespace belay::runtime {

// Where a key or value stands: `file:line:column`, in characters, counted from 1. From --set: file is "--set run.dir",
// line is 0 and column counts in the argument. line and column 0: nowhere in particular, as for a section that is
// missing.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
};

// A value of a plugin's option, as written. Empty lists have no element type.
using OptionValue = std::variant<bool, std::int64_t, double, std::string, std::vector<bool>, std::vector<std::int64_t>,
                                 std::vector<double>, std::vector<std::string>, std::monostate /* [] */>;

// One option; keys of nested tables and of tables in lists are flattened: "layers.0.units".
struct PluginOption {
  std::string key;
  OptionValue value;
  Location key_at;
  Location value_at;

  friend bool operator==(const PluginOption& a, const PluginOption& b) { return a.key == b.key && a.value == b.value; }
};

enum class OnHookError { kStop, kDisable };

// A table that names a plugin. Reserved keys: plugin, file, name, on_error (hooks), prefetch (inputs).
struct PluginUse {
  std::string plugin;  // by name, or empty where `file` is given
  std::string file;    // absolute path of a library; plugin then picks one of several in it
  std::string name;    // the instance's name; empty: the plugin's name, made unique by the runtime
  OnHookError on_error = OnHookError::kStop;
  std::vector<PluginOption> options;  // in the order written
  Location at;                        // of the table
  Location plugin_at;                 // of the value of `plugin` or `file`

  friend bool operator==(const PluginUse& a, const PluginUse& b) {
    return a.plugin == b.plugin && a.file == b.file && a.name == b.name && a.on_error == b.on_error &&
           a.options == b.options;
  }
};

enum class RunMode { kTrain, kEvaluate, kPredict, kTrainAndEvaluate, kContinuousEval, kExport };

struct RunSection {
  RunMode mode = RunMode::kTrain;
  std::string dir;                        // absolute; empty: nothing is kept
  std::optional<std::int64_t> max_steps;  // last_step of the default stop_at_step; none: until the input ends
  std::uint64_t seed = 42;                // at most 2^63 - 1, as TOML has no more
  std::int64_t threads = 0;               // 0: all cores

  friend bool operator==(const RunSection&, const RunSection&) = default;
};

struct PluginsSection {
  std::vector<std::string> path;  // absolute directories

  friend bool operator==(const PluginsSection&, const PluginsSection&) = default;
};

struct InputSection : PluginUse {
  std::int64_t prefetch = 2;  // batches in the host's queue

  friend bool operator==(const InputSection&, const InputSection&) = default;
};

// A number, or a schedule. Formulas: runtime/optimizer/learning_rate.h.
struct LearningRate {
  // "": constant | exponential_decay | natural_exp_decay | inverse_time_decay | piecewise_constant | polynomial_decay |
  // cosine_decay
  std::string schedule;
  double learning_rate = 0.001;
  std::int64_t decay_steps = 1000;
  double decay_rate = 0.96;
  bool staircase = false;
  double end_learning_rate = 0.0001;
  double power = 1;
  bool cycle = false;
  double alpha = 0;                      // cosine_decay: the fraction that remains
  std::vector<std::int64_t> boundaries;  // piecewise_constant: n boundaries ...
  std::vector<double> values;            // ... and n + 1 values
  std::int64_t warmup_steps = 0;         // so many steps at the beginning the rate rises from 0

  friend bool operator==(const LearningRate&, const LearningRate&) = default;
};

struct OptimizerSection {
  std::string name = "sgd";  // sgd | momentum | adagrad | rmsprop | adam | adamw | ftrl
  LearningRate learning_rate;
  std::optional<double> momentum;  // not set: 0.9 for momentum, 0 for rmsprop
  bool use_nesterov = false;
  double decay = 0.9;  // rmsprop: of the mean square
  bool centered = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  std::optional<double> epsilon;  // not set: 1e-8 for adam and adamw, 1e-10 for rmsprop
  double weight_decay = 0.01;     // adamw
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0;  // ftrl
  double l2_regularization_strength = 0;
  double learning_rate_power = -0.5;
  double clip_norm = 0;   // > 0: gradients scaled so that their global norm is at most this
  double clip_value = 0;  // > 0: each element of a gradient clipped to +- this

  friend bool operator==(const OptimizerSection&, const OptimizerSection&) = default;
};

struct ScaffoldSection {
  std::optional<PluginUse> saver;  // none: safetensors
  std::vector<PluginUse> init_fn;

  friend bool operator==(const ScaffoldSection&, const ScaffoldSection&) = default;
};

enum class OnSaveError { kContinue, kStop };

struct CheckpointSection {
  std::optional<double> save_secs;         // neither: every 600 s; 0: off
  std::optional<std::int64_t> save_steps;  // both: whichever comes first
  std::int64_t max_to_keep = 5;            // 0: all
  OnSaveError on_save_error = OnSaveError::kContinue;
  bool refuse_non_finite = true;  // a state with NaN or infinity is not saved; the run ends with status 4

  friend bool operator==(const CheckpointSection&, const CheckpointSection&) = default;
};

struct SessionSection {
  std::optional<std::int64_t> save_summaries_steps;  // neither: every 100 steps; 0: off
  std::optional<double> save_summaries_secs;
  std::int64_t log_step_count_steps = 100;  // 0: off
  double stop_grace_period_secs = 120;
  double signal_grace_secs = 25;
  double no_progress_secs = 1800;  // 0: never
  std::int64_t max_recoveries = 10;
  double recovery_backoff_secs = 1;  // doubled after each recovery without progress, at most 60
  Precision precision = Precision::kFloat32;

  friend bool operator==(const SessionSection&, const SessionSection&) = default;
};

// Where the sections with fixed keys and their keys are written, by their names in TOML: "run", "run.threads",
// "optimizer.learning_rate.schedule".
struct Places : std::map<std::string, Location> {
  friend bool operator==(const Places&, const Places&) { return true; }  // no part of what a manifest means
};

struct Manifest {
  std::string file;       // as given on the command line
  std::string directory;  // the file's, absolute: what relative paths are relative to
  RunSection run;
  PluginsSection plugins;
  std::map<std::string, InputSection> inputs;  // "train", "eval", ...
  std::optional<PluginUse> model;
  OptimizerSection optimizer;
  ScaffoldSection scaffold;
  CheckpointSection checkpoint;
  SessionSection session;
  std::vector<PluginUse> hooks;
  std::vector<PluginUse> ops;  // operations that come from libraries of their own
  std::optional<PluginUse> cluster;
  Places places;

  // For what is found wrong with a key later: where its value is written; else its section; else the file.
  Location at(const std::string& key) const;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

}  // namespace belay::runtime
