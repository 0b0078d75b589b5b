// SPDX-License-Identifier: Apache-2.0
// A monitored session for a program with a main function. It sets up the same as TensorFlow's function of this name:
// the default hooks, checkpoints in a directory and recovery.
//
//   const auto ops = make_op_registry();
//   NodeGraph graph(*ops);
//   ... build the model in graph.handle(), with a global step ...
//   TrainingSessionSetup options;
//   options.plugins = belay::default_plugins();
//   options.checkpoint_dir = "/tmp/run";
//   options.hooks.push_back(own_hook("printer", std::make_unique<Printer>()));
//   MonitoredTrainingSession session(graph, std::move(options));
//   session->scope([&] {
//     while (!session->should_stop()) session->run({train_op});
//   });
//
// A second program on the same directory continues at the first one's last checkpoint. The graph outlives the session.
// One thread drives it; see monitored_session.h for calls from other threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/runtime/training_session.h"

#include "runtime/estimator/host/run_host.h"
#include "runtime/estimator/host/run_plugins.h"
#include "runtime/estimator/host/session_host.h"
#include "runtime/manifest/manifest.h"
#include "runtime/monitored/layers/monitored_session.h"
#include "runtime/monitored/model/model_outputs.h"

namespace belay::runtime {

// Adds the hook to a session; a plugin's hook comes from `plugins`. INVALID_ARGUMENT if one of this name exists
// already.
void add_hook(SessionHost& session, RunPlugins& plugins, const OwnHook& hook);
// Adds the hooks that a model brought when it built the session's graph. One process is the chief.
void add_model_hooks(SessionHost& session, RunPlugins& plugins, const PluginInstance& model,
                     const ModelOutputs& outputs);

// A program's options, and the parts that only the host has. The paths are absolute.
struct TrainingSessionSetup : TrainingSessionOptions {
  std::vector<const belay_module*> plugins = {};  // for the default hooks and the saver: belay::default_plugins()
  std::shared_ptr<StoreTargets> targets = {};     // shared by the sessions of one program; none: its own
  InitialValues initial_values = {};              // of a model plugin
  bool recovers = true;                           // false: as SingularMonitoredSession
  Logger* logger = nullptr;                       // borrowed; none: text on stderr
  Clock* clock = nullptr;
  FileSystem* files = nullptr;
};

// For the log of an ended session. The end of a queue's elements is no fault.
std::string ended_text(const EndReason& reason);

class MonitoredTrainingSession {
 public:
  // NOT_FOUND for a plugin that is not among the given ones; RunInUse; RestoreError; errors of hooks and of the model.
  MonitoredTrainingSession(NodeGraph& graph, TrainingSessionSetup options);
  // Works in a run that the caller has, with its plugins. Directories, settings, threads, log and clock are the run's.
  // Run and plugins outlive the session.
  MonitoredTrainingSession(RunHost& run, RunPlugins& plugins, NodeGraph& graph, const TrainingSessionSetup& options);
  ~MonitoredTrainingSession();
  MonitoredTrainingSession(const MonitoredTrainingSession&) = delete;
  MonitoredTrainingSession& operator=(const MonitoredTrainingSession&) = delete;

  MonitoredSession* operator->() noexcept { return session_.get(); }
  MonitoredSession& operator*() noexcept { return *session_; }
  // Path of the last written or restored checkpoint; empty: none.
  std::string checkpoint() const {
    if (run_.saver() != nullptr) return run_.saver()->saved_path();
    return session_->restored() ? restored_from_ : std::string();
  }

 private:
  struct OwnRun;
  MonitoredTrainingSession(std::unique_ptr<OwnRun> own, NodeGraph& graph, const TrainingSessionSetup& options);

  void start(NodeGraph& graph, const TrainingSessionSetup& options);
  void make_saver(const TrainingSessionSetup& options);
  void make_hooks(const TrainingSessionSetup& options);
  void add_own(const std::vector<OwnHook>& hooks);
  std::shared_ptr<SessionCreator> creator(NodeGraph& graph, const TrainingSessionSetup& options);

  const std::unique_ptr<OwnRun> own_;  // null: the caller's
  RunHost& run_;
  RunPlugins& plugins_;
  SessionHost host_;
  std::string restored_from_;  // the exact checkpoint that the options name
  std::unique_ptr<MonitoredSession> session_;
};

}  // namespace belay::runtime
