// SPDX-License-Identifier: Apache-2.0
// A session that initialises or restores itself, calls hooks around every run, recovers from preemption, ends cleanly.
//
//   MonitoredSession session(creator, hooks, options);
//   session.scope([&] { while (!session.should_stop()) session.run(train_op); });
//
// Create (the constructor): begin of each hook. Every recovery repeats the steps that follow. The scaffold and the
// graph are finalized, and the session is opened and restored or initialized. load_state of each hook is called, and a
// new coordinator is made. The queue runners start (each input seeks first), and after_create_session of each hook is
// called.
//
// Close: end of each hook, or on_error if an error ends the session. The threads are stopped and joined for at most the
// grace period, and the raw session is closed. The graph is open again after its last session if it was open before.
//
// scope() throws nothing for OUT_OF_RANGE of the graph or STOP out of a run, which end the loop. It throws any other
// exception after on_error of each hook. With [checkpoint] save_on_exception it first saves the last whole step. When
// it closes, it throws the error that a thread of the session reported. OUT_OF_RANGE out of a hook or an operation of a
// plugin is an error (FAILED_PRECONDITION). So is an end of input while a session is made or saved.
//
// Inside: the calls that a hook, an init function or a step function may make of the session that is calling it.
//
//                                      in a step function                   in a hook or an init function
//   run, run_step_fn                   yes; a preemption reaches the        FAILED_PRECONDITION: the callback's own
//                                      outermost call, which recovers       session makes raw runs
//   save                               yes                                  FAILED_PRECONDITION: save_checkpoint asks
//                                                                           for one at the boundary
//   close, leave, scope                FAILED_PRECONDITION: request_stop ends the loop
//   should_stop                        looks, and never recovers
//   request_stop, stop_now, interrupt, resume, raw_session, end_reason: yes
//
// Threads: runs with hooks come one after the other, from any thread, and the end waits for the current one. Runs
// through raw_session() continue beside them. should_stop, request_stop, stop_now, interrupt, resume and raw_session
// never wait. During another thread's run should_stop knows only requests from outside. One thread closes the session.
// A run that waits for its turn then is FAILED_PRECONDITION, as is one after the end.
//
// Threads of the session's coordinator belong to the session of their start. A recovery and the end wait for them, so
// they never recover. They report the errors of their runs themselves, and should_stop is true for them as soon as the
// coordinator stops. When a recovery begins, their runs end with CANCELLED, and they start no others.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "belay/runtime/end_reason.h"
#include "runtime/monitored/layers/coordinated_session.h"
#include "runtime/monitored/layers/hooked_session.h"
#include "runtime/monitored/layers/open_session.h"
#include "runtime/monitored/layers/recoverable_session.h"
#include "runtime/monitored/layers/session_creator.h"
#include "runtime/monitored/layers/session_turns.h"
#include "runtime/platform/process/current_error.h"

namespace belay::runtime {

struct MonitoredSessionOptions {
  SessionSettings settings;        // used for the grace period and the recoveries
  bool recovers = true;            // false: SingularMonitoredSession
  RunSaver* saver = nullptr;       // borrowed; null: nothing is saved
  CallMonitor* monitor = nullptr;  // borrowed; may be null
  EventWriter* events = nullptr;   // borrowed; gets the trace of each run that a hook has traced; may be null
  RunTrace* trace = nullptr;       // borrowed; gets the times of each step's parts; may be null
  RecoverableSession::OnRecovery on_recovery = {};
  std::int64_t min_steps = 0;  // a hook's request to stop before this global step is refused and logged; 0: none is
  bool begins_hooks = true;    // false: each hook's begin was called on this graph before
};

// Results of MonitoredSession::run, in the order of the fetches.
class FetchedValues {
 public:
  FetchedValues(Run run, std::unique_ptr<FetchSet> fetches) : run_(std::move(run)), fetches_(std::move(fetches)) {}
  TensorView operator[](std::size_t i) const { return TensorView(run_.result(*fetches_, i)); }
  std::size_t size() const noexcept { return fetches_->outputs().size(); }

 private:
  Run run_;
  std::unique_ptr<FetchSet> fetches_;
};

class MonitoredSession {
 public:
  using StepContext = StepFnContext;

  // Borrows the hooks. If it throws, what was opened is closed, and no end is called.
  MonitoredSession(std::shared_ptr<SessionCreator> creator, const RunEnvironment& environment, HookSet& hooks,
                   MonitoredSessionOptions options = {});
  // Closes the session without calling end, as after an error.
  ~MonitoredSession();
  MonitoredSession(const MonitoredSession&) = delete;
  MonitoredSession& operator=(const MonitoredSession&) = delete;

  // Runs with hooks. A fetch set kept from run to run costs no look-up.
  Run run(const RunCall& call);
  FetchedValues run(const std::vector<FetchRef>& fetches, const Feeds& feeds = {}, const CallerOptions& options = {},
                    RunMetadata* metadata = nullptr);
  // Runs with the chosen hooks, or with none, and with recovery. Both are runs of the session like others. HookChoice
  // describes how a run without hooks differs.
  FetchedValues run_with(const HookChoice& hooks, const std::vector<FetchRef>& fetches, const Feeds& feeds = {});
  FetchedValues run_without_hooks(const std::vector<FetchRef>& fetches, const Feeds& feeds = {});
  // Calls step(context) inside the recovery loop. The loop repeats it from its start after a preemption error. If the
  // context asks to stop, STOP is thrown, and should_stop() is true from then on.
  std::any run_step_fn(const StepFn& step);

