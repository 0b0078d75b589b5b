// SPDX-License-Identifier: Apache-2.0
// TensorFlow's MonitoredTrainingSession: a session that initializes or restores itself, calls hooks round every run,
// saves, recovers and ends cleanly.
//
//   belay::OwnedGraph graph(belay::default_plugins());
//   ... the model, in graph; a global step ...
//   const Output train = graph.minimize(loss, {.name = "adam"});
//
//   belay::TrainingSessionOptions options{.checkpoint_dir = "/tmp/run"};
//   options.hooks.push_back(belay::own_hook("watch", std::make_unique<Watch>()));
//   belay::MonitoredTrainingSession session(graph, options);
//   session.scope([&] {
//     while (!session.should_stop()) session.run({train});
//   });
//
// If the program is started again, it continues from its last checkpoint. docs/design/lifecycle.md has the order of all
// calls.
//
// Errors. A thread or a run may raise ABORTED or UNAVAILABLE if something outside has failed temporarily. Then the
// session is made again from the last checkpoint and repeats the run; the program does not notice. OUT_OF_RANGE of the
// graph (the end of an input) and STOP end the loop like a hook's request. Any other error calls on_error of each hook
// instead of end, and leaves scope(). So does OUT_OF_RANGE from a hook.
//
// Threads: one thread drives the session (scope, run, save, close). should_stop, request_stop, stop_now, session,
// end_reason and functions that only read may be called from any thread, such as a signal's. Runs of several threads
// follow one another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "belay/runtime/checkpoint_settings.h"
#include "belay/runtime/end_reason.h"
#include "belay/runtime/graph.h"
#include "belay/runtime/log_options.h"
#include "belay/runtime/own_hook.h"
#include "belay/runtime/session_settings.h"
#include "belay/session.h"

namespace belay {

using runtime::CheckpointSettings;
using runtime::PluginUse;
using runtime::SessionSettings;

// Values that replace outputs of the graph in a run.
using Feeds = std::vector<std::pair<Output, Tensor>>;

// TensorFlow's Scaffold: the pieces that a session needs besides the model. An empty piece is the item of the graph's
// collection for it (belay/graph.h), or is made there. FAILED_PRECONDITION: such a collection has two items.
struct Scaffold {
  // Runs if no checkpoint is restored. Default: the initial values of all global variables.
  Output init_op = {};
  Feeds init_feeds = {};
  // Called after init_op, to set values that no operation can: session.assign("embedding", table).
  std::function<void(Session&)> init_fn = {};
  // A string vector: the names of variables that are not initialized. The session is ready when it is empty.
  Output ready_op = {};
  // The same, evaluated before local_init_op runs.
  Output ready_for_local_init_op = {};
  // Runs in each session, restored or not. Default: the local variables and the tables.
  Output local_init_op = {};
  Feeds local_init_feeds = {};
  // The operation that summary_saver runs. Default: all summaries of the graph in one; without summaries none.
  Output summary_op = {};
};

// The options of a session.
struct TrainingSessionOptions {
  // Directory of checkpoints; it is made if it does not exist. A relative path is below the current directory. A new
  // session continues from its newest checkpoint. Empty: nothing is saved. One process at a time trains there: a second
  // one is an error that names the first.
  std::string checkpoint_dir = {};
  // Replaces checkpoint_dir: the session, and each recovery, begins with exactly this checkpoint. It is a checkpoint's
  // directory, or a file that the saver reads. The file holds exactly the graph's variables. Nothing is saved. A worker
  // takes the chief's variables. INVALID_ARGUMENT: both are set. NOT_FOUND: the path does not exist.
  std::string checkpoint_filename_with_path = {};
  // Directory of event files for TensorBoard. Empty: checkpoint_dir.
  std::string summary_dir = {};

  // Called after the default hooks: step_counter, checkpoint_saver and summary_saver, with the periods below.
  std::vector<OwnHook> hooks = {};
  // Called before the default hooks; left out if is_chief is false.
  std::vector<OwnHook> chief_only_hooks = {};
  Scaffold scaffold = {};
  // Plugins that set variables after the init operation and before scaffold.init_fn, if no checkpoint is restored:
  // warm_start(...) of estimator.h.
  std::vector<PluginUse> init_fns = {};

