// SPDX-License-Identifier: Apache-2.0
// The configuration of an Estimator: its directory and periods, and the place of this process in a cluster.
//
//   RunConfig config({.model_dir = "/tmp/run", .save_checkpoints_steps = 500});
//   RunConfig often = config.replace([](RunConfigOptions& o) { o.save_checkpoints_secs = 30; });   // steps: none then
//
// A part of it comes from the environment, as JSON in the variable BELAY_CONFIG. If that is not set, it comes from
// TF_CONFIG, which tools for clusters set:
//
//   {"cluster": {"chief": ["host0:2222"], "worker": ["host1:2222"]}, "task": {"type": "worker", "index": 0},
//    "model_dir": "/tmp/run", "session_master": "", "eval_session_master": "", "service": {...}}
//
// All keys are optional; other keys are ignored. INVALID_ARGUMENT, with variable and key: an error in it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/checkpoint_settings.h"
#include "belay/runtime/environment.h"

namespace belay::runtime {

// A period: the default (`{}`), none (`std::nullopt`), or a number.
template <class T>
class Period {
 public:
  Period() = default;  // the default
  Period(std::nullopt_t) : given_(true) {}
  Period(T value) : given_(true), value_(value) {}
  // True for a number or none, false for the default.
  bool given() const noexcept { return given_; }
  const std::optional<T>& value() const noexcept { return value_; }
  friend bool operator==(const Period&, const Period&) = default;

 private:
  bool given_ = false;
  std::optional<T> value_;
};

// The numbers are TensorFlow's, so a ported program saves and logs at the same times. 0 or none switches a period off.
struct RunConfigOptions {
  // Empty: the environment's, or a new temporary directory.
  std::string model_dir = {};
  // Seed of initial values, dropout and the order of inputs. None: 42, so two runs are equal.
  std::optional<std::uint64_t> random_seed = {};
  std::optional<std::int64_t> save_summary_steps = 100;
  // One of the two periods; both are an error. Default: 600 s.
  Period<std::int64_t> save_checkpoints_steps = {};
  Period<double> save_checkpoints_secs = {};
  // The number of checkpoints to keep; older ones are removed. None and 0: all are kept.
  std::optional<std::int64_t> keep_checkpoint_max = 5;
  // Every this many hours, one checkpoint that would be removed is kept. None: TensorFlow's 10000, which is 417 days.
  std::optional<double> keep_checkpoint_every_n_hours = {};
  // Sync: training waits until a checkpoint is written, as in TensorFlow.
  SaveMode save = SaveMode::kAsync;
  // Period in steps of the log line with the steps per second, and of the loss in the log.
  std::optional<std::int64_t> log_step_count_steps = 100;
  // The longest wait of a worker for the chief, in seconds.
  std::optional<double> session_creation_timeout_secs = 7200;
  // If true, the graph is written to the event file, for TensorBoard.
  bool checkpoint_save_graph_def = true;
  // Threads of the kernels; the bits of a result depend on their number. 0: all cores.
  int threads = 0;
};

// Addresses by the name of their job.
using Cluster = std::map<std::string, std::vector<std::string>>;

// A checked configuration, which never changes. [any]
class RunConfig {
 public:
  // INVALID_ARGUMENT: an option is not a valid period or number, or the environment has an error.
  explicit RunConfig(RunConfigOptions options = {}, const Environment& environment = process_environment());
  // Returns a copy with the changes of `change`, checked again; the environment is the same. If `change` sets one of
  // the checkpoints' periods, the other becomes none.
  RunConfig replace(const std::function<void(RunConfigOptions&)>& change) const;

  // The given options; the model directory may be the environment's.
  const RunConfigOptions& options() const noexcept { return options_; }
  // The options' directory, else the environment's; empty: none.
  const std::string& model_dir() const noexcept { return options_.model_dir; }
  // The effective periods: at most one of the two is set.
  const std::optional<std::int64_t>& save_checkpoints_steps() const noexcept { return save_steps_; }
  const std::optional<double>& save_checkpoints_secs() const noexcept { return save_secs_; }
  std::uint64_t seed() const noexcept { return options_.random_seed.value_or(42); }

  // ---- of the environment
  // "chief", "worker", "ps", "evaluator", or another job's name. A process alone is worker 0 and the chief.
  const std::string& task_type() const noexcept { return task_.type; }
  std::int64_t task_index() const noexcept { return task_.index; }
  bool is_chief() const noexcept { return task_.is_chief; }
  const Cluster& cluster() const noexcept { return task_.cluster; }  // empty: this process alone, and for an evaluator
  // Addresses of sessions, for compatibility with TensorFlow; the training itself is in this process.
  const std::string& master() const noexcept { return task_.master; }
  const std::string& evaluation_master() const noexcept { return task_.evaluation_master; }
  std::int64_t num_ps_replicas() const noexcept { return task_.ps; }
  std::int64_t num_worker_replicas() const noexcept { return task_.workers; }  // including the chief
  // Number of this task among all: the chief, then other jobs by name, then ps. Empty: an evaluator.
  const std::optional<std::int64_t>& global_id_in_cluster() const noexcept { return task_.global_id; }
  // The given JSON; empty: none.
  const std::optional<std::string>& service() const noexcept { return task_.service; }

  // The data of the environment, or the defaults of a process that is alone.
  struct Task {
    std::string variable = {};  // its source
    std::string model_dir = {};
    std::string type = "worker";
    std::int64_t index = 0;
    bool is_chief = true;
    Cluster cluster = {};
    std::string master = {};
    std::string evaluation_master = {};
    std::int64_t ps = 0;
    std::int64_t workers = 1;
    std::optional<std::int64_t> global_id = 0;
    std::optional<std::string> service = {};
  };

 private:
  RunConfig(RunConfigOptions options, Task task);
  void check() const;
  void settle();

  RunConfigOptions options_;
  Task task_;
  std::optional<std::int64_t> save_steps_;
  std::optional<double> save_secs_;
};

// Reads the environment as the top of this file describes.
RunConfig::Task task_of(const Environment& environment);

}  // namespace belay::runtime
