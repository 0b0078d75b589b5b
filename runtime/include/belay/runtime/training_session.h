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
// Started again, that program goes on from its last checkpoint. Order of calls, call by call: docs/design/lifecycle.md.
//
// Errors. ABORTED and UNAVAILABLE, which a thread or a run may raise where something outside has failed for the moment,
// make the session anew from the last checkpoint and repeat the run; the program sees nothing of it. OUT_OF_RANGE of
// the graph (the end of an input) and STOP end the loop as a hook's request does. Any other error calls on_error of
// each hook instead of end, and leaves scope(); so does OUT_OF_RANGE that a hook throws.
//
// Threads: one drives the session (scope, run, save, close). should_stop, request_stop, stop_now, session, end_reason
// and what only asks may be called by any, a signal's thread say. Runs of several threads come one after the other.
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

// Values for a run in place of what the graph computes.
using Feeds = std::vector<std::pair<Output, Tensor>>;

// TensorFlow's Scaffold: the pieces that a session needs beside the model. What is left empty is the item of the
// graph's collection for it (belay/graph.h), or is made there; two items in such a collection are FAILED_PRECONDITION.
struct Scaffold {
  // Runs where no checkpoint is restored. Default: the initial values of all global variables.
  Output init_op = {};
  Feeds init_feeds = {};
  // Called behind init_op, to set what no operation can: session.assign("embedding", table).
  std::function<void(Session&)> init_fn = {};
  // A string vector with the names of what is not initialized; the session is ready when it is empty.
  Output ready_op = {};
  // The same, asked before local_init_op runs.
  Output ready_for_local_init_op = {};
  // Runs in each session, restored or not. Default: the local variables and the tables.
  Output local_init_op = {};
  Feeds local_init_feeds = {};
  // What summary_saver writes. Default: all summaries of the graph in one; none without any.
  Output summary_op = {};
};

struct TrainingSessionOptions {
  // Where checkpoints are; made where it is missing. A path that is not absolute is below the current directory. A
  // session that is made goes on from the newest checkpoint there. Empty: nothing is saved. One process trains there at
  // a time: a second one is an error that names the first.
  std::string checkpoint_dir = {};
  // Instead of a checkpoint_dir: the session begins with exactly this checkpoint, and so does each recovery. It is a
  // checkpoint's directory, or a file that the saver reads and that holds exactly the graph's variables. Nothing is
  // saved. Both are INVALID_ARGUMENT, a path that is not there NOT_FOUND. A worker takes the chief's variables.
  std::string checkpoint_filename_with_path = {};
  // Where event files for TensorBoard go. Empty: checkpoint_dir.
  std::string summary_dir = {};

  // Called behind the default ones: step_counter, checkpoint_saver and summary_saver, with the periods below.
  std::vector<OwnHook> hooks = {};
  // Called before the default ones; left out where is_chief is false.
  std::vector<OwnHook> chief_only_hooks = {};
  Scaffold scaffold = {};
  // Plugins that set variables behind the init operation, where no checkpoint is restored: warm_start(...) of
  // estimator.h. Before scaffold.init_fn.
  std::vector<PluginUse> init_fns = {};

  // When it saves (every 600 s and at the end, where nothing is set), and how many checkpoints are kept.
  CheckpointSettings checkpoint = {};
  // Periods of summaries and of the line with the steps per second, recoveries, the grace period of threads. Of these
  // signal_grace_secs and no_progress_secs are not used: signals are the program's.
  SessionSettings session = {};
  // The plugin that writes tensors into files. A checkpoint is read by the one that it was written by.
  std::string saver = "safetensors";
  // The graph goes into the event file, where TensorBoard shows it.
  bool save_graph_def = true;

  // Of the kernels; the bits of a result depend on their number. 0: all cores that the process may use.
  int threads = 0;
  // Of initial values, dropout and other random numbers.
  std::uint64_t seed = 42;
  LogOptions log = {};

  // Several sessions in one process may share variables: the chief, which initializes or restores and saves them, and
  // workers, which wait for it. `target` names what they share: "local:NAME", or empty for variables of this session
  // alone.
  bool is_chief = true;
  std::string target = {};
  // How long a worker waits for the chief, and how long between two looks. Two hours, as TensorFlow: a chief may
  // restore for long.
  double max_wait_secs = 7200;
  double recovery_wait_secs = 30;
};