  // The periods of saves (default: every 600 s and at the end), and the number of checkpoints to keep.
  CheckpointSettings checkpoint = {};
  // Periods of summaries and of the line with the steps per second, recoveries, the grace period of threads.
  // signal_grace_secs and no_progress_secs are not used: the program handles signals.
  SessionSettings session = {};
  // The plugin that writes tensors into files. A checkpoint is read by the plugin that wrote it.
  std::string saver = "safetensors";
  // If true, the graph is written to the event file, for TensorBoard.
  bool save_graph_def = true;

  // Threads of the kernels; the bits of a result depend on their number. 0: all cores that the process may use.
  int threads = 0;
  // Seed of initial values, dropout and other random numbers.
  std::uint64_t seed = 42;
  LogOptions log = {};

  // Several sessions in one process may share variables. The chief initializes or restores and saves them; workers wait
  // for it. `target` names the shared variables: "local:NAME". Empty: variables of this session alone.
  bool is_chief = true;
  std::string target = {};
  // How long a worker waits for the chief, and the time between two looks. Two hours, as in TensorFlow: a chief's
  // restore may take long.
  double max_wait_secs = 7200;
  double recovery_wait_secs = 30;
};

// The argument of a step function; valid for its call.
class StepContext {
 public:
  // The raw session: hooks do not see runs that it makes.
  Session session() const { return session_; }
  // Makes one run with all hooks, like MonitoredSession::run.
  RunResult run_with_hooks(const std::vector<FetchRef>& fetches, const Feeds& feeds = {}) const {
    return run_(fetches, feeds);
  }
  // Does the same by name.
  template <class Names = NamedFetches, class = detail::IfNamesFetches<Names>>
  NamedResult run_with_hooks(const Names& fetches, const Feeds& feeds = {}) const {
    return detail::run_by_name(fetches, [&](const std::vector<FetchRef>& list) { return run_(list, feeds); });
  }
  // Leaves run_step_fn with STOP, which ends the loop.
  [[noreturn]] void request_stop(const std::string& reason = "step function asked to stop") const {
    fail(Code::kStop, reason);
  }

  // For Belay itself.
  using RunFn = std::function<RunResult(const std::vector<FetchRef>&, const Feeds&)>;
  StepContext(const Session& session, RunFn run) : session_(session), run_(std::move(run)) {}

 private:
  Session session_;
  RunFn run_;
};

// The common part of MonitoredTrainingSession and SingularMonitoredSession.
class MonitoredSession {
 public:
  // Without an earlier close() or scope() it ends the session as an error would: no hook's end is called, and nothing
  // is saved.
  ~MonitoredSession();
  MonitoredSession(const MonitoredSession&) = delete;
  MonitoredSession& operator=(const MonitoredSession&) = delete;

  // Makes one run of the fetches with all hooks: before_run of each, the run, after_run of each, and a checkpoint that
  // one of them asked for. An operation is fetched to run it; its place in the result has no value.
  // FAILED_PRECONDITION: after the end, or inside a hook, whose session() makes raw runs.
  RunResult run(const std::vector<FetchRef>& fetches, const Feeds& feeds = {}, const RunOptions& options = {});
  // Does the same without hooks and without a checkpoint; recovery stays.
  RunResult run_without_hooks(const std::vector<FetchRef>& fetches, const Feeds& feeds = {});
  // Both by name: a map of names to fetches returns the values by these names (NamedResult of belay/session.h).
  //   const belay::NamedResult values = session.run({{"train", train}, {"loss", loss}});
  template <class Names = NamedFetches, class = detail::IfNamesFetches<Names>>
  NamedResult run(const Names& fetches, const Feeds& feeds = {}, const RunOptions& options = {}) {
    return detail::run_by_name(fetches, [&](const std::vector<FetchRef>& list) { return run(list, feeds, options); });
  }
  template <class Names = NamedFetches, class = detail::IfNamesFetches<Names>>
  NamedResult run_without_hooks(const Names& fetches, const Feeds& feeds = {}) {
    return detail::run_by_name(fetches,
                               [&](const std::vector<FetchRef>& list) { return run_without_hooks(list, feeds); });
  }
  // Calls step(StepContext&) and returns its result. If it throws ABORTED or UNAVAILABLE, the session is made again,
  // and step is called again from its start.
  template <class F>
  auto run_step_fn(F&& step) {
    using Result = std::invoke_result_t<F&, StepContext&>;
    if constexpr (std::is_void_v<Result>) {
      call_step(step);
    } else {
      std::optional<Result> result;
      call_step([&](StepContext& context) { result.emplace(step(context)); });
      return std::move(*result);
    }
  }