  // Returns true if there is a stop request, a thread failed, or the session is closed. It throws only the error of a
  // recovery; close throws the error of a thread. Inside a callback it only looks: a thread's reported preemption is no
  // stop.
  bool should_stop();
  // Ends the loop as a hook does.
  void request_stop(const std::string& reason);
  // Ends the loop at once, for a signal. It acts like request_stop, and a run that waits, for example for input, ends
  // with STOP. Nothing of its step has happened. The scope ends normally, with every hook's end and its last
  // checkpoint. Both are missing if the call comes between two recoveries, when there is no session. During the end it
  // interrupts nothing.
  void stop_now(const std::string& reason);
  // Writes a checkpoint between two runs, waits until it is durable and returns its path. The path is empty if a hook's
  // before_save skipped it. FAILED_PRECONDITION: the session has no directory, or a run is in progress. DATA_LOSS: it
  // could not be written. A hook's after_save may ask to stop.
  std::string save();
  // Repeats the last run's boundary: begins the checkpoint if one was asked for since. A failure there means the same
  // as at a boundary.
  void save_if_asked();
  // Waits for the checkpoint in progress in the background, if any. It then calls the hooks' after_save.
  void finish_save();

  // Runs body like the inside of a `with` block: see the head of this file.
  template <class F>
  void scope(F&& body) {
    turns_.check_outside("Scope");
    try {
      body();
    } catch (...) {
      if (leave(current_error())) return;
      throw;
    }
    close();
  }
  // The normal end. Idempotent. It calls no end after a failed recovery, since there is no session for it.
  void close();
  // The end because of an error. An end of input is the normal end (true). Any other error calls on_error of each hook
  // and no end (false), and the caller throws the error.
  bool leave(const Error& error);

  // For a run that must end while a hook hangs in before_run or after_run. Saves the variables, since they are whole,
  // and the states of the other hooks. The log names the missing parts of the checkpoint. It does nothing and returns
  // false while the session's thread is in anything else. Another thread calls it, and the session outlives that
  // thread.
  bool save_beside_hook() noexcept;

  bool closed() const noexcept { return layers_ == nullptr; }
  // Cancels the current run, and those that begin before resume() or close(), with this reason.
  void interrupt(const Error& reason);
  void resume();
  // Returns the graph while the session is open, and null afterwards.
  NodeGraph* graph() noexcept { return closed() ? nullptr : &creator_->graph(); }
  // Valid until the next recovery or the end, and null in between and afterwards. Runs through it call no hooks.
  std::shared_ptr<DirectSession> raw_session() const { return open_.get(); }
  const EndReason& end_reason() const noexcept { return reason_; }
  std::int64_t recoveries() const noexcept;
  // Returns the global step of the variables, now or at the end. -1: there is none.
  std::int64_t global_step();
  // Returns true if the session continued from a checkpoint when it was first made.
  bool restored() const noexcept { return restored_at_start_; }
  // Names the threads still running after the grace period.
  const std::vector<std::string>& unjoined() const noexcept { return unjoined_; }

 private:
  using Visit = SessionTurns::Visit;
  using Place = SessionTurns::Place;

  std::unique_ptr<SessionLayer> create();
  std::unique_ptr<SessionLayer> make_layers();
  void abandon(const Error& error);
  SessionLayer& layers_of(const Visit& visit) const;
  bool look();
  std::any call_step(const StepFn& step, StepFnContext& context);
  FetchedValues run_fetches(const std::vector<FetchRef>& fetches, const Feeds& feeds, RunCall call);
  EndReason reason_of_normal_end() const;
  void save_at_boundary(DirectSession& raw);
  void finish_save(DirectSession& raw);
  void stop_behind_save(const std::string& hook);
  void save_after(const Error& error) noexcept;
  void end_normally();
  void close_layers();
  void run_end_hooks();

  std::shared_ptr<SessionCreator> creator_;
  const RunEnvironment& environment_;
  HookSet& hooks_;
  MonitoredSessionOptions options_;
  SessionTurns turns_{this};
  std::unique_ptr<SessionLayer> layers_;
  SessionLayer* below_recovery_ = nullptr;  // inside layers_, as the next one; null while a recovery makes it anew
  HookedSession* hooked_ = nullptr;
  OpenSession open_;
  bool created_once_ = false;
  bool restored_at_start_ = false;
  std::int64_t recoveries_ = 0;
  std::int64_t last_step_ = -1;
  EndReason reason_;
  std::vector<std::string> unjoined_;
};

// This session is always the chief and never recovers: ABORTED and UNAVAILABLE are errors like others.
class SingularMonitoredSession final : public MonitoredSession {
 public:
  SingularMonitoredSession(NodeGraph& graph, const RunEnvironment& environment, HookSet& hooks,
                           ChiefSessionCreator::Options creator = {}, MonitoredSessionOptions options = {});
};

}  // namespace belay::runtime
