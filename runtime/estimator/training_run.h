// SPDX-License-Identifier: Apache-2.0
// What `belay run` does, stage by stage; each takes what the one before made, and nothing reaches back.
//
//   manifest -> plugins -> scaffold -> session -> hooks
//
//   TrainingRun run(manifest, settings, world);
//   run.find_plugins(problems)     // names and options against the notes; no plugin code runs
//   run.take_directory()           // the run directory made, locked, this attempt's mark put into it
//   run.load_plugins()             // libraries, then instances
//   run.build_scaffold()           // inputs opened, graph built; still nothing to keep
//   run.open_directory()           // from here on it stays
//   run.train()                    // the session with its hooks
//   run.evaluate()                 // one pass over [input.eval]
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/platform/watched_files.h"
#include "runtime/events/event_service.h"
#include "runtime/loader/instance.h"
#include "runtime/loader/loader.h"
#include "runtime/loader/resolve.h"
#include "runtime/manifest/manifest.h"
#include "runtime/monitored/build_model.h"
#include "runtime/estimator/evaluate.h"
#include "runtime/monitored/monitored_session.h"
#include "runtime/monitored/run_directory.h"
#include "runtime/monitored/run_saver.h"

namespace belay::runtime {

// The edges of the world, given by main.
struct World {
  Clock& clock;
  Logger& log;
  FileSystem& files;
  Environment environment;  // variables
};

struct TrainingRunOptions {
  bool from_scratch = false;  // checkpoints of the directory are moved aside, not restored
};

// What a signal or the watchdog does to a run, from another thread.
class RunControl {
 public:
  // At the next step's boundary; a wait for input ends at once after `patience` of them.
  void stop(const std::string& reason);
  void save() noexcept { save_requested_ = true; }
  bool stopping() const noexcept { return stopping_.load(); }
  std::string stop_reason() const;
  // Ends what the run waits for at this moment. May be called again and again.
  void wake(const Error& reason);
  CancellationSource& interrupt() noexcept { return interrupt_; }

  // ---- what is told where the run ends in the middle; from the run's thread
  void note_step(std::int64_t step) noexcept { step_.store(step, std::memory_order_relaxed); }
  void note_saved(const std::string& path, std::int64_t step);
  // "saved is runs/x/model.ckpt-40, from which the next start goes on; 3 steps are lost". Any thread.
  std::string what_is_kept() const;
  // The calls of the file system.
  DiskCalls& disk() noexcept { return disk_; }

  // While it lives, wake() also interrupts the session's run: not in the calls of `end`, which still need it.
  class Interruptible {
   public:
    Interruptible(RunControl& control, MonitoredSession& session);
    ~Interruptible();
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;

   private:
    RunControl& control_;
  };
  bool take_save_request() noexcept { return save_requested_.exchange(false); }

 private:
  mutable std::mutex mutex_;
  std::string reason_;
  std::string saved_path_;  // empty: nothing is saved
  std::int64_t saved_step_ = -1;
  MonitoredSession* session_ = nullptr;  // its runs may be interrupted
  std::atomic<bool> stopping_{false};
  std::atomic<bool> save_requested_{false};
  std::atomic<std::int64_t> step_{-1};
  DiskCalls disk_;
  CancellationSource interrupt_;
};

struct TrainingResult {
  EndReason reason;
  std::int64_t steps = 0;  // of this attempt
  std::int64_t global_step = 0;
  double seconds = 0;
  std::int64_t recoveries = 0;
  std::string checkpoint;  // path of the last one; empty: none
  std::string save_error;  // why the last one was not written; empty: it was, or none was asked for
  std::string removed;     // path of the last one, where somebody removed it after it was written
  bool moved = false;      // the last one is there, but no longer at its path: the run directory was moved
};

class TrainingRun {
 public:
  TrainingRun(Manifest manifest, TrainingRunOptions options, World world, RunControl& control);
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  // False where a plugin is the trouble (exit status 3 instead of 2); `problems` tells all.
  bool find_plugins(Diagnostics& problems);
  // RunInUse; PERMISSION_DENIED and others. Until open_directory() the end of the run takes away what this made.
  void take_directory();
  // A warning where the attempt before ended without a word. Changes nothing; for `belay check`.
  void tell_last_attempt() const;
  // LoadError; or an instance's own error.
  void load_plugins();
  // Opens the inputs (the first batch is fetched: an empty input shows) and builds the graph.
  void build_scaffold();
  // After take_directory(). PERMISSION_DENIED and others.
  void open_directory();
  // `on_step` after every step, on this thread. Where the directory's lock is lost it fails, and lock_lost() is true.
  TrainingResult train(const std::function<void()>& on_step);
  std::optional<EvalResult> evaluate(const std::function<void()>& on_batch);

