// SPDX-License-Identifier: Apache-2.0
// The differences between a run of one process, one of several (ranks_strategy.h) and a replay (replay_strategy.h). A
// PreparedRun has one and asks it.
//
// RunStrategy itself is for a single process. A derived class overrides the differences. [main]
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/estimator/host/model_graph.h"
#include "runtime/estimator/host/session_host.h"
#include "runtime/estimator/resume/model_schema.h"
#include "runtime/estimator/run/prepared_run_options.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/monitored/layers/session_creator.h"

namespace belay::runtime {

// A strategy works on these parts of the run, which owns them.
struct RunParts {
  const Manifest& manifest;  // the part of this process
  const PreparedRunOptions& options;
  const Environment& environment;
  RunHost& host;
  RunPlugins& plugins;
  ModelSchema& schema;
  ModelGraph& model;
  std::map<std::string, RunInput>& inputs;  // by section
  SessionHost& training;
};

class RunStrategy {
 public:
  explicit RunStrategy(const RunParts& parts) : parts_(parts) {}
  virtual ~RunStrategy() = default;
  RunStrategy(const RunStrategy&) = delete;
  RunStrategy& operator=(const RunStrategy&) = delete;

  // ---- which run this is
  // Whether it is one of several processes. Rank and size count in the group: a group that continues with fewer
  // processes counts its ranks again.
  virtual bool several() const noexcept { return false; }
  virtual int rank() const noexcept { return 0; }
  virtual int size() const noexcept { return 1; }
  // Whether this process has the run's directory, and the tasks of only one process.
  virtual bool chief() const noexcept { return true; }
  // The run's directory; for a worker's run it is the chief's.
  virtual const std::string& directory() const noexcept { return parts_.manifest.run.dir; }
  // False: the steps are those of another run, and begin with a checkpoint of it.
  virtual bool own_run() const noexcept { return true; }
  virtual bool default_hooks() const noexcept { return true; }

  // ---- before the session
  // Checks [cluster]; the manifest has it. Call it after find_plugins().
  virtual void check_cluster(Diagnostics& problems) const;
  virtual void check_launch(Diagnostics& /*problems*/) const {}
  // Returns a text if several processes were started and the manifest has no [cluster] to join them.
  virtual std::string why_apart() const;
  // The monitor of the cluster plugin's instance.
  virtual CallMonitor& cluster_monitor() { return parts_.host.monitor(); }
  // `uses`: the manifest with the hooks that the run has.
  virtual void use_cluster(PluginInstance& /*cluster*/, const Manifest& /*uses*/) {}
  // `place`: its place among the hooks of the manifest.
  virtual void add_hook(const FoundUse& hook, std::size_t /*place*/) { parts_.training.add_hook(hook); }
  // Compares the plugins with those that wrote the checkpoint at the start. The run compares its own.
  virtual void compare_plugins(Diagnostics& /*problems*/) const {}
  virtual void build(PluginInstance& model, const RunInput& input, const std::vector<DeclaredLabel>& declared);
  virtual void add_training(const OptimizerUse& optimizer);
  // Adds hooks that need the graph.
  virtual void add_hooks_of_graph() {}
  // If the run ends before the training, it shows other processes the reason. Then they end, and do not wait.
  virtual void refuse(const std::string& /*reason*/) {}

  // ---- the training
  virtual void meet() {}
  // Makes the training's sessions. `options`: those of a run of one process.
  virtual std::shared_ptr<SessionCreator> creator(ChiefSessionCreator::Options options);
  // Whether a wait inside a step may be interrupted.
  virtual bool wakes_steps() const noexcept { return true; }
  // Called before each step after `made`; it may choose the hooks of `call`. False: that was the last one.
  virtual bool goes_on(MonitoredSession& /*session*/, std::int64_t /*made*/, RunCall& /*call*/) { return true; }
  // Called when there is a session, and after each step.
  virtual void note_states() {}
  // Called after the last step, while there is a session.
  virtual void leave() {}
  // Called after the last save.
  virtual void part() {}

 protected:
  static constexpr const char* kTrainInput = "train";

  // Makes a chief's sessions, and calls `then` with each one.
  std::shared_ptr<SessionCreator> chief_creator(ChiefSessionCreator::Options options,
                                                std::function<void(CreatedSession&)> then);

  const RunParts parts_;
};

// Returns which of several processes this is, by the options or by the variables of a launcher. None: it is alone, like
// a replay.
std::optional<LaunchedPlace> place_of(const Manifest& whole, const PreparedRunOptions& options,
                                      const Environment& variables);

// `whole`: the manifest of all processes. `place`: which of several this is; none: it is alone.
std::unique_ptr<RunStrategy> make_strategy(const RunParts& parts, const Manifest& whole,
                                           const std::optional<LaunchedPlace>& place);

}  // namespace belay::runtime
