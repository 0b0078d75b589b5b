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
  std::string schedule;  // "": constant | exponential_decay | piecewise_constant | polynomial_decay | cosine_decay
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

  friend bool operator==(const LearningRate&, const LearningRate&) = default;
};

struct OptimizerSection {
  std::string name = "sgd";  // sgd | momentum | adam
  LearningRate learning_rate;
  double momentum = 0.9;
  bool use_nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double clip_norm = 0;   // > 0: gradients scaled so that their global norm is at most this
  double clip_value = 0;  // > 0: each element of a gradient clipped to +- this
  Location at;

  friend bool operator==(const OptimizerSection& a, const OptimizerSection& b) {
    return a.name == b.name && a.learning_rate == b.learning_rate && a.momentum == b.momentum &&
           a.use_nesterov == b.use_nesterov && a.beta1 == b.beta1 && a.beta2 == b.beta2 && a.epsilon == b.epsilon &&
           a.clip_norm == b.clip_norm && a.clip_value == b.clip_value;
  }
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

  friend bool operator==(const SessionSection&, const SessionSection&) = default;
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
  std::optional<PluginUse> cluster;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

}  // namespace belay::runtime