  // For `belay graph`, instead of open_directory() and train(): runs training steps from freshly initialized variables,
  // without hooks, and gives the plan, its memory and the traces of those behind the warm ones. Fewer where the input
  // ends; OUT_OF_RANGE where it ends before the first traced one.
  using StepTraces = std::function<void(const Plan&, const PlanStats&, const std::vector<RunMetadata>&)>;
  void trace_steps(int warm, int traced, const StepTraces& then);

  bool lock_lost() const noexcept { return directory_ && directory_->directory().lock_lost(); }
  const NodeGraph& graph() const noexcept { return graph_; }
  const Manifest& manifest() const noexcept { return manifest_; }
  // Labels of the hooks that on_error = "disable" took out.
  std::vector<std::string> disabled_hooks() const { return hooks_.disabled(); }
  // What a plugin is doing at the moment; empty: none. Any thread.
  std::string activity() const;
  // Where the threads that call plugins say whom they are calling.
  std::vector<const CallMonitor*> monitors() const { return {&monitor_, &input_monitor_, &eval_monitor_}; }
  // For --dry-run and check: inputs, model, variables, hooks, one line each.
  std::string plan_text() const;

 private:
  struct Plugins;
  PluginInstance& create(const ResolvedPlugin& plugin, CallMonitor& monitor);
  // The instance's number in the attempt's mark.
  std::uint32_t number_of(const std::string& label) { return mark_ == nullptr ? 0 : mark_->name(label); }
  void load(const ResolvedPlugin& plugin);
  void add_plugin_ops();
  std::shared_ptr<InputFeed> open_input(const std::string& name);
  void write_manifest();
  void start_over();
  void say_new_run();
  MonitoredSessionOptions session_options();
  void run_loop(MonitoredSession& session, const std::function<void()>& on_step, TrainingResult& result);
  void finish(MonitoredSession& session, TrainingResult& result);
  void look_for_checkpoint(TrainingResult& result);

  Manifest manifest_;
  TrainingRunOptions options_;
  World world_;
  RunControl& control_;
  const std::unique_ptr<FileSystem> files_;  // the world's, watched
  StoreTargets targets_;
  RunEnvironment environment_;
  std::unique_ptr<OpRegistry> ops_;
  NodeGraph graph_;
  CallMonitor monitor_;        // of the session's thread
  CallMonitor input_monitor_;  // of the feeding thread
  CallMonitor eval_monitor_;
  HostServices services_;
  std::optional<RunDirectory> directory_;  // with the attempt's mark, which covers the instances' destruction
  AttemptMark* mark_ = nullptr;            // the directory's; null: there is none
  std::unique_ptr<Plugins> plugins_;
  std::shared_ptr<InputFeed> train_input_;
  std::shared_ptr<InputFeed> eval_input_;
  ModelOutputs model_;
  HookSet hooks_;
  RunEvents events_;
  SaverUse saver_use_;
  std::shared_ptr<RunSaver> saver_;         // null: the run has no directory
  std::shared_ptr<VariableStore> trained_;  // that the training ended with
};

}  // namespace belay::runtime