// What a step function gets; valid for its call.
class StepContext {
 public:
  // The raw session: runs through it trigger no hooks.
  Session session() const { return session_; }
  // One run with all hooks, as MonitoredSession::run.
  RunResult run_with_hooks(const std::vector<FetchRef>& fetches, const Feeds& feeds = {}) const {
    return run_(fetches, feeds);
  }
  // The same by name.
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

// What MonitoredTrainingSession and SingularMonitoredSession have in common.
class MonitoredSession {
 public:
  // Without close() or scope() before it is as an error would end it: no hook's end is called, nothing is saved.
  ~MonitoredSession();
  MonitoredSession(const MonitoredSession&) = delete;
  MonitoredSession& operator=(const MonitoredSession&) = delete;

  // One run of what is fetched, with all hooks: before_run of each, the run, after_run of each, and the checkpoint that
  // one of them asked for. Operations are fetched to be run; their place in the result has no value.
  // FAILED_PRECONDITION behind the end, and inside a hook: its own session() makes raw runs.
  RunResult run(const std::vector<FetchRef>& fetches, const Feeds& feeds = {}, const RunOptions& options = {});
  // The same without hooks and without a checkpoint; recovery stays.
  RunResult run_without_hooks(const std::vector<FetchRef>& fetches, const Feeds& feeds = {});
  // Both by name: a map of names to fetches gives the values by these names (NamedResult of belay/session.h).
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
  // Calls step(StepContext&) and returns what it returns. ABORTED or UNAVAILABLE out of it make the session anew and
  // call it again from its start.
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

  // Calls `body` and ends the session: with close() where it returns; with on_error of each hook where it throws, and
  // then the error leaves, unless it is OUT_OF_RANGE or STOP, which are a normal end.
  void scope(const std::function<void()>& body);
  // True: somebody asked to stop, a thread has failed, or it is closed. Ask it before each run.
  bool should_stop();
  // Ends the loop at the next boundary, as a hook would. The first reason is what the user reads.
  void request_stop(const std::string& reason);
  // The same, and a run that waits, for input say, ends now with STOP; nothing of its step has happened. For signals.
  void stop_now(const std::string& reason);
  // Writes a checkpoint between two runs and returns its path; empty where a hook refused it. FAILED_PRECONDITION
  // without a checkpoint_dir, DATA_LOSS where it could not be written.
  std::string save();
  // The normal end: end of each hook, the last checkpoint, the threads joined within the grace period. What a thread
  // failed with leaves here. Twice is harmless.
  void close();

  bool closed() const noexcept;
  EndReason end_reason() const;
  // The raw session, for runs without hooks and for variables. Valid until the next recovery or the end.
  // FAILED_PRECONDITION where it is closed.
  Session session();
  // That the variables are at, or were at the end; -1: the graph has none.
  std::int64_t global_step();
  // Whether it went on from a checkpoint when it was made.
  bool restored() const noexcept;
  // How often it was made anew.
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
  // after_create_session of each hook. Plugins are the graph's, which outlives the session. NOT_FOUND for a plugin that
  // is not among them; an error where checkpoints are there and none can be restored, since training would start over;
  // what hooks and model fail with.
  explicit MonitoredTrainingSession(OwnedGraph& graph, const TrainingSessionOptions& options = {})
      : MonitoredSession(graph, options, true) {}
};

// Of these what they are in TrainingSessionOptions.
struct SingularSessionOptions {
  // Restored from, as above; a checkpoint is written where a hook asks for one, by save(), and at no other time.
  std::string checkpoint_dir = {};
  std::string checkpoint_filename_with_path = {};
  std::vector<OwnHook> hooks = {};
  Scaffold scaffold = {};
  std::string saver = "safetensors";
  int threads = 0;
  std::uint64_t seed = 42;
  LogOptions log = {};
};

// TensorFlow's SingularMonitoredSession: always the chief, without default hooks, and ABORTED and UNAVAILABLE are
// errors like others. For programs that recover by themselves.
class SingularMonitoredSession : public MonitoredSession {
 public:
  explicit SingularMonitoredSession(OwnedGraph& graph, const SingularSessionOptions& options = {});
};

}  // namespace belay