  // Calls `body` and ends the session. If body returns, it calls close(). If body throws, it calls on_error of each
  // hook and throws the error on. OUT_OF_RANGE and STOP are a normal end.
  void scope(const std::function<void()>& body);
  // True if a stop was requested, a thread has failed, or the session is closed. Ask before each run.
  bool should_stop();
  // Ends the loop at the next boundary, like a hook's request. The user reads the first reason.
  void request_stop(const std::string& reason);
  // Does the same. A run that waits, for example for input, ends now with STOP; its step has changed nothing. It is for
  // signals.
  void stop_now(const std::string& reason);
  // Writes a checkpoint between two runs and returns its path; empty if a hook refused it. FAILED_PRECONDITION: no
  // checkpoint_dir. DATA_LOSS: it could not be written.
  std::string save();
  // The normal end: end of each hook, the last checkpoint, the threads joined within the grace period. It throws a
  // thread's error. A second call has no effect.
  void close();

  bool closed() const noexcept;
  EndReason end_reason() const;
  // The raw session, for runs without hooks and for variables. Valid until the next recovery or the end.
  // FAILED_PRECONDITION: the session is closed.
  Session session();
  // Global step of the variables, now or at the end; -1: the graph has none.
  std::int64_t global_step();
  // True if the session continued from a checkpoint when it was made.
  bool restored() const noexcept;
  // Number of recoveries.
  std::int64_t recoveries() const noexcept;
  // Path of the last checkpoint that was written or restored; empty: none.
  std::string checkpoint() const;
  // Names of threads that did not end within the grace period.
  std::vector<std::string> live_threads() const;

 protected:
  MonitoredSession(OwnedGraph& graph, const TrainingSessionOptions& options, bool recovers);

 private:
  void call_step(const std::function<void(StepContext&)>& step);

  struct Insides;
  std::unique_ptr<Insides> insides_;
};

class MonitoredTrainingSession : public MonitoredSession {
 public:
  // Calls begin of each hook, freezes the graph, restores or initializes, starts the queue runners and calls
  // after_create_session of each hook. It uses the graph's plugins; the graph must outlive the session. NOT_FOUND: a
  // plugin is not among them. It throws if checkpoints exist and none can be restored, because training would start
  // over. It also throws the errors of hooks and model.
  explicit MonitoredTrainingSession(OwnedGraph& graph, const TrainingSessionOptions& options = {})
      : MonitoredSession(graph, options, true) {}
};

// The same options as in TrainingSessionOptions.
struct SingularSessionOptions {
  // Restored from, as above. A checkpoint is written if a hook asks for one, by save(), and at no other time.
  std::string checkpoint_dir = {};
  std::string checkpoint_filename_with_path = {};
  std::vector<OwnHook> hooks = {};
  Scaffold scaffold = {};
  std::string saver = "safetensors";
  int threads = 0;
  std::uint64_t seed = 42;
  LogOptions log = {};
};

// TensorFlow's SingularMonitoredSession: always the chief, without default hooks. ABORTED and UNAVAILABLE are ordinary
// errors. For programs that recover by themselves.
class SingularMonitoredSession : public MonitoredSession {
 public:
  explicit SingularMonitoredSession(OwnedGraph& graph, const SingularSessionOptions& options = {});
};

}  // namespace belay
