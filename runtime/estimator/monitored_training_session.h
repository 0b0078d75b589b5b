// SPDX-License-Identifier: Apache-2.0
// A monitored session for a program with a main of its own, with all that TensorFlow's function of this name sets up:
// the default hooks, checkpoints in a directory and recovery.
//
//   const auto ops = make_op_registry();
//   NodeGraph graph(*ops);
//   ... build the model in graph.handle(), with a global step ...
//   TrainingSessionOptions options;
//   options.plugins = belay::default_plugins();
//   options.checkpoint_dir = "/tmp/run";
//   options.hooks.push_back(own_hook("printer", std::make_unique<Printer>()));
//   MonitoredTrainingSession session(graph, std::move(options));
//   session->scope([&] {
//     while (!session->should_stop()) session->run({train_op});
//   });
//
// A second program on the same directory goes on where the first one's last checkpoint is. The graph outlives the
// session. One thread drives it; see monitored_session.h for what others may call.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/runtime/own_hook.h"

#include "runtime/estimator/run_host.h"
#include "runtime/estimator/run_plugins.h"
#include "runtime/estimator/session_host.h"
#include "runtime/manifest/manifest.h"
#include "runtime/monitored/model_outputs.h"
#include "runtime/monitored/monitored_session.h"

namespace belay::runtime {

// Into a session; a plugin's comes from `plugins`. INVALID_ARGUMENT where one of that name is there already.
void add_hook(SessionHost& session, RunPlugins& plugins, const OwnHook& hook);
// Those that a model brought when it built the session's graph. One process is the chief.
void add_model_hooks(SessionHost& session, RunPlugins& plugins, const PluginInstance& model,
                     const ModelOutputs& outputs);

struct TrainingSessionOptions {
  // Where the default hooks and the saver come from: belay::default_plugins().
  std::vector<const belay_module*> plugins;
  bool is_chief = true;  // false: waits for the chief on the same target; no default hooks, no directory
  std::string target;    // "": a store of its own; otherwise one of `targets`
  std::shared_ptr<StoreTargets> targets;  // shared by the sessions of one program; none: its own
  std::string checkpoint_dir;             // absolute; empty: nothing is saved
  std::string summary_dir;                // absolute; empty: checkpoint_dir
  // Absolute; exactly this checkpoint is restored in place of a checkpoint_dir's newest, and nothing is saved.
  std::string checkpoint_filename_with_path;
  ScaffoldOptions scaffold;               // its saver is made here
  std::vector<OwnHook> hooks;             // called after the default ones
  std::vector<OwnHook> chief_only_hooks;  // called before them, on the chief
  std::vector<PluginUse> init_fns;        // of the chief: plugins, called before the scaffold's init_fn
  CheckpointSettings checkpoint;          // periods (neither: every 600 s), what is kept
  SessionSettings session;                // summaries, steps per second, grace period, recoveries
  double max_wait_secs = 7200;            // of a worker, for the chief
  double recovery_wait_secs = 30;         // of a worker, between two looks
  bool save_graph_def = true;             // into the event file, for TensorBoard
  bool recovers = true;                   // false: as SingularMonitoredSession
  std::string saver = "safetensors";      // among the plugins
  int threads = 0;                        // 0: all cores
  std::uint64_t seed = 42;
  Logger* log = nullptr;  // borrowed; none: text on stderr
  Clock* clock = nullptr;
  FileSystem* files = nullptr;
};

// For the log of a session that ended: the end of a queue's elements is no fault.
std::string ended_text(const EndReason& reason);

class MonitoredTrainingSession {
 public:
  // NOT_FOUND for a plugin that is not among the given ones; RunInUse; RestoreError; what hooks and model raise.
  MonitoredTrainingSession(NodeGraph& graph, TrainingSessionOptions options);
  // In a run that the caller has, with its plugins: directories, settings, threads, log and clock are the run's then.
  // Both outlive the session.
  MonitoredTrainingSession(RunHost& run, RunPlugins& plugins, NodeGraph& graph, const TrainingSessionOptions& options);
  ~MonitoredTrainingSession();
  MonitoredTrainingSession(const MonitoredTrainingSession&) = delete;
  MonitoredTrainingSession& operator=(const MonitoredTrainingSession&) = delete;

  MonitoredSession* operator->() noexcept { return session_.get(); }
  MonitoredSession& operator*() noexcept { return *session_; }
  // Path of the last checkpoint that was written or restored; empty: none.
  std::string checkpoint() const {
    if (run_.saver() != nullptr) return run_.saver()->saved_path();
    return session_->restored() ? restored_from_ : std::string();
  }

 private:
  struct OwnRun;
  MonitoredTrainingSession(std::unique_ptr<OwnRun> own, NodeGraph& graph, const TrainingSessionOptions& options);

  void start(NodeGraph& graph, const TrainingSessionOptions& options);
  void make_saver(const TrainingSessionOptions& options);
  void make_hooks(const TrainingSessionOptions& options);
  void add_own(const std::vector<OwnHook>& hooks);
  std::shared_ptr<SessionCreator> creator(NodeGraph& graph, const TrainingSessionOptions& options);

  const std::unique_ptr<OwnRun> own_;  // null: the caller's
  RunHost& run_;
  RunPlugins& plugins_;
  SessionHost host_;
  std::string restored_from_;  // the exact checkpoint that the options name
  std::unique_ptr<MonitoredSession> session_;
};

}  // namespace belay::runtime
