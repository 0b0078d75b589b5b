// SPDX-License-Identifier: Apache-2.0
// Each session of a run has one: the services of its plugins, its hooks and init functions, its event file. Training
// has one and each evaluation has one. No instance is in two of them.
//
//   SessionHost training(run, {.saves = true});
//   training.open_events();
//   training.add_hook(plugins.loaded(hook));
//   const auto session = training.open(creator);
//
// The hooks are destroyed with it. The run outlives it. [main]
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cluster/hook_ranks.h"
#include "runtime/estimator/host/run_host.h"
#include "runtime/estimator/host/run_plugins.h"
#include "runtime/monitored/layers/monitored_session.h"

namespace belay::runtime {

class SessionHost {
 public:
  struct Options {
    Mode mode = Mode::kTrain;        // what it is for: its plugins may ask
    std::string events_folder = {};  // of its event files, in the run's place for events; empty: that place itself
    bool saves = false;              // its hooks may ask for checkpoints, and it recovers from the run's
    bool recovers = true;            // false: a preemption is an error like others
  };
  SessionHost(RunHost& run, Options options);
  ~SessionHost();
  SessionHost(const SessionHost&) = delete;
  SessionHost& operator=(const SessionHost&) = delete;

  RunHost& run() noexcept { return run_; }
  const HostServices& services() const noexcept { return services_; }
  // Sets this process's place, after the ranks have met.
  void set_place(const ClusterPlace& place) noexcept { services_.set_place(place); }

  // Opens a new event file, if the run keeps events. Makes the folder.
  void open_events();
  // Null if the run keeps none, or before open_events().
  EventWriter* events() noexcept { return events_.writer(); }
  // Writes STOP at this step, and the records in memory, to the file. Later records may follow.
  void close_events(std::int64_t step);

  HookSet& hooks() noexcept { return hooks_; }
  PluginInstance& add_hook(const FoundUse& hook);
  // Adds a program's hook, or a (table, self) pair without a registry.
  PluginInstance& add_hook(const std::string& name, const PluginInstance::MakeHook& make);
  // Calls begin of the hooks, before there is a session. The session that is opened then does not call it again.
  void begin_hooks(NodeGraph& graph);
  // Sets the ranks by which hooks call the other processes of the run. None: hooks are on rank 0 alone.
  HookRanks& use_ranks(std::unique_ptr<HookRanks> ranks);
  // Adds an init function; they are called in the order of these calls.
  void add_init_fn(const FoundUse& init_fn);
  bool has_init_fns() const noexcept { return !init_fns_.empty(); }
  void call_init_fns(NodeGraph& graph, DirectSession& session);

  // Opens a session with these hooks; the settings decide its saver, recoveries and grace periods. Later sessions, one
  // after the other, are of the same graph.
  std::unique_ptr<MonitoredSession> open(std::shared_ptr<SessionCreator> creator);

 private:
  MonitoredSessionOptions session_options();
  PluginInstance& create(const FoundUse& use);
  PluginInstance& add(PluginInstance& hook, OnHookError on_error);

  RunHost& run_;
  const Options options_;
  HostServices services_;
  std::unique_ptr<OpenDirectory> events_directory_;  // null: the run's own
  RunEvents events_;
  std::unique_ptr<HookRanks> ranks_;  // null: none
  PluginInstances instances_;
  HookSet hooks_;
  bool begun_ = false;
  std::vector<PluginInstance*> init_fns_;
};

}  // namespace belay::runtime
